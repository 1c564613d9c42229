"""MeCO as an algorithm of pymoo, and a problem of pymoo in meco.solve."""

from pymoo.core.problem import ElementwiseProblem
from pymoo.optimize import minimize

import meco
from meco.adapters.pymoo import MeCO


class Spring(ElementwiseProblem):
    """The lightest spring: wire diameter, coil diameter, number of coils (a whole one, when built)."""

    def __init__(self):
        super().__init__(n_var=3, n_obj=1, n_ieq_constr=4, xl=[0.05, 0.25, 2.0], xu=[0.2, 1.3, 15.0])

    def _evaluate(self, x, out, *args, **kwargs):
        d, c, n = x
        out["F"] = (n + 2) * c * d**2
        out["G"] = [
            1 - c**3 * n / (71785 * d**4),
            (4 * c**2 - d * c) / (12566 * (c * d**3 - d**4)) + 1 / (5108 * d**2) - 1,
            1 - 140.45 * d / (c**2 * n),
            (c + d) / 1.5 - 1,
        ]


found = minimize(Spring(), MeCO(), ("n_eval", 300), seed=1)
print(found.X, found.F, found.G)
assert found.F[0] < 0.0135

runs = meco.solve("TR", Spring(), budget=300, seeds=range(3))
print([run.f for run in runs])
assert all(run.feasible for run in runs)
