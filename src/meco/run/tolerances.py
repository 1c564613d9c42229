"""How far each constraint may be off: one number for all, a list in their order, or a dict by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from meco.errors import InvalidInput, UnknownName
from meco.run.log.evaluation_log import EvaluationLog

INEQ_TOL, EQ_TOL = 1e-8, 1e-4  # rounding, and what the benchmark suites call an equality
DEFAULTS = {"ineq_tol": INEQ_TOL, "eq_tol": EQ_TOL}

Tolerance = float | list[float] | dict[str, float]  # as it is written to run.json


def read_tolerance(given: Any, keyword: str) -> Tolerance:
    """The tolerance in one of its three forms, every number in it checked."""
    if isinstance(given, Mapping):
        return {str(name): _number(value, f"{keyword}[{name!r}]") for name, value in given.items()}
    listed = given.ndim == 1 if isinstance(given, np.ndarray) else isinstance(given, Sequence)
    if listed and not isinstance(given, (str, bytes)):
        return [_number(value, f"{keyword}[{i}]") for i, value in enumerate(given)]
    return _number(given, keyword)


def _number(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise InvalidInput(
            f"{what} must be a finite number, 0 or more (or a list of them in order, or a dict by name); "
            f"got {value!r:.60}"
        )
    return number


def resolved(tolerance: Tolerance, names: Sequence[str], keyword: str) -> float | np.ndarray:
    """The tolerance of each constraint of these names, [p], or the number that holds for all of them."""
    if isinstance(tolerance, (int, float)):
        return tolerance
    if not names:  # no answer has told yet what the constraints are, or there are none
        return DEFAULTS[keyword]
    if isinstance(tolerance, list):
        if len(tolerance) != len(names):
            raise InvalidInput(
                f"{keyword} has {len(tolerance)} values, but the constraints are {len(names)}: {', '.join(names)}"
            )
        return np.array(tolerance)
    check_names(tolerance, names, keyword)
    return np.array([tolerance.get(name, DEFAULTS[keyword]) for name in names])


def recorded(inputs: Mapping[str, Any], log: EvaluationLog) -> tuple[Any, Any]:
    """The tolerances of a run folder's inputs, for the constraints that its log holds."""
    names, p = log.names(inputs["constraint_names"]), log.counts[0]
    return resolved(inputs["ineq_tol"], names[:p], "ineq_tol"), resolved(inputs["eq_tol"], names[p:], "eq_tol")


def check_names(tolerance: Tolerance, names: Sequence[str], keyword: str) -> None:
    """Refuse a dict that names a constraint which is not there."""
    for name in tolerance if isinstance(tolerance, dict) else ():
        if name not in names:
            raise UnknownConstraint(f"constraint (in {keyword})", name, names)


class UnknownConstraint(UnknownName, InvalidInput):
    """A tolerance for a constraint that does not exist."""


def strictest(tolerance: Tolerance, keyword: str) -> float:
    """The smallest tolerance, for methods that know only one."""
    if isinstance(tolerance, (int, float)):
        return tolerance
    values = tolerance if isinstance(tolerance, list) else [*tolerance.values(), DEFAULTS[keyword]]
    return min(values, default=DEFAULTS[keyword])
