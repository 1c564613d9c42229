"""Optimizers to compare with that are not methods of meco: one function each, on any problem of meco.

    python benchmarks/peers_on_problems.py NOMAD RC20 --budget 500

A function takes a Target, a seed and options of its own, and searches until the target raises Spent.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Spent(Exception):
    """The budget is spent."""


class Target:
    """A problem in its own units with a budget. The best point counts by feasibility, then violation, then f."""

    def __init__(self, problem: Any, budget: int) -> None:
        self.problem, self.left = problem, budget
        self.dim, self.low, self.high = problem.dim, problem.lower, problem.upper
        self.integer = np.zeros(self.dim, dtype=bool) if problem.integrality is None else problem.integrality
        self.best = (np.inf, np.inf)  # violation, f
        self.best_x: np.ndarray | None = None

    def __call__(self, x: np.ndarray) -> np.ndarray | None:
        """f, g and h at x [D] as one row [1 + p + q]; None for a failed evaluation. Raises Spent."""
        if self.left == 0:
            raise Spent
        self.left -= 1
        x = np.clip(np.where(self.integer, np.round(x), x), self.low, self.high)
        f, g, h = (np.atleast_1d(part) for part in self.problem.raw(x))
        row = np.concatenate([f, g, h])
        if not np.isfinite(row).all():
            return None
        rated = float(self.violations(row).sum()), float(f[0])
        if rated < self.best:
            self.best, self.best_x = rated, x
        return row

    def excess(self, rows: np.ndarray) -> np.ndarray:
        """Constraints as c <= 0 of rows [..., 1 + p + q]: g - tolerance and |h| - tolerance, [..., p + q]."""
        p = self.problem.n_ineq
        g, h = rows[..., 1 : 1 + p] - self.problem.ineq_tol, np.abs(rows[..., 1 + p :]) - self.problem.eq_tol
        return np.concatenate([g, h], axis=-1)

    def violations(self, rows: np.ndarray) -> np.ndarray:
        """Violation of each constraint beyond its tolerance, [..., p + q]."""
        return np.maximum(self.excess(rows), 0.0)
