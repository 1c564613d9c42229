"""What one call of a problem says about each candidate, and what all calls of a run said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from meco.core.arrays import Array, all_columns, astype, at_least, fused, known_all, namespace, ordered_sum, total


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Raw values of candidates; violations are derived, never stored twice.

    f [B, N], g [B, N, p], h [B, N, q], failed and feasible [B, N]. A failed candidate
    (anything not finite, or not evaluated at all) holds nan everywhere.
    """

    f: Array
    g: Array
    h: Array
    failed: Array
    feasible: Array  # every g <= ineq_tol and every |h| <= eq_tol
    intact: bool = False  # known to hold no failed candidate, which saves the work of masking them

    @classmethod
    def of(
        cls, f: Array, g: Array, h: Array, ineq_tol: Array | float = 0.0, eq_tol: Array | float = 1e-4,
        finite: bool = False,
    ) -> Evaluation:  # fmt: skip
        """Mark what is not finite as failed, unless all is known to be, and what keeps all limits as feasible."""
        return (_compare if finite else _mark_failed)(f, g, h, ineq_tol, eq_tol)

    @cached_property
    def c(self) -> Array:
        """Violation of each constraint, inequalities first: (max(g, 0), |h|)  [B, N, C]."""
        xp, above = namespace(self.f), at_least(self.g, 0.0)
        return xp.concat([above, xp.abs(self.h)], axis=-1) if self.h.shape[-1] else above

    @cached_property
    def nu(self) -> Array:
        """Total violation (paper, after eq. 1): [B, N]; no tolerance."""
        return ordered_sum(self.c)

    @cached_property
    def feasible_share(self) -> Array:
        """Feasible candidates by all of them: [B]."""
        return total(astype(self.feasible, self.f.dtype)) / self.feasible.shape[-1]

    def where(self, keep: Array, other: Evaluation) -> Evaluation:
        """These rows where keep [B, N] holds, the other's rows elsewhere."""
        xp = namespace(self.f)
        wide, intact = keep[..., None], self.intact and other.intact
        merged = Evaluation(
            xp.where(keep, self.f, other.f),
            xp.where(wide, self.g, other.g),
            xp.where(wide, self.h, other.h) if self.h.shape[-1] else other.h,
            other.failed if intact else xp.where(keep, self.failed, other.failed),
            xp.where(keep, self.feasible, other.feasible),
            intact,
        )
        if intact and "nu" in self.__dict__ and "nu" in other.__dict__:  # known already: not summed up again
            merged.__dict__["nu"] = xp.where(keep, self.nu, other.nu)
        return merged

    def map(self, change: Callable[[Array], Array]) -> Evaluation:
        """The same change (a gather, a slice, a reshape) made to every array."""
        f, g, h, failed, feasible = (change(a) for a in (self.f, self.g, self.h, self.failed, self.feasible))
        return Evaluation(f, g, h, failed, feasible, self.intact)


@fused
def _mark_failed(f: Array, g: Array, h: Array, ineq_tol: Array | float, eq_tol: Array | float) -> Evaluation:
    xp = namespace(f)
    finite = kept = xp.isfinite(f)
    numbers = known_all(finite)
    for values, size, limit in ((g, g, ineq_tol), (h, xp.abs(h), eq_tol)):
        if values.shape[-1]:
            kept = kept & all_columns(size <= limit)
            sound = xp.isfinite(values)
            numbers = numbers and known_all(sound)
            finite = finite if numbers else finite & all_columns(sound)
    if numbers:
        return Evaluation(f, g, h, ~finite, kept, intact=True)
    wide = finite[..., None]
    return Evaluation(
        xp.where(finite, f, xp.nan), xp.where(wide, g, xp.nan), xp.where(wide, h, xp.nan), ~finite, finite & kept
    )


@fused
def _compare(f: Array, g: Array, h: Array, ineq_tol: Array | float, eq_tol: Array | float) -> Evaluation:
    xp = namespace(f)
    none = xp.zeros_like(f, dtype=xp.bool)
    kept = ~none
    for size, limit in ((g, ineq_tol), (xp.abs(h), eq_tol)):
        if size.shape[-1]:
            kept = kept & all_columns(size <= limit)
    return Evaluation(f, g, h, none, kept, intact=True)


def concat(parts: list[Evaluation], axis: int = 1) -> Evaluation:
    """Evaluations side by side along the candidates (axis 1) or the runs (axis 0)."""
    xp = namespace(parts[0].f)
    names = ("f", "g", "h", "failed", "feasible")
    f, g, h, failed, feasible = (xp.concat([getattr(p, name) for p in parts], axis=axis) for name in names)
    return Evaluation(f, g, h, failed, feasible, all(p.intact for p in parts))


def absent(like: Evaluation, count: int) -> Evaluation:
    """Rows of candidates that were not evaluated: they lose every comparison."""
    xp = namespace(like.f)
    runs = like.f.shape[0]
    made = {"dtype": like.f.dtype, "device": like.f.device}
    flags = {"dtype": like.failed.dtype, "device": like.f.device}
    return Evaluation(
        xp.full((runs, count), np.nan, **made),
        xp.full((runs, count, like.g.shape[-1]), np.nan, **made),
        xp.full((runs, count, like.h.shape[-1]), np.nan, **made),
        xp.ones((runs, count), **flags),
        xp.zeros((runs, count), **flags),
    )


class Best(NamedTuple):
    """The point that a run answers with, and its values."""

    x: np.ndarray
    f: float
    g: np.ndarray
    h: np.ndarray
    feasible: bool
    usable: bool


@dataclass(frozen=True, eq=False)
class Evaluations:
    """All evaluations as columns, in the order of the calls: x [n, D], f [n], g [n, p], h [n, q].

    failed marks calls without a usable answer; feasible those within the tolerances; known those
    that were known beforehand and cost nothing; attempt counts repeated calls of a point.
    """

    x: np.ndarray
    f: np.ndarray
    g: np.ndarray
    h: np.ndarray
    failed: np.ndarray
    feasible: np.ndarray
    known: np.ndarray
    attempt: np.ndarray
    fault: np.ndarray
    leader: int = -1  # the place of the best, feasibility first
    best: ClassVar[Best | None] = None

    @classmethod
    def later(cls, made: Callable[[], Sequence[np.ndarray]], leader: int, best: Best | None) -> Evaluations:
        """The same, made when a column is looked at; the best of them is known before."""
        columns = object.__new__(cls)
        vars(columns).update(_made=made, leader=leader, best=best)
        return columns

    def __getattr__(self, name: str) -> Any:
        if name not in self.__dataclass_fields__ or "_made" not in vars(self):
            raise AttributeError(name)
        vars(self).update(zip(self.__dataclass_fields__, self._made()))
        return vars(self)[name]

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*self.__dataclass_fields__, "best")}

    def __len__(self) -> int:
        return len(self.f)

    def with_answer(self, x: np.ndarray, f: float, g: np.ndarray, h: np.ndarray, *tolerances: Any) -> Evaluations:
        """These and one more call; of other constraints than before it has failed."""
        fits = (g.size, h.size) == (self.g.shape[1], self.h.shape[1])
        g, h = (v if fits else np.full(w.shape[1], np.nan) for v, w in ((g, self.g), (h, self.h)))
        ev = Evaluation.of(np.array([[f if fits else np.nan]]), g[None, None], h[None, None], *tolerances)
        failed = bool(ev.failed[0, 0])
        row = (x, f, g, h, failed, bool(ev.feasible[0, 0]), False, 0, int(failed))
        columns = [getattr(self, name) for name in list(self.__dataclass_fields__)[:9]]
        made: list[Any] = [np.concatenate([c, np.array([v], dtype=c.dtype)]) for c, v in zip(columns, row)]
        return Evaluations(*made)

    def evaluation(self, ineq_tol: Any = 0.0, eq_tol: Any = 1e-4) -> Evaluation:
        """The same values as the search sees them: [1, n], ..."""
        return Evaluation.of(self.f[None], self.g[None], self.h[None], ineq_tol, eq_tol)
