"""The relaxed step on hand-worked cases: what theta allows, what the margin and the normal keep, and no units."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.tr.merit import Weights
from meco.tr.quadratic import Quadratic
from meco.tr.step import Subproblem, keep_margins, margin_cost, merit, relaxed_limits, relaxed_step, scales

MARGIN = 0.1  # of constraints whose slopes have length one


def subproblem(f, constraints, value, n_ineq, bend=0.0, normal=None, distance=np.inf, box=1.0, margin=MARGIN):
    """One run in two variables: gradients of f and of the constraints, and values at the centre."""
    gradient = np.array([[f, *constraints]], dtype=float)
    count = gradient.shape[1]
    hessian = np.zeros((1, count, 2, 2))
    hessian[:, 0] = bend * np.eye(2)
    side = np.full((1, 2), box)
    normal = np.zeros((1, 2)) if normal is None else np.array([normal], dtype=float)
    value = np.array([[0.0, *value]])
    return Subproblem(
        Quadratic(gradient, hessian), value, 0.0 * value, -side, side, normal, np.array([distance]), n_ineq,
        margin=np.full((1, count - 1), margin), kappa=np.array([0.3]), memory=np.zeros(1),
    )  # fmt: skip


def step_of(here, theta):
    none = np.zeros((1, here.value.shape[1] - 1))
    return relaxed_step(here, np.array([theta]), none, Weights.free(none, none, none))


@pytest.mark.parametrize(("theta", "left"), [(0.0, 0.0), (0.5, 0.2), (1.0, 0.4)])
def test_an_inequality_keeps_the_share_theta_of_its_violation_less_a_margin(theta, left):
    """f falls to the left, g = 0.4 - s_0 to the right: as far left as g <= theta 0.4 - 0.1 allows."""
    step = step_of(subproblem([1.0, 0.0], [[-1.0, 0.0]], [0.4], n_ineq=1, bend=0.2), theta)
    assert_allclose(step.value[0, 1], left - MARGIN, atol=1e-3)
    assert_allclose(step.s[0, 0], 0.4 - left + MARGIN, atol=1e-3)


@pytest.mark.parametrize(("theta", "left"), [(0.0, 0.0), (0.5, 0.2), (1.0, 0.4)])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_an_equality_keeps_the_share_theta_on_either_side(theta, left, sign):
    step = step_of(subproblem([-sign, 0.0], [[1.0, 0.0]], [sign * 0.4], n_ineq=0, bend=0.2), theta)
    assert_allclose(step.value[0, 1], sign * left, atol=1e-3)


def test_a_satisfied_inequality_is_kept_whatever_theta_says():
    for theta in (0.0, 1.0):
        step = step_of(subproblem([-1.0, 0.0], [[1.0, 0.0]], [-0.5], n_ineq=1, bend=0.2), theta)
        assert -MARGIN <= step.value[0, 1] < 0.0


def test_the_margin_falls_with_a_step_that_is_short():
    """The first answer is 0.5 - 0.1; twice as far, 0.8, asks for 0.8 of the margin. A long one needs all of it."""
    for far, kept in ((0.5, 0.8 * MARGIN), (0.9, MARGIN)):
        step = step_of(subproblem([-1.0, 0.0], [[1.0, 0.0]], [-far], n_ineq=1, bend=0.2), 0.0)
        assert_allclose(step.value[0, 1], -kept, atol=1e-9)


def test_margins_cost_what_inequalities_hold_back_with():
    assert_allclose(margin_cost(np.array([[2.0, 0.0, -5.0]]), np.array([[0.1, 0.2, 0.3]]), 2), [0.2])


def test_the_relaxed_limits_by_hand():
    value, by = np.array([[0.4, -0.6, -0.8]]), np.array([[2.0, 2.0, 4.0]])
    low, high = relaxed_limits(value, np.array([0.5]), 2, by)
    high = keep_margins(high, MARGIN * np.ones((1, 3)), 2)
    assert_allclose(low, [[-np.inf, -np.inf, -0.1]])
    assert_allclose(high, [[0.1 - MARGIN, -MARGIN, 0.1]])


def test_a_violation_too_small_to_be_relaxed_is_answered_with_a_quarter_of_it_on_the_other_side():
    value, by = np.array([[4e-4, -4e-4]]), np.ones((1, 2))
    _, high = relaxed_limits(value, np.array([0.5]), 2, by)
    assert_allclose(high, [[-1e-4, 0.0]])


def test_what_cannot_be_kept_in_the_box_is_approached_as_far_as_it_goes():
    step = step_of(subproblem([1.0, 0.0], [[-1.0, 0.0]], [5.0], n_ineq=1, bend=0.2), 0.0)
    assert_allclose(step.s[0], [1.0, 0.0], atol=1e-2)


def test_without_constraints_the_step_is_newtons():
    step = step_of(subproblem([0.5, -0.25], [], [], n_ineq=0, bend=1.0), 0.3)
    assert_allclose(step.s[0], [-0.5, 0.25], atol=1e-6)
    assert_allclose(step.value[0, 0], -0.5 * (0.25 + 0.0625), atol=1e-6)


def test_a_step_ends_half_way_to_what_failed():
    free = step_of(subproblem([-1.0, 0.0], [], [], n_ineq=0, bend=0.2), 0.3)
    assert_allclose(free.s[0, 0], 1.0, atol=1e-6)
    limited = step_of(subproblem([-1.0, 0.0], [], [], n_ineq=0, bend=0.2, normal=[1.0, 0.0], distance=0.3), 0.3)
    assert_allclose(limited.s[0, 0], 0.3, atol=1e-3)


def test_weights_lie_above_the_multipliers():
    """At s_0 = 0.5 the objective pulls with 1 and the row must hold with 1."""
    step = step_of(subproblem([1.0, 0.0], [[-1.0, 0.0]], [0.4], n_ineq=1), 0.0)
    assert_allclose(step.multipliers, [[1.0]], atol=1e-9)
    assert step.weights.w[0, 0] >= 1.5 * step.multipliers[0, 0]


def test_a_second_pass_follows_a_constraint_that_curves():
    """Where g is linearised at the centre alone it ends at s_1 = 0.65, 0.42 beyond what is wanted."""
    here = subproblem([0.0, -1.0], [[0.0, 1.0]], [-0.75], n_ineq=1, bend=0.2)
    here.models.hessian[0, 1] = [[0.0, 0.0], [0.0, 2.0]]  # g = s_1 + s_1^2 - 0.75, wanted below -margin
    step = step_of(here, 0.0)
    assert_allclose(step.value[0, 1], -MARGIN, atol=0.04)
    assert_allclose(step.s[0, 1], 0.449, atol=0.02)  # s + s^2 = 0.65


def test_scales_are_changes_across_the_region_and_never_zero():
    here = subproblem([3.0, 4.0], [[3.0, 4.0], [0.0, 0.0]], [7.0, 5.0], n_ineq=2)
    by = scales(here)
    assert_allclose(by.f, [7.0 / np.sqrt(2.0)])
    assert_allclose(by.c, [[5.0, 5e-14]], rtol=1e-6)
    assert np.all(scales(subproblem([0.0, 0.0], [[0.0, 0.0]], [0.0], n_ineq=1)).c > 0.0)


def test_a_step_does_not_know_units_to_the_last_bit():
    rng = np.random.default_rng(2)
    here = subproblem(rng.normal(size=2), rng.normal(size=(3, 2)), rng.normal(size=3), n_ineq=2)
    here.models.hessian[:] = rng.normal(size=here.models.hessian.shape)
    by = 2.0 ** np.array([10.0, -7.0, 3.0, 20.0])
    models = Quadratic(here.models.gradient * by[:, None], here.models.hessian * by[:, None, None])
    other = here._replace(models=models, value=here.value * by, span=here.span * by, margin=here.margin * by[1:])
    plain, scaled = step_of(here, 0.3), step_of(other, 0.3)
    assert_array_equal(scaled.s, plain.s)
    assert_array_equal(scaled.value, plain.value * by)
    assert_array_equal(scaled.weights.w, plain.weights.w * by[0] / by[1:])


def test_the_merit_of_a_point_is_that_of_the_rule():
    w = np.array([[2.0, 3.0]])
    found = merit(np.array([[1.0, 0.5, -0.25]]), 1, Weights.free(w, 0 * w, 0 * w))
    assert_allclose(found, [1.0 + 2.0 * 0.5 + 3.0 * 0.25])
