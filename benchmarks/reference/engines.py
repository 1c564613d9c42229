"""Help for engines that are not yet wired into minimize(): a task of the benchmark as plain arrays in the unit cube.

    # my_engine.py, run by: python -m benchmarks.reference run NEW.csv --engine my_engine:run
    from benchmarks.reference.engines import drive

    def run(fun, bounds, *, budget, seed, x0=None, tolerances=None, **_):
        make = lambda dim, u0, ineq_tol, eq_tol: MySearch(dim, budget, np.random.default_rng(seed), x0=u0, ...)
        drive(make, fun, bounds, budget, x0, tolerances)

A search has ask() -> points [k, D] or one point [D], and tell(x [k, D], f [k], g [k, p], h [k, q], failed [k]).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Values(NamedTuple):
    """Values of k points: f [k], g <= 0 [k, p], h = 0 [k, q], and which failed [k]; 0 where they did."""

    f: np.ndarray
    g: np.ndarray
    h: np.ndarray
    failed: np.ndarray


def read_box(bounds: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower and upper bounds and which variables are integers: [D] each. Named variables are not taken."""
    if isinstance(bounds, dict):
        raise NotImplementedError("an engine of plain arrays takes no named variables or categories")
    pairs = [(b.low, b.high, bool(b.integer)) if hasattr(b, "low") else (*b, False) for b in bounds]
    low, high, integer = zip(*pairs)
    return np.array(low, dtype=float), np.array(high, dtype=float), np.array(integer)


def read_answer(answer: Any) -> tuple[float, np.ndarray, np.ndarray]:
    """f, g [p] and h [q] of what a function of the benchmark returns; nan for a failed call."""
    if isinstance(answer, dict):
        parts = [answer.get(key, ()) for key in ("g", "h")]
        g, h = ([*part.values()] if isinstance(part, dict) else part for part in parts)
        return float(answer["f"]), np.array(g, dtype=float), np.array(h, dtype=float)
    f, *rest = answer if isinstance(answer, tuple) else (answer,)
    g, h = (np.asarray(part, dtype=float).reshape(-1) for part in (*rest, (), ())[:2])
    return float(f), g, h


def evaluate(fun: Callable[[Any], Any], points: np.ndarray, counts: tuple[int, int] | None) -> Values:
    """Values of points [k, D]; exceptions and values that are not finite are failed calls."""
    found: list[tuple[float, np.ndarray, np.ndarray] | None] = []
    for x in points:
        try:
            f, g, h = read_answer(fun(x))
        except (ValueError, RuntimeError, ZeroDivisionError, OverflowError):
            found.append(None)
            continue
        finite = np.isfinite(np.concatenate([[f], g, h])).all()
        found.append((f, g, h) if finite else None)
    p, q = next(((g.size, h.size) for _, g, h in filter(None, found)), counts or (0, 0))
    rows = [one or (0.0, np.zeros(p), np.zeros(q)) for one in found]
    f, g, h = (np.array(part).reshape(len(rows), *size) for part, size in zip(zip(*rows), ((), (p,), (q,))))
    return Values(f, g, h, np.array([one is None for one in found]))


def drive(
    make: Callable[[int, np.ndarray | None, float, float], Any],
    fun: Callable[[Any], Any],
    bounds: Any,
    budget: int,
    x0: Any = None,
    tolerances: Any = None,
) -> None:
    """Spend the budget on a search in the unit cube, which make(dim, x0, ineq_tol, eq_tol) gives.

    Tasks with integers are not taken: NotImplementedError.
    """
    low, high, integer = read_box(bounds)
    if integer.any():
        raise NotImplementedError("an engine of plain arrays takes no integers")
    start = None if x0 is None else (np.asarray(x0, dtype=float) - low) / (high - low)
    ineq_tol, eq_tol = (0.0, 1e-4) if tolerances is None else (tolerances.ineq, tolerances.eq)
    search, spent, counts = make(low.size, start, ineq_tol, eq_tol), 0, None
    while spent < budget:
        u = np.atleast_2d(search.ask())[: budget - spent]
        values = evaluate(fun, np.clip(low + u * (high - low), low, high), counts)
        counts = values.g.shape[1], values.h.shape[1]
        search.tell(u, *values)
        spent += len(u)
