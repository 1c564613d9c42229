"""Solvers of several libraries on mixed designs and on cheap constraints, each as its own documentation recommends.

A MixedJudge stands before the design: it counts expensive calls, ends the run when the budget is spent, and remembers
the best feasible point. Values of one point are one call however often they are asked for. Where a design has cheap
constraints, every solver may ask for them as often as it likes, and none has to call the design outside of them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from meco.variables import Variables

CRASHED = 1e10  # what solvers are told where a call was not made


class Spent(Exception):
    """The budget is spent."""


class MixedJudge:
    """Counts calls of a design and keeps the best feasible f; x holds categories by their places."""

    def __init__(self, design: Any, budget: int) -> None:
        self.design, self.budget, self.calls, self.best, self.outside = design, budget, 0, np.inf, 0
        self.variables = Variables.read(design.variables)
        self.low, self.high = self.variables.lower, self.variables.upper
        self.whole = self.variables.column("integer")
        self.known: dict[bytes, tuple[float, np.ndarray]] = {}
        self.n_ineq = len(self._ask(self.low)[1])

    def _ask(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        told = self.design.fun(self.variables.as_dict(x))
        return float(told["f"]), np.array([*told["g"].values()], dtype=float)

    def clean(self, x: Any) -> np.ndarray:
        """A point inside the box, with whole numbers."""
        x = np.clip(np.asarray(x, dtype=float), self.low, self.high)
        return np.where(self.whole, np.round(x), x) + 0.0

    def cheap(self, x: Any) -> np.ndarray:
        """Cheap constraints at a point, as many times as one likes."""
        given = getattr(self.design, "cheap", None)
        return np.zeros(0) if given is None else np.array([*given(self.variables.as_dict(self.clean(x))).values()])

    def __call__(self, x: Any) -> tuple[float, np.ndarray]:
        """f and g of a point: one expensive call."""
        x = self.clean(x)
        key = x.tobytes()
        if key not in self.known:
            if self.calls >= self.budget:
                raise Spent
            self.calls += 1
            self.known[key] = f, g = self._ask(x)
            cheap = self.cheap(x)
            self.outside += bool((cheap > 0).any())
            if (g <= 0).all() and (cheap <= 0).all():
                self.best = min(self.best, f)
        return self.known[key]

    def careful(self, x: Any) -> tuple[float, np.ndarray]:
        """f, and all constraints with the cheap ones first; outside of these nothing is called."""
        cheap = self.cheap(x)
        if (cheap > 0).any():
            return CRASHED, np.concatenate([cheap, np.full(self.n_ineq, CRASHED)])
        f, g = self(x)
        return f, np.concatenate([cheap, g])


def meco_default(judge: MixedJudge, seed: int) -> None:
    """minimize() with its defaults."""
    import meco

    cheap = getattr(judge.design, "cheap", None)
    named = None if cheap is None else (lambda d: [*cheap(d).values()])

    def fun(d: dict[str, Any]) -> Any:
        return judge(judge.variables.as_array(d))

    meco.minimize(fun, judge.design.variables, budget=judge.budget, seed=seed, cheap=named)


def scipy_de(judge: MixedJudge, seed: int) -> None:
    """differential_evolution with integrality and constraints, its defaults."""
    from scipy.optimize import NonlinearConstraint, differential_evolution

    def limits(x: np.ndarray) -> np.ndarray:
        return judge.careful(x)[1]

    differential_evolution(
        lambda x: judge.careful(x)[0],
        list(zip(judge.low, judge.high)),
        rng=seed,
        integrality=judge.whole,
        constraints=NonlinearConstraint(limits, -np.inf, 0.0),
        maxiter=10**6,
    )


def optuna_tpe(judge: MixedJudge, seed: int) -> None:
    """TPESampler with constraints_func."""
    import optuna

    _optuna(judge, lambda told: optuna.samplers.TPESampler(seed=seed, constraints_func=told))


def optuna_gp(judge: MixedJudge, seed: int) -> None:
    """GPSampler with constraints_func."""
    import optuna

    _optuna(judge, lambda told: optuna.samplers.GPSampler(seed=seed, constraints_func=told))


def _optuna(judge: MixedJudge, sampler: Callable[[Any], Any]) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: Any) -> float:
        x = []
        for name, v in zip(judge.variables.names, judge.variables.each):
            if v.categories is not None:
                x.append(v.place_of(trial.suggest_categorical(name, list(v.categories))))
            elif v.integer:
                x.append(trial.suggest_int(name, int(v.low), int(v.high)))
            else:
                x.append(trial.suggest_float(name, v.low, v.high))
        f, c = judge.careful(x)
        trial.set_user_attr("over", c.tolist())
        if f == CRASHED:
            raise optuna.TrialPruned
        return f

    study = optuna.create_study(sampler=sampler(lambda trial: trial.user_attrs["over"]))
    for _ in range(6 * judge.budget):  # a point asked for twice, or outside of cheap constraints, costs nothing
        study.optimize(objective, n_trials=1)


def pymoo_mixed(judge: MixedJudge, seed: int) -> None:
    """MixedVariableGA as in its documentation."""
    from pymoo.core.mixed import MixedVariableGA
    from pymoo.core.problem import ElementwiseProblem
    from pymoo.core.variable import Choice, Integer, Real
    from pymoo.optimize import minimize

    kinds = {}
    for name, v in zip(judge.variables.names, judge.variables.each):
        if v.categories is not None:
            kinds[name] = Choice(options=list(v.categories))
        else:
            kinds[name] = Integer(bounds=(int(v.low), int(v.high))) if v.integer else Real(bounds=(v.low, v.high))

    class Wrapped(ElementwiseProblem):
        def __init__(self) -> None:
            super().__init__(vars=kinds, n_obj=1, n_ieq_constr=judge.cheap(judge.low).size + judge.n_ineq)

        def _evaluate(self, x: dict[str, Any], out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            out["F"], out["G"] = judge.careful(judge.variables.as_array(x))

    minimize(Wrapped(), MixedVariableGA(pop_size=20), ("n_eval", 50 * judge.budget), seed=seed, verbose=False)


def nomad(judge: MixedJudge, seed: int) -> None:
    """PyNomad from a random point, then from others; categories are integers, cheap constraints an extreme barrier."""
    import PyNomad

    rng = np.random.default_rng(seed)
    kinds = " ".join("I" if whole else "R" for whole in judge.whole)
    outputs = " ".join(["OBJ", *["EB"] * judge.cheap(judge.low).size, *["PB"] * judge.n_ineq])
    spent = False

    def box(point: Any) -> int:
        nonlocal spent
        x = np.array([point.get_coord(i) for i in range(point.size())])
        try:
            f, c = judge.careful(x)
        except Spent:
            spent = True
            return 0
        point.setBBO(" ".join(repr(float(v)) for v in (f, *c)).encode())
        return 1

    while not spent:
        start = judge.clean(judge.low + rng.random(judge.low.size) * (judge.high - judge.low))
        before, asked = judge.calls, 5 * judge.budget if judge.cheap(judge.low).size else judge.budget - judge.calls + 1
        options = [
            f"BB_INPUT_TYPE ({kinds})",
            f"BB_OUTPUT_TYPE {outputs}",
            f"MAX_BB_EVAL {asked}",
            "DISPLAY_DEGREE 0",
            f"SEED {seed + 1}",
        ]
        with tempfile.TemporaryDirectory() as place:
            here = os.getcwd()
            os.chdir(place)
            try:
                PyNomad.optimize(box, start.tolist(), judge.low.tolist(), judge.high.tolist(), options)
            finally:
                os.chdir(here)
        seed += 1000
        if judge.calls == before and judge.calls >= judge.budget:
            return


SOLVERS = {
    "MeCO": meco_default,
    "NOMAD": nomad,
    "SciPy DE": scipy_de,
    "Optuna TPE": optuna_tpe,
    "Optuna GP": optuna_gp,
    "pymoo mixed GA": pymoo_mixed,
}
