"""Hostile functions through scipy.optimize.minimize: a result or an error in words, and no call beyond the budget."""

from __future__ import annotations

import random
import warnings

import numpy as np

import meco
from meco.errors import MecoError

ANSWERS = (np.nan, np.inf, -np.inf, 1e308, None, "text", [1.0], np.array([[2.0]]), 1j, {}, True)
METHODS = ("TR", "SHADE-FR", "MA-ES")


def attempt(seed, folder):
    """One call with random bounds, constraints, options and faults; what surprised, or nothing."""
    try:
        from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, minimize
    except ImportError:
        return "SKIPPED: SciPy is not installed"
    draw = random.Random(f"scipy {seed}")
    dim, budget, calls, rate = draw.randint(1, 4), draw.randint(1, 60), 0, draw.choice([0.0, 0.1, 0.5, 1.0])

    def spoilt(value):
        if draw.random() >= rate:
            return value
        if draw.random() < 0.3:
            raise draw.choice([ValueError, ZeroDivisionError, RuntimeError])("hostile")
        return draw.choice(ANSWERS)

    def fun(x, *args):
        nonlocal calls
        calls += 1
        return spoilt(float(x @ x))

    limits = [
        {"type": "ineq", "fun": lambda x: spoilt(1.0 - x[0])},
        {"type": "eq", "fun": lambda x: x[0] - 0.5},
        NonlinearConstraint(lambda x: spoilt(float(x.sum())), draw.choice([-np.inf, -1.0]), draw.choice([np.inf, 1.0])),
        LinearConstraint(np.ones((1, dim)), -1.0, draw.choice([1.0, np.inf])),
    ]
    chosen = draw.sample(limits, draw.randint(0, 3))
    low, high = np.full(dim, draw.choice([-5.0, -np.inf])), np.full(dim, draw.choice([5.0, np.inf]))
    options = {"budget": budget, "seed": seed, "method": draw.choice(METHODS)}
    if draw.random() < 0.5:
        options["on_error"] = draw.choice(["penalize", "retry", "raise"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = minimize(
                fun, np.zeros(dim) + draw.choice([0.0, 0.3]), args=draw.choice([(), (1, 2)]), method=meco.scipy_method,
                bounds=Bounds(low, high), constraints=chosen, options=options,
            )  # fmt: skip
    except MecoError as error:
        return "" if "\n" not in str(error) else f"an error of several lines: {error}"
    except (ValueError, ZeroDivisionError, RuntimeError) as error:
        return "" if str(error) == "hostile" and options.get("on_error") == "raise" else f"raised {error!r}"
    if calls > budget:
        return f"{calls} calls of a budget of {budget}"
    if found.nfev != calls:
        return f"nfev {found.nfev} after {calls} calls"
    if found.success and not (np.isfinite(found.x).all() and np.isfinite(found.fun)):
        return f"a success at {found.x}: {found.fun}"
    return ""
