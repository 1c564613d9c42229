"""Constraints that cannot be kept together: the search finds the least sum of violations, and does not creep."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import meco


def conflicting_spec(x):
    """The force asks for 90 A, the heat for 7.07 at most: least sum of violations at the heat's limit."""
    current = x[0]
    return current, [1.0 - current / 90.0, current**2 / 50.0 - 1.0]


@pytest.mark.parametrize("seed", [1, 2])
def test_conflicting_constraints_end_where_they_are_violated_least(seed):
    result = meco.minimize(conflicting_spec, [(0.1, 12.0)], budget=60, seed=seed)
    assert not result.success
    assert_allclose(result.x, [np.sqrt(50.0)], rtol=1e-6)


def test_a_feasible_point_gives_the_weights_back_to_the_multipliers():
    """From the first feasible point on, f counts as it always does: the optimum is met, not just any feasible point."""

    def wavy(x):  # feasible in narrow valleys only, where most starts end between two of them
        return x[0] + x[1], [0.999 - np.cos(6.0 * x[0]), 1.5 - x[1]]

    result = meco.minimize(wavy, [(-4.0, 3.0), (0.0, 3.0)], budget=200, seed=1)
    assert result.success
    assert result.x[1] == pytest.approx(1.5, abs=1e-6)
