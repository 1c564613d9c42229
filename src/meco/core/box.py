"""Between the unit cube, in which engines search, and the box, in which points are evaluated.

Where bounds are infinite the cube has no walls: search_range.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from meco.core.arrays import Array, known_all, namespace, to_numpy
from meco.core.categories import Categories
from meco.core.problem import round_half_away
from meco.core.search_range import FARTHEST, TYPICAL_LENGTHS, SearchRange


class Scale(Protocol):
    """Takes variables that are not linear in the unit cube to the box and back."""

    @property
    def linear(self) -> np.ndarray:
        """Variables [D] that are left alone."""
        ...

    def to_box(self, unit: np.ndarray, x: np.ndarray) -> np.ndarray:
        """x, the linear image of unit, with the variables of this scale put where they belong."""
        ...

    def to_unit(self, x: np.ndarray, unit: np.ndarray) -> np.ndarray:
        """unit, the linear image of x, with the variables of this scale put where they belong."""
        ...

    def slopes(self, x: np.ndarray, linear: np.ndarray) -> np.ndarray:
        """dx / du at x, where linear has it for the variables that are left alone."""
        ...


@dataclass(frozen=True, eq=False)
class Box:
    """The bounds of each run and its integer variables: arrays [B or 1, 1, D].

    Mapping a point into the unit cube and back can move its last bit, so points that were given in the box are pinned:
    remembered with their unit coordinates.
    """

    lower: Array
    upper: Array
    integer: Array | None = None  # mask; None: every variable is continuous
    scale: Scale | None = None
    pinned: dict[bytes, np.ndarray] = field(default_factory=dict)  # unit coordinates -> point [D]; of one run
    range: SearchRange | None = None  # of the one run of a box with infinite bounds
    repair: Callable[[np.ndarray], np.ndarray] | None = (
        None  # moves points [n, D] of one run to where they may be called
    )
    categories: Categories | None = None  # integers of one run whose differences mean nothing

    def __post_init__(self) -> None:
        """Compute what every mapping needs: widths, and the least and largest integers."""
        xp = namespace(self.lower)
        object.__setattr__(self, "_width", self.upper - self.lower)
        if self.integer is not None:
            object.__setattr__(self, "_least", xp.ceil(self.lower))
            object.__setattr__(self, "_most", xp.floor(self.upper))

    @property
    def dim(self) -> int:
        """Number of variables."""
        return self.lower.shape[-1]

    @property
    def origin(self) -> np.ndarray:
        """Where the coordinates of the first run's search are 0: [D]."""
        return np.asarray(self.lower)[0, 0] if self.range is None else self.range.origin

    @property
    def lengths(self) -> np.ndarray:
        """How far they go from 0 to 1: [D]."""
        return np.asarray(self.upper - self.lower)[0, 0] if self.range is None else self.range.length

    def to_box(self, unit: Array) -> Array:
        """Unit-cube coordinates [B, n, D] as the points that are evaluated: repaired, on their scale, integers rounded.

        Pinned points are exactly what was given. Coordinates must be finite, see keep_inside().
        """
        unit = unit if self.repair is None else self.repair(unit[0])[None]
        if self.range is None:
            x = _interpolate(unit, self.lower, self._width, self.upper)  # type: ignore[attr-defined]
        else:
            x = self._scale_unbounded(unit, self.range)
        x = x if self.scale is None else self.scale.to_box(unit, x)
        if self.integer is not None:
            xp = namespace(unit)
            rounded = xp.minimum(xp.maximum(round_half_away(x), self._least), self._most)  # type: ignore[attr-defined]
            x = xp.where(self.integer, rounded, x)
        return self._restore_pinned(unit, x) if self.pinned else x

    def _scale_unbounded(self, unit: np.ndarray, over: SearchRange) -> np.ndarray:
        """Points [1, n, D] whose coordinates may have no limit: finite, and inside the bounds that there are."""
        least, most = np.maximum(self.lower, -FARTHEST), np.minimum(self.upper, FARTHEST)
        with np.errstate(over="ignore"):
            return np.clip(over.origin + unit * over.length, least, most)

    def _restore_pinned(self, unit: np.ndarray, x: np.ndarray) -> np.ndarray:
        """x [1, n, D], copied where need be, with pinned unit coordinates taken to exactly the points given."""
        pinned = [(i, self.pinned[key]) for i, key in enumerate(candidate_keys(unit)) if key in self.pinned]
        if pinned:
            x = x.copy()
            for i, point in pinned:
                x[0, i] = point
        return x

    def keep_inside(self, unit: Array) -> Array:
        """Coordinates [B, n, D] that every engine and plug-in may be evaluated at: numbers, between the walls.

        nan and infinities become 0.5, and what repair() would move is moved. Arrays on a device come back as they are:
        looking at them would wait for it.
        """
        if not isinstance(unit, np.ndarray):
            return unit
        low, high = (0.0, 1.0) if self.range is None else (self.range.low, self.range.high)
        if not known_all((unit >= low) & (unit <= high) & np.isfinite(unit)):
            unit = np.clip(np.where(np.isfinite(unit), unit, 0.5), low, high)
        return unit if self.repair is None else self.repair(unit[0])[None]

    def to_unit(self, x: np.ndarray) -> np.ndarray:
        """Points [n, D] of the first run's box in the unit cube, cut to its walls; a variable that is fixed is 0."""
        if self.range is None:
            low, high = np.asarray(self.lower)[0, 0], np.asarray(self.upper)[0, 0]
            unit = np.clip((x - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
        else:
            low, high, origin, length = self.range
            unit = np.clip((x - origin) / np.where(length > 0.0, length, 1.0), low, high)
        return unit if self.scale is None else self.scale.to_unit(x, unit)

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """How far each variable [D] of a point x [D] of the first run's box moves for each unit of the cube: dx / du.

        1 of a variable that is fixed.
        """
        linear = np.where(self.lengths > 0.0, self.lengths, 1.0)
        return linear if self.scale is None else self.scale.slopes(x, linear)

    def wall_distances(self, unit: np.ndarray) -> np.ndarray:
        """How far a point [D] of the first run's cube is from the lower and the upper walls: [2, D], inf where none."""
        low, high = (0.0, 1.0) if self.range is None else (self.range.low, self.range.high)
        return np.stack([unit - low, high - unit])

    def typical_lengths(self, unit: np.ndarray) -> np.ndarray:
        """How far each variable [D] of a point of the first run's cube may ordinarily go: max(1, |x|), in the cube.

        Where the cube is not linear in a variable, all of it; of one without a bound, what its range was made of.
        """
        low, high = to_numpy(self.lower)[0, 0], to_numpy(self.upper)[0, 0]
        width = np.where((high > low) & np.isfinite(high - low), high - low, 1.0)
        lengths = np.maximum(1.0, np.abs(low + unit * width)) / width
        if self.range is not None:
            lengths = np.where(self.range.infinite, 1.0 / TYPICAL_LENGTHS, lengths)
        return lengths if self.scale is None else np.where(self.scale.linear, lengths, 1.0)

    def pin(self, x: np.ndarray) -> np.ndarray:
        """Remember points [n, D] in `pinned`, and give the unit coordinates [n.

        D] that to_box() takes to them exactly.
        """
        unit = self.to_unit(x) + 0.0
        for row, point in zip(unit, x):
            self.pinned[row.tobytes()] = point
        return unit


def _interpolate(unit: Array, lower: Array, width: Array, upper: Array) -> Array:
    """lower + unit width, at most upper."""
    return namespace(unit).minimum(lower + unit * width, upper)  # rounding can pass the upper bound only


def candidate_keys(unit: np.ndarray) -> list[bytes]:
    """The bytes that identify each candidate [1, n, D] of a single run; -0.0 and 0.0 are the same."""
    return [row.tobytes() for row in np.ascontiguousarray(unit[0] + 0.0)]
