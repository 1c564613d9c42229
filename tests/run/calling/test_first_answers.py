"""A function that makes one mistake at every call stops with a sentence, and burns nothing."""

from types import SimpleNamespace

import numpy as np
import pytest

import meco
from meco import Workers
from meco.errors import MecoError

BOX = [(-5, 5)] * 3


def forgets_return(x):
    x @ x


def gives_text(x):
    return f"cost {x[0]}"


def gives_four(x):
    return 1.0, [2.0], [3.0], [4.0]


def swaps(x):
    return [1 - x[0]], float(x @ x)


def gives_columns(x):
    return (x**2).sum(axis=0), x.T


@pytest.mark.parametrize(
    ("fun", "said"),
    [
        (forgets_return, "it returned None (is a return missing?)"),
        (gives_text, "it returned 'cost "),
        (gives_four, "a tuple must be (f, g) or (f, g, h), not of 4"),
        (swaps, "f comes first: are f and g swapped?"),
    ],
)
@pytest.mark.parametrize("workers", [1, 2, Workers(2, asynchronous=True)])
def test_ten_unreadable_answers_stop_a_run_with_the_line_to_write(fun, said, workers):
    with pytest.raises(MecoError) as stopped:
        meco.minimize(fun, BOX, budget=300, seed=1, workers=workers)
    text = str(stopped.value)
    assert said in text
    assert "return f, [g1, g2]" in text
    assert f"line {fun.__code__.co_firstlineno}" in text
    assert stopped.value.result.nfev < 20


@pytest.mark.parametrize("fun", [gives_columns, lambda x: None])
@pytest.mark.parametrize("method", ["TR", "SHADE"])
def test_a_vectorized_function_of_the_wrong_shape_stops_after_a_few_calls(fun, method):
    with pytest.raises(MecoError, match="x has a row for each point"):
        meco.minimize(fun, BOX, budget=300, seed=1, method=method, workers=Workers(vectorized=True))


def forgets_the_key(x):
    return {"f": (x**2).sum(axis=-1), "stress": 1.0 - x[..., 0]}


@pytest.mark.parametrize("workers", [1, Workers(2, asynchronous=True), Workers(vectorized=True)])
def test_constraints_under_a_key_of_their_own_stop_a_run_and_are_not_dropped(workers):
    with pytest.raises(MecoError, match="is no key of an answer: constraints go under") as stopped:
        meco.minimize(forgets_the_key, BOX, budget=300, seed=1, workers=workers)
    assert 'the keys "f", "g", "h" and "se" alone' in str(stopped.value)
    assert f"line {forgets_the_key.__code__.co_firstlineno}" in str(stopped.value)
    assert stopped.value.result.nfev < 70


def test_who_asks_to_go_on_regardless_goes_on():
    result = meco.minimize(forgets_return, BOX, budget=30, seed=1, on_error="penalize")
    assert result.run.failures == {"malformed": 30}


def test_nan_at_first_may_be_a_region_and_does_not_stop_a_run():
    result = meco.minimize(lambda x: np.nan, BOX, budget=19, seed=1)
    assert result.run.failures == {"not_finite": 19}


def test_one_readable_answer_among_the_first_ten_is_enough_to_go_on():
    calls = []

    def seldom(x):
        calls.append(x)
        return float(x @ x) if len(calls) % 7 == 0 else None

    assert meco.minimize(seldom, BOX, budget=40, seed=1).nfev == 40


@pytest.mark.parametrize("workers", [1, 2, Workers(2, asynchronous=True), Workers(vectorized=True)])
@pytest.mark.parametrize(
    ("constraint", "said"),
    [
        (lambda x: {"gap": x[..., 0]}, 'it returned a dict; .* is named where it is given, {"gap": fun}'),
        (
            SimpleNamespace(fun=lambda x: x, lb=[0.0, 0.0], ub=1.0),
            "it gave 3 values, but has limits for 2: give lb and ub for each, or one for all",
        ),
    ],
)
def test_one_call_is_enough_to_see_that_a_constraint_has_a_wrong_form(constraint, said, workers):
    with pytest.raises(MecoError, match=r"constraint width \(<lambda>\): " + said) as stopped:
        meco.minimize(lambda x: (x**2).sum(axis=-1), BOX, {"width": constraint}, budget=300, seed=1, workers=workers)
    assert stopped.value.result.nfev < 10
    with pytest.raises(MecoError, match="cheap: width: " + said):
        meco.minimize(lambda x: x @ x, BOX, cheap={"width": constraint}, budget=300, seed=1)


def test_an_array_of_one_number_is_still_an_objective():
    assert meco.minimize(lambda x: (np.array([x @ x]), [1 - x[0]]), BOX, budget=20, seed=1).run.nfail == 0


def forgets_a_constraint(x):
    x[0] - 1.0


def truth(x):
    return x[0] >= 1.0


def leaves_none(x):
    return float(x @ x), {"mass": x[0] - 9.0, "stress": None}


def cost(x):
    return float((x @ x) if x.ndim == 1 else 0.0)


FORMS = {
    "function": lambda c: c,
    "scipy's object": lambda c: SimpleNamespace(fun=c, lb=-np.inf, ub=0.0),
    "scipy's dict": lambda c: {"type": "ineq", "fun": c},
    "beside a violated one": lambda c: [lambda x: 1.0, c],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("workers", [1, Workers(2, asynchronous=True)])
def test_a_constraint_without_return_stops_a_run_by_its_name_and_line(form, workers):
    with pytest.raises(MecoError) as stopped:
        meco.minimize(cost, BOX, FORMS[form](forgets_a_constraint), budget=300, seed=1, workers=workers)
    text = str(stopped.value)
    index = 1 if form == "beside a violated one" else 0
    assert f"constraints[{index}] (forgets_a_constraint): it returned None (is a return missing?)" in text
    assert f"line {forgets_a_constraint.__code__.co_firstlineno}" in text
    assert stopped.value.result.nfev <= 10


def test_a_vectorized_constraint_without_return_stops_it_too():
    with pytest.raises(MecoError, match=r"constraints\[0\] \(forgets_a_constraint\): it returned None"):
        meco.minimize(
            lambda x: (x**2).sum(axis=1), BOX, forgets_a_constraint, budget=300, workers=Workers(vectorized=True)
        )


def test_a_constraint_that_is_none_in_every_first_answer_is_named():
    with pytest.raises(MecoError, match="stress is None") as stopped:
        meco.minimize(leaves_none, BOX, budget=300, seed=1)
    assert f"line {leaves_none.__code__.co_firstlineno}" in str(stopped.value)
    assert stopped.value.result.nfev <= 10
    with pytest.raises(MecoError, match="g1 is None"):
        meco.minimize(lambda x: (x @ x, [None]), BOX, budget=300, seed=1)


def test_what_was_left_out_because_another_limit_is_violated_is_no_mistake():
    result = meco.minimize(lambda x: (x @ x, [1.0, None]), BOX, budget=30, seed=1)
    assert result.nfev == 30


@pytest.mark.parametrize("form", [*FORMS, "answer", "dict", "array"])
def test_truth_values_are_refused_in_place_of_constraints(form):
    whole = {
        "answer": lambda x: (cost(x), [x[0] >= 1.0]),
        "dict": lambda x: (cost(x), {"reach": bool(x[0] >= 1.0)}),
        "array": lambda x: (cost(x), x >= 1.0),
    }
    with pytest.raises(MecoError, match=r"for x\[0\] >= 1 write 1 - x\[0\]") as stopped:
        meco.minimize(whole.get(form, cost), BOX, FORMS[form](truth) if form in FORMS else (), budget=300, seed=1)
    assert stopped.value.result.nfev <= 10


def test_rows_of_truth_values_are_refused_as_well():
    with pytest.raises(MecoError, match=r"write 1 - x\[0\]"):
        meco.minimize(
            lambda x: ((x**2).sum(axis=1), x >= 1.0), BOX, budget=300, seed=1, workers=Workers(vectorized=True)
        )
