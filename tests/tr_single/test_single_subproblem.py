"""The step of a subproblem: cases worked by hand, and the weights that it leaves."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from meco.tr_single.merit import Merit
from meco.tr_single.options import Options
from meco.tr_single.quadratic import Quadratic
from meco.tr_single.subproblem import Subproblem, convexified, relaxed_step


def step_of(gradient, value, hessian=None, n_ineq=None, margin=None, options=None):
    """The step within the box of half-width 1, and the merit after it."""
    gradient, value = np.array(gradient, dtype=float), np.array(value, dtype=float)
    functions, dim = gradient.shape
    n_ineq = functions - 1 if n_ineq is None else n_ineq
    models = Quadratic(gradient, np.zeros((functions, dim, dim)) if hessian is None else np.array(hessian, dtype=float))
    merit = Merit(n_ineq, np.zeros(functions - 1), np.zeros(functions - 1))
    margin = np.zeros(functions - 1) if margin is None else np.array(margin)
    box = -np.ones(dim), np.ones(dim)
    sub = Subproblem.make(models, value, np.ones(functions), box, n_ineq, margin)
    return relaxed_step(sub, np.zeros(functions - 1), merit, options or Options()), merit


def test_without_constraints_the_step_leads_to_the_minimum_or_the_border():
    step, _ = step_of([[1.0, -0.5]], [0.0], [np.diag([4.0, 0.1])])
    assert_allclose(step.s, [-0.25, 1.0], atol=1e-4)


def test_an_active_constraint_holds_and_has_the_multiplier_of_the_minimum():
    step, merit = step_of([[1.0, 1.0], [-1.0, 0.0]], [0.0, -0.3])
    assert_allclose(step.s, [-0.3, -1.0], atol=1e-6)
    assert_allclose(step.multipliers, [1.0], rtol=1e-4)
    assert merit.weights[0] >= 1.5 * step.multipliers[0]


def test_a_margin_is_kept_as_far_as_the_step_is_long():
    """The first solution keeps 0.1; it has length 0.2, so the second keeps 2 * 0.2 of that."""
    step, _ = step_of([[1.0, 0.0], [-1.0, 0.0]], [0.0, -0.3], margin=[0.1])
    assert_allclose(step.value[1], -0.04, atol=1e-4)


def test_an_equality_is_met():
    step, _ = step_of([[1.0, 0.0], [1.0, 1.0]], [0.0, 0.5], n_ineq=0)
    assert_allclose(step.s, [-1.0, 0.5], atol=1e-6)


def test_constraints_that_the_region_cannot_meet_are_met_as_far_as_it_goes():
    step, merit = step_of([[1.0, 0.0], [-1.0, 0.0]], [0.0, 3.0])
    assert_allclose(step.s[0], 1.0)
    assert merit.weights[0] >= 30.0


def test_the_shortest_of_equally_good_steps_is_taken():
    """f does not depend on the first two variables, and the constraint on their sum alone."""
    step, _ = step_of([[0.0, 0.0, 1.0], [-1.0, -1.0, 0.0]], [0.0, 0.4])
    assert_allclose(step.s, [0.2, 0.2, -1.0], atol=1e-4)


def test_a_curved_constraint_is_linearised_again_at_the_first_solution():
    """min s0 + s1 / 10 with s0^2 - s1 <= 0.2: the second solution is nearer to the limit than the first."""
    hessian = np.zeros((2, 2, 2))
    hessian[1, 0, 0] = 2.0
    step, _ = step_of([[1.0, 0.1], [0.0, -1.0]], [0.0, -0.2], hessian)
    assert step.value[1] <= 0.1


@pytest.mark.parametrize("size", [2.0**-40, 2.0**40])
def test_units_do_not_change_the_step(size):
    gradient, value = np.array([[1.0, 0.4], [-1.0, 0.3]]), np.array([2.0, -0.3])
    plain, scaled = step_of(gradient, value)[0], step_of(size * gradient, size * value)[0]
    assert_allclose(scaled.s, plain.s, rtol=1e-9)


def test_a_hessian_keeps_the_size_of_its_eigenvalues_and_loses_their_sign():
    rng = np.random.default_rng(1)
    for dim in (3, 20):
        h = rng.normal(size=(dim, dim))
        h = h + h.T
        assert_allclose(np.linalg.eigvalsh(convexified(h)), np.sort(np.abs(np.linalg.eigvalsh(h))), atol=1e-9)
    convex = h @ h
    assert_allclose(convexified(convex), convex, rtol=1e-9)
