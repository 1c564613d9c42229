"""Whole-number variables: points lie where they are evaluated, and a step is never rounded away."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.streams import Streams
from meco.tr.lattice import Lattice


def lattice(lower, upper, integer):
    problem = meco.Problem(
        "boxed", np.array(lower), np.array(upper), 0, 0, lambda x: (x[..., 0], [], []), integrality=integer
    )
    evaluator = Evaluator.on(problem, 10)
    return Lattice(Task.of(evaluator, Streams([1]))), evaluator


def test_a_snapped_point_is_the_value_that_is_evaluated_for_it():
    ours, evaluator = lattice([-3.0, 0.5, 0.0], [4.0, 7.5, 1.0], [True, True, False])
    x = np.random.default_rng(0).random((1, 200, 3))
    assert_allclose(evaluator.box.to_box(ours.snap(x)), evaluator.box.to_box(x), atol=1e-12)
    assert_allclose(ours.snap(ours.snap(x)), ours.snap(x), atol=1e-15)
    assert_array_equal(ours.snap(x)[..., 2], x[..., 2])  # a continuous variable stays


def test_the_spacing_is_the_distance_of_two_values():
    ours, _ = lattice([0.0, 0.0, 2.0], [4.0, 1.0, 2.0], [True, False, True])
    assert_array_equal(ours.spacing, [[0.25, 0.0, 1.0]])


@pytest.mark.parametrize(("at", "up", "down"), [(0.5, 0.75, 0.25), (1.0, 1.0, 0.75), (0.0, 0.25, 0.0)])
def test_neighbours_lie_one_value_away_and_inside(at, up, down):
    ours, _ = lattice([0.0, 0.0], [4.0, 1.0], [True, False])
    found = ours.neighbours(np.array([[at, 0.3]]))
    assert_array_equal(found[0], [[up, 0.3], [at, 0.3], [down, 0.3], [at, 0.3]])


@pytest.mark.parametrize("seed", range(3))
def test_continuous_variables_make_up_for_the_rounding_of_integers(seed):
    """An equality between both kinds is met: rounding a step and leaving it at that misses it by its slope."""

    def fun(x):
        return float((x[0] - 7.3) ** 2 + (x[1] - 1) ** 2 + 0.1 * (x[2] - 2) ** 2), [], [x[0] * x[1] - x[2] ** 2 - 3.3]

    found = meco.minimize(fun, [meco.Variable(0, 40, integer=True), (0, 10), (0, 10)], budget=60, seed=seed)
    assert found.feasible
    assert_allclose(found.fun, 0.0904, atol=1e-3)


def test_a_new_start_may_flip_variables_of_two_places():
    """A quarter of the cube is less than half the way between 0 and 1: rounding would take every start back."""
    reached = set()

    def values(x):
        reached.add(tuple(np.round(x).astype(int)))
        return float(np.dot(x, [3.0, 1.0, 2.0, 5.0, 4.0]))

    meco.minimize(values, [meco.Variable(0, 1, integer=True)] * 5, budget=150, seed=1)
    assert len(reached) >= 28  # of 32


def test_fitted_points_at_the_next_value_of_an_integer_are_not_far():
    """No geometry point could come closer, so none is asked for on their account."""
    ours, _ = lattice([0.0, 0.0], [4.0, 1.0], [True, False])
    region = SimpleNamespace(width_in_force=np.ones((1, 2)))
    fit = SimpleNamespace(u=np.array([[[0.5, 0.0], [-0.5, 0.06], [0.0, 0.02]]]))
    local = SimpleNamespace(fit=fit, spread=np.array([0.5]), farthest=np.array([0.25]))
    assert_allclose(ours.farthest(local, region), [0.03])
    local.fit.u[0, 0, 0] = 1.0  # two values away
    assert_allclose(ours.farthest(local, region), [0.25])


@pytest.mark.slow  # a whole search
def test_a_small_region_still_tries_the_next_values_of_integers():
    """Where rounding took steps to the same values again and again, this one ended at -18.93."""
    found = meco.solve("TR", meco.get_problem("G-basin-whole-0001", 5), 250, seeds=[1])
    assert found[0].f < -19.18
