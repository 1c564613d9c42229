"""Points that a user gives: those to try first, and those whose values are known."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from meco.errors import InvalidInput
from meco.evaluations import Evaluations
from meco.result import Result
from meco.run.layout import PriorEvaluations
from meco.variables import Variables

KEEP_THOSE_INSIDE = (
    "keep = ((e.x >= low) & (e.x <= high)).all(axis=1); evaluated=(e.x[keep], e.f[keep], e.g[keep], e.h[keep])"
)


def read_start(x0: Any, variables: Variables) -> np.ndarray:
    """Points to try first [n, D], from one or several, or the answer of another run; InvalidInput for others."""
    if isinstance(x0, Result) and x0.run.variables is not None and x0.run.variables.names and variables.names:
        x0 = x0.design  # by name: the order may be another one
    elif hasattr(x0, "x") and hasattr(x0, "fun"):  # a result, SciPy's too
        x0 = x0.x
    return read_points(variables.as_array(x0), variables, "x0", whole=True)


def read_points(points: Any, variables: Variables, name: str, *, whole: bool) -> np.ndarray:
    """Points [n, D] inside the bounds from one or several; InvalidInput names the first that is not.

    whole says that integer variables must be whole numbers.
    """
    lower, upper = variables.lower, variables.upper
    try:
        found = np.array(points, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{name} must be numbers, shape (D,) or (n, D); got {points!r:.60}{_hint_at_names(variables)}"
        ) from error
    found = found[None] if found.ndim == 1 else found
    if found.ndim != 2 or found.shape[1] != lower.size:
        raise InvalidInput(
            f"{name} must have {lower.size} variables, shape (D,) or (n, D); got shape {np.shape(points)}"
        )
    for row, i in np.argwhere(np.isinf(found)):
        raise InvalidInput(f"{name}: {_locate(variables, row, i)} must be finite; got {found[row, i]}")
    inside = (found >= lower) & (found <= upper)
    for row, i in np.argwhere(~inside):
        said = f"{name}: {_locate(variables, row, i)} is {found[row, i]}, outside its bounds [{lower[i]}, {upper[i]}]"
        raise PointsOutside(said, int((~inside.all(axis=1)).sum()), len(found))
    if whole:
        for row, i in np.argwhere((found != np.round(found)) & variables.column("integer")):
            raise InvalidInput(f"{name}: {_locate(variables, row, i)} must be a whole number; got {found[row, i]}")
    return found + 0.0  # no negative zeros


class PointsOutside(InvalidInput):
    """Points outside the bounds: how many of how many."""

    def __init__(self, said: str, outside: int = 0, count: int = 0) -> None:
        super().__init__(said)
        self.outside, self.count = outside, count


def _locate(variables: Variables, row: int, i: int) -> str:
    """Which number of which point is meant: by name where the variables have names."""
    return f"{variables.names[i] if variables.names else f'variable {i}'} of point {row}"


def _hint_at_names(variables: Variables) -> str:
    """How points with categories are given, for a message; "" where there are none."""
    if not variables.categorical.any():
        return ""
    i = int(np.argmax(variables.categorical))
    if not variables.names:
        return f" (a category is given by its place, from 0: variable {i} has {variables.each[i].categories!r:.60})"
    return f" (a point with categories is a dict: {{{variables.names[i]!r}: {variables.each[i].category_at(0)!r}, ..}})"


def read_prior_evaluations(evaluated: Any, variables: Variables) -> PriorEvaluations:
    """Already evaluated points: (X, F, G, H), a dict of these, a result or its evaluations, or a run folder.

    InvalidInput for other forms, shapes that differ and points outside the bounds.
    """
    parts = _split_prior_evaluations(evaluated, variables)
    try:
        x = read_points(variables.as_array(parts[0]), variables, "evaluated points", whole=False)
    except PointsOutside as error:
        raise InvalidInput(
            f"{error}; {error.outside} of {error.count} points lie outside: leave them out, of evaluations e by "
            f"{KEEP_THOSE_INSIDE}"
        ).on_command_line(
            f"{error}; {error.outside} of {error.count} points lie outside: give the bounds of that run, or begin anew"
        ) from None
    try:
        f, g, h = (_read_columns(part, len(x)) for part in parts[1:])
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"evaluated: {error}") from error
    if f.shape[1] != 1:
        raise InvalidInput(f"evaluated: {len(x)} points need {len(x)} values of f; got shape {f.shape}")
    return PriorEvaluations(x, f[:, 0], g, h)


def _split_prior_evaluations(evaluated: Any, variables: Variables) -> list[Any]:
    """x, f, g and h of evaluated points in any form, unread, None where there is none."""
    if isinstance(evaluated, (str, os.PathLike)):
        from meco.run.recorded import read_recorded

        recorded = read_recorded(evaluated)
        good = [entry for entry in recorded.answers.entries.values() if entry.good]
        if not good:
            raise InvalidInput(f"the run in {evaluated} holds no successful evaluation")
        _check_same_names(f"the run in {evaluated}", tuple(recorded.inputs["variable_names"]), variables)
        return [[entry.x for entry in good], *recorded.answers.values([entry.answer for entry in good])]
    if isinstance(evaluated, Result):
        if evaluated.run.variables is not None:
            _check_same_names("the result in evaluated", evaluated.run.variables.names, variables)
        evaluated, _ = evaluated.evaluations, evaluated.evaluations.f  # results of solve() say that they have none
    if isinstance(evaluated, Evaluations):
        return [getattr(evaluated, key)[~evaluated.failed] for key in ("x", "f", "g", "h")]
    if isinstance(evaluated, Mapping):
        parts = [evaluated.get(key, evaluated.get(key.upper())) for key in ("x", "f", "g", "h")]
        if parts[0] is None or parts[1] is None:
            raise InvalidInput(
                f'evaluated: a dict needs "x" and "f", and "g", "h" where there are any; got {list(evaluated)!r:.60}'
            )
        return parts
    if isinstance(evaluated, (tuple, list)) and 2 <= len(evaluated) <= 4:
        return [*evaluated, None, None][:4]
    raise InvalidInput(
        "evaluated must be (X, F), (X, F, G), (X, F, G, H), a dict with x, f, g, h, a result or its evaluations, "
        f"or the folder of a run; got {evaluated!r:.60}"
    )


def _check_same_names(whose: str, before: tuple[str, ...], variables: Variables) -> None:
    """InvalidInput where both have names of variables, and not the same in the same order."""
    if before and variables.names and before != variables.names:
        raise InvalidInput(
            f"{whose} has the variables {', '.join(before)}; here they are {', '.join(variables.names)}: give them the "
            "same names, in the same order"
        )


def _read_columns(values: Any, count: int) -> np.ndarray:
    """Values [count, n] of so many points, n = 0 of None; a single point may come without its leading axis.

    ValueError for other shapes.
    """
    if values is None:
        return np.zeros((count, 0))
    found = np.array(values, dtype=np.float64)
    if found.ndim == 0 and count == 1:
        found = found[None]
    found = found[:, None] if found.ndim == 1 and found.shape[0] == count else found
    found = found[None] if found.ndim == 1 and count == 1 else found
    if found.ndim != 2 or found.shape[0] != count:
        raise ValueError(f"{count} points need {count} rows of values; got shape {found.shape}")
    return found
