"""The merit f + sum_i w_i v_i of values, and its weights (docs/trust-region.md, section 4).

v_i is the violation of constraint i, zero within its tolerance. An exact penalty needs weights above the multipliers
|lambda_i|, which are known only near a solution. So each weight is the largest of

    1.5 |lambda_i|            lambda: multipliers of the last step,                                     (4.2)
    0.3 s_f / s_i             s: change of a function across the region,                                (4.3)
    (1 - 0.3 / D) w_i         what is left of the previous weight.                                      (4.4)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meco.tr_single.answers import Answers


@dataclass
class Merit:
    """Weights and tolerances [C] of constraints, of which the first n_ineq are inequalities."""

    n_ineq: int
    tolerance: np.ndarray
    weights: np.ndarray
    restoring: bool = False  # all weights are one number, which stays

    def violation(self, y: np.ndarray) -> np.ndarray:
        """max(g, 0) and |h| of values y [..., F], zero within the tolerance: [..., C]."""
        c, equal = y[..., 1:], np.arange(y.shape[-1] - 1) >= self.n_ineq
        v = np.where(equal, np.abs(c), c)
        return np.where(v > self.tolerance, np.maximum(v, 0.0), 0.0)

    def of(self, y: np.ndarray) -> np.ndarray:
        """Merit of values y [..., F]: [...]."""
        return y[..., 0] + self.violation(y) @ self.weights

    def feasible(self, answers: Answers) -> bool:
        """Whether some answer satisfies all constraints."""
        return bool((~answers.failed & ~self.violation(answers.y).any(axis=1)).any())

    def decay(self, share: float) -> None:
        """Apply (4.4)."""
        if not self.restoring:
            self.weights = (1.0 - share) * self.weights

    def rise(self, wanted: np.ndarray) -> None:
        """Raise the weights to at least wanted [C]."""
        if not self.restoring:
            self.weights = np.maximum(self.weights, wanted)

    def restore(self, weight: float) -> None:
        """Give all constraints one weight, which stays until a feasible point is found, (8.1)."""
        if weight > 0.0:
            self.weights, self.restoring = np.full_like(self.weights, weight), True
