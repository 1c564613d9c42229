"""Many constraints: the far ones stay out of the program, and nothing else changes."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from meco.tr.critical import max_critical, select_critical


def test_where_there_are_few_constraints_all_of_them_are_critical():
    assert select_critical(np.zeros((2, 5)), np.ones((2, 5)), n_ineq=4, count=4) is None
    assert max_critical(10) == 60


def test_the_inequalities_nearest_to_being_violated_and_all_equalities_are_critical():
    """f, five inequalities, one equality; room for three: the equality and two inequalities."""
    value = np.array([[9.0, -5.0, 0.5, -0.1, -8.0, -0.2, 7.0]])
    change = np.array([[1.0, 1.0, 1.0, 1.0, 100.0, 1.0, 1.0]])  # the fourth is -0.08 of what it changes by
    found = select_critical(value, change, n_ineq=5, count=3)
    assert_array_equal(found.index, [[0, 2, 4, 6]])
    assert_array_equal(found.is_critical, [[True, False, True, False, True, False, True]])
    assert found.n_ineq == 2


def test_rows_are_taken_and_put_back():
    value = np.array([[9.0, -5.0, 0.5, -0.1, 7.0]])
    found = select_critical(value, np.ones_like(value), n_ineq=3, count=2)
    taken = found.gather(value)
    assert_array_equal(taken, [[9.0, 0.5, 7.0]])
    assert_array_equal(found.scatter(taken), [[9.0, 0.0, 0.5, 0.0, 7.0]])
    assert_array_equal(found.merge(np.array([[1.0, 2.0]]), np.full((1, 4), 3.0)), [[3.0, 1.0, 3.0, 2.0]])
