"""Variables on a logarithmic scale: the search moves by factors where others move by differences."""

from __future__ import annotations

import numpy as np


class LogScale:
    """Between the unit cube and the box, for the variables that are on a logarithmic scale."""

    def __init__(self, log: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """log [D] marks the variables; their bounds must be positive."""
        self.log, self.lower, self.upper = log, lower, upper
        self.least = np.log(np.where(log, lower, 1.0))
        width = np.log(np.where(log, upper, 1.0)) - self.least
        self.width = np.where(width > 0.0, width, 1.0)

    @property
    def linear(self) -> np.ndarray:
        """Variables [D] that are on no logarithmic scale."""
        return ~self.log

    def to_box(self, unit: np.ndarray, x: np.ndarray) -> np.ndarray:
        """x [..., D], with the variables of this scale taken from the unit cube."""
        scaled = np.clip(np.exp(self.least + unit * self.width), self.lower, self.upper)
        return np.where(self.log, scaled, x)

    def to_unit(self, x: np.ndarray, unit: np.ndarray) -> np.ndarray:
        """unit [..., D], with the variables of this scale taken from the box."""
        scaled = (np.log(np.where(self.log, x, 1.0)) - self.least) / self.width
        return np.where(self.log, np.clip(scaled, 0.0, 1.0), unit)

    def slopes(self, x: np.ndarray, linear: np.ndarray) -> np.ndarray:
        """dx / du [..., D] at x, with those of the variables of this scale: x times the width in logarithms."""
        return np.where(self.log, x * self.width, linear)
