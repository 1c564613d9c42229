"""A function that takes many points at once: the default asks for batches, and says which methods suit it."""

import numpy as np

from meco import Workers, minimize

calls = []


def waves(x):
    """f [S] and g [S, 1] of rows of points [S, 4]: microseconds for all of them."""
    calls.append(len(x))
    return np.sum(x * x - 3 * np.cos(6 * x) + 3, axis=1), 1.0 - x[:, :1] - x[:, 1:2]


result = minimize(waves, [(-3, 3)] * 4, budget=4000, seed=1, workers=Workers(vectorized=True))
print(result)
print(f"{sum(calls)} points in {len(calls)} calls")
assert result.feasible
assert len(calls) < 300
