"""Methods of other packages on problems that their own loops do not expect."""

import pytest

import meco
from meco import Variable


@pytest.mark.parametrize("budget", [1, 5, 120])
@pytest.mark.parametrize("cheap", [lambda x: x[0] - x[1], lambda x: float("nan") if x[0] > 1 else -1.0])
def test_nsga_3_takes_cheap_constraints_on_a_small_lattice(cheap, budget):
    """Nine designs, fewer than its population: its first points repeat."""
    pytest.importorskip("pymoo")
    bounds = [Variable(categories=[1, 2, 3], ordered=True)] * 2
    found = meco.minimize(
        lambda x: (float(x @ x), [1.0 - x[1]]), bounds, budget=budget, seed=1, method="NSGA-III", cheap=cheap
    )
    assert found.nfev == budget
    if budget == 120:
        assert found.design == {"x1": 1, "x2": 2}


@pytest.mark.parametrize("f", [lambda x: 1.7e308 if x[0] < 0 else -1.7e308, lambda x: 1.7e308 * x[0]])
@pytest.mark.parametrize("g", [lambda x: 1.0 - x[0], lambda x: 1.7e308 if x[0] < 1 else -1.7e308])
def test_the_augmented_lagrangian_takes_the_largest_numbers(f, g):
    pytest.importorskip("cma")
    found = meco.minimize(lambda x: (f(x), [g(x)]), [(-1.0, 1.5)] * 2, budget=100, seed=1, method="CMA-ES-AL")
    assert found.nfev == 100
