"""How the cost of an evaluation grows, and the memory of a run: over D, constraints, budget and runs in lockstep.

    python benchmarks/scale.py [--methods SHADE TR] [--limit 60] [--axes D constraints]

CPU microseconds of the optimizer per evaluation, the smallest of what fits into a second (one run at least), on a sum
of squares with plane constraints, which itself takes almost nothing. Each point is added to results/scale.json
when it is measured; what is there already is not measured again, so a broken-off run goes on. Once a method passes
--limit seconds along an axis, larger values are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import tracemalloc
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import meco
from _side_by_side import machine
from overhead import make_trivial_problem

KEPT = Path(__file__).parent / "results" / "scale.json"
METHODS = ("SHADE", "MA-ES", "MeCO", "TR")
TRIED = 1.0  # seconds
AXES = {  # what grows, and what stays as it is meanwhile
    "D": ((5, 10, 20, 50, 100, 200, 300, 1000), {"constraints": 2, "runs": 1}),
    "constraints": ((0, 2, 10, 100, 1000, 10_000), {"D": 10, "budget": 200, "runs": 1}),
    "runs": ((1, 8, 32, 128), {"D": 10, "constraints": 2, "budget": 200}),
    "budget": ((100, 1000, 10_000, 30_000, 100_000), {"D": 10, "constraints": 2, "runs": 1}),
}


def measure(method: str, D: int, constraints: int, runs: int, budget: int | None = None) -> dict[str, float]:
    """Microseconds per evaluation of one run, bytes per run at the peak, and the seconds of one batch."""
    short = 3 * D + 30  # TR's first points and some of its models
    problem, budget = make_trivial_problem(D, constraints), short if budget is None else budget

    def batch() -> float:
        start = time.process_time()
        meco.solve(method, problem, budget, seeds=range(runs))
        return time.process_time() - start

    meco.solve(method, problem, min(budget, 100), seeds=range(min(runs, 2)))  # imports are over
    seconds, spent = (first := batch()), first
    while spent < TRIED:
        seconds = min(seconds, again := batch())
        spent += again
    tracemalloc.start()
    meco.solve(method, problem, min(budget, short), seeds=range(runs))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"us": 1e6 * seconds / (budget * runs), "bytes": peak / runs, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--axes", nargs="+", default=AXES, choices=AXES)
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds of a batch, after which larger ones are not tried"
    )
    args = parser.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"machine": machine(), "points": {}}
    for axis in args.axes:
        values, fixed = AXES[axis]
        for method in args.methods:
            for value in values:
                name = f"{axis} {method} {value}"
                if name not in kept["points"]:
                    kept["points"][name] = measure(method, **{**fixed, axis: value})
                    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
                found = kept["points"][name]
                print(f"{name:28s} {found['us']:12.1f} us {found['bytes'] / 1e6:9.3f} MB", flush=True)
                if found["seconds"] > args.limit:
                    break


if __name__ == "__main__":
    main()
