"""Problems behind the sections on failures and noise, and peers that are called on them.

Drawn problems, in D variables of the unit cube: a curved valley, f >= 1, under two curved inequalities; a seed draws
one. NOMAD needs PyNomadBBO, CMA-ES and TPE the extra "baselines" of this repository's benchmarks (cma, optuna); a peer
that is not installed is named on stderr and left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

import s2mpj
from peers import Spent
from peers.nomad import search_by_nomad
from reserve import without_reserve

Answer = tuple[float, np.ndarray]
BIG = 1e3  # what peers that know no failures are told of one


def draw_problem(dim: int, seed: int) -> Callable[[np.ndarray], Answer]:
    """x [D] -> f and g [2]."""
    rng = np.random.default_rng([7, seed, dim])
    target = rng.uniform(0.2, 0.8, dim)
    turn = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    rng.uniform(0, 1, dim)
    touched = rng.uniform(0.2, 0.8, dim)
    normal = rng.standard_normal(dim)
    normal /= np.linalg.norm(normal)

    def fun(x: np.ndarray) -> Answer:
        z, off = 4.0 * (turn.T @ (x - target)), x - touched
        f = 1.0 + float((z**2).mean() + 5.0 * ((z[1:] - z[:-1] ** 2) ** 2).mean())
        return f, np.array([float(normal @ off + 0.5 * (off @ off)), float(np.cos(3.0 * x).sum() / dim - 0.8)])

    return fun


class UnitProblem(NamedTuple):
    """A function of the unit cube, f and g [p], with the least f that is known."""

    name: str
    dim: int
    n_ineq: int
    fun: Callable[[np.ndarray], Answer]
    least: float


CUTEST = (  # 40 open ones without equalities; those of the reserve are not run
    "CAMSHAPE", "CB2", "CB3", "CRESC4", "DEMYMALO", "DIPIGRI", "HS101", "HS103", "HS113", "HS117", "HS11", "HS13",
    "HS15", "HS17", "HS19", "HS23", "HS29", "HS31", "HS33", "HS43", "HS57", "HS59", "HS65", "HS67", "HS83", "HS85",
    "HS89", "HS91", "HS93", "HS95", "HS97", "KIWCRESC", "MADSSCHJ", "MATRIX2", "MINMAXBD", "MINMAXRB", "MISTAKE",
    "POLAK1", "POLAK3", "POLAK4",
)  # fmt: skip


def list_names(kind: str, dims: list[int]) -> list[tuple[str, int]]:
    """Names and numbers of variables of a kind's problems: drawn ones, users' designs that are continuous and have no
    equalities, or CUTEst's."""
    if kind == "drawn":
        return [(f"valley {dim}", dim) for dim in dims]
    names = [design.name for design in _users_designs()] if kind == "users" else without_reserve("cutest", CUTEST)
    return [(name, find_problem(kind, name, 0).dim) for name in names]


@cache
def find_problem(kind: str, name: str, seed: int) -> UnitProblem:
    """The problem of this name; drawn ones are drawn by the seed."""
    if kind == "drawn":
        dim = int(name.removeprefix("valley "))
        return UnitProblem(name, dim, 2, draw_problem(dim, seed), find_optimum(dim, seed)[0])
    if kind == "users":
        d = next(design for design in _users_designs() if design.name == name)
        return UnitProblem(name, d.dim, d.n_ineq, _in_cube(_values_of_design(d.fun), np.array(d.bounds).T), d.best)
    return _open_cutest(s2mpj.make_problem(f"S2MPJ-{name}"))


def _users_designs() -> list[Any]:
    from users_problems import DESIGNS

    return [design for design in DESIGNS if not design.integer and not design.n_eq]


def _open_cutest(problem: Any) -> UnitProblem:
    def values(x: np.ndarray) -> Answer:
        f, g, _ = problem.raw(x)
        return float(f), np.asarray(g)

    box = np.stack([problem.lower, problem.upper])
    return UnitProblem(problem.name, problem.dim, len(values(problem.x0)[1]), _in_cube(values, box), problem.best_known)


def _values_of_design(fun: Callable[[np.ndarray], dict[str, Any]]) -> Callable[[np.ndarray], Answer]:
    def values(x: np.ndarray) -> Answer:
        told = fun(x)
        return float(told["f"]), np.array([*told["g"].values()], dtype=float)

    return values


def _in_cube(values: Callable[[np.ndarray], Answer], box: np.ndarray) -> Callable[[np.ndarray], Answer]:
    low, high = box
    return lambda u: values(low + np.clip(u, 0.0, 1.0) * (high - low))


@cache
def find_optimum(dim: int, seed: int) -> tuple[float, np.ndarray]:
    """f and x of the best of several runs of SLSQP."""
    fun, rng, best = draw_problem(dim, seed), np.random.default_rng(0), (np.inf, np.full(dim, 0.5))
    for _ in range(8):
        limits = {"type": "ineq", "fun": lambda x: -fun(x)[1]}
        found = minimize(
            lambda x: fun(x)[0], rng.random(dim), bounds=[(0, 1)] * dim, constraints=limits,
            options={"maxiter": 500, "ftol": 1e-13},
        )  # fmt: skip
        if fun(found.x)[1].max() < 1e-7 and found.fun < best[0]:
            best = found.fun, found.x
    return best


class Counter:
    """Calls a function until the budget is spent; keeps every point with what came."""

    def __init__(self, fun: Callable[[np.ndarray], Answer | None], budget: int, n_ineq: int = 2) -> None:
        self.fun, self.left, self.n_ineq = fun, budget, n_ineq
        self.points: list[tuple[np.ndarray, Answer | None]] = []
        self.known: dict[bytes, Answer | None] = {}

    def __call__(self, x: Any) -> Answer | None:
        if self.left == 0:
            raise Spent
        x = np.clip(np.asarray(x, dtype=float), 0.0, 1.0)
        self.left -= 1
        self.points.append((x, self.fun(x)))
        return self.points[-1][1]

    def once(self, x: Any) -> Answer:
        """The same, but no point is called twice: solvers ask for f and for g. A failure is a large number."""
        x = np.clip(np.asarray(x, dtype=float), 0.0, 1.0)
        if x.tobytes() not in self.known:
            self.known[x.tobytes()] = self(x)
        found = self.known[x.tobytes()]
        return (BIG, np.full(self.n_ineq, BIG)) if found is None else found


def run_cobyqa(count: Counter, dim: int, seed: int) -> None:
    """SciPy's COBYQA from the middle, then from random points."""
    _restart(count, dim, seed, "COBYQA", {"initial_tr_radius": 0.25})


def run_cobyla(count: Counter, dim: int, seed: int) -> None:
    """SciPy's COBYLA from the middle, then from random points."""
    _restart(count, dim, seed, "COBYLA", {"rhobeg": 0.25})


def _restart(count: Counter, dim: int, seed: int, method: str, options: dict[str, float]) -> None:
    from scipy.optimize import NonlinearConstraint

    rng, start = np.random.default_rng(seed), np.full(dim, 0.5)
    while True:
        limits = NonlinearConstraint(lambda x: count.once(x)[1], -np.inf, 0.0)
        minimize(
            lambda x: count.once(x)[0], start, method=method, bounds=[(0, 1)] * dim, constraints=limits,
            options=options,
        )  # fmt: skip
        start = rng.random(dim)


def run_de(count: Counter, dim: int, seed: int) -> None:
    """SciPy's differential evolution."""
    from scipy.optimize import NonlinearConstraint, differential_evolution

    limits = NonlinearConstraint(lambda x: count.once(x)[1], -np.inf, 0.0)
    differential_evolution(
        lambda x: count.once(x)[0], [(0, 1)] * dim, constraints=limits, rng=seed, maxiter=10**6, popsize=5,
        polish=False,
    )  # fmt: skip


def run_optuna(count: Counter, dim: int, seed: int) -> None:
    """Optuna's TPE with constraints; a failure is a failed trial."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    sampler = optuna.samplers.TPESampler(
        seed=seed, constraints_func=lambda trial: trial.user_attrs.get("g", [BIG] * count.n_ineq)
    )
    study = optuna.create_study(sampler=sampler)
    while count.left:
        trial = study.ask()
        found = count(np.array([trial.suggest_float(f"x{j}", 0.0, 1.0) for j in range(dim)]))
        if found is None:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            trial.set_user_attr("g", found[1].tolist())
            study.tell(trial, found[0])


def run_cma(count: Counter, dim: int, seed: int) -> None:
    """pycma's augmented Lagrangian, fmin_con2."""
    import cma

    while True:
        options = {"bounds": [0, 1], "seed": seed + 1, "verbose": -9}
        cma.fmin_con2(
            lambda u: count.once(u)[0], np.full(dim, 0.5), 0.25, lambda u: count.once(u)[1].tolist(), options=options
        )
        seed += 1000


def run_nomad(count: Counter, dim: int, seed: int) -> None:
    """PyNomad from the middle, then from random points: f, progressive barriers for g; a failure is no value."""
    rng, start = np.random.default_rng(seed), np.full(dim, 0.5)
    outputs = ["OBJ", *["PB"] * count.n_ineq]

    def values(x: np.ndarray) -> list[float] | None:
        found = count(x)
        return None if found is None else [found[0], *found[1]]

    while count.left:
        search_by_nomad(values, start, np.zeros(dim), np.ones(dim), outputs, count.left, seed)
        start, seed = rng.random(dim), seed + 1000


PEERS = {
    "NOMAD": run_nomad,
    "COBYQA": run_cobyqa,
    "COBYLA": run_cobyla,
    "SciPy DE": run_de,
    "Optuna TPE": run_optuna,
    "pycma": run_cma,
}
PACKAGES = {"NOMAD": "PyNomad", "Optuna TPE": "optuna", "pycma": "cma"}


def installed(methods: list[str]) -> list[str]:
    """Those of the methods whose package is there; the others are named on stderr."""
    missing = [m for m in methods if m in PACKAGES and importlib.util.find_spec(PACKAGES[m]) is None]
    for method in missing:
        print(f"LEFT OUT: {method} needs {PACKAGES[method]}, which is not installed", file=sys.stderr)
    return [m for m in methods if m not in missing]


def run_method(method: str, count: Counter, dim: int, seed: int) -> tuple[Any, float]:
    """Spend the budget of a counter by a method: the result, None of a peer, and the CPU time in seconds.

    A method of ours may have a label after a blank, as in "TR 0.2.0", where another version of meco is imported.
    """
    begun, result = time.process_time(), None
    with warnings.catch_warnings(), suppress(Spent):
        warnings.simplefilter("ignore")
        if method in PEERS:
            PEERS[method](count, dim, seed)
        else:
            import meco

            def answer(x: np.ndarray) -> Any:
                return np.nan if (found := count(x)) is None else found

            result = meco.minimize(answer, [(0, 1)] * dim, budget=count.left, seed=seed, method=method.split()[0])
    return result, time.process_time() - begun


def make_parser(description: str | None, kinds: tuple[str, ...]) -> argparse.ArgumentParser:
    """The options that sections with runs in pieces share."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", default=list(kinds), choices=kinds)
    parser.add_argument("--methods", nargs="+", default=["TR", *PEERS], help="ours and peers")
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--dims", type=int, nargs="+", default=[2, 5, 10], help="of drawn problems")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", help="a file that keeps the runs as lines of JSON")
    return parser
