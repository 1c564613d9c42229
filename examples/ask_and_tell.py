"""The loop is yours: ask for points, evaluate them wherever you like, tell their values in any order."""

import json
from pathlib import Path

import numpy as np

import meco

search = meco.Optimizer(bounds=[(-5, 5)] * 3, n_ineq=1, n_eq=1, budget=160, workers=4, seed=1)
rng = np.random.default_rng(0)

while not search.done:
    x = search.ask()
    x = x[rng.permutation(len(x))]  # results come back in whatever order
    f = (x**2).sum(axis=1)
    g = 1.0 - x[:, :1]  # g <= 0
    h = x[:, 1:2] + x[:, 2:3] - 1.0  # h = 0
    crashed = rng.random(len(x)) < 0.05
    search.tell(x, f, g, h, failed=crashed)
    if search.result.nit == 20:  # saved and loaded without pickle
        Path("search.json").write_text(json.dumps(search.state()))
        search = meco.Optimizer.from_state(json.loads(Path("search.json").read_text()))

print(search.result)
assert search.result.feasible
assert search.result.fun < 1.51  # the optimum is 1.5
