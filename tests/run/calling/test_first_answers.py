"""A function that makes one mistake at every call stops with a sentence, and burns nothing."""

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
@pytest.mark.parametrize("method", ["MeCO-TR", "SHADE"])
def test_a_vectorized_function_of_the_wrong_shape_stops_after_a_few_calls(fun, method):
    with pytest.raises(MecoError, match="x has a row for each point"):
        meco.minimize(fun, BOX, budget=300, seed=1, method=method, workers=Workers(vectorized=True))


def test_who_asks_to_go_on_regardless_goes_on():
    result = meco.minimize(forgets_return, BOX, budget=30, seed=1, on_error="penalize")
    assert result.run.failures == {"malformed": 30}


def test_nan_everywhere_may_be_a_region_and_does_not_stop_a_run():
    result = meco.minimize(lambda x: np.nan, BOX, budget=30, seed=1)
    assert result.run.failures == {"not_finite": 30}


def test_one_readable_answer_among_the_first_ten_is_enough_to_go_on():
    calls = []

    def seldom(x):
        calls.append(x)
        return float(x @ x) if len(calls) % 7 == 0 else None

    assert meco.minimize(seldom, BOX, budget=40, seed=1).nfev == 40


def test_an_array_of_one_number_is_still_an_objective():
    assert meco.minimize(lambda x: (np.array([x @ x]), [1 - x[0]]), BOX, budget=20, seed=1).run.nfail == 0
