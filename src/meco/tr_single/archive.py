"""Archive of evaluated points. Models are fitted to them, and the centre is one of them."""

from __future__ import annotations

import numpy as np

from meco.tr_single.answers import Answers
from meco.tr_single.small_arrays import bounded

LARGEST_VALUE = 1e100  # larger values are cut off, so that sums and products of models do not overflow
FIRST_ROWS = 256  # the arrays double in length when they are full


class Archive:
    """Points x [n, D], values y [n, F], flags failed [n] and missing [n, F], and the restart [n] of each point.

    At capacity, a new point replaces the one farthest from the centre.
    """

    def __init__(self, dim: int, functions: int, capacity: int) -> None:
        self.count, self.capacity = 0, capacity
        rows = min(FIRST_ROWS, capacity)
        self._x, self._y = np.zeros((rows, dim)), np.zeros((rows, functions))
        self._failed, self._missing = np.zeros(rows, dtype=bool), np.zeros((rows, functions), dtype=bool)
        self._restart = np.zeros(rows, dtype=int)

    x = property(lambda self: self._x[: self.count])
    y = property(lambda self: self._y[: self.count])
    failed = property(lambda self: self._failed[: self.count])
    missing = property(lambda self: self._missing[: self.count])
    restart = property(lambda self: self._restart[: self.count])

    def add(self, x: np.ndarray, answers: Answers, restart: int, centre: np.ndarray) -> None:
        """Add the answers at points x [k, D] of a restart."""
        y = bounded(answers.y, -LARGEST_VALUE, LARGEST_VALUE)
        for point in zip(x, y, answers.failed, answers.missing):
            row = self._free_row(centre)
            self._x[row], self._y[row], self._failed[row], self._missing[row] = point
            self._restart[row] = restart

    def _free_row(self, centre: np.ndarray) -> int:
        """Return the row of the next point."""
        if self.count == self.capacity:
            return int(np.argmax(((self._x - centre) ** 2).sum(axis=1)))
        if self.count == len(self._x):
            more = min(len(self._x), self.capacity - len(self._x))
            for name in ("_x", "_y", "_failed", "_missing", "_restart"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros((more, *old.shape[1:]), dtype=old.dtype)]))
        self.count += 1
        return self.count - 1

    def nearest(self, centre: np.ndarray, widths: np.ndarray, count: int) -> np.ndarray:
        """Rows of the `count` successful points nearest to a centre [D], unordered; distances are in widths [D]."""
        apart = (self.x - centre) / widths
        square = np.where(self.failed, np.inf, np.vecdot(apart, apart))
        if self.count - np.count_nonzero(self.failed) > count:
            return square.argpartition(count - 1)[:count]
        return np.flatnonzero(~self.failed)

    def has(self, x: np.ndarray) -> bool:
        """Whether exactly this point x [D] was evaluated, successfully or not."""
        return bool((self.x[self.x[:, 0] == x[0]] == x).all(axis=1).any())

    def distance(self, x: np.ndarray, unit: np.ndarray) -> float:
        """Maximum-norm distance from x [D] to the nearest evaluated point, in units of unit [D]."""
        return float((np.abs(self.x - x) / unit).max(axis=1).min())
