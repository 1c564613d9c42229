"""KnownLimits: what an engine is told of constraints beforehand, in the unit cube. run/hard_constraints.py makes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class KnownLimits(NamedTuple):
    """L rows offset + slope x <= 0, or = 0, of points x in the unit cube, and what must be kept at every evaluation.

    Where the rows stand among the constraints, and which constraints are to be kept, the first answers tell.
    """

    slope: np.ndarray  # [L, D]
    offset: np.ndarray  # [L]
    equal: np.ndarray  # [L] whether a row must be zero
    hard: np.ndarray  # [L] whether a row must be kept at every evaluation
    places: Callable[[], np.ndarray]  # [L] each row's place among the constraints, -1 where it has none
    hard_constraints: Callable[[], np.ndarray]  # [C] constraints that must be kept at every evaluation
    needs_models: bool  # whether some of these are not among the rows, so that only models can tell

    def hard_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Slope, offset and equal of the hard rows: the arguments of Polytope."""
        return self.slope[self.hard], self.offset[self.hard], self.equal[self.hard]
