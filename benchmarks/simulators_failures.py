"""A simulator that fails in places: answers and failed calls of ours and of peers, five kinds of failures and a toy.

    python benchmarks/simulators.py failures --processes 16 --out failures.jsonl
    python benchmarks/simulators.py show failures.jsonl other.jsonl

Beside: the optimum touches the border of a half space that fails. Islands: a wave, three tenths of the box. Most:
all beyond a ball fails, six tenths of the box. Pocket: a ball between the middle and the optimum. Chance: every fifth
point, by a hash. None: nothing fails, for comparison. The toy: three variables, two thirds of the box fail, f falls
towards what fails. 30 D evaluations. With --out runs are kept, and a second call goes on with them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from kept_runs import KeptRuns
from simulators_base import Answer, Counter, draw_problem, find_optimum, installed, make_parser, run_method
from simulators_show import show_failures

TOY_LEAST, TOY_BUDGET = 2.7939, 150
KINDS = ("beside", "islands", "most", "pocket", "chance")


def draw_failures(kind: str, dim: int, seed: int, optimum: np.ndarray) -> Callable[[np.ndarray], bool]:
    """Which points x [D] fail; the optimum does not."""
    if kind == "none":
        return lambda x: False
    rng = np.random.default_rng([11, seed, dim])
    u = rng.random((4000, dim))
    if kind == "chance":
        return lambda x: hashlib.sha256(x.tobytes() + bytes([seed])).digest()[0] / 256 < 0.2
    if kind == "beside":
        normal = rng.standard_normal(dim)
        normal /= np.linalg.norm(normal)
        return lambda x: float(normal @ (x - optimum)) > 1e-9
    if kind == "islands":
        phase = rng.uniform(0, 1, dim)
        limit = max(np.quantile(wave(u, phase), 0.7), wave(optimum, phase) + 0.2)
        return lambda x: bool(wave(x, phase) > limit)
    if kind == "most":
        middle = np.clip(optimum + 0.15 * rng.standard_normal(dim) / np.sqrt(dim), 0, 1)
        limit = max(np.quantile(square_distance(u, middle), 0.4), 1.05 * square_distance(optimum, middle))
        return lambda x: bool(square_distance(x, middle) > limit)
    middle = 0.5 * (optimum + 0.5) + 0.05 * rng.standard_normal(dim) / np.sqrt(dim)
    limit = min(np.quantile(square_distance(u, middle), 0.2), 0.9 * square_distance(optimum, middle))
    return lambda x: bool(square_distance(x, middle) < limit)


def wave(x: np.ndarray, phase: np.ndarray) -> np.ndarray:
    """A sum of sines along the variables: [..., D] -> [...]."""
    return np.sin(2 * np.pi * (1.5 * x + phase)).sum(-1)


def square_distance(x: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """Of points [..., D] from a middle [D]: [...]."""
    return ((x - middle) ** 2).sum(-1)


def failing_problem(kind: str, dim: int, seed: int) -> tuple[Callable[[np.ndarray], Answer | None], float]:
    """A problem that gives None where it fails, and its least f."""
    least, optimum = find_optimum(dim, seed)
    problem, fails = draw_problem(dim, seed), draw_failures(kind, dim, seed, optimum)
    return (lambda x: None if fails(x) else problem(x)), least


def toy(x: np.ndarray) -> Answer | None:
    """Fails in two thirds of the unit cube; the least f, 2.7939, lies on the border of that."""
    y = 4.0 * x - 2.0
    if y[0] > -0.67:
        return None
    return float(((y - [1.0, 0.5, -0.3]) ** 2).sum()), np.array([y[1] + y[2] - 0.1])


def best_answer(count: Counter) -> float:
    """The least f of the points that keep the constraints."""
    return min((told[0] for _, told in count.points if told is not None and (told[1] <= 1e-8).all()), default=np.inf)


def main(arguments: list[str]) -> None:
    """Make the runs that are not there yet, and print the table of all."""
    args = make_parser(__doc__, ("toy", "none", *KINDS)).parse_args(arguments)
    keep = KeptRuns(args.out)
    keys = [
        ["failures", kind, dim, TOY_BUDGET if kind == "toy" else 30 * dim, seed, method]
        for method in installed(args.methods)
        for kind in args.kinds
        for dim in ([3] if kind == "toy" else args.dims)
        for seed in range(args.first_seed, args.first_seed + args.seeds)
    ]
    keep.fill(keys, run_failing, args.processes)
    show_failures(keep.pairs())


def run_failing(key: list[Any]) -> dict[str, float | None]:
    """f of the answer by the least f, None where no point is feasible; failed calls, and seconds."""
    _, kind, dim, budget, seed, method = key
    if kind == "toy":
        fun, least, n_ineq = toy, TOY_LEAST, 1
    else:
        (fun, least), n_ineq = failing_problem(kind, dim, seed), 2
    count = Counter(fun, budget, n_ineq)
    _, seconds = run_method(method, count, dim, seed)
    over = best_answer(count) / least
    failed = sum(told is None for _, told in count.points)
    return {"over": over if np.isfinite(over) else None, "failed": failed, "seconds": seconds}
