"""A simulation that gives other values at every call: what is said of the answer is true of the means."""

import numpy as np

import meco

rng = np.random.default_rng(1)


def simulate(x):
    noise = rng.standard_normal(2)
    return float(x @ x) + 0.05 * noise[0], {"reach": 1.0 - x[0] + 0.02 * noise[1]}


result = meco.minimize(simulate, bounds=[(-2, 3)] * 3, budget=150, seed=1, noise=True)
print(result.message)
print(f"x = {result.x}, feasible with probability {result.probability:.3f}")
assert result.probability is not None
assert result.success == (result.probability >= 0.95)
