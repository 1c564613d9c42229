"""What one evaluation of a batch says about each candidate: raw values, what failed, what is feasible.

What a result shows the user, every call as columns, is meco/evaluations.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from meco.core.arrays import Array, all_columns, astype, at_least, known_all, namespace, ordered_sum, total

TRANSIENT = "transient"  # fields of this metadata are not saved with a search (memory.py)


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
    # f, g and h [B, N, 1 + p + q], nan where not known, for engines that learn from them; None where all is known
    partial: Array | None = field(default=None, metadata={TRANSIENT: True})

    @classmethod
    def of(
        cls, f: Array, g: Array, h: Array, ineq_tol: Array | float = 0.0, eq_tol: Array | float = 1e-4,
        *,
        finite: bool = False,
    ) -> Evaluation:  # fmt: skip
        """Values f [B, N], g [B, N, p], h [B, N, q] with what failed and what is feasible; p and q may be 0.

        A candidate with anything not finite fails and holds nan everywhere. finite=True promises that there is
        none.
        """
        return (_evaluate_finite if finite else _mark_failed)(f, g, h, ineq_tol, eq_tol)

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
        """The share of candidates that are feasible: [B]."""
        return total(astype(self.feasible, self.f.dtype)) / self.feasible.shape[-1]

    def where(self, keep: Array, other: Evaluation) -> Evaluation:
        """These rows where keep [B, N] holds, the other's rows elsewhere; both have the same shapes."""
        xp = namespace(self.f)
        wide, intact = keep[..., None], self.intact and other.intact
        merged = Evaluation(
            xp.where(keep, self.f, other.f),
            xp.where(wide, self.g, other.g),
            xp.where(wide, self.h, other.h) if self.h.shape[-1] else other.h,
            other.failed if intact else xp.where(keep, self.failed, other.failed),
            xp.where(keep, self.feasible, other.feasible),
            intact,
            _merge_partial(lambda a, b: xp.where(wide, a, b), self, other),
        )
        if intact and "nu" in self.__dict__ and "nu" in other.__dict__:  # known already: not summed up again
            merged.__dict__["nu"] = xp.where(keep, self.nu, other.nu)
        return merged

    def map(self, change: Callable[[Array], Array]) -> Evaluation:
        """The same change (a gather, a slice, a reshape) made to every array, of which g and h have an axis more."""
        f, g, h, failed, feasible = (change(a) for a in (self.f, self.g, self.h, self.failed, self.feasible))
        return Evaluation(
            f, g, h, failed, feasible, self.intact, None if self.partial is None else change(self.partial)
        )


def side_by_side(ev: Evaluation) -> Array:
    """f, g and h of each candidate in one array [B, N, 1 + p + q]; nan where a value is not known."""
    if ev.partial is not None:
        return ev.partial
    return namespace(ev.f).concat([ev.f[..., None], ev.g, ev.h], axis=-1)


def _merge_partial(merge: Callable[..., Array], *parts: Evaluation) -> Array | None:
    """side_by_side() of evaluations joined by merge(*arrays): [B, N, 1 + p + q].

    None where none has partial answers.
    """
    if all(part.partial is None for part in parts):
        return None
    return merge(*(side_by_side(part) for part in parts))


def _mark_failed(f: Array, g: Array, h: Array, ineq_tol: Array | float, eq_tol: Array | float) -> Evaluation:
    """Evaluation.of() where values [B, N, ...] may not be finite: those candidates fail, and hold nan everywhere."""
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


def _evaluate_finite(f: Array, g: Array, h: Array, ineq_tol: Array | float, eq_tol: Array | float) -> Evaluation:
    """Evaluation.of() of finite values [B, N, ...]: only what is feasible has to be found."""
    xp = namespace(f)
    none = xp.zeros_like(f, dtype=xp.bool)
    kept = ~none
    for size, limit in ((g, ineq_tol), (xp.abs(h), eq_tol)):
        if size.shape[-1]:
            kept = kept & all_columns(size <= limit)
    return Evaluation(f, g, h, none, kept, intact=True)


def concat_evaluations(parts: list[Evaluation], axis: int = 1) -> Evaluation:
    """At least one evaluation, side by side along the candidates (axis 1) or the runs (axis 0)."""
    xp = namespace(parts[0].f)
    names = ("f", "g", "h", "failed", "feasible")
    f, g, h, failed, feasible = (xp.concat([getattr(p, name) for p in parts], axis=axis) for name in names)
    known = _merge_partial(lambda *each: xp.concat(list(each), axis=axis), *parts)
    return Evaluation(f, g, h, failed, feasible, all(p.intact for p in parts), known)


def unevaluated(like: Evaluation, count: int) -> Evaluation:
    """An evaluation [B, count], shaped like another, of candidates that were not evaluated: all have failed."""
    xp = namespace(like.f)
    runs = like.f.shape[0]
    numbers = {"dtype": like.f.dtype, "device": like.f.device}
    flags = {"dtype": like.failed.dtype, "device": like.f.device}
    return Evaluation(
        xp.full((runs, count), np.nan, **numbers),
        xp.full((runs, count, like.g.shape[-1]), np.nan, **numbers),
        xp.full((runs, count, like.h.shape[-1]), np.nan, **numbers),
        xp.ones((runs, count), **flags),
        xp.zeros((runs, count), **flags),
    )
