"""Rows that are told one after the other, as one array at any time: NumPy only."""

from __future__ import annotations

from typing import Any

import numpy as np


class GrowingRows:
    """Rows [n, ...] that more are added to; what was handed out before costs no copy, and stays until arrange()."""

    def __init__(self, *shape: int, dtype: Any = np.float64) -> None:
        self._rows = np.empty((16, *shape), dtype=dtype)
        self._count = 0

    def extend(self, more: np.ndarray) -> None:
        """Add a copy of rows [m, ...] at the end; m may be 0."""
        end = self._count + len(more)
        if end > len(self._rows):
            grown = np.empty((max(end, 2 * len(self._rows)), *self._rows.shape[1:]), dtype=self._rows.dtype)
            grown[: self._count] = self._rows[: self._count]
            self._rows = grown
        self._rows[self._count : end] = more
        self._count = end

    def arrange(self, order: np.ndarray) -> None:
        """Put the rows in another order [n], also where they were handed out."""
        moved = np.flatnonzero(order != np.arange(self._count))
        if moved.size:
            self._rows[moved[0] : self._count] = self._rows[order[moved[0] :]]

    @property
    def all(self) -> np.ndarray:
        """The rows so far [n, ...], a view that cannot be written to; later rows do not show in it."""
        seen = self._rows[: self._count]
        seen.flags.writeable = False
        return seen
