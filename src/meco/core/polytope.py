"""Points of the unit cube that keep linear rows, found before and without any evaluation. NumPy alone.

The nearest such point is the limit of Dykstra's projections (Boyle and Dykstra 1986) onto the cube, onto the space of
the equalities, and onto each half-space; what is left after them is closed by going towards a point well inside.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.errors import InvalidInput

SWEEPS = 400
SWEEP_TOLERANCE = 1e-10  # movement of a sweep, in the unit cube, that ends them
ROUNDING = 1e-12  # by which a point lies inside what it was moved to; equalities are met as closely
INTERIOR_MARGINS = (0.1, 0.03, 0.01, 1e-3, 1e-5, 0.0)  # how far inside a first point may lie, in the unit cube


class Polytope:
    """offset + slope x <= 0 (= 0 where equal) between walls, the unit cube's; slope [L, D], offset and equal [L]."""

    def __init__(
        self, slope: np.ndarray, offset: np.ndarray, equal: np.ndarray, walls: tuple[Any, Any] = (0.0, 1.0)
    ) -> None:
        """Rows are scaled to length 1; those of zeros say nothing of x and are left out. walls are numbers or [D]."""
        self.walls = walls
        length = np.sqrt(np.sum(slope * slope, axis=1))
        used = length > 0.0  # a row of zeros says nothing of x
        unit, value = slope[used] / length[used, None], offset[used] / length[used]
        same = equal[used]
        self.slope, self.offset = unit[~same], value[~same]
        self.plane, self.level = unit[same], value[same]
        self.back = np.linalg.pinv(self.plane) if len(self.plane) else None

    def excess(self, x: np.ndarray) -> float:
        """By how much a point x [D] breaks the worst row, in the unit cube; at most 0 where it keeps all."""
        over = np.max(self.offset + self.slope @ x, initial=-np.inf)
        off = np.max(np.abs(self.level + self.plane @ x), initial=0.0)
        return float(max(over, off - ROUNDING))

    def nearest(self, x: np.ndarray, margin: float = 0.0) -> np.ndarray:
        """The point nearest to x [D] that keeps the rows, inequalities with a margin in the cube: [D].

        It may break rows where none keeps them, and by what SWEEPS sweeps leave; see excess().
        """
        sets = len(self.offset) + 1
        gone = np.zeros((sets, x.size))  # what each projection took away, given back before the next one (Dykstra)
        for _ in range(SWEEPS):
            before = x
            x = self._project_to_equalities(x)
            y = x + gone[0]
            x = np.clip(y, *self.walls)
            gone[0] = y - x
            for i in range(1, sets):
                y = x + gone[i]
                over = max(self.offset[i - 1] + margin + self.slope[i - 1] @ y, 0.0)
                x = y - over * self.slope[i - 1]
                gone[i] = y - x
            if np.max(np.abs(x - before)) < SWEEP_TOLERANCE:
                break
        return self._close_rows(x, margin)

    def _close_rows(self, x: np.ndarray, margin: float) -> np.ndarray:
        """A point near x [D] beyond the rows by no more than rounding, if SWEEPS projections can do that: [D]."""
        for _ in range(SWEEPS):
            x = np.clip(self._project_to_equalities(x), *self.walls)
            if self.excess(x) <= -margin:
                break
            for slope, offset in zip(self.slope, self.offset):
                x = x - max(offset + slope @ x + margin + ROUNDING, 0.0) * slope
        return x

    def _project_to_equalities(self, x: np.ndarray) -> np.ndarray:
        """The point nearest to x [D] that meets the equalities; x where there are none."""
        return x if self.back is None else x - self.back @ (self.level + self.plane @ x)

    def interior_point(self, x: np.ndarray) -> np.ndarray:
        """A point near x [D] that keeps every row, as far inside as there is room; InvalidInput where there is none."""
        for margin in INTERIOR_MARGINS:
            found = self.nearest(x, margin)
            if self.excess(found) <= 0.0:
                return found
        found = self.nearest(x)
        if self.excess(found) > 1e-7:
            raise InvalidInput("the linear constraints that must be kept have no common point within the bounds")
        return found

    def project(self, x: np.ndarray, anchor: np.ndarray) -> np.ndarray:
        """A point as near to x [D] as can be found that keeps every row and the walls; x where it does.

        anchor [D] keeps them: where rounding leaves them, the point is on the way to it, or the anchor itself.
        """
        x = np.clip(x, *self.walls)
        if self.excess(x) <= 0.0:
            return x
        near = self.nearest(x)
        for share in (1.0, 1.0 - 1e-9, 1.0 - 1e-6, 1.0 - 1e-3, 0.9, 0.5):
            tried = anchor + share * (near - anchor)
            if self.excess(tried) <= 0.0:
                return tried
        return anchor
