"""Rows that are told one after the other, as one array at any time: NumPy only."""

from __future__ import annotations

from typing import Any

import numpy as np


class GrowingRows:
    """Rows [n, ...] that more are added to; what was handed out before costs no copy, and stays until overwrite()."""

    def __init__(self, *shape: int, dtype: Any = np.float64) -> None:
        self._rows = np.empty((16, *shape), dtype=dtype)
        self._count = 0

    def extend(self, more: np.ndarray) -> None:
        """Add a copy of rows [m, ...] at the end; m may be 0."""
        self.put(self._count, more)

    def put(self, start: int, more: np.ndarray) -> None:
        """Make a copy of rows [m, ...] those from `start` on, the last ones; there must be as many before."""
        end = start + len(more)
        if end > len(self._rows):
            grown = np.empty((max(end, 2 * len(self._rows)), *self._rows.shape[1:]), dtype=self._rows.dtype)
            grown[:start] = self._rows[:start]
            self._rows = grown
        self._rows[start:end] = more
        self._count = end

    def overwrite(self, start: int, rows: np.ndarray) -> None:
        """Put rows [m, ...] in the place of those from `start` on, also where these were handed out."""
        self._rows[start : start + len(rows)] = rows

    @property
    def all(self) -> np.ndarray:
        """The rows so far [n, ...], a view that cannot be written to; later rows do not show in it."""
        seen = self._rows[: self._count]
        seen.flags.writeable = False
        return seen
