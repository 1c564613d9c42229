"""Many problems of one shape, evaluated in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np

from meco.arrays import Array, Constants, namespace
from meco.errors import InvalidInput
from meco.problems.problem import Problem

Values = tuple[Array, Array, Array]
Numbers = dict[str, dict[str, np.ndarray]]  # by part of the formula, then by name


@dataclass(frozen=True, eq=False)
class Member:
    """The facts of one problem of a batch, and the numbers of its formula."""

    name: str
    title: str
    lower: np.ndarray  # [D]
    upper: np.ndarray  # [D]
    counts: tuple[int, int]  # inequalities, equalities
    numbers: Numbers
    best_known: float | None = None
    known_x: np.ndarray | None = None
    integrality: np.ndarray | None = None
    infeasible: bool = False
    more: dict[str, Any] = field(default_factory=dict)  # further facts of a Problem


# (x [B, N, D], numbers stacked over the members) -> f [B, N], g [B, N, p], h [B, N, q]
LockstepFormula = Callable[[Array, Mapping[str, Mapping[str, Array]]], Values]


class ProblemBatch(Sequence[Problem]):
    """B problems of equal D, p and q that share one formula; a sequence of problems to whom it does not matter.

    >>> from meco.problems.generated import make_batch
    >>> batch = make_batch("bowl-linear", seeds=range(100), dim=10)
    >>> f, g, h = batch.raw((batch.lower + batch.upper)[:, None, :] / 2)
    >>> f.shape, g.shape, h.shape
    ((100, 1), (100, 1, 6), (100, 1, 0))
    """

    def __init__(self, members: Sequence[Member], formula: LockstepFormula) -> None:
        if not members:
            raise InvalidInput("a batch needs at least one problem; got none")
        self.members, self.formula = list(members), formula
        self._constants = {
            part: Constants(**{key: np.stack([m.numbers[part][key] for m in members]) for key in names})
            for part, names in members[0].numbers.items()
        }

    @property
    def dim(self) -> int:
        """Number of variables."""
        return len(self.members[0].lower)

    @property
    def counts(self) -> tuple[int, int]:
        """Inequalities and equalities."""
        return self.members[0].counts

    @property
    def lower(self) -> np.ndarray:
        """Lower bounds [B, D]."""
        return np.stack([m.lower for m in self.members])

    @property
    def upper(self) -> np.ndarray:
        """Upper bounds [B, D]."""
        return np.stack([m.upper for m in self.members])

    def raw(self, x: Array) -> Values:
        """Values of all problems at once: x [B, N, D] -> f [B, N], g [B, N, p], h [B, N, q]."""
        if x.ndim != 3 or x.shape[0] != len(self) or x.shape[2] != self.dim:
            raise InvalidInput(
                f"{len(self)} problems in lockstep need x of shape ({len(self)}, N, {self.dim}); got {tuple(x.shape)}"
            )
        with np.errstate(all="ignore"):
            return self.formula(x, {part: constants.on(x) for part, constants in self._constants.items()})

    def __len__(self) -> int:
        return len(self.members)

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> ProblemBatch: ...
    def __getitem__(self, index: int | slice) -> Problem | ProblemBatch:
        if isinstance(index, slice):
            return ProblemBatch(self.members[index], self.formula)
        m = self.members[index]
        return Problem(
            m.name,
            m.lower,
            m.upper,
            *m.counts,
            formula=_Single(m, self.formula),
            title=m.title,
            source="generated",
            best_known=m.best_known,
            known_x=m.known_x,
            integrality=m.integrality,
            infeasible=m.infeasible,
            **m.more,
        )


class JoinedBatch(ProblemBatch):
    """Batches of different families, with equal D, p and q, one after the other."""

    def __init__(self, batches: Sequence[ProblemBatch]) -> None:
        shapes = {(batch.dim, *batch.counts) for batch in batches}
        if len(shapes) != 1:
            raise InvalidInput(f"batches that join need one shape (D, p, q); got {sorted(shapes)}")
        self.batches = list(batches)
        self.members = [member for batch in batches for member in batch.members]

    def raw(self, x: Array) -> Values:
        """Values of all problems: one call for each batch."""
        starts = np.cumsum([0, *(len(batch) for batch in self.batches)])
        parts = [batch.raw(x[i:j, ...]) for batch, i, j in zip(self.batches, starts, starts[1:])]
        f, g, h = (namespace(x).concat(list(column), axis=0) for column in zip(*parts))
        return f, g, h

    def __getitem__(self, index):  # type: ignore[no-untyped-def, override]
        if isinstance(index, slice):
            raise InvalidInput("a joined batch has no slices; join slices of its batches")
        index = range(len(self))[index]
        for batch in self.batches:
            if index < len(batch):
                return batch[index]
            index -= len(batch)
        raise IndexError(index)


class _Single:
    """The formula of one member, for any leading shape: a batch of one."""

    def __init__(self, member: Member, formula: LockstepFormula) -> None:
        self.member, self.formula = member, formula

    @cached_property
    def batch(self) -> ProblemBatch:
        return ProblemBatch([self.member], self.formula)

    def __call__(self, x: Array) -> Values:
        xp, leading = namespace(x), x.shape[:-1]
        f, g, h = self.batch.raw(xp.reshape(x, (1, -1, x.shape[-1])))
        return (
            xp.reshape(f, leading),
            xp.reshape(g, (*leading, g.shape[-1])),
            xp.reshape(h, (*leading, h.shape[-1])),
        )
