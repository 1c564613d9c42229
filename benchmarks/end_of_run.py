"""How long after its deadline a run with 100,000 constraints returns.

    python benchmarks/end_of_run.py [--cases plain noisy ...] [--seconds 3 8] > results/end_of_run.txt

Each case is a call of meco.minimize(..., stop=T) of a sum of squares under planes that costs next to nothing, with
TR in a process of its own with one thread. Told are the calls that the result holds, the wall-clock and CPU seconds
from T after the call of minimize() to its return, and those that print(result) then takes. CPU seconds are of the
process that searches, not of its workers. An "unanswered" call is the third one, which never answers.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent.parent / "src"
DIM = 3
CASES = (
    "plain", "infeasible", "named", "partial", "cheap", "known", "folder", "noisy", "asynchronous",
    "unanswered", "unanswered-folder",
)  # fmt: skip


class Planes:
    """A sum of squares under planes; picklable, so that workers can call it."""

    def __init__(self, constraints: int, case: str) -> None:
        self.planes = np.random.default_rng(1).standard_normal((DIM, constraints))
        self.right = 2.0 if case != "infeasible" else -0.1
        self.noise = np.random.default_rng(2) if case.startswith("noisy") else None
        self.names = [f"limit {i}" for i in range(constraints)] if case in ("named", "partial") else None
        self.partial, self.cheap, self.unanswered = case == "partial", case == "cheap", case.startswith("unanswered")
        self.numbered = True

    def limits(self, x: np.ndarray) -> np.ndarray:
        return x @ self.planes - self.right

    def __call__(self, x: np.ndarray, number: int) -> Any:
        if self.unanswered and number == 2:
            threading.Event().wait()
        f, g = float(((x - 1.0) ** 2).sum()), self.limits(x)
        if self.noise is not None:
            f, g = f + 0.01 * self.noise.standard_normal(), g + 0.01 * self.noise.standard_normal(g.size)
        if self.cheap:
            return f
        if self.names is None:
            return f, g
        left_out = 1 if self.partial and g[0] > 0.0 else 0  # a partial answer lacks the last of its limits
        return f, dict(zip(self.names, g[: g.size - left_out].tolist()))


def options_of(case: str, fun: Planes, folder: str) -> dict[str, Any]:
    """What minimize() is given in a case, beside what all cases share."""
    import meco

    rows = np.random.default_rng(3).uniform(-5.0, 5.0, (20, DIM))
    given: dict[str, dict[str, Any]] = {
        "cheap": {"cheap": {"plane": lambda x: x @ fun.planes[:, 0] - fun.right}, "constraints": [fun.limits]},
        "known": {"evaluated": (rows, ((rows - 1.0) ** 2).sum(axis=1), fun.limits(rows))},
        "noisy": {"noise": True},
    }
    options = given.get(case, {})
    if case.endswith("folder"):
        options["checkpoint"] = folder
    if case.startswith(("asynchronous", "unanswered")):
        options["workers"] = meco.Workers(2, asynchronous=True)
    return options


def measure_case(case: str, seconds: float, constraints: int) -> str:
    """A row of the table."""
    import meco

    fun, cpu = Planes(constraints, case), [float("nan")]
    with tempfile.TemporaryDirectory() as folder:
        given = options_of(case, fun, folder)
        watch = threading.Timer(seconds, lambda: cpu.__setitem__(0, time.process_time()))
        watch.start()
        start = time.perf_counter()
        result = meco.minimize(fun, [(-5.0, 5.0)] * DIM, budget=1_000_000, seed=1, stop=seconds, **given)
        late, busy = time.perf_counter() - start - seconds, time.process_time() - cpu[0]
        watch.join()
    start = time.perf_counter()
    str(result), str(result.limits)
    said = f"{late:12.2f} {busy:10.2f} {time.perf_counter() - start:9.2f}"
    return f"{case:<18} {seconds:4g} {result.nfev:7d} {said}  {result.run.stop_reason}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    parser.add_argument("--seconds", nargs="+", type=float, default=[3.0, 8.0])
    parser.add_argument("--constraints", type=int, default=100_000)
    parser.add_argument("--source", type=Path, default=HERE, help="a folder of sources of another version")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(measure_case(args.one, args.seconds[0], args.constraints))
        return
    print(f"{'case':<18} {'T':>4} {'calls':>7} {'s after T':>12} {'CPU s':>10} {'print s':>9}  stopped by")
    pinned = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(args.source)}
    for case in args.cases:
        for seconds in args.seconds:
            command = [sys.executable, __file__, "--one", case, "--seconds", f"{seconds}"]
            command += ["--constraints", f"{args.constraints}"]
            subprocess.run(command, env=os.environ | pinned, check=True)


if __name__ == "__main__":
    main()
