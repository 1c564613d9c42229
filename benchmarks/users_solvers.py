"""Solvers of several libraries on a design, each called as its own documentation recommends.

A Judge stands before the design: it counts, ends the run when the budget is spent, and remembers the best feasible
point. Objective and constraints of a point are one evaluation however often they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from peers import Spent
from users_problems import Design


class Values(NamedTuple):
    """What one evaluation says; nan everywhere where it crashed."""

    f: float
    g: np.ndarray
    h: np.ndarray

    @property
    def crashed(self) -> bool:
        return not np.isfinite(self.f)


class Judge:
    """Counts evaluations of a design and keeps the best feasible f."""

    def __init__(self, design: Design, budget: int) -> None:
        self.design, self.left, self.best = design, budget, np.inf
        self.tries = 2 * budget  # points that a sampler may ask for: one asked for twice costs nothing
        self.low, self.high = np.array(design.bounds, dtype=float).T
        self.integer = np.isin(np.arange(design.dim), design.integer)
        self.known: dict[bytes, Values] = {}

    def __call__(self, x: Any) -> Values:
        x = np.clip(np.asarray(x, dtype=float), self.low, self.high)
        x = np.where(self.integer, np.round(x), x)
        key = x.tobytes()
        if key not in self.known:
            if self.left == 0:
                raise Spent
            self.left -= 1
            self.known[key] = values = self._evaluated(x)
            if not values.crashed and (values.g <= 0).all() and (np.abs(values.h) <= self.design.eq_tol).all():
                self.best = min(self.best, values.f)
        return self.known[key]

    def box(self, u: Any) -> np.ndarray:
        """A point of the unit cube in the box."""
        return self.low + (self.high - self.low) * np.clip(u, 0.0, 1.0)

    def raw(self, x: Any) -> dict[str, Any]:
        """The design itself, crashes included, for a solver that understands them."""
        values = self(x)
        if values.crashed:
            raise RuntimeError("the simulation crashed")
        return {"f": values.f, "g": values.g, "h": values.h}

    def _evaluated(self, x: np.ndarray) -> Values:
        try:
            told = self.design.fun(x)
            parts = [np.array([*told.get(key, {}).values()], dtype=float) for key in ("g", "h")]
            return Values(float(told["f"]), *parts)
        except (ValueError, RuntimeError, ZeroDivisionError, OverflowError):
            return Values(np.nan, np.full(self.design.n_ineq, np.nan), np.full(self.design.n_eq, np.nan))

    def over(self, x: Any) -> np.ndarray:
        """All constraints as c <= 0, equalities by their tolerance; large where it crashed."""
        values = self(x)
        c = np.concatenate([values.g, np.abs(values.h) - self.design.eq_tol])
        return np.where(np.isfinite(c), c, 1e10)

    def suggest(self, trial: Any) -> list[float]:
        """The point that an Optuna trial suggests."""
        return [
            trial.suggest_int(f"x{i}", int(low), int(high)) if integer else trial.suggest_float(f"x{i}", low, high)
            for i, (low, high, integer) in enumerate(zip(self.low, self.high, self.integer))
        ]


def meco_minimize(judge: Judge, seed: int, method: str | None = None) -> None:
    """minimize() with its defaults, or with another method."""
    import meco

    meco.minimize(
        judge.raw,
        judge.design.variables(),
        method=meco.methods.DEFAULT if method is None else method,
        budget=judge.left,
        seed=seed,
        tolerances=meco.Tolerances(eq=judge.design.eq_tol),
        on_error="penalize",
    )


def scipy_de(judge: Judge, seed: int) -> None:
    """differential_evolution with its defaults and a NonlinearConstraint; crashes are inf, as it asks."""
    from scipy.optimize import NonlinearConstraint, differential_evolution

    def objective(x: np.ndarray) -> float:
        return np.inf if judge(x).crashed else judge(x).f

    differential_evolution(
        objective, list(zip(judge.low, judge.high)), constraints=NonlinearConstraint(judge.over, -np.inf, 0.0),
        rng=seed, integrality=judge.integer, maxiter=10**6,
    )  # fmt: skip


def cobyqa(judge: Judge, seed: int) -> None:
    """COBYQA from the middle of the box, then from random points while evaluations are left.

    In the unit cube, as variables of like size are asked for; its own scale misses equalities (SciPy 1.17).
    """
    from scipy.optimize import Bounds, NonlinearConstraint, minimize

    rng, design = np.random.default_rng(seed), judge.design
    low = np.concatenate([np.full(design.n_ineq, -np.inf), np.zeros(design.n_eq)])
    limits = NonlinearConstraint(lambda u: np.concatenate(judge(judge.box(u))[1:]), low, np.zeros(low.size))
    start, box = np.full(design.dim, 0.5), Bounds(np.zeros(design.dim), np.ones(design.dim))
    while True:
        judge(judge.box(start))
        minimize(
            lambda u: judge(judge.box(u)).f, start, method="COBYQA", bounds=box, constraints=limits,
            options={"maxfev": 10**6, "initial_tr_radius": 0.25},
        )  # fmt: skip
        start = rng.random(design.dim)


def pycma_al(judge: Judge, seed: int) -> None:
    """fmin_con2, the augmented Lagrangian, in the unit cube; an equality as two inequalities, integers rounded."""
    import cma

    def limits(u: np.ndarray) -> list[float]:
        values, allowed = judge(judge.box(u)), judge.design.eq_tol
        c = np.concatenate([values.g, values.h - allowed, -values.h - allowed])
        return np.nan_to_num(c, nan=1e10).tolist()

    while True:
        options = {"bounds": [0, 1], "seed": seed + 1, "verbose": -9}
        cma.fmin_con2(lambda u: judge(judge.box(u)).f, np.full(judge.design.dim, 0.5), 0.25, limits, options=options)
        seed += 1000


def optuna_tpe(judge: Judge, seed: int) -> None:
    """TPE with constraints_func."""
    import optuna

    _optuna(judge, lambda told: optuna.samplers.TPESampler(seed=seed, constraints_func=told))


def optuna_gp(judge: Judge, seed: int) -> None:
    """GPSampler with constraints_func."""
    import optuna

    _optuna(judge, lambda told: optuna.samplers.GPSampler(seed=seed, constraints_func=told))


def _optuna(judge: Judge, sampler: Callable[[Any], Any]) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: Any) -> float:
        x = judge.suggest(trial)
        trial.set_user_attr("over", judge.over(x).tolist())
        if judge(x).crashed:
            raise optuna.TrialPruned
        return judge(x).f

    study = optuna.create_study(sampler=sampler(lambda trial: trial.user_attrs["over"]))
    for _ in range(judge.tries):
        study.optimize(objective, n_trials=1)


def pymoo_ga(judge: Judge, seed: int) -> None:
    """GA with its defaults; integers repaired by rounding."""
    from pymoo.algorithms.soo.nonconvex.ga import GA

    _pymoo(judge, seed, GA(pop_size=min(100, judge.left // 5), eliminate_duplicates=True, repair=_rounding(judge)))


def pymoo_isres(judge: Judge, seed: int) -> None:
    """ISRES as in its documentation, with fewer offspring where the budget holds less than five generations."""
    from pymoo.algorithms.soo.nonconvex.isres import ISRES

    _pymoo(judge, seed, ISRES(n_offsprings=min(200, judge.left // 5), rule=1.0 / 7.0, gamma=0.85, alpha=0.2))


def _rounding(judge: Judge) -> Any:
    from pymoo.core.repair import Repair

    class Rounding(Repair):
        def _do(self, problem: Any, x: np.ndarray, **kwargs: Any) -> np.ndarray:
            return np.where(judge.integer, np.round(x), x)

    return Rounding()


def _pymoo(judge: Judge, seed: int, algorithm: Any) -> None:
    from pymoo.core.problem import ElementwiseProblem
    from pymoo.optimize import minimize

    design = judge.design

    class Wrapped(ElementwiseProblem):
        def _evaluate(self, x: np.ndarray, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            values = judge(x)
            out["F"] = np.nan_to_num(values.f, nan=1e20)
            out["G"] = np.nan_to_num(judge.over(x), posinf=1e10)

    problem = Wrapped(n_var=design.dim, n_obj=1, n_ieq_constr=design.n_ineq + design.n_eq, xl=judge.low, xu=judge.high)
    minimize(problem, algorithm, ("n_gen", 10**6), seed=seed)


SOLVERS: dict[str, Callable[[Judge, int], None]] = {
    "MeCO": meco_minimize,
    "SciPy DE": scipy_de,
    "COBYQA": cobyqa,
    "pycma AL": pycma_al,
    "Optuna TPE": optuna_tpe,
    "Optuna GP": optuna_gp,
    "pymoo GA": pymoo_ga,
    "pymoo ISRES": pymoo_isres,
}
