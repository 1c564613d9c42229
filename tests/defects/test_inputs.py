"""Inputs of minimize() and Optimizer: keywords of other libraries, categories, stop conditions."""

import pytest

import meco
from meco import Variable, minimize
from meco.errors import InvalidInput, UnknownName

MODEL = {"metal": ["steel", "brass"], "width": (0.0, 1.0)}


def flat(x):
    return 1.0


def search(bounds, **given):
    return meco.Optimizer(bounds, **given)


def run(bounds, **given):
    return minimize(flat, bounds, **given)


@pytest.mark.parametrize("call", [run, search])
@pytest.mark.parametrize(
    ("keyword", "advice"),
    [
        ("n_eval", "budget="),
        ("nfev", "budget="),
        ("n_trials", "budget="),
        ("n_iter", "budget="),
        ("max_evaluations", "budget="),
        ("strategy", "method="),
        ("algorithm", "method="),
        ("timeout", "stop=60"),
        ("time_limit", "stop=60"),
    ],
)
def test_keywords_of_other_libraries_are_answered_with_the_one_to_use(call, keyword, advice):
    with pytest.raises(TypeError, match=f"'{keyword}': .*{advice}"):
        call([(0, 1)], **{keyword: 3})


@pytest.mark.parametrize("given", [["steel"], {"categories": ["steel"]}])
def test_a_single_category_is_refused_with_the_variable_and_a_way_out(given):
    with pytest.raises(InvalidInput, match=r"'metal'.*two categories or more.*leave the variable out"):
        minimize(flat, {"metal": given, "width": (0, 1)})


def test_two_numbers_are_a_range_also_in_a_list():
    assert minimize(flat, {"m": [1, 2]}, budget=3).run.variables.each[0] == Variable(1, 2)
    choice = minimize(flat, {"m": Variable(categories=[1, 2])}, budget=3).run.variables.each[0]
    assert choice.categories == (1, 2)


@pytest.mark.parametrize("call", [run, search])
def test_an_unknown_category_names_its_variable(call):
    with pytest.raises(InvalidInput, match=r"'metal'.*'iron'.*steel, brass"):
        call(MODEL, x0={"metal": "iron", "width": 0.5})


def test_a_repeated_category_names_its_variable():
    with pytest.raises(InvalidInput, match=r"'metal'.*'steel' comes twice"):
        minimize(flat, {"metal": ["steel", "steel"]})


def test_a_misspelt_stop_condition_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownName, match="did you mean 'feasible'"):
        minimize(flat, [(0, 1)], stop="feasable")


def test_a_checkpoint_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("kept")
    with pytest.raises(InvalidInput, match=r"checkpoint must be a folder, and .*notes\.txt is a file"):
        minimize(flat, [(0, 1)], budget=3, checkpoint=tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "kept"


def test_a_constraint_at_zero_has_no_sign():
    found = minimize(lambda x: (float(x @ x), {"reach": -0.0}), [(-1, 1)] * 2, budget=10, seed=1)
    assert "reach: 0" in str(found)
