"""MeCO as a method of scipy.optimize.minimize: the call stays, the search becomes global and needs no gradients."""

import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint, minimize

import meco


def wavy(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2 + 5 * np.sin(3 * x[0]) ** 2


disc = NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, -np.inf, 1.5)
found = minimize(
    wavy, [-1.0, 0.5], method=meco.scipy_method, bounds=Bounds([-2, -2], [2, 2]), constraints=disc,
    options={"seed": 1, "budget": 500},
)  # fmt: skip
print(found)
assert found.success
assert found.fun < 1.0

options = {"seed": 1, "budget": 500}
free = minimize(wavy, [-1.0, 0.5], method=meco.scipy_method, options=options)  # bounds are not needed
assert free.success
assert free.fun < 1.0
