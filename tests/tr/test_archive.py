"""What a region has seen: all of it while there is room, then the nearest."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from meco.core.evaluation import Evaluation
from meco.tr.archive import PointArchive, as_evaluation, is_evaluated, values_of


def points(x, failed=()):
    """Points [1, n, 1], with f their coordinate, g its negative and h nothing; some failed."""
    x = np.array(x, dtype=float).reshape(1, -1, 1)
    f = np.where(np.isin(np.arange(x.shape[1]), failed), np.nan, x[..., 0])
    return x, Evaluation.of(f, -x, np.zeros((1, x.shape[1], 0)))


def seen(x, capacity, failed=()):
    return PointArchive(*points(x, failed), np.array([0]), capacity)


def test_a_point_was_evaluated_where_all_of_its_variables_are_the_same_in_its_own_run():
    x = np.array([[[0.1, 0.2], [0.1, 0.3]], [[0.1, 0.4], [0.5, 0.2]]])
    kept = PointArchive(x, Evaluation.of(x[..., 0], x[..., :0], x[..., :0]), np.zeros(2, dtype=int), 5)
    assert_array_equal(is_evaluated(kept, np.array([[0.1, 0.3], [0.1, 0.3]])), [True, False])
    assert_array_equal(is_evaluated(kept, np.array([[0.1, np.nextafter(0.3, 1.0)], [0.5, 0.2]])), [False, True])
    assert_array_equal(is_evaluated(kept, np.array([[0.3, 0.1], [0.2, 0.5]])), [False, False])


def test_points_are_kept_in_the_order_they_came():
    kept = seen([0.1, 0.2], capacity=5)
    kept.add(*points([0.3, 0.4]), np.array([1]), np.zeros((1, 1)))
    assert_array_equal(kept.x[0, :, 0], [0.1, 0.2, 0.3, 0.4])
    assert_array_equal(kept.y[0], [[0.1, -0.1], [0.2, -0.2], [0.3, -0.3], [0.4, -0.4]])
    assert_array_equal(kept.restart_index, [[0, 0, 1, 1]])
    kept = seen([0.1, 0.2], capacity=5)
    kept.add(*points([0.3, 0.4]), np.array([[2, 1]]), np.zeros((1, 1)))
    assert_array_equal(kept.restart_index, [[0, 0, 2, 1]])


def test_the_farthest_from_the_centre_makes_room():
    kept = seen([0.9, 0.2, 0.1], capacity=3)
    kept.add(*points([0.15]), np.array([2]), np.array([[0.0]]))
    assert_array_equal(kept.x[0, :, 0], [0.15, 0.2, 0.1])
    assert_array_equal(kept.restart_index, [[2, 0, 0]])
    kept.add(*points([0.11, 0.12]), np.array([3]), np.array([[0.1]]))
    assert sorted(kept.x[0, :, 0]) == [0.1, 0.11, 0.12]
    assert kept.count == 3


def test_the_last_capacity_are_taken_by_a_turn_that_has_more_points_than_there_are():
    kept = seen([0.9, 0.2], capacity=4)
    kept.add(*points([0.3, 0.4, 0.5]), np.array([1]), np.array([[0.0]]))
    assert kept.count == 4
    assert sorted(kept.x[0, :, 0]) == [0.2, 0.3, 0.4, 0.5]
    assert not kept.failed.any()


def test_a_failed_point_is_marked_and_holds_zeros():
    kept = seen([0.1, 0.2], capacity=2, failed=[1])
    assert_array_equal(kept.failed, [[False, True]])
    assert_array_equal(kept.y[0], [[0.1, -0.1], [0.0, 0.0]])


def test_values_are_read_back_as_they_were_told():
    ev = Evaluation.of(np.array([[1.0]]), np.array([[[2.0, 3.0]]]), np.array([[[4.0]]]))
    assert_array_equal(values_of(ev), [[[1.0, 2.0, 3.0, 4.0]]])
    back = as_evaluation(values_of(ev), 2, ev.failed)
    assert_array_equal(back.c, ev.c)
    assert_array_equal(back.f, ev.f)
