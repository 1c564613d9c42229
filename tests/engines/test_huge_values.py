"""Values of absurd size at a share of the points: every search ends with its result."""

import numpy as np
import pytest

import meco

METHODS = ("TR", "SHADE", "MeCO", "MA-ES", "BP-epsMAg-ES", "CMA-ES-native")


class Huge:
    """x.x under constraints; all values of two points in five are multiplied."""

    def __init__(self, scale, equality):
        self.scale, self.equality = scale, equality

    def __call__(self, x):
        s = self.scale if np.random.default_rng(x.view(np.uint32)).random() < 0.4 else 1.0
        with np.errstate(over="ignore"):
            return s * float(x @ x), [s * (1 - x[0]), -s * x[1]], [s * (x[0] - x[-1])] if self.equality else []


SCALES = (1e308, 1e200, 1e155, 1e120, 1e90, 1e-155, 1e-300)


def search(method, scale, seed, dim):
    """A short run where such values come; an integer among the variables of every other one that models them."""
    first = meco.Variable(-3.0, 4.0, integer="TR" in method and seed % 2 == 0)
    box = [first, *[(-3.0, 4.0)] * (dim - 1)]
    made = meco.minimize(Huge(scale, dim % 2), box, method=method, budget=16, seed=seed)
    assert made.nfev == 16
    assert np.isfinite(made.x).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_search_survives_values_of_any_size(method):
    for number, scale in enumerate(SCALES):
        if method != "TR" or number % 3 == 0:
            search(method, scale, seed=number, dim=2 + number % 3)


@pytest.mark.attack
@pytest.mark.parametrize("method", METHODS)
def test_a_search_survives_values_of_any_size_wherever_they_come(method):
    for scale in SCALES:
        for seed in range(20):
            search(method, scale, seed, dim=2 + seed % 3)
