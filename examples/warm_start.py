"""What was evaluated before costs nothing: a second study starts from the first."""

import meco


def fun(x):
    return float((x - 1.5) @ (x - 1.5)), [x[0] + x[1] - 2.0]


bounds = [(-5, 5)] * 3
first = meco.minimize(fun, bounds, budget=150, seed=1)
second = meco.minimize(fun, bounds, budget=150, seed=2, x0=[1.0, 1.0, 1.0], evaluated=first.evaluations)
print(f"first study:  f = {first.fun:.6f} after {first.nfev} evaluations")
print(f"second study: f = {second.fun:.6f} after {second.nfev} more")
assert second.fun <= first.fun
