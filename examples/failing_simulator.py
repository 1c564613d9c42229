"""A simulation that crashes, hangs and returns nonsense, on two worker processes."""

import os
import time

import numpy as np

import meco


def simulate(x):
    if x[0] > 4.0:
        raise RuntimeError("mesh generation failed")
    if x[1] > 4.5:
        time.sleep(3600)  # does not converge: killed after the timeout
    if x[2] > 4.5:
        os._exit(1)  # the solver takes the whole process with it
    if np.sum(x) < -6:
        return None  # no output file
    return float(x @ x), {"reach": 2.0 - x[0], "balance": x[1] + x[2] - 1.0}


workers = meco.Workers(2, timeout=0.5)  # seconds
result = meco.minimize(simulate, bounds=[(-5, 5)] * 3, budget=150, seed=1, workers=workers, on_error="penalize")
print(result.message)
print("failures:", result.run.failures)
print("x =", result.x)
assert result.feasible
