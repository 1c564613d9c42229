"""The table of controls: engine, values in force and the door have the same names, ranges and defaults."""

from __future__ import annotations

import numpy as np
import pytest
from searches import visited

import meco
from meco.errors import InvalidInput, UnknownOption
from meco.tr.controls import TR_CONTROLS, ControlValues

every = pytest.mark.parametrize("control", TR_CONTROLS, ids=lambda control: control.name)


def found(**options):
    method = meco.Method("TR", **options)
    return meco.minimize(lambda x: (x @ x, [1.0 - x.sum()]), [(-5, 5)] * 2, method=method, budget=20, seed=1)


def test_the_controls_in_force_have_the_names_of_the_table_in_its_order():
    assert ControlValues._fields == tuple(control.name for control in TR_CONTROLS)


@every
def test_a_default_lies_within_its_range_and_the_table_says_what_it_means(control):
    assert control.low <= control.default <= control.high
    assert control.low < control.high
    assert control.low > 0.0 or not control.log  # zero has no logarithm
    assert control.about


@every
def test_both_ends_of_a_range_can_be_searched_with(control):
    for value in (control.low, control.high):
        points, engine = visited("TR", meco.get_problem("corner", 2), 18, **{control.name: value})
        assert np.isfinite(points).all()
        assert getattr(engine._controls_in_force(), control.name)[0] == value


def test_a_control_is_an_option_of_the_method():
    assert found(margin=0.05).nfev == 20
    assert found(margin=0.05).evaluations.x.tolist() != found(margin=0.3).evaluations.x.tolist()


def test_a_default_that_is_given_changes_nothing():
    given = {control.name: control.default for control in TR_CONTROLS}
    np.testing.assert_array_equal(found(**given).evaluations.x, found().evaluations.x)


@pytest.mark.parametrize("value", [-0.1, 0.5, np.nan])
def test_a_value_outside_its_range_is_refused_with_the_range(value):
    with pytest.raises(InvalidInput, match=rf"margin in \[0, 0\.3\]; got {value}"):
        found(margin=value)


def test_an_unknown_control_is_refused_with_the_names_that_there_are():
    with pytest.raises(UnknownOption, match="TR has no option 'margn'; it takes theta, margin"):
        found(margn=0.05)
