"""What each method notices of a change that should not matter, as a table: `python tests/attack/invariances.py`.

Equal means: the same points to the last bit, seed by seed; ≈ the same but for rounding; differs: another search.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import meco

BOX = np.array([(-5.0, 5.0)] * 4)
SEEDS, BUDGET = (3, 4, 5), 160


def plain(x):
    return float(x @ x + 0.3 * x[0] * x[1]), [1.0 - x[0], x[1] - 2.0, x[0] + x[1] - 6.0], [x[0] - x[2]]


def changed(f=lambda f: f, c=1.0, turned=False):
    def fun(x):
        value, g, h = plain(x)
        g = [c * v for v in g]
        return f(value), g[::-1] if turned else g, [c * v for v in h]

    return fun


CHANGES = {  # function, box, and how to come back from its points
    "f + 1024": (changed(lambda f: f + 1024.0), BOX, lambda x: x),
    "4 f": (changed(lambda f: 4.0 * f), BOX, lambda x: x),
    "4 g, 4 h": (changed(c=4.0), BOX, lambda x: x),
    "order of g": (changed(turned=True), BOX, lambda x: x),
    "4 x": (lambda x: plain(x / 4.0), 4.0 * BOX, lambda x: x / 4.0),
    "order of x": (lambda x: plain(x[[1, 2, 3, 0]]), BOX, lambda x: x[:, [1, 2, 3, 0]]),
}


def points(method, fun, box, seed):
    return meco.minimize(fun, box, method=method, budget=BUDGET, seed=seed).evaluations.x


def compared(method, change):
    """equal, ≈ or differs, over all seeds."""
    fun, box, back = CHANGES[change]
    said = "equal"
    for seed in SEEDS:
        one, other = points(method, plain, BOX, seed), back(points(method, fun, box, seed))
        if one.shape != other.shape or not np.allclose(one, other, atol=1e-6):
            return "differs"
        said = said if np.array_equal(one, other) else "≈"
    return said


def main():
    warnings.simplefilter("ignore")
    wanted = sys.argv[1:] or list(meco.METHODS)
    print("| method |", " | ".join(CHANGES), "|\n|---" * 1 + "|---" * len(CHANGES) + "|", flush=True)
    for method in wanted:
        try:
            print(f"| {method} |", " | ".join(compared(method, change) for change in CHANGES), "|", flush=True)
        except meco.errors.MecoError as error:
            print(f"| {method} | {error} |", flush=True)


if __name__ == "__main__":
    main()
