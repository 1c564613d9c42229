"""Points that a user gives: to try first, or with their values."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco.errors import InvalidInput

BOUNDS = {"width": (0.0, 2.0), "metal": ["steel", "brass"], "teeth": meco.Variable(3, 9, integer=True)}


def gear(d):
    return d["width"] + d["teeth"] + (d["metal"] == "brass"), {"load": 1.0 - d["width"]}


@pytest.fixture(scope="module")
def first():
    return meco.minimize(gear, BOUNDS, budget=20, seed=1)


def test_a_result_gives_its_evaluations_as_known_points(first):
    whole = meco.minimize(gear, BOUNDS, budget=12, seed=2, evaluated=first)
    same = meco.minimize(gear, BOUNDS, budget=12, seed=2, evaluated=first.evaluations)
    assert whole.evaluations.known.sum() == 20
    assert_array_equal(whole.evaluations.x, same.evaluations.x)


def test_a_result_of_other_variables_is_refused_by_their_names(first):
    with pytest.raises(InvalidInput, match=r"has the variables width, metal, teeth; here they are .*, teeth, z"):
        meco.minimize(gear, BOUNDS | {"z": (0, 1)}, budget=12, seed=2, evaluated=first)


def test_a_run_begins_at_the_answer_of_a_result_whatever_the_order_of_its_variables(first):
    turned = dict(reversed(BOUNDS.items()))
    asked = []

    def note(d):
        asked.append(d)
        return gear(d)

    meco.minimize(note, turned, budget=12, seed=2, x0=first)
    assert asked[0] == first.design


def test_a_run_begins_at_the_answer_of_scipys_result():
    asked = []
    start = SimpleNamespace(x=np.array([0.25, 0.5]), fun=1.0)
    meco.minimize(lambda x: (asked.append(x), float(x @ x))[1], [(-1, 1)] * 2, budget=8, seed=1, x0=start)
    assert_array_equal(asked[0], start.x)


def test_a_point_outside_is_told_by_the_name_of_its_variable():
    with pytest.raises(InvalidInput, match=r"x0: width of point 0 is 5.0, outside its bounds \[0.0, 2.0\]"):
        meco.minimize(gear, BOUNDS, budget=8, x0={"width": 5, "metal": "steel", "teeth": 4})
    with pytest.raises(InvalidInput, match="x0: teeth of point 0 must be a whole number"):
        meco.minimize(gear, BOUNDS, budget=8, x0={"width": 1, "metal": "steel", "teeth": 4.5})


def test_known_points_outside_narrower_bounds_are_counted_with_the_way_to_leave_them_out(first):
    narrow = BOUNDS | {"width": (0.0, 0.75)}
    with pytest.raises(InvalidInput, match=r"\d+ of 20 points lie outside: leave them out") as refused:
        meco.minimize(gear, narrow, budget=8, evaluated=first)
    e, low, high = first.evaluations, *(meco.Variables.read(narrow).column(end) for end in ("low", "high"))
    advice = str(refused.value).rpartition("evaluations e by ")[2]
    assert advice.startswith("keep = ")
    scope = {"e": e, "low": low, "high": high}
    exec(advice, scope)
    assert meco.minimize(gear, narrow, budget=8, evaluated=scope["evaluated"]).evaluations.known.sum() < 20


def test_a_point_with_a_category_in_a_list_is_asked_for_as_a_dict():
    with pytest.raises(InvalidInput, match=r"a point with categories is a dict: \{'metal': 'steel', ..\}"):
        meco.minimize(gear, BOUNDS, budget=8, x0=[1.0, "brass", 4])


def test_a_dict_of_known_points_without_values_is_refused():
    with pytest.raises(InvalidInput, match='a dict needs "x" and "f"'):
        meco.minimize(lambda x: x @ x, [(-1, 1)] * 2, budget=8, evaluated={"x": [[0.0, 0.0]], "fun": [0.0]})
