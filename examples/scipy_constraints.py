"""SciPy's constraint objects, integer variables and rows of points."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

import meco


def cost(x):  # rows of points [S, 3]
    return (x[:, 0] - 2.3) ** 2 + (x[:, 1] + 1.0) ** 2 + x[:, 2] ** 2


ring = NonlinearConstraint(lambda x: x[..., 0] ** 2 + x[..., 1] ** 2, 1.0, 9.0)  # two-sided
plane = LinearConstraint(np.array([[1.0, 1.0, 1.0]]), -np.inf, 4.0)

result = meco.minimize(
    cost, Bounds([-5, -5, -5], [5, 5, 5]), [ring, plane], integrality=[True, False, False], vectorized=True, seed=1,
    budget=600,
)  # fmt: skip
print(result)
assert result.feasible
assert result.x[0] == 2
