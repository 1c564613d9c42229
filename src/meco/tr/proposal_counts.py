"""Sources of the points of a run, and what came of them: one count for every combination, kept by one sum."""

from __future__ import annotations

from meco.core.arrays import Array, astype, namespace, total
from meco.core.evaluation import Evaluation

COUNT_CASES = 24  # three sources, times gained or not, feasible or not, failed or not: 8, 4, 2, 1 in add_points()


def zero_counts(like: Array) -> Array:
    """Counts [B, 24] of runs that were told nothing, for the runs of like [B, ...]."""
    return namespace(like).zeros((like.shape[0], COUNT_CASES), dtype=like.dtype, device=like.device)


def add_points(counts: Array, source: Array, gained: Array, ev: Evaluation) -> Array:
    """Counts [B, 24] with k more points: their sources, which gained a lower merit, and their evaluation, [B, k]."""
    xp, kind = namespace(counts), source.dtype
    case = 8 * source + 4 * astype(gained, kind) + 2 * astype(ev.feasible, kind) + astype(ev.failed, kind)
    cases = xp.arange(COUNT_CASES, dtype=kind, device=counts.device)
    return counts + total(astype(case[..., None] == cases, counts.dtype), 1)


def failed_share(counts: Array) -> Array:
    """Points that failed over all points told, of counts [B, 24]: [B]; 0 where none was."""
    told = total(counts)
    return total(counts[:, 1::2]) / namespace(counts).where(told > 0.0, told, 1.0)


def has_feasible(counts: Array) -> Array:
    """Whether some point was feasible, of counts [B, 24]: [B]."""
    xp = namespace(counts)
    each = xp.reshape(counts, (counts.shape[0], COUNT_CASES // 4, 2, 2))  # of source and gained; feasible; failed
    return total(each[:, :, 1, :], (1, 2)) > 0.0
