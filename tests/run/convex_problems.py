"""Random convex problems whose optimum and Lagrange multipliers are known, in units of all sizes."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class ConvexProblem:
    """A function of x with its bounds, its optimum, and the multipliers of constraints [C] and of bounds [2, D]."""

    fun: Any
    bounds: np.ndarray  # [D, 2]
    optimum: np.ndarray
    prices: np.ndarray
    bound_prices: np.ndarray

    @property
    def width(self):
        return self.bounds[:, 1] - self.bounds[:, 0]


def draw_problem(seed):
    """2 to 7 variables; active and inactive curved constraints, bounds and an equality; f of degree 2 or 4."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(2, 8))
    low = rng.uniform(-5, 0, dim)
    width = rng.uniform(1, 10, dim)
    n_bounds = int(rng.integers(0, min(2, dim - 1) + 1))
    n_active = int(rng.integers(0 if n_bounds else 1, dim - n_bounds + 1))
    n_equal = int(rng.integers(0, 2)) if n_active + n_bounds < dim else 0
    optimum = low + width * rng.uniform(0.15, 0.85, dim)
    bound_prices = np.zeros((2, dim))
    for j, side in zip(rng.choice(dim, n_bounds, False), rng.integers(0, 2, n_bounds)):
        optimum[j] = (low, low + width)[side][j]
        bound_prices[side, j] = rng.uniform(0.1, 3) / width[j]
    slopes, bends, offsets, prices, scales = [], [], [], [], []
    for i in range(n_active + int(rng.integers(0, 3))):
        root = rng.normal(size=(dim, dim)) * rng.choice([0, 0.3, 1.0]) / width
        slopes.append(rng.normal(size=dim) / width)
        bends.append(root.T @ root)
        scales.append(10 ** rng.uniform(-3, 3))
        offsets.append(0.0 if i < n_active else -rng.uniform(0.1, 1))
        prices.append(rng.uniform(0.1, 3) / scales[-1] if i < n_active else 0.0)
    ties = rng.normal(size=(n_equal, dim)) / width
    tie_prices = rng.normal(size=n_equal)
    root = rng.normal(size=(dim, dim)) * 0.7 / width
    bend, fourth = root.T @ root + np.diag(0.2 / width**2), rng.choice([0, 0.5]) / width**4
    unit = 10 ** rng.uniform(-2, 4)
    slope = bound_prices[0] - bound_prices[1] - tie_prices @ ties
    slope = slope - sum((p * s * a for p, s, a in zip(prices, scales, slopes)), np.zeros(dim))

    def fun(x):
        d = x - optimum
        f = unit * (d @ slope + 0.5 * d @ bend @ d + (fourth * d**4).sum())
        g = [s * (a @ d + 0.5 * d @ q @ d + c) for s, a, q, c in zip(scales, slopes, bends, offsets)]
        return f, g, list(ties @ d)

    bounds = np.stack([low, low + width], axis=1)
    return ConvexProblem(fun, bounds, optimum, unit * np.array([*prices, *tie_prices]), unit * bound_prices)
