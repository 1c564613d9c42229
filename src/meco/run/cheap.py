"""Constraints that a user gives as cheap: read, named, and made into the set of points that may be called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meco.core.cheap_set import CheapLimits, CheapSet
from meco.errors import InvalidInput
from meco.run.answer import WrongForm
from meco.run.constraints import BoundArguments, FunctionOfNames, LimitedValues, Row, read_constraints
from meco.run.tolerances import strictest_tolerance
from meco.space import make_box
from meco.variables import Variables

if TYPE_CHECKING:
    from meco.core.box import Box
    from meco.run.layout import Answers
    from meco.run.request import Request

FIRST_TRIES = 20  # points at which a first value is looked for


def read_cheap(cheap: Any, variables: Variables) -> tuple[LimitedValues, ...]:
    """Cheap constraints in any form that constraints= takes, or a dict of these by name; each has a name.

    () for None; InvalidInput for other forms. Names that come twice are numbered.
    """
    if cheap is None or (isinstance(cheap, (list, tuple)) and not cheap):
        return ()
    names: list[str] = []
    if isinstance(cheap, Mapping) and not {"type", "fun"} <= set(cheap):
        names, cheap = [str(name) for name in cheap], list(cheap.values())
    try:
        read = read_constraints(cheap, variables)
    except InvalidInput as error:
        raise InvalidInput(f"cheap: {error}") from error
    names = names or [_name_constraint(each, i) for i, each in enumerate(read)]
    names = [f"{name} ({i + 1})" if names.count(name) > 1 else name for i, name in enumerate(names)]
    return tuple(replace(each, label=name, named=True, hard=False, rounded=False) for each, name in zip(read, names))


def _name_constraint(constraint: LimitedValues, index: int) -> str:
    """What a constraint's function calls itself, or "cheap" with its number."""
    fun = constraint.values
    while isinstance(fun, (FunctionOfNames, BoundArguments)) or hasattr(fun, "func"):
        fun = getattr(fun, "fun", None) or fun.func
    name = getattr(fun, "__name__", "")
    return name if name and name != "<lambda>" else f"cheap {index + 1}"


def draw_first_points(variables: Variables) -> Iterator[np.ndarray]:
    """Points [D] at which a function is asked what its values are like: the middle, then others between the bounds."""
    low = np.where(np.isfinite(variables.lower), variables.lower, np.minimum(variables.upper, 1.0) - 1.0)
    high = np.where(np.isfinite(variables.upper), variables.upper, low + 1.0)
    draw = np.random.default_rng(0).random((FIRST_TRIES - 1, low.size))
    for u in np.concatenate([np.full((1, low.size), 0.5), draw]):
        x = low + u * (high - low)
        yield np.where(variables.column("integer"), np.round(x), x)


class CheapValues:
    """c [n, C] of points [n, D] of the box: inequalities of every constraint first, then rows that are kept too."""

    def __init__(
        self, cheap: tuple[LimitedValues, ...], *, vectorized: bool, rows: tuple[Row, ...], variables: Variables
    ) -> None:
        """Ask each constraint for its first values, which tell how many it has; InvalidInput where it gives none."""
        self.cheap, self.vectorized, self.rows = cheap, vectorized, rows
        self.counts = [self._count_values(each, variables) for each in cheap]
        g = [name for each, (p, _) in zip(cheap, self.counts) for name in each.value_names(p, "g")]
        h = [name for each, (_, q) in zip(cheap, self.counts) for name in each.value_names(q, "h")]
        self.names = (*g, *h)  # of the values that answers hold
        self.n_ineq, self.n_eq = len(g), len(h)
        self.equal = np.array([False] * len(g) + [True] * len(h) + [row.equal for row in rows], dtype=bool)

    def describe(self) -> dict[str, list[str]]:
        """Names of inequalities and equalities, for the log."""
        return {"ineq": list(self.names[: self.n_ineq]), "eq": list(self.names[self.n_ineq :])}

    def _count_values(self, constraint: LimitedValues, variables: Variables) -> tuple[int, int]:
        """How many inequalities and equalities a constraint has, from its first values.

        InvalidInput where it gives none.
        """
        for x in draw_first_points(variables):
            try:
                g, h = constraint(x[None] if self.vectorized else x)
                return g.shape[-1], h.shape[-1]
            except WrongForm as error:
                raise InvalidInput(f"cheap: {constraint.label}: {error}") from None
            except Exception as error:  # whatever a user's function raises
                said = error
        raise InvalidInput(
            f"cheap: {constraint.label} gave no value at {FIRST_TRIES} points between the bounds; the last: "
            f"{type(said).__name__}: {said}"
        ) from said

    def split_values(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g [n, p] and h [n, q] of points x [n, D], as answers hold them; nan where a function fails."""
        found = [self._values_of(each, count, x) for each, count in zip(self.cheap, self.counts)]
        return (
            np.concatenate([np.zeros((len(x), 0)), *(g for g, _ in found)], axis=1),
            np.concatenate([np.zeros((len(x), 0)), *(h for _, h in found)], axis=1),
        )

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """c [n, C] of points x [n, D] of the box, inequalities first, then hard rows; nan where a function fails."""
        further = [(x @ row.slope + row.offset)[:, None] for row in self.rows]
        with np.errstate(all="ignore"):
            return np.concatenate([*self.split_values(x), *further], axis=1)

    def _values_of(
        self, constraint: LimitedValues, count: tuple[int, int], x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """g [n, p] and h [n, q] of one constraint of these counts (p, q) at points x [n, D]; nan where it fails."""
        if self.vectorized:
            try:
                g, h = constraint(x.copy())
                if (g.shape, h.shape) == ((len(x), count[0]), (len(x), count[1])):
                    return g, h
            except Exception:  # then point by point: which of them failed is not known
                pass
        g, h = np.full((len(x), count[0]), np.nan), np.full((len(x), count[1]), np.nan)
        for i, point in enumerate(x):
            try:
                one = constraint(point[None].copy() if self.vectorized else point.copy())
                g[i], h[i] = (part.reshape(-1) for part in one)
            except Exception:
                g[i], h[i] = np.nan, np.nan
        return g, h


class Cheap(NamedTuple):
    """The cheap constraints of a request: their values, the points that keep them, and x0 as it was given."""

    values: CheapValues
    inside: CheapSet
    x0: np.ndarray | None

    @property
    def equality_slack(self) -> np.ndarray:
        """How far the equalities among their values may be off [q]."""
        return np.broadcast_to(self.inside.slack, self.values.equal.shape)[
            self.values.n_ineq : self.values.n_ineq + self.values.n_eq
        ]


def add_cheap_constraints(request: Request, cheap: tuple[LimitedValues, ...], *, vectorized: bool = False) -> Request:
    """The request with its cheap constraints, the set of points that keep them, and x0 moved into it.

    Raises InvalidInput where no point is found that keeps them: nothing has been evaluated by then.
    """
    rows = tuple(row for row in request.linear_rows if row.hard)
    values = CheapValues(cheap, vectorized=vectorized, rows=rows, variables=request.variables)
    box = make_box(request)
    first = None if request.centre is None else box.to_unit(request.centre[None])
    inside = CheapSet(
        values,
        box,
        values.equal,
        None if request.tolerances.eq is None else strictest_tolerance(request.tolerances.eq, "eq"),
        request.variables.unordered,
        names=(*values.names, *(row.name for row in rows)),
        start=first,
    )
    request = replace(request, cheap=Cheap(values, inside, request.x0))
    if request.x0 is None:
        return request
    unit = box.to_unit(request.x0)
    kept = inside.satisfied_by(values(request.x0))
    if kept.all():
        return request
    moved = box.to_box(inside.repair(unit)[None])[0]
    said = f"x0: {np.sum(~kept)} of {len(kept)} points violate cheap constraints: the nearest that keep them are tried"
    x0 = np.where(kept[:, None], request.x0, moved) + 0.0
    return replace(request, x0=x0, notes=(*request.notes, said))


def make_cheap_limits(request: Request, answers: Answers) -> CheapLimits:
    """What an engine is told of cheap constraints; the answers tell where their values stand among all constraints."""
    assert request.cheap is not None
    values, names = request.cheap.values, request.cheap.values.names

    def places() -> np.ndarray:
        p, q = answers.counts
        g = range(p - values.n_ineq, p)  # the last of either kind, as they are added to the answers
        h = range(p + q - values.n_eq, p + q)
        found = [*g, *h] if p >= values.n_ineq and q >= values.n_eq else [-1] * len(names)
        return np.array(found + [-1] * len(values.rows), dtype=int)

    return CheapLimits(request.cheap.inside, places)


def add_cheap_repair(box: Box, inside: CheapSet) -> Box:
    """The box, in which points that violate cheap constraints are moved before they are called."""
    return replace(box, pinned=inside.box.pinned, repair=inside.repair)
