"""Sources of the points of a run, and what came of them: one count for every combination, kept by one sum."""

from __future__ import annotations

from typing import NamedTuple

from meco.core.arrays import Array, astype, namespace, total
from meco.core.evaluation import Evaluation
from meco.tr.region import PointSource

COUNT_CASES = 32  # four sources, times gained or not, feasible or not, failed or not: 8, 4, 2, 1 in add_points()


class ProposalCounts(NamedTuple):
    """Numbers of points so far, [B] each."""

    told: Array
    accepted: Array  # steps to a lower merit
    refused: Array  # steps to no lower one
    geometry: Array
    offspring: Array
    fruitful: Array  # offspring of a merit below the centre's
    feasible: Array
    failed: Array


def zero_counts(like: Array) -> Array:
    """Counts [B, 32] of runs that were told nothing, for the runs of like [B, ...]."""
    return namespace(like).zeros((like.shape[0], COUNT_CASES), dtype=like.dtype, device=like.device)


def add_points(counts: Array, source: Array, gained: Array, ev: Evaluation) -> Array:
    """Counts [B, 32] with k more points: their sources, which gained a lower merit, and their evaluation, [B, k]."""
    xp, kind = namespace(counts), source.dtype
    case = 8 * source + 4 * astype(gained, kind) + 2 * astype(ev.feasible, kind) + astype(ev.failed, kind)
    cases = xp.arange(COUNT_CASES, dtype=kind, device=counts.device)
    return counts + total(astype(case[..., None] == cases, counts.dtype), 1)


def failed_share(counts: Array) -> Array:
    """Points that failed over all points told, of counts [B, 32]: [B]; 0 where none was."""
    told = total(counts)
    return total(counts[:, 1::2]) / namespace(counts).where(told > 0.0, told, 1.0)


def has_feasible(counts: Array) -> Array:
    """Whether some point was feasible, of counts [B, 32]: [B]."""
    xp = namespace(counts)
    each = xp.reshape(counts, (counts.shape[0], COUNT_CASES // 4, 2, 2))  # of source and gained; feasible; failed
    return total(each[:, :, 1, :], (1, 2)) > 0.0


def sum_counts(counts: Array) -> ProposalCounts:
    """The counts [B, 32] added up by what came of points, [B] each."""
    xp = namespace(counts)
    each = xp.reshape(counts, (counts.shape[0], 4, 2, 2, 2))  # source, gained, feasible, failed
    made = xp.sum(each, axis=(3, 4))
    return ProposalCounts(
        xp.sum(made, axis=(1, 2)), made[:, PointSource.STEP, 1], made[:, PointSource.STEP, 0],
        xp.sum(made[:, PointSource.GEOMETRY, :], axis=-1),
        xp.sum(made[:, PointSource.OFFSPRING, :], axis=-1), made[:, PointSource.OFFSPRING, 1],
        xp.sum(each[:, :, :, 1, :], axis=(1, 2, 3)), xp.sum(each[:, :, :, :, 1], axis=(1, 2, 3)),
    )  # fmt: skip
