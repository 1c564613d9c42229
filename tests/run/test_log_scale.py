"""Variables on a logarithmic scale."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco import Variable, Variables
from meco.errors import InvalidInput


def test_a_logarithmic_variable_is_searched_by_its_exponent():
    def fun(x):
        return (np.log10(x[0]) + 4.0) ** 2 + (x[1] - 0.5) ** 2

    result = meco.minimize(fun, [Variable(1e-8, 1.0, log=True), (0.0, 1.0)], budget=60, seed=1)
    assert_allclose(result.x, [1e-4, 0.5], rtol=1e-3)
    assert_allclose(result.evaluations.x[0], [1e-4, 0.5])  # the middle of both scales
    assert result.evaluations.x.min() >= 0.0
    assert result.evaluations.x[:, 0].min() >= 1e-8


def test_starting_points_on_a_logarithmic_scale_are_evaluated_exactly():
    x0 = [[0.3, 0.1], [7e-7, 0.2]]
    result = meco.minimize(
        lambda x: float(x @ x), [Variable(1e-8, 1.0, log=True), (0.0, 1.0)], x0=x0, budget=30, seed=1
    )
    assert_array_equal(result.evaluations.x[:2], x0)


@pytest.mark.parametrize(
    ("low", "options", "said"),
    [
        (0, {"log": True}, "a log variable needs low above 0"),
        (1, {"log": "yes"}, "log of a variable must be True or False"),
        (1, {"log": True, "integer": True}, "integer or log, not both"),
    ],
)
def test_impossible_scales_are_refused(low, options, said):
    with pytest.raises(InvalidInput, match=said):
        Variable(low, 9, **options)


def test_an_optimizer_keeps_its_scales_in_its_state():
    search = meco.Optimizer(Variables.of([1e-6] * 2, [1.0] * 2, log=True), budget=30, seed=1)
    x = search.ask()
    search.tell(x, x.sum(axis=1))
    again = meco.Optimizer.from_state(search.state())
    assert_array_equal(again.ask(), search.ask())
