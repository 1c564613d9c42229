"""Seconds per run of each method, how they grow, and what a cap on surrogate training sets costs.

    python benchmarks/baselines.py [--methods SHADE CMA-ES] [--jobs 8] > benchmarks/results/baselines.txt
    python benchmarks/baselines.py --parts cap --cap-runs 3 --jobs 16

CPU seconds of one core, one run alone; for engines that go in lockstep also the share of one run
among --lockstep runs. Growth is the exponent p of seconds ~ D^p at a fixed number of evaluations,
and of seconds ~ evaluations^p at a fixed D, between the ends of the range measured.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import meco
from meco.errors import MecoError

DIMENSIONS, EVALUATIONS = (10, 30, 50, 100), (500, 1000, 2500)
SURROGATES = ("COBRA", "SACOBRA")


class Job(NamedTuple):
    """One timed call of solve."""

    method: str
    problem: str
    dim: int
    budget: int
    seeds: tuple[int, ...] = (1,)
    options: dict[str, Any] = {}  # noqa: RUF012


class Timed(NamedTuple):
    """CPU seconds of a call, and the least f + nu of each of its runs."""

    seconds: float
    scores: list[float]


def timed(job: Job) -> Timed | str:
    """Run a job after a small one that loads what the method needs; or why it could not be run."""
    try:
        meco.solve(job.method, meco.get_problem(job.problem, dim=job.dim), 1, seeds=[0], **job.options)
        problem = meco.get_problem(job.problem, dim=job.dim)
        start = time.process_time()
        results = meco.solve(job.method, problem, job.budget, seeds=job.seeds, **job.options)
        return Timed(time.process_time() - start, [r.score for r in results])
    except (MecoError, ImportError) as error:
        return str(error)


def together(jobs: Iterable[Job], workers: int) -> Iterator[tuple[Job, Timed | str]]:
    """Jobs with their outcome, in order; workers > 1 spreads them over processes of one core each."""
    jobs = list(jobs)
    if workers == 1:
        yield from ((job, timed(job)) for job in jobs)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from zip(jobs, pool.map(timed, jobs))


def exponent(seconds: dict[int, float]) -> float:
    """p of seconds ~ size^p between the least and the largest size."""
    low, high = min(seconds), max(seconds)
    return math.log(seconds[high] / seconds[low]) / math.log(high / low)


def growth(args: argparse.Namespace) -> None:
    """The table of seconds per run."""
    sizes = [(d, EVALUATIONS[0]) for d in DIMENSIONS] + [(args.dim, e) for e in EVALUATIONS[1:]]
    jobs = [Job(m, args.problem, d, e) for m in args.methods for d, e in sizes]
    many = [m for m in args.methods if meco.METHODS[m].lockstep]
    jobs += [Job(m, args.problem, args.dim, EVALUATIONS[-1], tuple(range(args.lockstep))) for m in many]
    found = {(j.method, j.dim, j.budget, len(j.seeds)): t for j, t in together(jobs, args.jobs)}
    heads = [f"{d}D/{e}" for d, e in sizes]
    print(f"{args.problem}: CPU seconds of one run, D/evaluations\n")
    print(f"{'':14}" + "".join(f"{h:>11}" for h in heads) + f"{'in lockstep':>13}{'~D^p':>7}{'~evals^p':>10}")
    for method in args.methods:
        cells = {size: found[method, *size, 1] for size in sizes}
        broken = next((c for c in cells.values() if isinstance(c, str)), None)
        if broken is not None:
            print(f"{method:14} not measured: {broken}")
            continue
        seconds = {size: c.seconds for size, c in cells.items() if isinstance(c, Timed)}
        shared = found.get((method, args.dim, EVALUATIONS[-1], args.lockstep))
        part = f"{shared.seconds / args.lockstep:13.4f}" if isinstance(shared, Timed) else f"{'':13}"
        by_dim = exponent({d: seconds[d, EVALUATIONS[0]] for d in DIMENSIONS})
        by_evals = exponent({e: seconds[args.dim, e] for e in EVALUATIONS})
        print(
            f"{method:14}" + "".join(f"{s:11.3f}" for s in seconds.values()) + part + f"{by_dim:7.2f}{by_evals:10.2f}"
        )


def cap_cost(args: argparse.Namespace) -> None:
    """Surrogate methods with and without a cap on the training set."""
    methods = [m for m in args.methods if m in SURROGATES]
    if not methods:
        return
    seeds, caps = range(1, args.cap_runs + 1), (args.cap, None)
    jobs = [
        Job(m, p, args.dim, EVALUATIONS[-1], (s,), {"cap": c})
        for m in methods for p in args.cap_problems for c in caps for s in seeds
    ]  # fmt: skip
    found: dict[tuple[str, str, int | None], list[Timed]] = {}
    for job, outcome in together(jobs, args.jobs):
        if isinstance(outcome, str):
            raise SystemExit(f"{job.method} on {job.problem}: {outcome}")
        found.setdefault((job.method, job.problem, job.options["cap"]), []).append(outcome)
    print(f"\n{args.dim}D, {EVALUATIONS[-1]} evaluations, {args.cap_runs} runs: mean f + nu and CPU seconds of a run\n")
    print(f"{'':18}{f'cap {args.cap}':>12}{'no cap':>12}{'ratio':>8}{'seconds':>10}{'no cap':>10}")
    for method in methods:
        for problem in args.cap_problems:
            capped, full = (found[method, problem, c] for c in caps)
            a, b = (float(np.mean([t.scores for t in each])) for each in (capped, full))
            x, y = (float(np.mean([t.seconds for t in each])) for each in (capped, full))
            print(f"{method:10}{problem:8}{a:12.4g}{b:12.4g}{a / b:8.2f}{x:10.1f}{y:10.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(meco.METHODS), metavar="NAME")
    parser.add_argument("--parts", nargs="+", default=["growth", "cap"], choices=["growth", "cap"])
    parser.add_argument("--problem", default="C01")
    parser.add_argument("--dim", type=int, default=50, help="D at which evaluations grow")
    parser.add_argument("--lockstep", type=int, default=32, metavar="RUNS")
    parser.add_argument("--cap", type=int, default=600)
    parser.add_argument("--cap-problems", nargs="+", default=["C01", "C06", "C13", "C20"], metavar="NAME")
    parser.add_argument("--cap-runs", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes; give each a core of its own")
    args = parser.parse_args()
    args.methods = [meco.METHODS.resolve(m) for m in args.methods]
    print("versions: python " + sys.version.split()[0] + f", numpy {np.__version__}\n")
    if "growth" in args.parts:
        growth(args)
    if "cap" in args.parts:
        cap_cost(args)


if __name__ == "__main__":
    main()
