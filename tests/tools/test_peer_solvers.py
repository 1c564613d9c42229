"""Optimizers of benchmarks/peers: each keeps the budget, repeats itself and finds a constrained minimum."""

from importlib.util import find_spec

import numpy as np
import pytest

from meco import Problem, get_problem
from peers_on_problems import solve

PACKAGES = {"NOMAD": "PyNomad", "Optuna-TPE": "optuna", "Optuna-GP": "optuna", "SCBO": "botorch"}


def peer(name, *marks):
    missing = pytest.mark.skipif(find_spec(PACKAGES[name]) is None, reason=f"{name} needs {PACKAGES[name]}")
    return pytest.param(name, marks=[missing, *marks])


@pytest.mark.parametrize(
    "name", [peer("NOMAD"), peer("Optuna-TPE"), peer("Optuna-GP", pytest.mark.slow), peer("SCBO", pytest.mark.slow)]
)
def test_a_peer_spends_its_budget_and_finds_a_feasible_point_twice_the_same(name):
    first, second = (solve(name, get_problem("tilted", dim=2), 25, seed=1) for _ in range(2))
    assert (first.left, first.best[0]) == (0, 0.0)
    assert first.best == second.best


@pytest.mark.parametrize("name", [peer("NOMAD"), peer("Optuna-TPE")])
def test_a_peer_calls_integers_with_whole_numbers(name):
    asked = []

    def formula(x):
        asked.append(x)
        return np.sum((x - 1.2) ** 2, axis=-1), [], []

    whole = Problem("integers", np.zeros(2), np.full(2, 4.0), 0, 0, formula, integrality=np.array([True, True]))
    found = solve(name, whole, 20, seed=1)
    assert all(np.array_equal(x, np.round(x)) for x in asked)
    assert found.best[1] < 0.1
