"""A problem checks its bounds, and what its formula gives."""

import numpy as np
import pytest

import meco
from meco.errors import InvalidInput, UnknownName


def test_bounds_are_checked_by_name():
    with pytest.raises(InvalidInput, match=r"lower bound of variable 1 is above its upper bound: 3\.0 > 2\.0"):
        meco.Problem("mine", [0.0, 3.0], [1.0, 2.0], 0, 0, lambda x: (x.sum(-1), [], []))
    with pytest.raises(InvalidInput, match="variable 0 must be finite"):
        meco.Problem("mine", [-np.inf, 3.0], [1.0, 4.0], 0, 0, lambda x: (x.sum(-1), [], []))


def test_a_formula_that_gives_other_counts_than_declared_is_named():
    wrong = meco.Problem("wrong", [0.0], [1.0], 2, 0, lambda x: (x[..., 0], [x[..., 0]], []))
    with pytest.raises(InvalidInput, match="wrong declares 2 inequalities and 0 equalities; its formula gave 1 and 0"):
        wrong.raw(np.zeros(1))


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ([meco.Variable(0, 9, integer=True), (0, 1)], r"integers are marked by integrality=\[True"),
        ({"a": (0, 1)}, "bounds of a problem are"),
        ([0.0, 1.0], r"pairs, shape \(D, 2\); got shape \(2,\)"),
    ],
)
def test_bounds_that_are_no_pairs_are_named(bounds, said):
    with pytest.raises(InvalidInput, match=said):
        meco.problem("mine", bounds=bounds)(lambda x: (x.sum(-1), [], []))


def test_a_name_that_is_a_part_of_another_suggests_it():
    with pytest.raises(UnknownName, match="did you mean 'SciPy-DE'"):
        meco.METHODS["scipy"]


@pytest.mark.parametrize(("given", "meant"), [("C1", "C01"), ("RC019", "RC19"), ("uav-1", "UAV-01"), ("C010", "C10")])
def test_a_name_without_its_zeros_is_told_the_one_with_them(given, meant):
    with pytest.raises(UnknownName, match=f"did you mean '{meant}'"):
        meco.get_problem(given)


def test_a_suite_is_given_by_its_name():
    with pytest.raises(InvalidInput, match=r"get_suite\(\) takes the name of a suite, one of cec2017, .*get_problem"):
        meco.get_suite(["C01", "C04"])
