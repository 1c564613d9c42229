"""An edited function and the answers of the one before: no old answer counts for a new function."""

import numpy as np
import pytest

import meco
from meco import Checkpoint, Workers
from meco.errors import InvalidInput

BOX = [(0.0, 200.0)] * 2
SOURCE = """
def beam(x):
    calls.append(1)
    force = x[0] + x[1]
    return float(x[0] ** 2 + 2 * x[1] ** 2), [150 - force]
"""
SAME_VALUES = SOURCE.replace("    force =", "    unused = 3\n    force =")


def define(source=SOURCE):
    names = {"__name__": "somebodys_model", "calls": []}
    exec(source, names)
    return names["beam"]


def calls_of(fun):
    return len(fun.__globals__["calls"])


EDITED = SOURCE.replace("150 -", "165 -")
OPTIONS = {"bounds": BOX, "seed": 1}


@pytest.mark.parametrize("budget", [40, 60])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_resumed_run_refuses_an_edited_function_after_one_call(tmp_path, budget, asynchronous):
    how = OPTIONS | {"workers": Workers(1, asynchronous=asynchronous)}
    meco.minimize(define(), **how, budget=40, checkpoint=tmp_path / "run")
    edited = define(EDITED)
    with pytest.raises(InvalidInput, match="has changed since the old answers were made") as refused:
        meco.minimize(edited, **how, budget=budget, checkpoint=Checkpoint(tmp_path / "run", resume=True))
    assert "g1 = 15" in str(refused.value)
    assert "another folder" in str(refused.value)
    assert calls_of(edited) == 1


def test_an_interrupted_run_refuses_it_too(tmp_path):
    stop_early = {"callback": lambda found: found.nfev >= 15, "checkpoint": tmp_path / "run"}
    assert meco.minimize(define(), **OPTIONS, budget=40, **stop_early).nfev < 40
    with pytest.raises(InvalidInput, match="has changed since"):
        meco.minimize(define(EDITED), **OPTIONS, budget=40, checkpoint=Checkpoint(tmp_path / "run", resume=True))


@pytest.mark.parametrize("form", ["folder", "evaluations"])
def test_known_evaluations_of_the_function_before_the_edit_are_refused(tmp_path, form):
    base = meco.minimize(define(), **OPTIONS, budget=40, checkpoint=tmp_path / "run")
    given = tmp_path / "run" if form == "folder" else base.evaluations
    edited = define(EDITED)
    with pytest.raises(InvalidInput, match="without evaluated="):
        meco.minimize(edited, **OPTIONS, budget=10, evaluated=given)
    assert calls_of(edited) == 1
    again = define()
    assert meco.minimize(again, **OPTIONS, budget=10, evaluated=given).nfev == calls_of(again) == 10


def test_a_limit_of_a_separate_constraint_is_part_of_the_function(tmp_path):
    def limited(least):
        return [meco.LinearConstraint([[1.0, 1.0]], lb=least)]

    def cost(x):
        return float(x[0] ** 2 + 2 * x[1] ** 2)

    meco.minimize(cost, **OPTIONS, constraints=limited(150), budget=30, checkpoint=tmp_path / "run")
    with pytest.raises(InvalidInput, match="has changed since"):
        meco.minimize(
            cost, **OPTIONS, constraints=limited(165), budget=30, checkpoint=Checkpoint(tmp_path / "run", resume=True)
        )


def test_other_code_of_the_same_values_goes_on_with_a_warning_and_one_call(tmp_path):
    base = meco.minimize(define(), **OPTIONS, budget=40, checkpoint=tmp_path / "run")
    rewritten, how = define(SAME_VALUES), {"budget": 40, "checkpoint": Checkpoint(tmp_path / "run", resume=True)}
    with pytest.warns(UserWarning, match="is not the code that gave the old answers"):
        again = meco.minimize(rewritten, **OPTIONS, **how)
    assert "was called again, beyond the budget, and is the same" in again.message
    assert calls_of(rewritten) == 1
    np.testing.assert_array_equal(again.evaluations.x, base.evaluations.x)
    meco.minimize(rewritten, **OPTIONS, **how)  # the folder knows the new code now
    assert calls_of(rewritten) == 1


def test_values_within_the_noise_that_was_told_are_the_same(tmp_path):
    meco.minimize(define(), **OPTIONS, budget=40, noise=[0.0, 20.0], checkpoint=tmp_path / "run")
    with pytest.warns(UserWarning, match="is not the code"):
        meco.minimize(define(EDITED), **OPTIONS, budget=40, checkpoint=Checkpoint(tmp_path / "run", resume=True))


def test_an_unchanged_function_is_not_called_again(tmp_path):
    meco.minimize(define(), **OPTIONS, budget=40, checkpoint=tmp_path / "run")
    same = define()
    meco.minimize(same, **OPTIONS, budget=40, checkpoint=Checkpoint(tmp_path / "run", resume=True))
    assert calls_of(same) == 0


def test_the_refusal_of_another_name_advises_no_way_to_keep_its_answers(tmp_path):
    meco.minimize(define(), **OPTIONS, budget=20, checkpoint=tmp_path / "run")
    with pytest.raises(InvalidInput, match="is of another function") as refused:
        meco.minimize(
            lambda x: (x @ x, [165 - x[0]]), **OPTIONS, budget=20, checkpoint=Checkpoint(tmp_path / "run", resume=True)
        )
    assert "evaluated=" not in str(refused.value)


def test_the_point_is_told_by_name_with_its_category_and_in_the_words_of_each_door():
    bounds = {"width": (0.0, 2.0), "metal": ["steel", "brass"]}
    first = meco.minimize(lambda d: d["width"] + (d["metal"] == "steel"), bounds, budget=20, seed=1)
    with pytest.raises(InvalidInput, match=r"at width = 0, metal = brass they say f = 0, and now f = 1") as refused:
        meco.minimize(lambda d: d["width"] + (d["metal"] == "brass"), bounds, budget=20, evaluated=first)
    assert "--evaluated (--x0 may be that point)" in refused.value.command_line
    assert "evaluated=" not in refused.value.command_line
