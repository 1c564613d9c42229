"""Where a search may go when bounds are missing: its own lengths, taken from the point that it begins at.

A variable with both bounds is searched from 0 to 1. One without has no range to measure by, so

    x = origin + coordinate length,   length = 20 t,   t = max(1, |x0|),                                 (1)

with x0 in the middle of 0 .. 1, or with a bound that is nearer than length at 0 or at 1. t is the typical length of the
variable; an x0 that is tiny and not 0 tells its own. The coordinates of such a variable have no limit, or one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

TYPICAL_LENGTHS = 20.0  # in 0 .. 1 of a variable without a bound, eq. (1)
TINY_START = 1e-6  # of an x0 below which it is its variable's typical length, and not 1
FARTHEST = 1e300  # from 0 along a variable without a bound: arithmetic beyond it overflows


class SearchRange(NamedTuple):
    """Ends of the coordinates, -inf and inf where there is none, and what they mean: x = origin + coordinate length."""

    low: np.ndarray  # [D]
    high: np.ndarray  # [D]
    origin: np.ndarray  # [D]
    length: np.ndarray  # [D]

    @property
    def infinite(self) -> np.ndarray:
        """Variables [D] that lack a bound."""
        return np.isinf(self.low) | np.isinf(self.high)


def typical_size(x0: np.ndarray) -> np.ndarray:
    """The typical length [D] of variables around x0 [D], where no bounds tell."""
    size = np.abs(x0)
    return np.where((size > 0.0) & (size < TINY_START), size, np.maximum(1.0, size))


def measure_range(lower: np.ndarray, upper: np.ndarray, x0: np.ndarray) -> SearchRange:
    """Coordinates for bounds lower and upper [D], of which some are infinite, around a finite x0 [D]; eq. (1)."""
    below, above = np.isfinite(lower), np.isfinite(upper)
    low, high = np.where(below, lower, 0.0), np.where(above, upper, 0.0)
    own = TYPICAL_LENGTHS * typical_size(x0)
    length = np.where(below & above, high - low, own)
    at_low = below & (above | (x0 - low <= own))
    at_high = above & ~below & (high - x0 <= own)
    origin = np.where(at_low, low, np.where(at_high, high - own, x0 - 0.5 * own))
    safe = np.where(length > 0.0, length, 1.0)
    least = np.where(at_low, 0.0, np.where(below, (low - origin) / safe, -np.inf))
    most = np.where(at_high | (below & above), 1.0, np.where(above, (high - origin) / safe, np.inf))
    return SearchRange(least, most, origin, length)
