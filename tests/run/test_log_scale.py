"""Variables on a logarithmic scale."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco.errors import InvalidInput
from small_runs import f_and_g


def test_a_logarithmic_variable_is_searched_by_its_exponent():
    def fun(x):
        return (np.log10(x[0]) + 4.0) ** 2 + (x[1] - 0.5) ** 2

    result = meco.minimize(fun, [(1e-8, 1.0), (0.0, 1.0)], log=[True, False], budget=60, seed=1)
    assert_allclose(result.x, [1e-4, 0.5], rtol=1e-3)
    assert_allclose(result.evaluations.x[0], [1e-4, 0.5])  # the middle of both scales
    assert result.evaluations.x.min() >= 0.0
    assert result.evaluations.x[:, 0].min() >= 1e-8


def test_starting_points_on_a_logarithmic_scale_are_evaluated_exactly():
    x0 = [[0.3, 0.1], [7e-7, 0.2]]
    result = meco.minimize(lambda x: float(x @ x), [(1e-8, 1.0), (0.0, 1.0)], log=[1, 0], x0=x0, budget=30, seed=1)
    assert_array_equal(result.evaluations.x[:2], x0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"log": [True, False]}, "bounds of variable 0 must be above 0"),
        ({"log": [True]}, "2 values True"),
        ({"log": ["x0"]}, "2 values True"),
        ({"bounds": [(1, 9), (1, 9)], "log": True, "integrality": [True, False]}, "variable 0 is a whole number"),
    ],
)
def test_impossible_scales_are_refused(options, said):
    with pytest.raises(InvalidInput, match=said):
        meco.minimize(f_and_g, **{"bounds": [(0, 1), (1, 9)], **options})


def test_an_optimizer_keeps_its_scales_in_its_state():
    search = meco.Optimizer([(1e-6, 1.0)] * 2, budget=30, log=True, seed=1)
    x = search.ask()
    search.tell(x, x.sum(axis=1))
    again = meco.Optimizer.from_state(search.state())
    assert_array_equal(again.ask(), search.ask())
