"""Answers of the user's function as the search sees them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Answers(NamedTuple):
    """Values y [k, F] of k points: f, g <= 0, h = 0; nan where unknown. failed [k]: nothing to learn from."""

    y: np.ndarray
    failed: np.ndarray
    n_ineq: int

    @classmethod
    def of(cls, f: np.ndarray, g: np.ndarray, h: np.ndarray, tolerance: np.ndarray) -> Answers:
        """Answers from f [k], g [k, p], h [k, q] and tolerances [C].

        A point fails if a value is infinite, or if values are missing (nan) and none of the others violates a
        constraint, which would explain why the function gave up.
        """
        y, n_ineq = np.concatenate([f[:, None], g, h], axis=1), g.shape[1]
        missing, c = np.isnan(y), y[:, 1:]
        violated = np.concatenate([c[:, :n_ineq], np.abs(c[:, n_ineq:])], axis=1) > tolerance
        broken = np.isinf(y).any(axis=1)
        failed = broken | (missing.any(axis=1) & ~violated.any(axis=1))
        return cls(np.where(broken[:, None], np.nan, y), failed, n_ineq)
