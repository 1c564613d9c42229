"""Noise on f and constraints: the true f and the true feasibility of the answers, and whether `success` is right.

    python benchmarks/simulators.py noise --kinds users cutest --processes 16 --out noise.jsonl
    python benchmarks/simulators.py show noise.jsonl other.jsonl

Noise of a level is that share of the 10-90 % range of each function over the second half of a run without noise; these
ranges are made first, and kept beside the runs. The answer of a peer is the best by the values that it was told. 50 D
evaluations. Off: (true f - least f that is known) / max(1, |least|). Success is right where it is False, or the
constraints are truly kept. With --out runs are kept, and a second call goes on with them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import meco
from kept_runs import KeptRuns
from simulators_base import (
    PEERS,
    Answer,
    Counter,
    UnitProblem,
    find_problem,
    installed,
    list_names,
    make_parser,
    run_method,
)
from simulators_show import show_noise

PER_VARIABLE = 50  # evaluations
FEASIBLE = 1e-6  # what g may be above 0 by, in the problem's own units


def main(arguments: list[str]) -> None:
    """Make the runs that are not there yet, and print the table of all."""
    parser = make_parser(__doc__, ("users", "cutest", "drawn"))
    parser.add_argument("--levels", type=float, nargs="+", default=[1e-3, 1e-2, 1e-1])
    parser.add_argument("--names", nargs="+", help="of problems, if not all of a kind")
    args = parser.parse_args(arguments)
    keep = KeptRuns(args.out)
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    problems = [
        (kind, name, PER_VARIABLE * dim, seed)
        for kind in args.kinds
        for name, dim in list_names(kind, args.dims)
        for seed in seeds
        if args.names is None or name in args.names
    ]
    keep.fill([["range", *problem] for problem in problems], measure_range, args.processes)
    ranges = {problem: keep.rows_of("range", *problem) for problem in problems}
    known = {problem: found[0] for problem, found in ranges.items() if found}
    keys = [
        ["noise", *problem, level, method]
        for method in installed(args.methods)
        for level in args.levels
        for problem in problems
        if problem in known
    ]
    keep.fill(keys, partial(run_noisy, known), args.processes)
    show_noise(keep.pairs())


def measure_range(key: list[Any]) -> list[float]:
    """The 10-90 % range of f and of each constraint over the second half of a run without noise: [1 + p]."""
    _, kind, name, budget, seed = key
    problem = find_problem(kind, name, seed)
    every = meco.minimize(problem.fun, [(0, 1)] * problem.dim, budget=budget, seed=seed).evaluations
    late = slice(len(every) // 2, None)
    values = np.concatenate([every.f[late, None], every.g[late]], axis=1)
    return (np.nanquantile(values, 0.9, axis=0) - np.nanquantile(values, 0.1, axis=0)).tolist()


def run_noisy(ranges: dict[tuple[Any, ...], list[float]], key: list[Any]) -> dict[str, Any]:
    """How far the true f of the answer is off, whether it truly keeps the constraints, whether success is right."""
    _, kind, name, budget, seed, level, method = key
    problem = find_problem(kind, name, seed)
    size = level * np.array(ranges[kind, name, budget, seed])
    count = Counter(add_noise(problem, size, np.random.default_rng([seed, problem.dim])), budget, problem.n_ineq)
    result, seconds = run_method(method, count, problem.dim, seed)
    if method in PEERS:
        kept = [(told[0], x) for x, told in count.points if told is not None and (told[1] <= 0.0).all()]
        x, said = (min(kept, key=lambda pair: pair[0])[1], True) if kept else (count.points[0][0], False)
    else:
        x, said = result.x, bool(result.success)
    f, g = problem.fun(x)
    keeps = bool((g <= FEASIBLE).all())
    off = (f - problem.least) / max(1.0, abs(problem.least))
    return {"off": off, "feasible": keeps, "right": keeps or not said, "seconds": seconds}


def add_noise(problem: UnitProblem, size: np.ndarray, rng: np.random.Generator) -> Any:
    """The function of a problem with normal noise of standard deviations size [1 + p]."""

    def fun(x: np.ndarray) -> Answer:
        f, g = problem.fun(x)
        noise = size * rng.standard_normal(size.size)
        return f + noise[0], g + noise[1:]

    return fun
