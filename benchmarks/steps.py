"""What a step of TR costs in many variables and with many constraints, beside other versions of this library.

    python benchmarks/steps.py [--beside ../other/src ...] [--rounds 3] [--cases 100,2 300,20] >> results/steps.txt

CPU milliseconds between two calls of a function that costs nothing, a sum of squares under planes, from the first step
after the points that models begin with to 1.3 D calls more, and the peak of memory. Versions are measured in turns, in
processes of their own with one thread each: the ratios say more than the milliseconds of a machine that others use.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent / "src"
CASES = ("10,2", "100,2", "100,20", "300,2", "300,20", "1000,2", "1000,20", "20,10000")
MOST_STEPS = 150


def measure_steps(dim: int, constraints: int) -> tuple[float, float]:
    """The median of milliseconds of a step, and megabytes at the peak, of the library that is found first."""
    import numpy as np

    import meco

    planes = np.linspace(-1.0, 1.0, dim * constraints).reshape(dim, constraints)
    calls: list[float] = []

    def formula(x):
        calls.append(time.process_time())
        return (x * x).sum(axis=-1), x @ planes - 1.0, []

    problem = meco.Problem("planes", np.full(dim, -5.0), np.full(dim, 5.0), constraints, 0, formula)
    meco.solve("TR", problem, budget=2 * dim + 3 + min(int(1.3 * dim) + 40, MOST_STEPS), seeds=[0])
    steps = [1e3 * (b - a) for a, b in pairwise(calls)][1:]  # before the first stands the star of first points
    return statistics.median(steps), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_apart(source: Path, case: str) -> tuple[float, float]:
    """The same in a process of its own, with the library from a folder of sources."""
    pinned = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(source)}
    told = subprocess.run(
        [sys.executable, __file__, "--one", case], env=os.environ | pinned, capture_output=True, text=True, check=True
    )
    milliseconds, megabytes = map(float, told.stdout.split())
    return milliseconds, megabytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", nargs="*", type=Path, default=[], help="folders of sources of other versions")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", nargs="+", default=CASES, help="variables,constraints")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(*measure_steps(*map(int, args.one.split(","))))
        return
    sources = [HERE, *args.beside]
    print(f"{'D, constraints':>16}  ms and MB here; ms, MB and ratio to here of each other version")
    for case in args.cases:
        found: dict[Path, list[tuple[float, float]]] = {source: [] for source in sources}
        for _ in range(args.rounds):
            for source in sources:
                found[source].append(measure_apart(source, case))
        middle = {source: [statistics.median(part) for part in zip(*rounds)] for source, rounds in found.items()}
        here = middle[HERE]
        row = "".join(f"   {ms:8.2f} {mb:5.0f} {here[0] / ms:5.2f}" for ms, mb in list(middle.values())[1:])
        print(f"{case:>16}  {here[0]:8.2f} {here[1]:5.0f}{row}", flush=True)


if __name__ == "__main__":
    main()
