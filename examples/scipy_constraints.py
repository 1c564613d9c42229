"""SciPy's constraint objects, integer variables and rows of points."""

import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint

import meco


def cost(x):  # rows of points [S, 3]
    return (x[:, 0] - 2.3) ** 2 + (x[:, 1] + 1.0) ** 2 + x[:, 2] ** 2


ring = NonlinearConstraint(lambda x: x[..., 0] ** 2 + x[..., 1] ** 2, 1.0, 9.0)  # two-sided
plane = LinearConstraint(np.array([[1.0, 1.0, 1.0]]), -np.inf, 4.0)

bounds = [meco.Variable(-5, 5, integer=True), (-5, 5), (-5, 5)]  # scipy.optimize.Bounds where none is an integer
result = meco.minimize(cost, bounds, [ring, plane], workers=meco.Workers(vectorized=True), seed=1, budget=600)
print(result)
assert result.feasible
assert result.x[0] == 2
