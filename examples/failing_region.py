"""A simulation that fails in two thirds of the box, with the best design beside what fails."""

import meco


def simulate(x):
    if x[0] > -0.67:
        raise RuntimeError("no convergence")
    return float((x[0] - 1.0) ** 2 + (x[1] - 0.5) ** 2 + (x[2] + 0.3) ** 2), {"room": x[1] + x[2] - 0.1}


result = meco.minimize(simulate, bounds=[(-2, 2)] * 3, budget=150, seed=1, on_error="penalize")
print(result.message)
print(f"failed: {result.run.nfail} of {result.nfev} calls, in the end {result.trace['failed_share'][-1]:.0%}")
assert result.feasible
assert result.run.nfail < 100
