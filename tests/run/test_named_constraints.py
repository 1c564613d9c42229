"""Separate constraints beside named variables."""

from types import SimpleNamespace

import numpy as np
import pytest

import meco

NAMED = {"width": (0.0, 2.0), "height": (0.0, 2.0)}


@pytest.mark.parametrize(
    "constraint",
    [
        lambda v: 1.0 - v["width"] - v["height"],
        {"type": "ineq", "fun": lambda v, least: v["width"] + v["height"] - least, "args": (1.0,)},
        SimpleNamespace(fun=lambda v: v["width"] + v["height"], lb=1.0, ub=np.inf),
        meco.LinearConstraint([[1.0, 1.0]], lb=1.0),
    ],
)
@pytest.mark.parametrize("vectorized", [False, True])
def test_constraints_of_named_variables_get_a_dict_and_matrices_rows(constraint, vectorized):
    result = meco.minimize(
        lambda v: v["width"] ** 2 + v["height"] ** 2,
        NAMED,
        constraint,
        budget=80,
        seed=1,
        workers=meco.Workers(vectorized=vectorized),
    )
    assert result.feasible
    np.testing.assert_allclose(result.x, [0.5, 0.5], atol=1e-2)
