"""Answers of the user's function as the search sees them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Answers(NamedTuple):
    """Values y [k, F] of k points: f, g <= 0, h = 0. Missing ones [k, F] are 0. failed [k]: nothing to learn from."""

    y: np.ndarray
    missing: np.ndarray
    failed: np.ndarray
    n_ineq: int

    @classmethod
    def of(cls, f: np.ndarray, g: np.ndarray, h: np.ndarray, tolerance: np.ndarray) -> Answers:
        """Answers from f [k], g [k, p], h [k, q], with nan for missing values, and tolerances [C].

        A point fails if a value is infinite, or if values are missing and none of the others violates a constraint,
        which would explain why.
        """
        y, p = np.concatenate([f[:, None], g, h], axis=1), g.shape[1]
        size = np.concatenate([g, np.abs(h)], axis=1)
        broken, violated = np.isinf(y).any(axis=1), (size > tolerance).any(axis=1)
        missing = np.isnan(y) | broken[:, None]
        return cls(np.where(missing, 0.0, y), missing, broken | (missing.any(axis=1) & ~violated), p)
