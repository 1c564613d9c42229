"""Pairs of features: which a run accepts, and whether an accepted run keeps its promises.

Every run solves one small problem in four variables. The features of a pair choose the variables, the answers of the
function and the arguments of minimize() or Optimizer.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import meco
from meco import Checkpoint, Stop, Tolerances, Variable, Workers
from meco.errors import MecoError

from .points import disc_and_corner, valley

SEED = 1
BUDGET, SMALL_BUDGET, KNOWN = 30, 3, 10  # evaluations; of a small budget; of an earlier run
MANY = 300  # constraints
INEQ_TOL, EQ_TOL = 1e-8, 1e-4
ROUNDING = 1e-9
SHIFTS = np.array([-0.5, 0.4, 1.2])  # what the categories stand for
CATEGORIES, NAMES = ["A", "B", "C"], ["a", "b", "c", "d"]
ROW, ROW_LIMIT = np.array([1.0, 0.0, 1.0, 1.0]), 2.2  # a linear row, never violated
SUM, SUM_VALUE = np.array([0.0, 0.0, 1.0, 1.0]), 0.5  # a linear equality
SLOPES = np.random.default_rng(8).uniform(-1.0, 1.0, (MANY, 4))

FEATURES = (
    "integers", "categories", "logarithms", "no-bounds", "named-variables",
    "failures", "retries", "penalties", "noise", "noise-of-known-size", "standard-errors", "partial-answers",
    "named-constraints", "named-tolerances", "equality", "many-constraints",
    "separate-constraints", "linear-rows", "linear-equality", "cheap", "never-violated",
    "x0", "evaluated", "batch", "vectorized", "executor", "processes", "asynchronous",
    "checkpoint", "callback", "stop-feasible", "stop-converged", "stop-target", "small-budget",
    "Optimizer", "SHADE", "SLSQP",
)  # fmt: skip
EXCLUSIVE = [
    {"noise", "noise-of-known-size"}, {"SHADE", "SLSQP"}, {"executor", "processes"}, {"penalties", "vectorized"},
    {"batch", "SHADE"}, {"batch", "SLSQP"},
]  # fmt: skip
NOT_OF_OPTIMIZER = {  # what Optimizer has no argument for
    "retries", "penalties", "separate-constraints", "linear-rows", "linear-equality", "vectorized", "executor",
    "processes", "callback", "stop-feasible", "stop-converged", "stop-target",
}  # fmt: skip
MAY_FAIL = {"failures", "retries", "penalties", "partial-answers"}
MODELLED = 0.1  # share of points that may violate what is never violated, where only models foresee it
NOISY = {"noise", "noise-of-known-size", "standard-errors"}


def _can_be_asked_for(pair: set[str]) -> bool:
    return pair not in EXCLUSIVE and not ("Optimizer" in pair and pair & NOT_OF_OPTIMIZER)


PAIRS = {  # by name: each feature alone, and every two that can be asked for together
    "+".join(pair): set(pair)
    for size in (1, 2)
    for pair in combinations(FEATURES, size)
    if _can_be_asked_for(set(pair))
}


class Broken(Exception):
    """A promise that an accepted run did not keep."""


def find_outcome(name: str) -> str:
    """How a pair ends: "accepted", "refused (error)", "fails (error)", or "breaks a promise (which)"."""
    features = PAIRS[name]
    fun = Simulator(features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks on the budget
        try:
            result = run(fun)
            check_promises(result, fun)
            if "checkpoint" in features:
                check_resumed(result, features)
        except MecoError as error:
            return f"refused{' late' * bool(fun.calls)} ({type(error).__name__})"
        except Broken as error:
            return f"breaks a promise ({error})"
        except Exception as error:
            return f"fails ({type(error).__name__})"
    return "accepted"


# -- the problem -------------------------------------------------------------------------------------


def to_array(x: Any) -> np.ndarray:
    """A point [4], or rows of points [S, 4], with categories by their places; x may be a dict by name."""
    if isinstance(x, Mapping):
        x = np.array([_to_places(column) for column in x.values()]).T
    return np.array(x, dtype=float)


def _to_places(column: Any) -> Any:
    return np.searchsorted(CATEGORIES, column) if np.asarray(column).dtype.kind in "UO" else column


def fits(x: Any) -> np.ndarray:
    """A cheap constraint of a point, or of rows."""
    x = to_array(x)
    return x[..., :1] ** 2 + x[..., 2:3] ** 2 - 2.0


def beside(x: Any) -> np.ndarray:
    """A constraint beside the function, of a point or of rows."""
    x = to_array(x)
    return x[..., :1] - x[..., 3:] - 1.5


class Simulator:
    """The function of a run with these features."""

    def __init__(self, features: set[str]) -> None:
        self.features, self.calls, self.draw = features, 0, np.random.default_rng(7)
        self.named = bool(features & {"named-constraints", "named-tolerances"})

    def __call__(self, x: Any) -> Any:
        rows = np.atleast_2d(to_array(x))
        self.calls += len(rows)
        if "retries" in self.features and self.calls % 7 == 3:
            raise OSError("no licence")
        answers = [self.answer(row) for row in rows]
        if "vectorized" not in self.features:
            return answers[0]
        return {key: _stack([answer[key] for answer in answers]) for key in answers[0]}

    def values(self, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """f, g [p] and h [q] at a point, without noise or failures."""
        if "categories" in self.features:
            x = np.array([x[0], SHIFTS[int(x[1])], x[2], x[3]])
        g = disc_and_corner(x) + (list(SLOPES @ x - 3.5) if "many-constraints" in self.features else [])
        h = [x[2] ** 2 + x[3] - 0.29] if "equality" in self.features else []
        return valley(x), np.array(g), np.array(h)

    def answer(self, x: np.ndarray) -> Any:
        """What a call returns for a point; ValueError where it fails."""
        (f, g, h), outside = self.values(x), x[0] + x[2] > 2.2
        if "failures" in self.features and outside:
            if "vectorized" not in self.features:
                raise ValueError("no mesh")
            f = np.nan
        if "penalties" in self.features and outside:
            return 1e6
        if self.features & NOISY:
            f, g = f + 0.02 * self.draw.uniform(-1.0, 1.0), g + 0.01 * self.draw.uniform(-1.0, 1.0, g.size)
        if "partial-answers" in self.features and g[0] > 1.0:
            f, g = np.nan, np.array([g[0], *[np.nan] * (g.size - 1)])
        answer: dict[str, Any] = {"f": f, "g": self._label(g, "g")}
        if h.size:
            answer["h"] = self._label(h, "h")
        if "standard-errors" in self.features:
            answer["se"] = np.array([0.012] + [0.006] * g.size + [0.0] * h.size)
        return answer

    def _label(self, values: np.ndarray, letter: str) -> Any:
        return {f"{letter}{i}": value for i, value in enumerate(values)} if self.named else values


def _stack(values: list[Any]) -> Any:
    """Rows of values, by name where they have names."""
    if isinstance(values[0], Mapping):
        return {name: np.array([value[name] for value in values]) for name in values[0]}
    return np.array(values)


# -- the run -----------------------------------------------------------------------------------------


class InlineExecutor(Executor):
    """An executor that makes each call when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def run(fun: Simulator, interrupted: bool = False) -> meco.Result:
    """A run to its end; interrupted, it stops half way and is resumed."""
    given = arguments(fun.features)
    if "evaluated" in fun.features:
        given["evaluated"] = _run_before(fun.features)
    if "Optimizer" in fun.features:
        return _ask_and_tell(fun, given, interrupted)
    if "checkpoint" not in fun.features:
        return meco.minimize(fun, **given)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "run"
        if interrupted:
            half = given["budget"] // 2
            meco.minimize(fun, **given | {"callback": lambda result: result.nfev >= half}, checkpoint=folder)
        return meco.minimize(fun, **given, checkpoint=Checkpoint(folder, resume=interrupted))


def _run_before(features: set[str]) -> meco.Result:
    """An earlier and shorter run."""
    features = {name for name in features - {"evaluated", "checkpoint", "small-budget"} if not name.startswith("stop-")}
    given = arguments(features) | {"budget": KNOWN, "seed": SEED + 1}
    if "Optimizer" in features:
        return _ask_and_tell(Simulator(features), given)
    return meco.minimize(Simulator(features), **given)


def _ask_and_tell(fun: Simulator, given: dict[str, Any], interrupted: bool = False) -> meco.Result:
    p, q = 2 + MANY * ("many-constraints" in fun.features), int("equality" in fun.features)
    search = meco.Optimizer(n_ineq=p, n_eq=q, **given)
    while not search.done:
        for x in search.ask():
            fun.calls += 1
            try:
                answer = fun.answer(x)
            except ValueError:
                search.tell(x, failed=True)
                continue
            g, h = (np.array(list(answer.get(key, {}).values())) if fun.named else answer.get(key) for key in "gh")
            search.tell(x, answer["f"], g, h if q else None, se=answer.get("se"))
        if interrupted and fun.calls >= given["budget"] // 2:
            search, interrupted = meco.Optimizer.from_state(search.state(), cheap=given.get("cheap")), False
    return search.result


def arguments(features: set[str]) -> dict[str, Any]:
    """Arguments of minimize() but the function, or of Optimizer but the numbers of constraints."""
    bounds = make_bounds(features)
    given: dict[str, Any] = {
        "bounds": dict(zip(NAMES, bounds)) if "named-variables" in features else bounds,
        "budget": SMALL_BUDGET if "small-budget" in features else BUDGET,
        "seed": SEED,
        "method": next((method for method in ("SHADE", "SLSQP") if method in features), "TR"),
        "tolerances": Tolerances(
            ineq={"g0": 1e-3, "g1": INEQ_TOL} if "named-tolerances" in features else INEQ_TOL,
            eq=EQ_TOL,
            keep_feasible="never-violated" in features,
            names=["g0", "g1"] if features >= {"named-tolerances", "Optimizer"} else (),
        ),
        "workers": _make_workers(features),
    }
    if features & {"no-bounds", "never-violated", "x0"} or features == {
        "linear-rows",
        "logarithms",
    }:  # a point that keeps every constraint
        given["x0"] = [1.0, 1.0 if "categories" in features else 0.5, 0.3, 0.2]
    if "cheap" in features:
        given["cheap"] = fits
    if features & {"noise", "noise-of-known-size"}:
        given["noise"] = True if "noise" in features else 0.01
    return given if "Optimizer" in features else given | _arguments_of_minimize(features)


def make_bounds(features: set[str]) -> list[Any]:
    """Bounds of the four variables."""
    return [
        Variable(-2, 3, integer=True) if "integers" in features else (-2.0, 3.0),
        Variable(categories=CATEGORIES) if "categories" in features else (-2.0, 3.0),
        Variable(0.05, 3.0, log=True) if "logarithms" in features else (-2.0, 3.0),
        (None, None) if "no-bounds" in features else (-2.0, 3.0),
    ]


def _make_workers(features: set[str]) -> Workers:
    given: dict[str, Any] = {key: True for key in ("vectorized", "asynchronous") if key in features}
    if "processes" in features:
        given["n"] = 2
    elif "executor" in features or ("asynchronous" in features and "Optimizer" not in features):
        given["n"] = InlineExecutor()
    if features & {"batch", "vectorized"} and not features & {"SHADE", "SLSQP"}:
        given["batch"] = 3
    return Workers(**given)


def _arguments_of_minimize(features: set[str]) -> dict[str, Any]:
    from scipy.optimize import LinearConstraint

    separate: list[Any] = [beside] if "separate-constraints" in features else []
    if "linear-rows" in features:
        separate.append(LinearConstraint(ROW, -np.inf, ROW_LIMIT, keep_feasible=True))
    if "linear-equality" in features:
        separate.append(LinearConstraint(SUM, SUM_VALUE, SUM_VALUE))
    target = {"target": 1e-3, "max_time": 1e4} if "stop-target" in features else {}
    flags = {name: f"stop-{name}" in features for name in ("feasible", "converged")}
    given = {"constraints": separate, "stop": Stop(**target, **flags)}
    given["on_error"] = "retry" if "retries" in features else "penalize"
    return given | ({"callback": lambda result: None} if "callback" in features else {})


# -- the promises ------------------------------------------------------------------------------------


def check_promises(result: meco.Result, fun: Simulator) -> None:
    """Raise Broken for the first promise that the run did not keep."""
    features, table = fun.features, result.evaluations
    points, failed = table.x[~table.known], table.failed[~table.known]
    budget = SMALL_BUDGET if "small-budget" in features else BUDGET
    may_end_early = any(name.startswith("stop-") for name in features) or "SLSQP" in features
    _promise(result.nfev == budget or (may_end_early and result.nfev < budget), "budget")
    _promise(len(points) == result.nfev, "number of points")
    beyond = fun.calls - result.nfev  # a call checks known values, or was under way at the end
    may_call_more = "evaluated" in features or features >= {"asynchronous", "stop-feasible"}
    _promise("processes" in features or beyond == 0 or (may_call_more and 0 < beyond < 8), "number of calls")
    _promise(not failed.any() or features & MAY_FAIL, "no answer lost")
    if not len(points):
        return
    if "no-bounds" not in features:
        _promise(points.min() >= -2.0 and points.max() <= 3.0, "bounds")
    if "logarithms" in features:
        _promise(points[:, 2].min() >= 0.05, "bounds")
    for feature, place in (("integers", 0), ("categories", 1)):
        _promise(feature not in features or np.array_equal(points[:, place], np.round(points[:, place])), "integers")
    if "cheap" in features:
        _promise(fits(points).max() <= ROUNDING, "cheap constraints")
    if "linear-rows" in features:
        violated = np.mean(points @ ROW > ROW_LIMIT + ROUNDING)  # of a logarithm, a row is not linear
        _promise(violated <= (MODELLED if "logarithms" in features else 0.0), "linear rows")
    if "never-violated" in features:
        violated = np.mean([fun.values(x)[1].max() > INEQ_TOL for x in points])
        _promise(violated <= MODELLED, "constraints that are never violated")
    if result.success and not features & NOISY:
        _check_answer(result.x, fun)


def _check_answer(x: np.ndarray, fun: Simulator) -> None:
    """Raise Broken where the answer of a successful run violates a constraint."""
    _, g, h = fun.values(x)
    limits = np.full(g.size, INEQ_TOL)
    limits[0] = 1e-3 if "named-tolerances" in fun.features else INEQ_TOL
    _promise((g <= limits).all() and (np.abs(h) <= EQ_TOL).all(), "feasible answer")
    if "separate-constraints" in fun.features:
        _promise(beside(x)[0] <= INEQ_TOL, "feasible answer")
    if "linear-equality" in fun.features:
        _promise(abs(SUM @ x - SUM_VALUE) <= EQ_TOL, "feasible answer")


def check_resumed(result: meco.Result, features: set[str]) -> None:
    """Raise Broken where an interrupted run, resumed, does not evaluate the points of this run."""
    resumed = run(Simulator(features), interrupted=True)
    if "asynchronous" in features:  # which may go on another way
        _promise(resumed.nfev == result.nfev, "budget of a resumed run")
    else:
        _promise(np.array_equal(resumed.evaluations.x, result.evaluations.x), "points of a resumed run")


def _promise(kept: Any, which: str) -> None:
    if not kept:
        raise Broken(which)
