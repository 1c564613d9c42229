"""Cheap constraints of frameworks keep the names that a dict gave them."""

import numpy as np
import pytest

import meco
from meco.adapters.named_cheap import NamedCheap
from meco.variables import Variables

NAMED = Variables.read({"a": (0.0, 2.0), "b": (0.0, 2.0)})
PLAIN = Variables.read([(0.0, 2.0)] * 2)


def test_names_of_a_dict_are_those_of_the_result():
    cheap = NamedCheap(lambda d: {"room": d["a"] - 1.5, "gaps": [0.1 - d["a"], 0.1 - d["b"]]}, NAMED)
    result = meco.minimize(
        lambda d: d["a"] ** 2 + d["b"], {"a": (0, 2), "b": (0, 2)}, budget=20, seed=1, cheap=cheap.as_argument()
    )
    assert list(result.constraints) == ["room", "gaps 1", "gaps 2"]
    assert cheap.values({"a": 1.0, "b": 0.5}) == pytest.approx([-0.5, -0.9, -0.4])


def test_values_come_in_the_order_of_the_first_names():
    def cheap(x):
        said = {"one": x[0], "two": x[1]}
        return said if x[0] >= 1.0 else dict(reversed(said.items()))

    assert NamedCheap(cheap, PLAIN).values(np.array([0.25, 0.5])) == [0.25, 0.5]


@pytest.mark.parametrize("said", [-1.0, [-1.0, -2.0], np.array([[-1.0, -2.0]])], ids=["number", "list", "array"])
def test_values_without_names_are_taken_as_they_are(said):
    cheap = NamedCheap(lambda x: said, PLAIN)
    assert cheap.values(np.zeros(2)) == np.ravel(said).tolist()
    assert list(cheap.as_argument()) == ["cheap"]


def test_a_function_that_fails_in_the_middle_still_has_names():
    def cheap(x):
        if (x == 1.0).all():
            raise ZeroDivisionError
        return {"room": x[0]}

    assert NamedCheap(cheap, PLAIN).names == ("room",)
