"""Solvers of several libraries on mixed designs and on cheap constraints, each as its own documentation recommends.

A MixedJudge stands before the design, as in users_solvers.py, where SciPy's and Optuna's calls are; here are those that
differ with categories. Where a design has cheap constraints, every solver may ask for them as often as it likes, and
none has to call the design outside of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.variables import Variables
from peers.nomad import search_by_nomad
from users_solvers import Judge, Spent, Values, optuna_gp, optuna_tpe, scipy_de

NOT_CALLED = 1e10  # what solvers are told of what a call would have told


class MixedJudge(Judge):
    """Counts calls of a design and keeps the best feasible f; x holds categories by their places.

    Its constraints are the cheap ones, then those of the design; outside of the cheap ones nothing is called, which
    looks like a crash.
    """

    def __init__(self, design: Any, budget: int) -> None:
        self.design, self.budget, self.left, self.best, self.outside = design, budget, budget, np.inf, 0
        self.tries = 6 * budget  # a point asked for twice, or outside of cheap constraints, costs nothing
        self.variables = Variables.read(design.variables)
        self.low, self.high = self.variables.lower, self.variables.upper
        self.integer = self.variables.column("integer")
        self.known: dict[bytes, Values] = {}
        self.n_ineq = len(self._evaluated(self.low).g)
        self.n_cheap = self.cheap(self.low).size

    @property
    def calls(self) -> int:
        """Expensive calls so far."""
        return self.budget - self.left

    def _evaluated(self, x: np.ndarray) -> Values:
        told = self.design.fun(self.variables.as_dict(x))
        return Values(float(told["f"]), np.array([*told["g"].values()], dtype=float), np.zeros(0))

    def clean(self, x: Any) -> np.ndarray:
        """A point inside the box, with integers."""
        x = np.clip(np.asarray(x, dtype=float), self.low, self.high)
        return np.where(self.integer, np.round(x), x) + 0.0

    def cheap(self, x: Any) -> np.ndarray:
        """Cheap constraints at a point, as many times as one likes."""
        given = getattr(self.design, "cheap", None)
        return np.zeros(0) if given is None else np.array([*given(self.variables.as_dict(self.clean(x))).values()])

    def call(self, x: Any) -> Values:
        """f and g of a point without its cheap constraints: one expensive call, inside or outside of them."""
        x = self.clean(x)
        key = x.tobytes()
        if key not in self.known:
            if self.left == 0:
                raise Spent
            self.left -= 1
            self.known[key] = values = self._evaluated(x)
            cheap = self.cheap(x)
            self.outside += bool((cheap > 0).any())
            if (values.g <= 0).all() and (cheap <= 0).all():
                self.best = min(self.best, values.f)
        return self.known[key]

    def __call__(self, x: Any) -> Values:
        cheap = self.cheap(x)
        if (cheap > 0).any():
            return Values(np.nan, np.concatenate([cheap, np.full(self.n_ineq, np.nan)]), np.zeros(0))
        values = self.call(x)
        return Values(values.f, np.concatenate([cheap, values.g]), values.h)

    def over(self, x: Any) -> np.ndarray:
        """All constraints as c <= 0; large where nothing was called."""
        return np.nan_to_num(self(x).g, nan=NOT_CALLED)

    def suggest(self, trial: Any) -> list[float]:
        """The point that an Optuna trial suggests."""
        x = []
        for name, v in zip(self.variables.names, self.variables.each):
            if v.categories is not None:
                x.append(v.place_of(trial.suggest_categorical(name, list(v.categories))))
            elif v.integer:
                x.append(trial.suggest_int(name, int(v.low), int(v.high)))
            else:
                x.append(trial.suggest_float(name, v.low, v.high))
        return x


def meco_default(judge: MixedJudge, seed: int) -> None:
    """minimize() with its defaults."""
    import meco

    cheap = getattr(judge.design, "cheap", None)
    named = None if cheap is None else (lambda d: [*cheap(d).values()])

    def fun(d: dict[str, Any]) -> Any:
        return judge.call(judge.variables.as_array(d))[:2]

    meco.minimize(fun, judge.design.variables, budget=judge.budget, seed=seed, cheap=named)


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
            super().__init__(vars=kinds, n_obj=1, n_ieq_constr=judge.n_cheap + judge.n_ineq)

        def _evaluate(self, x: dict[str, Any], out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            point = judge.variables.as_array(x)
            out["F"], out["G"] = np.nan_to_num(judge(point).f, nan=NOT_CALLED), judge.over(point)

    minimize(Wrapped(), MixedVariableGA(pop_size=20), ("n_eval", 50 * judge.budget), seed=seed, verbose=False)


def nomad(judge: MixedJudge, seed: int) -> None:
    """PyNomad from a random point, then from others; categories are integers, cheap constraints an extreme barrier."""
    rng = np.random.default_rng(seed)
    kinds = "".join("I" if integer else "R" for integer in judge.integer)
    outputs = ["OBJ", *["EB"] * judge.n_cheap, *["PB"] * judge.n_ineq]
    spent = False

    def values(x: np.ndarray) -> list[float]:
        return [float(np.nan_to_num(judge(x).f, nan=NOT_CALLED)), *judge.over(x)]

    while not spent:
        start = judge.clean(judge.low + rng.random(judge.low.size) * (judge.high - judge.low))
        before, most = judge.calls, 5 * judge.budget if judge.n_cheap else judge.left + 1
        spent = search_by_nomad(values, start, judge.low, judge.high, outputs, most, seed, kinds)
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
