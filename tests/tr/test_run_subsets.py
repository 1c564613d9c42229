"""Runs in lockstep: chosen, repeated and cut out of records."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from meco.tr.run_subsets import choose_runs, repeat_runs, slice_runs, take_runs


class Record(NamedTuple):
    each: Any
    shared: Any = None
    count: int = 2


def test_each_run_has_the_record_that_is_chosen_for_it():
    limits = np.zeros((1, 4))
    new, old = (Record(np.full((3, 2), value), limits) for value in (1.0, 0.0))
    made = choose_runs(np.array([True, False, True]), new, old)
    assert_array_equal(made.each, [[1, 1], [0, 0], [1, 1]])
    assert made.shared is limits
    assert made.count == 2


@pytest.mark.parametrize(("where", "chosen"), [(True, 1.0), (False, 0.0)])
def test_a_single_run_is_not_copied(where, chosen):
    new, old = (np.array([1.0]), Record(np.ones((1, 2)))), (np.array([0.0]), Record(np.zeros((1, 2))))
    assert choose_runs(np.array([where]), new, old) is (new if chosen else old)


def test_runs_are_taken_in_their_order_and_keep_their_order_in_memory():
    each = np.arange(24.0).reshape(4, 3, 2)
    rowwise, columnwise = (take_runs(Record(part), np.arange(4) % 2 == 1).each for part in (each, each.mT))
    assert_array_equal(rowwise, each[[1, 3]])
    assert_array_equal(columnwise, rowwise.mT)
    assert rowwise.strides[1:] == each.strides[1:]
    assert columnwise.strides[1:] == each.mT.strides[1:]  # linear algebra rounds by it


@pytest.mark.parametrize("runs", [1, 3])
def test_repeated_runs_are_cut_out_again(runs):
    record = Record(np.arange(2.0 * runs).reshape(runs, 2), Record(np.arange(runs)))
    many = repeat_runs(record, 4, runs)
    assert many.each.shape == (4 * runs, 2)
    for first in range(0, 4 * runs, runs):
        part = slice_runs(many, first, first + runs, 4 * runs)
        assert_array_equal(part.each, record.each)
        assert_array_equal(part.shared.each, record.shared.each)
        assert part.count == 2


def test_what_all_runs_share_is_not_repeated():
    shared = np.zeros((1, 2))
    assert repeat_runs(Record(np.zeros((3, 2)), shared), 2, 3).shared is shared
