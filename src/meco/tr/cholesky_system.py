"""Systems of many variables' models, K of quadratic.py: factored once, by Cholesky, for all that is asked of them.

K = L L' takes half the operations of LU, and L is kept: weights, variances of geometry points and leave-one-out errors
of an iteration come from one factor, where np.linalg would begin anew with each. NumPy factors, but solves no
triangular systems; these go block by block, nearly all of it products:

    x_j = L_jj^-1 (b_j - sum_{i<j} L_ji x_i)    for L x = b.                                            (1)

A matrix that rounding has made indefinite is left to LU.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, Factored, inverse, total

LEAST_FACTORED = 250  # rows of systems that are factored: LU of smaller ones takes less time than the blocks' calls
BLOCK = 32  # rows of a block: fewer take more calls, more take longer to invert


class Lower(NamedTuple):
    """L [B, m, m] of matrices, and the rows of its diagonal blocks with their inverses, [B, n, n] each."""

    matrix: np.ndarray
    blocks: list[tuple[slice, np.ndarray]]


class CholeskyFactored(Factored):
    """Symmetric positive definite matrices [B, m, m], factored when a system is first solved; NumPy alone."""

    @cached_property
    def _lower(self) -> Lower | None:
        """L; None where a matrix is not positive definite."""
        try:
            return factor(self.matrix)
        except np.linalg.LinAlgError:
            return None

    def solved(self, right: Array) -> Array:
        """matrix^-1 right, both with B rows: [B, m, n]."""
        if self._lower is None:
            return super().solved(right)
        return solve_upward(self._lower, solve_downward(self._lower, right))

    def inverse_times(self, right: Array) -> Array:
        """The inverses, which are not made, times right [B, m, n]: [B, m, n]."""
        return self.solved(right)

    def inverse_form(self, columns: Array) -> Array:
        """c' matrix^-1 c of each column c of [B, m, n]: [B, n]; the sum of squares of L^-1 c."""
        if self._lower is None:
            return super().inverse_form(columns)
        half = solve_downward(self._lower, columns)
        return total(half * half, 1)

    @cached_property
    def inverse_diagonal(self) -> Array:
        """The diagonals of the inverses [B, m]: sums of squares of the columns of L^-1."""
        if self._lower is None:
            return super().inverse_diagonal
        turned = invert(self._lower)
        return total(turned * turned, 1)

    def of(self, runs: np.ndarray) -> CholeskyFactored:
        """The matrices of the runs at these indices, factored again."""
        return CholeskyFactored(self.matrix[runs])


def factor(matrix: np.ndarray) -> Lower:
    """L of symmetric matrices [B, m, m]; LinAlgError for one that is not positive definite."""
    lower, size = np.linalg.cholesky(matrix), matrix.shape[-1]
    parts = [slice(first, min(first + BLOCK, size)) for first in range(0, size, BLOCK)]
    return Lower(lower, [(part, inverse(lower[:, part, part])) for part in parts])


def solve_downward(lower: Lower, right: np.ndarray) -> np.ndarray:
    """L^-1 right [B, m, n], by eq. (1) from the first block to the last."""
    made = np.empty_like(right)
    for part, inverted in lower.blocks:
        made[:, part] = inverted @ (right[:, part] - lower.matrix[:, part, : part.start] @ made[:, : part.start])
    return made


def solve_upward(lower: Lower, right: np.ndarray) -> np.ndarray:
    """L'^-1 right [B, m, n], from the last block to the first."""
    made = np.empty_like(right)
    for part, inverted in reversed(lower.blocks):
        below = slice(part.stop, None)
        made[:, part] = inverted.mT @ (right[:, part] - lower.matrix[:, below, part].mT @ made[:, below])
    return made


def invert(lower: Lower) -> np.ndarray:
    """L^-1 [B, m, m], by eq. (1) for the columns of the identity, which are 0 above."""
    made = np.zeros_like(lower.matrix)
    for part, inverted in lower.blocks:
        known = slice(0, part.start)
        made[:, part, known] = -inverted @ (lower.matrix[:, part, known] @ made[:, known, known])
        made[:, part, part] = inverted
    return made
