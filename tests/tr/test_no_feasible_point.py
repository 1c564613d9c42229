"""Constraints that cannot be kept together: the search finds the least sum of violations, and does not creep."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import meco
from meco.tr.engine import TrustRegion


def conflicting_spec(x):
    """The force asks for 90 A, the heat for 7.07 at most: least sum of violations at the heat's limit."""
    current = x[0]
    return current, [1.0 - current / 90.0, current**2 / 50.0 - 1.0]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("also", [[], [-5.0]], ids=["alone", "beside a constant that is kept"])
def test_conflicting_constraints_end_where_they_are_violated_least(seed, also):
    def spec(x):
        f, g = conflicting_spec(x)
        return f, g + also

    result = meco.minimize(spec, [(0.1, 12.0)], budget=60, seed=seed)
    assert not result.success
    assert_allclose(result.x, [np.sqrt(50.0)], rtol=1e-6)


def two_bays(x):
    """Feasible near x[0] = 0.75 only; a first start ends in the bay around 0.2, which holds no feasible point."""
    bays = np.exp(-(((x[0] - 0.75) / 0.08) ** 2)) + 0.15 * np.exp(-(((x[0] - 0.2) / 0.15) ** 2))
    return x[1] ** 2 + 2.0 * x[2] ** 2 + x[0], [0.2 - bays, 1.0 - x[1] * x[2]]


def test_a_feasible_point_gives_the_weights_back_to_the_multipliers(monkeypatch):
    """From the first feasible point on, f counts as it always does: the optimum is met, not just any feasible point."""
    restoring = []
    update = TrustRegion.tell

    def tell(self, x, ev):
        update(self, x, ev)
        restoring.append(bool(self.region.weights.restoring[0, 0]))

    monkeypatch.setattr(TrustRegion, "tell", tell)
    box, start = [(0.0, 1.0), (0.0, 4.0), (0.0, 4.0)], [0.2, 3.0, 3.0]
    result = meco.minimize(two_bays, box, x0=start, budget=150, seed=1)
    assert any(restoring)  # the first start ended without a feasible point
    assert not restoring[-1]
    assert result.success
    assert result.fun == pytest.approx(3.4769331, abs=1e-5)
