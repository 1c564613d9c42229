"""A simulator that fails in places: answers and failed calls of ours and of peers, five kinds of failures and a toy.

Beside: the optimum touches the border of a half space that fails. Islands: a wave, three tenths of the box. Most:
all beyond a ball fails, six tenths of the box. Pocket: a ball between the middle and the optimum. Chance: every fifth
point, by a hash. The toy: three variables, two thirds of the box fail, f falls towards what fails. 30 D evaluations.
"""

from __future__ import annotations

import argparse
import hashlib
import warnings
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from simulators_base import PEERS, Answer, Counter, Spent, draw_problem, find_optimum

KINDS = ("beside", "islands", "most", "pocket", "chance")


def draw_failures(kind: str, dim: int, seed: int, optimum: np.ndarray) -> Callable[[np.ndarray], bool]:
    """Which points x [D] fail; the optimum does not."""
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


def run_solver(
    name: str, fun: Callable[[np.ndarray], Answer | None], dim: int, budget: int, seed: int, n_ineq: int = 2
) -> Counter:
    """Every call of one run."""
    count = Counter(fun, budget, n_ineq)
    with warnings.catch_warnings(), suppress(Spent):
        warnings.simplefilter("ignore")
        if name in PEERS:
            PEERS[name](count, dim, seed)
        else:
            import meco

            meco.minimize(
                lambda x: (np.nan if (found := count(x)) is None else found), [(0, 1)] * dim, budget=budget, seed=seed,
                method=name,
            )  # fmt: skip
    return count


def best_answer(count: Counter) -> float:
    """The least f of the points that keep the constraints."""
    return min((told[0] for _, told in count.points if told is not None and (told[1] <= 1e-8).all()), default=np.inf)


def main(arguments: list[str]) -> None:
    """Print a table for each number of variables, and the toy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--dims", type=int, nargs="+", default=[2, 5, 10])
    parser.add_argument("--solvers", nargs="+", default=["TR", *PEERS])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    args = parser.parse_args(arguments)
    print(f"{'':<10}{'D':>3}  {'solver':<12}{'median f':>11}{'over optimum':>14}{'failed of':>12}")
    for dim in args.dims:
        for kind in args.kinds:
            for solver in args.solvers:
                f, over, failed = [], [], []
                for seed in range(args.seeds):
                    fun, least = failing_problem(kind, dim, seed)
                    count = run_solver(solver, fun, dim, 30 * dim, seed)
                    f.append(best_answer(count))
                    over.append(f[-1] / least)
                    failed.append(sum(told is None for _, told in count.points))
                print(f"{kind:<10}{dim:>3}  {solver:<12}{np.median(f):>11.6g}{np.median(over):>14.6f}"
                      f"{int(np.median(failed)):>6} of {30 * dim}", flush=True)  # fmt: skip
    for solver in args.solvers:
        found = [run_solver(solver, toy, 3, 150, seed, n_ineq=1) for seed in range(args.seeds)]
        failed = [sum(told is None for _, told in count.points) for count in found]
        off = [best_answer(count) - 2.7939 for count in found]
        said = f"off by {np.median(off):.2e} (median), failed {failed} of 150"
        print(f"{'toy':<10}{3:>3}  {solver:<12} {said}", flush=True)
