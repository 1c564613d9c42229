"""SHADE's success history: what F and CR worked, and new ones drawn around it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from meco.arrays import Array, bounded, namespace, rows

WIDTH = 0.1  # scale of the Cauchy law of F and standard deviation of the normal law of CR
START = 0.5


@dataclass(frozen=True, eq=False)
class History:
    """Means of successful F and CR in H slots, overwritten in turn: [B, H] each; turn [B]."""

    scale: Array
    rate: Array
    turn: Array

    @classmethod
    def fresh(cls, x: Array, slots: int) -> History:
        """Every slot at 0.5, for the runs of a population x [B, N, D]."""
        xp = namespace(x)
        half = xp.full((x.shape[0], slots), START, dtype=x.dtype, device=x.device)
        return cls(half, half, xp.zeros(x.shape[0], dtype=xp.int64, device=x.device))

    def sample(self, u_slot: Array, u_scale: Array, normal: Array) -> tuple[Array, Array]:
        """F and CR of each individual around one slot, the same for both: [B, N]."""
        xp = namespace(u_slot)
        slot = xp.astype(u_slot * self.scale.shape[1], self.turn.dtype)
        rate = bounded(rows(self.rate, slot) + WIDTH * normal, 0.0, 1.0)
        return positive_cauchy(rows(self.scale, slot), u_scale), rate

    def learned(self, scale: Array, rate: Array, weight: Array) -> History:
        """The next slot after a generation with these gains; unchanged where nothing was gained.

        F enters by the weighted Lehmer mean, CR by the weighted arithmetic mean.
        """
        xp = namespace(weight)
        learns = xp.max(weight, axis=-1) > 0
        slots = xp.arange(self.scale.shape[1], dtype=self.turn.dtype, device=self.turn.device)
        here = (slots == self.turn[:, None]) & learns[:, None]
        turn = (self.turn + xp.astype(learns, self.turn.dtype)) % self.scale.shape[1]
        return History(
            xp.where(here, lehmer_mean(scale, weight)[:, None], self.scale),
            xp.where(here, weighted_mean(rate, weight)[:, None], self.rate),
            turn,
        )


def weighted_mean(values: Array, weight: Array) -> Array:
    """Sum of w v over sum of w along the last axis; 0 where no weight is positive."""
    xp = namespace(values)
    total = xp.sum(weight, axis=-1)
    return xp.vecdot(weight, values) / xp.where(total > 0, total, 1.0)


def lehmer_mean(values: Array, weight: Array) -> Array:
    """Sum of w v^2 over sum of w v along the last axis; 0 where the sums are."""
    xp = namespace(values)
    first = xp.vecdot(weight, values)
    return xp.vecdot(weight, values * values) / xp.where(first > 0, first, 1.0)


def positive_cauchy(centre: Array, u: Array) -> Array:
    """F from the Cauchy law around a centre, given F > 0, cut at 1.

    The inverse distribution function on the part above 0: the law of "draw again while
    F <= 0" from exactly one uniform number in [0, 1).
    """
    xp = namespace(u)
    below = 0.5 - xp.atan(centre / WIDTH) / math.pi  # P(F <= 0)
    position = 1.0 - (1.0 - below) * u  # in (below, 1]
    return bounded(centre + WIDTH * xp.tan(math.pi * (position - 0.5)), 0.0, 1.0)
