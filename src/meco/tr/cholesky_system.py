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
    """L [1, m, m] of a matrix, and the rows of its diagonal blocks with their inverses, [1, n, n] each."""

    matrix: np.ndarray
    blocks: list[tuple[slice, np.ndarray]]


class CholeskyFactored(Factored):
    """Symmetric positive definite matrices [B, m, m], factored when a system is first solved; NumPy alone.

    Run by run, so that a matrix that is left to LU leaves the others as they are.
    """

    @cached_property
    def _runs(self) -> list[tuple[Lower | None, Factored]]:
        """L of each matrix, None where it is not positive definite, and the matrix itself."""
        alone = [self.matrix[b : b + 1] for b in range(len(self.matrix))]
        return [(factor(matrix), Factored(matrix)) for matrix in alone]

    def solved(self, right: Array) -> Array:
        """matrix^-1 right, both with B rows: [B, m, n]."""
        return np.concatenate(
            [
                plain.solved(part) if lower is None else solve_upward(lower, solve_downward(lower, part))
                for (lower, plain), part in zip(self._runs, right[:, None])
            ]
        )

    def inverse_times(self, right: Array) -> Array:
        """The inverses, which are not made, times right [B, m, n]: [B, m, n]."""
        return self.solved(right)

    def inverse_form(self, columns: Array) -> Array:
        """c' matrix^-1 c of each column c of [B, m, n]: [B, n]; sums of squares of L^-1 c."""
        return np.concatenate(
            [
                plain.inverse_form(part) if lower is None else sum_squares(solve_downward(lower, part))
                for (lower, plain), part in zip(self._runs, columns[:, None])
            ]
        )

    @cached_property
    def inverse_diagonal(self) -> Array:
        """The diagonals of the inverses [B, m]: sums of squares of the columns of L^-1."""
        return np.concatenate(
            [plain.inverse_diagonal if lower is None else sum_squares(invert(lower)) for lower, plain in self._runs]
        )

    def of(self, runs: np.ndarray) -> CholeskyFactored:
        """The matrices of the runs at these indices, factored again."""
        return CholeskyFactored(self.matrix[runs])


def sum_squares(columns: np.ndarray) -> np.ndarray:
    """The sum of squares of each column of [1, m, n]: [1, n]."""
    return np.asarray(total(columns * columns, 1))


def factor(matrix: np.ndarray) -> Lower | None:
    """L of a symmetric matrix [1, m, m]; None for one that is not positive definite."""
    try:
        lower = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    parts = [slice(first, min(first + BLOCK, matrix.shape[-1])) for first in range(0, matrix.shape[-1], BLOCK)]
    return Lower(lower, [(part, inverse(lower[:, part, part])) for part in parts])


def solve_downward(lower: Lower, right: np.ndarray) -> np.ndarray:
    """L^-1 right [1, m, n], by eq. (1) from the first block to the last."""
    made = np.empty_like(right)
    for part, inverted in lower.blocks:
        made[:, part] = inverted @ (right[:, part] - lower.matrix[:, part, : part.start] @ made[:, : part.start])
    return made


def solve_upward(lower: Lower, right: np.ndarray) -> np.ndarray:
    """L'^-1 right [1, m, n], from the last block to the first."""
    made = np.empty_like(right)
    for part, inverted in reversed(lower.blocks):
        below = slice(part.stop, None)
        made[:, part] = inverted.mT @ (right[:, part] - lower.matrix[:, below, part].mT @ made[:, below])
    return made


def invert(lower: Lower) -> np.ndarray:
    """L^-1 [1, m, m], by eq. (1) for the columns of the identity, which are 0 above."""
    made = np.zeros_like(lower.matrix)
    for part, inverted in lower.blocks:
        known = slice(0, part.start)
        made[:, part, known] = -inverted @ (lower.matrix[:, part, known] @ made[:, known, known])
        made[:, part, part] = inverted
    return made
