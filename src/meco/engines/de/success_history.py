"""SHADE's success history: what F and CR worked, and new ones drawn around it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from meco.core.arrays import Array, astype, bounded, namespace, rows, safe_divisor, total
from meco.engines.de.operators import positions

SAMPLING_WIDTH = 0.1  # scale of the Cauchy law of F and standard deviation of the normal law of CR
INITIAL_MEAN = 0.5


@dataclass(frozen=True, eq=False)
class SuccessHistory:
    """Means of successful F and CR in H slots, overwritten one after another: [B, H] each; next_slot [B]."""

    F: Array
    CR: Array
    next_slot: Array

    @classmethod
    def initial(cls, x: Array, slots: int) -> SuccessHistory:
        """Every slot at 0.5, for the runs of a population x [B, N, D]."""
        xp = namespace(x)
        F, CR = (xp.full((x.shape[0], slots), INITIAL_MEAN, dtype=x.dtype, device=x.device) for _ in range(2))
        return cls(F, CR, xp.zeros(x.shape[0], dtype=xp.int64, device=x.device))

    def sample(self, u_slot: Array, u_F: Array, normal: Array, crowd: int | None = None) -> tuple[Array, Array]:
        """F and CR, [B, N] each, of each individual around one slot, the same for both.

        Given a crowd of N, F lies above Zaharie's sqrt((1 - CR/2) / N), below which a population loses its spread.
        """
        xp = namespace(u_slot)
        slot = astype(u_slot * self.F.shape[1], self.next_slot.dtype)
        CR = bounded(rows(self.CR, slot) + SAMPLING_WIDTH * normal, 0.0, 1.0)
        least = 0.0 if crowd is None else xp.sqrt((1.0 - 0.5 * CR) / crowd)
        return positive_cauchy(rows(self.F, slot), u_F, least), CR

    def learn(self, F: Array, CR: Array, weight: Array, *, lehmer_CR: bool = False) -> SuccessHistory:
        """Another history, its next slot set by the F, CR and gains (weight) [B, N] of a generation that gained.

        F enters by the weighted Lehmer mean, CR by the weighted arithmetic mean (2013) or
        by the Lehmer mean too (L-SHADE).
        """
        xp, weight_sum = namespace(weight), total(weight)
        learns = weight_sum > 0
        here = (positions(self.F.shape[1], self.next_slot) == self.next_slot[:, None]) & learns[:, None]
        mean_CR = lehmer_mean(CR, weight) if lehmer_CR else weighted_mean(CR, weight, weight_sum)
        next_slot = (self.next_slot + astype(learns, self.next_slot.dtype)) % self.F.shape[1]
        return SuccessHistory(
            xp.where(here, lehmer_mean(F, weight)[:, None], self.F),
            xp.where(here, mean_CR[:, None], self.CR),
            next_slot,
        )


def weighted_mean(values: Array, weight: Array, weight_sum: Array) -> Array:
    """Sum of w v over the sum of w, which is weight_sum [B], along the last axis; 0 where no weight is positive."""
    return namespace(values).vecdot(weight, values) / safe_divisor(weight_sum)


def lehmer_mean(values: Array, weight: Array) -> Array:
    """Sum of w v^2 over sum of w v along the last axis: [B, N] -> [B]; 0 where the sums are."""
    xp = namespace(values)
    return xp.vecdot(weight, values * values) / safe_divisor(xp.vecdot(weight, values))


def positive_cauchy(centre: Array, u: Array, least: Array | float = 0.0) -> Array:
    """F from the Cauchy law around a centre, given F > least, cut at 1; centre and u have one shape.

    The inverse distribution function on the part above least: the law of "draw again while F <= least" from exactly
    one uniform number in [0, 1).
    """
    xp = namespace(u)
    below = 0.5 - xp.atan((centre - least) / SAMPLING_WIDTH) / math.pi  # P(F <= least)
    position = 1.0 - (1.0 - below) * u  # in (below, 1]
    return bounded(centre + SAMPLING_WIDTH * xp.tan(math.pi * (position - 0.5)), 0.0, 1.0)
