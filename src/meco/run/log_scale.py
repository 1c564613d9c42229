"""Variables on a logarithmic scale: the search moves by factors where others move by differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.errors import InvalidInput


def read_log(mask: Any, lower: np.ndarray, upper: np.ndarray, whole: np.ndarray | None) -> np.ndarray | None:
    """Which variables are on a logarithmic scale [D], or None when none is."""
    if mask is None:
        return None
    found = np.asarray(mask)
    found = np.full(lower.size, bool(found)) if found.ndim == 0 and found.dtype.kind in "biu" else found
    if found.shape != lower.shape or found.dtype.kind not in "biu" or not np.isin(found, (0, 1)).all():
        raise InvalidInput(
            f"log must be True, or {lower.size} values True (a logarithmic scale) or False; got {mask!r:.60}"
        )
    found = found.astype(bool)
    for i in np.flatnonzero(found & (lower <= 0.0)):
        raise InvalidInput(f"log: bounds of variable {i} must be above 0; got ({lower[i]}, {upper[i]})")
    for i in np.flatnonzero(found & (np.zeros(lower.size, dtype=bool) if whole is None else whole)):
        raise InvalidInput(f"log: variable {i} is a whole number, which has no logarithmic scale here")
    return found if found.any() else None


class LogScale:
    """Between the unit cube and the box, for the variables that are on a logarithmic scale."""

    def __init__(self, log: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        self.log, self.lower, self.upper = log, lower, upper
        self.least = np.log(np.where(log, lower, 1.0))
        width = np.log(np.where(log, upper, 1.0)) - self.least
        self.width = np.where(width > 0.0, width, 1.0)

    def to_box(self, unit: np.ndarray, x: np.ndarray) -> np.ndarray:
        """x [..., D], with the variables of this scale taken from the unit cube."""
        scaled = np.clip(np.exp(self.least + unit * self.width), self.lower, self.upper)
        return np.where(self.log, scaled, x)

    def to_unit(self, x: np.ndarray, unit: np.ndarray) -> np.ndarray:
        """unit [..., D], with the variables of this scale taken from the box."""
        scaled = (np.log(np.where(self.log, x, 1.0)) - self.least) / self.width
        return np.where(self.log, np.clip(scaled, 0.0, 1.0), unit)
