"""From a user's linear constraints and keep_feasible, checked, to the KnownLimits that an engine is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from meco.core.capabilities import LinearRows
from meco.core.known_limits import KnownLimits
from meco.errors import InvalidInput
from meco.methods import METHODS, methods_that_offer
from meco.run.constraints import LimitedValues, Row, is_value_of, linear_rows
from meco.run.layout import Answers
from meco.run.tolerances import UnknownConstraint

if TYPE_CHECKING:
    from meco.run.request import Request

ROUNDING_SHARE = 1e-9  # by which a point that keeps a row may be off it, in shares of the row's terms


def add_hard_constraints(request: Request, constraints: tuple[LimitedValues, ...]) -> Request:
    """The request with its linear rows and what must never be violated, from its constraints and keep_feasible.

    InvalidInput where the method cannot keep them, x0 violates one, or there is no point to start from.
    """
    rows, keep = linear_rows(constraints), request.keep_feasible
    if request.logarithmic is not None:  # such a row is not linear in what the search moves
        rows = [row for row in rows if not np.any(row.slope[request.logarithmic])]
    rows = [
        row._replace(hard=row.hard or keep is True or (isinstance(keep, tuple) and row.name in keep)) for row in rows
    ]
    request = replace(request, linear_rows=tuple(rows), separate=constraints)
    if not (keep or hard_labels(request)):
        return request
    if LinearRows not in METHODS[request.method].offers:
        raise InvalidInput(
            f"keep_feasible needs one of {methods_that_offer(LinearRows)}; {request.method} knows nothing of what it "
            "will violate"
        )
    for row in rows:
        for i, x in enumerate([] if request.x0 is None else request.x0):
            _check_starting_point(row, x, i)
    if keeping_needs_models(request) and request.x0 is None and request.known is None:
        raise InvalidInput(
            "constraints that must never be violated need a point to start from that keeps them: give x0="
        )
    return request


def _check_starting_point(row: Row, x: np.ndarray, number: int) -> None:
    """InvalidInput where x [D], the number-th of x0, is outside of a hard row."""
    value, terms = row.slope @ x + row.offset, np.abs(row.slope) @ np.abs(x) + abs(row.offset)
    over = abs(value) if row.equal else value
    if row.hard and over > ROUNDING_SHARE * terms:
        raise InvalidInput(f"x0: point {number} violates {row.name} by {over:.6g}, which must never be violated")


def hard_labels(request: Request) -> tuple[str, ...]:
    """Labels of separate constraints that must never be violated."""
    return tuple(each.label for each in request.separate if each.hard)


def keeping_needs_models(request: Request) -> bool:
    """Whether some of what must be kept is not a linear row, so that only models can tell."""
    named = () if isinstance(request.keep_feasible, bool) else request.keep_feasible
    rows = [row.name for row in request.linear_rows]
    known = all(any(is_value_of(name, label) for name in rows) for label in hard_labels(request))
    return request.keep_feasible is True or not known or not set(named) <= set(rows)


def make_known_limits(request: Request, answers: Answers, corner: np.ndarray, width: np.ndarray) -> KnownLimits:
    """The rows in the unit cube, which spans width [D] from corner [D] of the box; the answers tell their places."""
    slope = np.array([row.slope for row in request.linear_rows]).reshape(-1, corner.size)
    offset = np.array([row.offset for row in request.linear_rows])
    names = [row.name for row in request.linear_rows]

    def places() -> np.ndarray:
        """Where the values of the rows stand among all constraints; -1 where no answer has named them."""
        found = _answered_names(answers)
        return np.array([found.index(name) if name in found else -1 for name in names], dtype=int)

    return KnownLimits(
        slope=slope * width,
        offset=offset + slope @ corner,
        equal=np.array([row.equal for row in request.linear_rows], dtype=bool),
        hard=np.array([row.hard for row in request.linear_rows], dtype=bool),
        places=places,
        hard_constraints=lambda: _hard_constraint_mask(request, answers),
        needs_models=keeping_needs_models(request),
    )


def exact_equalities(request: Request, answers: Answers, eq_tol: Any) -> np.ndarray:
    """Tolerances of the equalities [q], with rounding in place of those of linear rows, which are known exactly."""
    limits, names = np.broadcast_to(eq_tol, (answers.counts[1],)).copy(), _answered_names(answers)[answers.counts[0] :]
    ends = np.abs([request.variables.lower, request.variables.upper])
    size = np.max(np.where(np.isfinite(ends), ends, 1.0), axis=0)
    for row in request.linear_rows:
        if row.equal and row.name in names:
            at = names.index(row.name)
            limits[at] = min(limits[at], ROUNDING_SHARE * (np.abs(row.slope) @ size + abs(row.offset)))
    return limits


def _answered_names(answers: Answers) -> list[str]:
    """The names [C] that came with the answers, "" where none did."""
    agreed, (p, q) = answers.layout, answers.counts
    if agreed is None:
        return [""] * (p + q)
    return [*(agreed.g_names or ("",) * p), *(agreed.h_names or ("",) * q)]


def _hard_constraint_mask(request: Request, answers: Answers) -> np.ndarray:
    """Which constraints [C] must be kept at every evaluation; UnknownConstraint for a name that is none."""
    shown, told, p = answers.constraint_names(request.constraint_names), _answered_names(answers), answers.counts[0]
    named = () if isinstance(request.keep_feasible, bool) else request.keep_feasible
    for name in named:
        if name not in shown and name not in told:
            raise UnknownConstraint("constraint (in keep_feasible)", name, shown)
    rows, labels = {row.name for row in request.linear_rows}, hard_labels(request)
    found = []
    for i, (name, own) in enumerate(zip(shown, told)):
        wanted = name in named or own in named or any(is_value_of(own, label) for label in labels)
        if wanted and i >= p and own not in rows:
            raise InvalidInput(f"keep_feasible: {name} is an equality, which no search can keep at every evaluation")
        found.append(i < p and (wanted or request.keep_feasible is True))
    return np.array(found, dtype=bool)
