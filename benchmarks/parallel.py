"""Workers at work, and what proposing several points at once costs in quality.

    python benchmarks/parallel.py            (half an hour)
    python benchmarks/parallel.py use        (the first table alone, six minutes; quality is the other one)

First table: 8 workers and calls of uneven length (log-normal, mean 1 s), the share of their time that workers spend
in calls, start and end of the run included, of the default that waits for its batch and of the default that does not.

Second table: for 1, 4, 8 and 32 workers the same number of evaluations, 50 D up to 600. A batch is told together; with
asynchronous=True each answer is told when its call would have ended, and the next point is proposed then (call
lengths are drawn, nobody sleeps). Shown are the median of the relative gap to the best known f over five seeds and,
where a run found nothing feasible, how many did.
"""

from __future__ import annotations

import heapq
import sys
import time

import numpy as np

import meco
from _side_by_side import machine
from meco.methods import DEFAULT

WORKERS = (1, 4, 8, 32)
SEEDS = range(5)
PROBLEMS = ("RC17", "RC19", "RC20", "RC21", "RC22", "G-bowl-linear-0007", "G-valley-inside-0003", "G-ripples-ring-0002")
MOST = 600
METHOD = DEFAULT
SPREAD = 0.8  # standard deviation of the logarithm of a call's length
MEAN = 1.0  # seconds


def call_seconds(x: np.ndarray) -> float:
    """Seconds that a call of x takes."""
    seed = int.from_bytes(np.ascontiguousarray(x).tobytes(), "little") % (1 << 64)
    return MEAN * float(np.random.default_rng(seed).lognormal(-0.5 * SPREAD**2, SPREAD))


def slow_function(x: np.ndarray):
    """A smooth function with two constraints that takes its time."""
    time.sleep(call_seconds(x))
    return float(np.sum((x - 0.3) ** 2) + x[0] * x[1]), [0.5 - x[0] - x[1], float(x @ x) - 8.0]


def measure_use(asynchronous: bool, count: int = 8, budget: int = 800) -> tuple[float, float]:
    """Share of the workers' time spent in calls, and seconds of the run."""
    begun = time.monotonic()
    result = meco.minimize(
        slow_function,
        [(-2.0, 2.0)] * 8,
        budget=budget,
        seed=1,
        method=METHOD,
        workers=meco.Workers(count, asynchronous=asynchronous),
    )
    wall = time.monotonic() - begun
    return sum(call_seconds(x) for x in result.evaluations.x) / (count * wall), wall


def run_workers(name: str, count: int, asynchronous: bool, seed: int) -> meco.Result:
    """A run of so many workers that never sleeps."""
    problem = meco.get_problem(name)
    draw = np.random.default_rng([seed, count])
    optimizer = meco.Optimizer(
        meco.Variables.of(problem.lower, problem.upper, problem.integrality),
        problem.n_ineq,
        problem.n_eq,
        budget=min(50 * problem.dim, MOST),
        seed=seed,
        method=METHOD,
        tolerances=meco.Tolerances(ineq=problem.ineq_tol, eq=problem.eq_tol),
        workers=meco.Workers(batch=count, asynchronous=asynchronous),
    )
    now, calls, number = 0.0, [], 0  # (end, number, point) of each call under way
    while not optimizer.done:
        points = optimizer.ask(count - len(calls)) if asynchronous else optimizer.ask()
        for x in points:
            heapq.heappush(calls, (now + draw.lognormal(0.0, SPREAD), number, x))
            number += 1
        told = [heapq.heappop(calls) for _ in range(1 if asynchronous else len(calls))]
        now = told[-1][0]
        x = np.array([call[2] for call in told])
        f, g, h = problem.raw(x)
        optimizer.tell(x, f, g, h)
    return optimizer.result


def quality_row(name: str, kinds: list[tuple[int, bool]]) -> list[str]:
    """Median gap of the feasible runs of each kind, with their number where it is not all."""
    found = [[run_workers(name, count, asynchronous, seed) for seed in SEEDS] for count, asynchronous in kinds]
    known = meco.get_problem(name).best_known
    least = min([r.fun for runs in found for r in runs if r.feasible] + ([] if known is None else [known]))
    said = []
    for runs in found:
        gaps = [(r.fun - least) / max(abs(least), 1e-3) for r in runs if r.feasible]
        few = "" if len(gaps) == len(runs) else f" ({len(gaps)}/{len(runs)})"
        said.append((f"{max(np.median(gaps), 0.0):.1e}" if gaps else "none") + few)
    return said


def main() -> None:
    print(machine(), "\n")
    parts = sys.argv[1:] or ["use", "quality"]
    if "use" in parts:
        show_use()
    if "quality" in parts:
        show_quality()


def show_use() -> None:
    """The first table."""
    print("8 workers, 800 calls of uneven length, mean 1 s: share of the workers' time spent in calls")
    for asynchronous in (False, True):
        share, wall = measure_use(asynchronous)
        print(f"  asynchronous={asynchronous!s:5}  {share:.3f}  ({wall:.1f} s)", flush=True)
    print()


def show_quality() -> None:
    """The second table."""
    kinds = [(n, a) for a in (False, True) for n in WORKERS if n > 1 or not a]
    print(f"median relative gap to the best known f, {METHOD}, 50 D evaluations (at most {MOST}), {len(SEEDS)} seeds")
    print(f"{'':22}" + "".join(f"{('async ' if a else 'batch ') + str(n):>14}" for n, a in kinds))
    for name in PROBLEMS:
        print(f"{name:22}" + "".join(f"{text:>14}" for text in quality_row(name, kinds)), flush=True)


if __name__ == "__main__":
    main()
