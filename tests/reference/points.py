"""Points that the default method evaluates on named kinds of problems.

Each kind uses the public interface alone, and functions of sums, products and roots: their last bits are those of
every machine. A kind is a function that returns the arguments of minimize(); three ask for their points themselves.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count, islice
from typing import Any

import numpy as np

import meco
from meco import Tolerances, Variable, Workers

METHOD = "TR"
BUDGET = 200  # evaluations of a run, and points of a record
SEED = 1
LIMITS = Tolerances(ineq=1e-8, eq=1e-4)
Arguments = dict[str, Any]


# -- functions ---------------------------------------------------------------------------------------


def valley(x: np.ndarray) -> float:
    """A curved valley [D], least at (1, .., 1)."""
    return float(np.sum(3.0 * (x[1:] - x[:-1] ** 2) ** 2) + np.sum((x - 1.0) ** 2))


def disc_and_corner(x: np.ndarray) -> list[float]:
    """Two inequalities, of which the first is active at the least value of valley()."""
    return [float(x @ x) - 0.8 * x.size, 0.2 - float(x[0] * x[1])]


def constrained(x: np.ndarray) -> tuple[float, list[float]]:
    """valley() within disc_and_corner()."""
    return valley(x), disc_and_corner(x)


def box(dim: int) -> list[tuple[float, float]]:
    """Bounds of so many variables."""
    return [(-2.0, 3.0)] * dim


# -- kinds: the arguments of minimize() --------------------------------------------------------------


def plain() -> Arguments:
    return {"fun": constrained, "bounds": box(5)}


def unconstrained() -> Arguments:
    return {"fun": valley, "bounds": box(4)}


def equality() -> Arguments:
    def fun(x):
        return valley(x), disc_and_corner(x), [float(x[0] * x[2] + x[1]) - 1.0]

    return {"fun": fun, "bounds": box(4)}


def sixty_variables() -> Arguments:
    return {"fun": constrained, "bounds": box(60)}


def x0() -> Arguments:
    return {"fun": constrained, "bounds": box(5), "x0": [[0.5, 0.5, 0.4, 0.3, 0.2], [1.5, 1.0, 0.5, 0.0, -0.5]]}


def integers() -> Arguments:
    whole = Variable(-4, 9, integer=True)

    def fun(x):
        return constrained(x / [2.0, 1.0, 3.0, 1.0, 1.0] + 0.1)

    return {"fun": fun, "bounds": [whole, (-2, 3), whole, (-2, 3), (-2, 3)]}


def categories() -> Arguments:
    price, strength = np.array([1.0, 1.6, 0.7, 2.5]), np.array([1.0, 1.7, 0.5, 2.0])

    def fun(x):
        kind, size = int(x[0]), int(x[1])
        f = price[kind] * (1.0 + x[2] ** 2 + x[3] ** 2) + 0.3 * (size - 2) ** 2
        return f, [1.4 - strength[kind] * x[2] * (1.0 + 0.2 * size), 0.5 - x[3] * strength[kind]]

    sizes = Variable(categories=[10, 16, 25, 40, 63], ordered=True)
    return {"fun": fun, "bounds": [["steel", "brass", "wood", "titanium"], sizes, (0.1, 3.0), (0.1, 3.0)]}


def logarithms() -> Arguments:
    def fun(x):
        return x[0] + 2.0 / x[0] + x[1] / x[0] + x[2] ** 2, [3.0 - x[0] * x[1], x[0] - 30.0 * x[2]]

    return {"fun": fun, "bounds": [Variable(1e-3, 1e3, log=True), Variable(1e-2, 1e4, log=True), (-1.0, 2.0)]}


def no_bounds() -> Arguments:
    bounds = [(None, None), (0.0, None), (None, 5.0), (-2.0, 3.0)]
    return {"fun": constrained, "bounds": bounds, "x0": [4.0, 3.0, -6.0, 0.0]}


def failures() -> Arguments:
    def fun(x):
        if x[0] + 0.5 * x[1] > 1.1 or x[2] < -1.0:
            raise ValueError("no mesh")
        return constrained(x)

    return {"fun": fun, "bounds": box(4), "on_error": "penalize"}


def noise() -> Arguments:
    errors = np.random.default_rng(5)

    def fun(x):
        f, g = constrained(x)
        return f + 0.05 * errors.uniform(-1.0, 1.0), [v + 0.02 * errors.uniform(-1.0, 1.0) for v in g]

    return {"fun": fun, "bounds": box(4), "noise": True}


def noise_of_known_size() -> Arguments:
    return noise() | {"noise": [0.03, 0.012, 0.012]}


def cheap() -> Arguments:
    def fits(x):
        return [float(x[0] ** 2 + x[1] ** 2) - 1.2, 0.3 - float(x[2] * x[3])]

    return {"fun": constrained, "bounds": box(4), "cheap": fits}


def never_violated() -> Arguments:
    return {
        "fun": constrained,
        "bounds": box(4),
        "x0": [0.6, 0.6, 0.1, 0.1],
        "tolerances": Tolerances(ineq=1e-8, eq=1e-4, keep_feasible=True),
    }


def linear_rows() -> Arguments:
    from scipy.optimize import LinearConstraint

    rows = LinearConstraint([[1, 1, 1, 1, 1], [1, -1, 0, 2, 0], [0, 1, 1, 0, 0]], [2.5, -np.inf, 0.4], [2.5, 1.0, 1.6])
    return {"fun": constrained, "bounds": box(5), "constraints": rows}


def partial_answers() -> Arguments:
    def fun(x):
        g = disc_and_corner(x)
        if g[1] > 0.0:
            return {"g": {"corner": g[1]}}
        if g[0] > 1.0:
            return {"g": {"corner": g[1], "disc": g[0]}}
        return {"f": valley(x), "g": {"corner": g[1], "disc": g[0], "last": 0.1 - float(x[2])}}

    return {"fun": fun, "bounds": box(4)}


def penalties_without_constraints() -> Arguments:
    calls = count()

    def fun(x):
        if next(calls) < 6 or x[3] < -1.5:  # most of the first answers, and a region
            return 1e6
        return constrained(x)

    return {"fun": fun, "bounds": box(4)}


def evaluated() -> Arguments:
    known = np.random.default_rng(3).uniform(-1.0, 2.0, (20, 4))
    f, g = np.array([valley(x) for x in known]), np.array([disc_and_corner(x) for x in known])
    return {"fun": constrained, "bounds": box(4), "evaluated": (known, f, g)}


def thousand_constraints() -> Arguments:
    draw = np.random.default_rng(4)
    slopes, ends = draw.uniform(-1.0, 1.0, (1000, 5)), draw.uniform(1.0, 2.5, 1000)

    def fun(x):
        return valley(x), slopes @ x + 0.1 * (x @ x) - ends

    return {"fun": fun, "bounds": box(5)}


def batch_of_2() -> Arguments:
    return plain() | {"workers": Workers(batch=2)}


def batch_of_4() -> Arguments:
    return plain() | {"workers": Workers(batch=4)}


def vectorized() -> Arguments:
    def fun(x):
        return np.array([valley(row) for row in x]), np.array([disc_and_corner(row) for row in x])

    return {"fun": fun, "bounds": box(4), "workers": Workers(vectorized=True)}


# -- kinds that ask for points -----------------------------------------------------------------------


def asked() -> Iterator[np.ndarray]:
    """Whole generations of 3, told backwards."""
    search = meco.Optimizer(box(4), 2, budget=BUDGET, method=METHOD, seed=SEED, tolerances=LIMITS, workers=3)
    while not search.done:
        x = search.ask()
        yield from x
        _tell(search, x[::-1])


def asynchronous() -> Iterator[np.ndarray]:
    """Four workers, of which a drawn one answers next."""
    workers, draw = Workers(batch=4, asynchronous=True), np.random.default_rng(6)
    search = meco.Optimizer(box(4), 2, budget=BUDGET, method=METHOD, seed=SEED, tolerances=LIMITS, workers=workers)
    pending: list[np.ndarray] = []
    while not search.done:
        given = search.ask(4 - len(pending))
        yield from given
        pending += list(given)
        _tell(search, pending.pop(int(draw.integers(len(pending))))[None])


def _tell(search: meco.Optimizer, x: np.ndarray) -> None:
    search.tell(x, [valley(row) for row in x], [disc_and_corner(row) for row in x])


# -- points of a kind --------------------------------------------------------------------------------

MINIMIZED: dict[str, Callable[[], Arguments]] = {
    kind.__name__.replace("_", "-"): kind
    for kind in (
        plain, unconstrained, equality, sixty_variables, x0, integers, categories, logarithms, no_bounds, failures,
        noise, noise_of_known_size, cheap, never_violated, linear_rows, partial_answers, penalties_without_constraints,
        evaluated, thousand_constraints, batch_of_2, batch_of_4, vectorized,
    )
}  # fmt: skip
ASKED: dict[str, Callable[[], Iterator[np.ndarray]]] = {"asked": asked, "asynchronous": asynchronous}
KINDS = (*MINIMIZED, *ASKED)


class Enough(BaseException):
    """As many points as wanted were evaluated."""


def evaluated_points(kind: str, wanted: int = BUDGET) -> np.ndarray:
    """The first points of a run, in the order of the calls [n, D]; the budget is the same however many are wanted."""
    if kind in ASKED:
        return np.array(list(islice(ASKED[kind](), wanted)))
    arguments, points = MINIMIZED[kind](), []
    fun = arguments.pop("fun")

    def called(x: np.ndarray) -> Any:
        if len(points) >= wanted:
            raise Enough
        points.extend(np.array(x).reshape(-1, np.shape(x)[-1]))
        return fun(x)

    with suppress(Enough), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks on the budget
        meco.minimize(called, **{"method": METHOD, "budget": BUDGET, "seed": SEED, "tolerances": LIMITS, **arguments})
    return np.array(points[:wanted])


def count_agreeing(points: np.ndarray, recorded: np.ndarray, tolerance: float = 0.0) -> int:
    """How many points agree with the first ones of a record before the first that does not; 0 demands every bit."""
    if points.shape[1:] != recorded.shape[1:]:
        return 0
    n = min(len(points), len(recorded))
    close = np.isclose(points[:n], recorded[:n], rtol=tolerance, atol=tolerance).all(axis=1)
    return n if close.all() else int(np.argmin(close))
