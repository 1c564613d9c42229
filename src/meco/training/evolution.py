"""The evolution of weights: antithetic pairs, each on a match of its own, and Adam on what they show.

Both halves of a pair, w + sigma e and w - sigma e, play the same match with the same random numbers. With d the
difference of their final quantiles,

    slope = mean of d e / (2 sigma)  over the pairs                                                  (1)

estimates the slope of the mean quantile, smoothed over sigma. For a given number of runs its variance is least when
every pair has a direction and a match of its own: directions are what weights have many of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

FIRST_DECAY, SECOND_DECAY, TINY = 0.9, 0.99, 1e-8  # Adam's constants; the slopes are noisy, their size changes fast


class Evolution(NamedTuple):
    """Where the weights [P] are, and the moments of the slopes so far."""

    mean: np.ndarray
    first: np.ndarray
    second: np.ndarray
    steps: int = 0

    @classmethod
    def at(cls, mean: np.ndarray) -> Evolution:
        """From these weights on."""
        return cls(mean, np.zeros_like(mean), np.zeros_like(mean))

    def pairs(self, e: np.ndarray, sigma: float) -> np.ndarray:
        """Weights of both halves of every pair, first all upper ones: e [M, P] -> [2 M, P]."""
        return np.concatenate([self.mean + sigma * e, self.mean - sigma * e])

    def after(self, e: np.ndarray, quantiles: np.ndarray, sigma: float, rate: float) -> Evolution:
        """One step up the slope that the final quantiles [2 M] of the pairs e [M, P] show, eq. (1)."""
        upper, lower = np.split(quantiles, 2)
        slope = (upper - lower) @ e / (2.0 * sigma * len(e))
        first = FIRST_DECAY * self.first + (1.0 - FIRST_DECAY) * slope
        second = SECOND_DECAY * self.second + (1.0 - SECOND_DECAY) * slope**2
        steps = self.steps + 1
        up = first / (1.0 - FIRST_DECAY**steps)
        size = np.sqrt(second / (1.0 - SECOND_DECAY**steps))
        return Evolution(self.mean + rate * up / (size + TINY), first, second, steps)
