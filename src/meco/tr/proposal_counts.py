"""Who proposed the points of a run, and what came of them: one count for every combination, kept by one sum a turn."""

from __future__ import annotations

from typing import NamedTuple

from meco.core.arrays import Array, namespace
from meco.core.evaluation import Evaluation
from meco.tr.region import GEOMETRY, OFFSPRING, STEP

CASES = 32  # four who propose, times gained or not, feasible or not, failed or not


class Tally(NamedTuple):
    """Numbers of points so far, [B] each."""

    told: Array
    accepted: Array  # steps to a lower merit
    refused: Array  # steps to no lower one
    geometry: Array
    offspring: Array
    fruitful: Array  # offspring of a merit below the centre's
    feasible: Array
    failed: Array


def no_points(like: Array) -> Array:
    """Counts [B, 32] of runs that were told nothing, for the runs of like [B, ...]."""
    return namespace(like).zeros((like.shape[0], CASES), dtype=like.dtype, device=like.device)


def with_turn(counts: Array, who: Array, gained: Array, ev: Evaluation) -> Array:
    """Counts [B, 32] with the points of a turn: who [B, k] proposed them, and which have a lower merit [B, k]."""
    xp, kind = namespace(counts), who.dtype
    case = 8 * who + 4 * xp.astype(gained, kind) + 2 * xp.astype(ev.feasible, kind) + xp.astype(ev.failed, kind)
    cases = xp.arange(CASES, dtype=kind, device=counts.device)
    return counts + xp.sum(xp.astype(case[..., None] == cases, counts.dtype), axis=1)


def tallied(counts: Array) -> Tally:
    """What the counts [B, 32] add up to."""
    xp = namespace(counts)
    each = xp.reshape(counts, (counts.shape[0], 4, 2, 2, 2))  # who, gained, feasible, failed
    made = xp.sum(each, axis=(3, 4))
    return Tally(
        xp.sum(made, axis=(1, 2)), made[:, STEP, 1], made[:, STEP, 0], xp.sum(made[:, GEOMETRY, :], axis=-1),
        xp.sum(made[:, OFFSPRING, :], axis=-1), made[:, OFFSPRING, 1],
        xp.sum(each[:, :, :, 1, :], axis=(1, 2, 3)), xp.sum(each[:, :, :, :, 1], axis=(1, 2, 3)),
    )  # fmt: skip
