"""Weights of the merit, by hand; and a merit that does not know units."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from meco.core.evaluation import Evaluation
from meco.core.rule import best
from meco.tr.merit import (
    FEASIBILITY_PRICE,
    FLAT_CHANGE,
    FLOOR_DECAY,
    WEIGHT_GROWTH,
    Merit,
    Weights,
    beyond_tolerance,
    scale_weights,
    violated_at_all_points,
)


def weights(w, floor=None, tolerance=0.0):
    w = np.array([w], dtype=float)
    return Weights.free(
        w, np.zeros_like(w) if floor is None else np.array([floor], dtype=float), np.zeros_like(w) + tolerance
    )


def test_a_step_forgets_a_share_of_each_weight_down_to_its_floor():
    faded = weights([1.0, 1.0], floor=[0.0, 0.95]).decayed(dim=7, decay=np.array([0.7]))
    assert_allclose(faded.w, [[0.9, 0.95]])  # 0.9 of the first, eq. (3); the floor of the second, eq. (4)


def test_a_weight_is_raised_and_never_lowered():
    assert_array_equal(weights([1.0, 5.0]).raised(np.array([[2.0, 2.0]])).w, [[2.0, 5.0]])


def test_a_weight_grows_where_its_constraint_is_violated_and_pressed():
    after = weights([2.0, 2.0, 2.0], floor=[1.0, 1.0, 1.0]).update_floors(
        np.array([[True, True, False]]), np.array([[True, False, True]])
    )
    assert_allclose(after.w, [[WEIGHT_GROWTH * 2.0, 2.0, 2.0]])
    assert_allclose(
        after.floor, [[WEIGHT_GROWTH * 2.0, 2.0, FLOOR_DECAY * 1.0]]
    )  # what is violated is held, the rest forgotten


def test_a_new_start_forgets_weights_and_floors():
    held = Weights.free(np.ones((2, 1)), np.ones((2, 1)), np.ones((1, 1)))
    w, floor, *_ = held.reset(np.array([True, False]), np.array([[0.5], [0.5]]))
    assert_array_equal(w, [[0.5], [1.0]])
    assert_array_equal(floor, [[0.0], [1.0]])


def restored(s_c, violation, delta=0.1):
    """Weights of 1 and 5 of a run that begins to look for a feasible point, where f changes by 2."""
    given = np.array([2.0]), np.array([s_c]), np.array([violation]), np.array([delta])
    return weights([1.0, 5.0], floor=[1.0, 1.0]).restore(np.array([True]), *given)


def test_restoration_has_one_weight_that_nothing_changes():
    """What f changes by, over the change of the flattest constraint, at a price: sums of violations are compared."""
    found = restored([4.0, 0.5], [1.0, 1.0])
    one = FEASIBILITY_PRICE * 2.0 / 0.5
    assert_array_equal(found.w, [[one, one]])
    yes = np.array([[True, True]])
    for later in (found.decayed(2, np.array([0.7])), found.raised(9.0 * found.w), found.update_floors(yes, yes)):
        assert_array_equal(later.w, found.w)
    assert_array_equal(found.released(np.array([True])).raised(9.0 * found.w).w, 9.0 * found.w)
    assert not found.reset(np.array([True]), found.w).restoring.any()  # another restart begins as the first did


def test_restoration_leaves_out_what_is_kept_and_a_flat_constraint_counts_by_its_violation():
    assert_array_equal(restored([4.0, 1e-14], [1.0, 0.0]).w, np.full((1, 2), FEASIBILITY_PRICE * 2.0 / 4.0))
    least = FLAT_CHANGE * 0.1 * 3.0
    assert_allclose(restored([4.0, 1e-14], [1.0, 3.0]).w, np.full((1, 2), FEASIBILITY_PRICE * 2.0 / least))


def test_nothing_is_restored_where_nothing_is_violated_or_constrained():
    kept = restored([4.0, 0.5], [0.0, 0.0])
    assert not kept.restoring.any()
    assert_array_equal(kept.w, [[1.0, 5.0]])
    none = Weights.free(np.zeros((1, 0)), np.zeros((1, 0)), np.zeros((1, 0)))
    assert none.restore(np.array([True]), np.ones(1), np.zeros((1, 0)), np.zeros((1, 0)), np.ones(1)) is none


def test_a_constraint_is_kept_nowhere_if_every_point_violates_it_on_the_same_side():
    g = np.array([[2.0, 1.0], [3.0, 0.4]])  # of two points: the second inequality is kept within its tolerance
    h = np.array([[2.0, -2.0, -1.0], [1.0, -3.0, 1.0]])  # above, below, and crossed in between
    found = violated_at_all_points(np.concatenate([g, h], axis=1)[None], 2, np.full((1, 5), 0.5))
    assert_array_equal(found, [[True, False, True, True, False]])


def test_a_weight_is_a_share_of_what_f_changes_by_for_each_change_of_the_constraint():
    """The second is flat: its value counts."""
    found = scale_weights(np.array([10.0]), np.array([[5.0, 1e-9]]), np.array([[3.0, 4.0]]), kappa=np.array([0.3]))
    assert_allclose(found, [[0.3 * 10.0 / 5.0, 0.3 * 10.0 / (FLAT_CHANGE * 4.0)]])


def test_violation_within_the_tolerance_is_none_and_beyond_it_counts_in_full():
    assert_array_equal(
        beyond_tolerance(np.array([[[0.5, 1.0, 1.5]]]), np.array([[1.0, 1.0, 1.0]])), [[[0.0, 0.0, 1.5]]]
    )


def test_the_merit_is_f_and_the_weighted_violations():
    ev = Evaluation.of(np.array([[1.0, 2.0]]), np.array([[[3.0], [-3.0]]]), np.array([[[-2.0], [0.5]]]))
    key = Merit().key(ev, weights([10.0, 100.0], tolerance=1.0))
    assert_array_equal(key.minor, [[1.0 + 30.0 + 200.0, 2.0]])
    assert_array_equal(best(key), [1])


def test_a_failed_point_loses_to_every_other():
    ev = Evaluation.of(np.array([[np.nan, 1e30]]), np.zeros((1, 2, 1)), np.zeros((1, 2, 0)))
    assert_array_equal(best(Merit().key(ev, weights([1.0]))), [1])


def test_the_merit_of_other_units_is_the_same_merit_to_the_last_bit():
    rng = np.random.default_rng(0)
    f, g, h = rng.normal(size=(1, 9)), rng.normal(size=(1, 9, 2)), rng.normal(size=(1, 9, 1))
    w, by = np.array([[0.3, 7.0, 2.0]]), 2.0 ** np.array([9.0, -4.0, 6.0])
    plain = Merit().total(f, Evaluation.of(f, g, h).c, Weights.free(w, 0 * w, 0 * w + 0.1))
    other = Evaluation.of(8.0 * f, by[:2] * g, by[2:] * h)
    scaled = Merit().total(other.f, other.c, Weights.free(8.0 * w / by, 0 * w, 0.1 * by[None]))
    assert_array_equal(scaled, 8.0 * plain)
