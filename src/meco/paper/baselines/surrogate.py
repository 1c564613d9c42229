"""Cubic radial basis functions with a linear tail: one factorisation for all outputs, grown point by point.

s(x) = sum_i w_i |x - x_i|^3 + a + b.x interpolates all outputs at all points. The cubic is
positive definite only on weights that every linear function is blind to, so the system is
rewritten with a kernel that is positive definite outright: the cubic minus its linear
interpolant on the corners of a simplex, in both arguments. That kernel gives the same
interpolant and has a Cholesky factor, to which a new point adds one row.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import NamedTuple

import numpy as np

from meco.engines.external import load_library

SIMPLEX_WIDTH = 1.25  # radius of the simplex in radii of the cube: no corner is ever a point of the cube
SINGULAR_PIVOT = 1e-13  # a point whose pivot is below this share of its kernel value adds nothing but noise


class Surrogate(NamedTuple):
    """Interpolants of m outputs, ready to be evaluated."""

    x: np.ndarray  # centres [n, D]
    weight: np.ndarray  # [m, n]
    slope: np.ndarray  # [m, D]
    level: np.ndarray  # [m]
    square: np.ndarray  # |x_i|^2, [n]

    def value(self, x: np.ndarray) -> np.ndarray:
        """All outputs at one point: x [D] -> [m]; the plain formula, which evaluate() is tested against."""
        return self.weight @ _distances_to(self.x, x) ** 3 + self.slope @ x + self.level

    def evaluate(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All outputs [m], their gradients [m, D] and the squared distances to the centres [n] at one point.

        The gradient is 3 sum_i w_i |x - x_i| (x - x_i) + b; distances come from inner products,
        which is exact enough because small distances hardly count in a cubic.
        """
        apart = np.maximum(self.square + (x @ x) - 2.0 * (self.x @ x), 0.0)
        pull = self.weight * np.sqrt(apart)
        gradient = 3.0 * (np.sum(pull, axis=1)[:, None] * x - pull @ self.x) + self.slope
        return pull @ apart + self.slope @ x + self.level, gradient, apart


class Simplex:
    """Regular simplex around the centre: barycentric coordinates are the basis of linear functions."""

    def __init__(self, dim: int) -> None:
        """A regular simplex around the cube [-1, 1]^D."""
        corners = np.eye(dim + 1) - 1.0 / (dim + 1)  # regular, in the D-dimensional plane of sum 0
        basis = np.linalg.svd(corners)[2][:dim]
        corners = corners @ basis.T
        self.corners = corners * SIMPLEX_WIDTH * np.sqrt(dim) / np.linalg.norm(corners[0])
        self.inverse = np.linalg.inv(np.hstack([np.ones((dim + 1, 1)), self.corners]))  # [D+1, D+1]
        self.kernel = _cubed_distances(self.corners, self.corners)

    def coordinates(self, x: np.ndarray) -> np.ndarray:
        """Barycentric coordinates: x [n, D] -> [n, D+1], rows sum to 1."""
        return self.inverse[0] + x @ self.inverse[1:]


class CubicRBF:
    """Interpolation that grows: add() points and outputs, surrogate() gives what they say."""

    def __init__(self, dim: int, outputs: int) -> None:
        """No points yet, of dim variables and so many outputs; room grows with them."""
        self.simplex = Simplex(dim)
        self.size = 0
        self.x = np.empty((0, dim))
        self.near = np.empty((0, dim + 1))  # barycentric coordinates l(x_i)
        self.far = np.empty((0, dim + 1))  # cubic kernel with the corners
        self.tail = np.empty((0, dim + 1))  # L^-1 near
        self.data = np.empty((0, outputs))  # L^-1 y
        self.factor = np.empty(0)  # the rows of L one after the other
        self.normal = np.zeros((dim + 1, dim + 1))  # tail' tail
        self.moment = np.zeros((dim + 1, outputs))  # tail' data

    def fit(self, x: np.ndarray, y: np.ndarray) -> None:
        """Start afresh from points x [n, D] with outputs y [n, m]: one factorisation instead of n steps.

        Points that cannot be told from others are left out.
        """
        self.size = 0
        self.normal[:], self.moment[:] = 0.0, 0.0
        near = self.simplex.coordinates(x)
        far = _cubed_distances(x, self.simplex.corners)
        cross = far @ near.T
        kernel = _cubed_distances(x, x) - cross - cross.T + near @ self.simplex.kernel @ near.T
        try:
            factor = np.linalg.cholesky(kernel)
        except np.linalg.LinAlgError:
            factor = np.zeros_like(kernel)
        if np.any(np.diagonal(factor) ** 2 <= SINGULAR_PIVOT * np.diagonal(kernel)):
            for point, output in zip(x, y):  # leaves out what cannot be told apart
                self.add(point, output)
            return
        solved = load_library("scipy.linalg", "a surrogate method").solve_triangular(
            factor, np.hstack([near, y]), lower=True
        )
        self._reserve(len(x))
        n, q = len(x), near.shape[1]
        self.x[:n], self.near[:n], self.far[:n] = x, near, far
        self.tail[:n], self.data[:n] = solved[:, :q], solved[:, q:]
        self.factor[: n * (n + 1) // 2] = factor[np.tril_indices(n)]
        self.normal[:] = self.tail[:n].T @ self.tail[:n]
        self.moment[:] = self.tail[:n].T @ self.data[:n]
        self.size = n

    def add(self, x: np.ndarray, y: np.ndarray) -> bool:
        """Add one point x [D] with outputs y [m]; False, and it is left out, when it cannot be told from the others."""
        n = self.size
        near = self.simplex.coordinates(x)
        far = _distances_to(self.simplex.corners, x) ** 3
        apart = self.simplex.kernel @ near
        own = near @ (apart - 2.0 * far)
        row = _distances_to(self.x[:n], x) ** 3 - self.far[:n] @ near + self.near[:n] @ (apart - far)
        if n:
            row = self._solve_forward(row)
        pivot = own - row @ row
        if not pivot > SINGULAR_PIVOT * own:
            return False
        root = np.sqrt(pivot)
        self._reserve(n + 1)
        self.x[n], self.near[n], self.far[n] = x, near, far
        self.tail[n] = (near - row @ self.tail[:n]) / root
        self.data[n] = (y - row @ self.data[:n]) / root
        start = n * (n + 1) // 2
        self.factor[start : start + n] = row
        self.factor[start + n] = root
        self.normal += np.outer(self.tail[n], self.tail[n])
        self.moment += np.outer(self.tail[n], self.data[n])
        self.size = n + 1
        return True

    def surrogate(self) -> Surrogate:
        """The interpolants of what was added so far; LinAlgError without D + 1 points that span the space."""
        n = self.size
        trend = np.linalg.solve(self.normal, self.moment)  # [D+1, m]
        rest = (self.data[:n] - self.tail[:n] @ trend).T
        weight = np.stack([self._solve_backward(row) for row in rest])
        corner = trend - (weight @ self.far[:n]).T  # values of the tail at the corners
        plane = self.simplex.inverse @ corner
        x = self.x[:n]
        return Surrogate(x, weight, plane[1:].T, plane[0], np.einsum("ij,ij->i", x, x))

    def _solve_forward(self, row: np.ndarray) -> np.ndarray:
        """L^-1 row, [size] each; rows of L are columns of its packed upper transpose."""
        return _load_blas().dtpsv(self.size, self.factor, row, lower=0, trans=1)

    def _solve_backward(self, column: np.ndarray) -> np.ndarray:
        """L^-T column, [size] each."""
        return _load_blas().dtpsv(self.size, self.factor, column, lower=0, trans=0)

    def _reserve(self, count: int) -> None:
        """Make room for that many points: arrays grow, size does not."""
        if count <= len(self.x):
            return
        room = max(256, 2 * len(self.x), count)
        for name in ("x", "near", "far", "tail", "data"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros((room - len(old), old.shape[1]))]))
        self.factor = np.concatenate([self.factor, np.zeros(room * (room + 1) // 2 - self.factor.size)])


@cache
def _load_blas() -> ModuleType:
    """SciPy's BLAS, which solves packed triangular systems; MissingExtra without SciPy."""
    return load_library("scipy.linalg.blas", "a surrogate method")


def _distances_to(points: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Distances between points [n, D] and x [D]."""
    apart = points - x
    return np.sqrt(np.einsum("ij,ij->i", apart, apart))


def _cubed_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cubed distances between points a [n, D] and b [k, D]: [n, k]."""
    square = np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b) - 2.0 * (a @ b.T)
    square = np.maximum(square, 0.0)
    return square * np.sqrt(square)
