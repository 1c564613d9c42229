"""A run that is interrupted and goes on, bit for bit."""

import tempfile

import numpy as np

import meco

calls = 0


def fun(x):
    global calls
    calls += 1
    return float(x @ x), [1.0 - x[0]]


options = {"bounds": [(-5, 5)] * 4, "budget": 200, "seed": 1}
uninterrupted = meco.minimize(fun, **options)

with tempfile.TemporaryDirectory() as folder:
    calls = 0
    part = meco.minimize(fun, **options, checkpoint=folder, callback=lambda so_far: so_far.nfev >= 80)
    print(f"stopped after {part.nfev} evaluations with f = {part.fun:.6g}")
    resumed = meco.minimize(fun, **options, checkpoint=meco.Checkpoint(folder, resume=True))
    print(f"went on to {resumed.nfev} evaluations with f = {resumed.fun:.6g}; {calls} calls in all")

assert calls == 200
assert np.array_equal(resumed.evaluations.x, uninterrupted.evaluations.x)
