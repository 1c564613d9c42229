"""What a user's function may return, and what counts as a failed evaluation."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from meco.run.answer import Fault, read_answer, read_rows


@pytest.mark.parametrize(
    "value",
    [3.0, 3, True + 2, np.float32(3), np.array(3.0), np.array([3.0]), np.array([[3]]), [3.0], (3.0,), Decimal(3),
     Fraction(3), {"f": 3.0}, {"f": np.array([3.0]), "info": "kept out"}],
)  # fmt: skip
def test_one_number_in_any_wrapping_is_the_objective(value):
    answer = read_answer(value)
    assert answer.fault is Fault.NONE
    assert answer.f == 3.0
    assert answer.g.size == answer.h.size == 0


@pytest.mark.parametrize(
    "value",
    [
        (1.0, [2.0, 3.0], 4.0),
        (np.array([1.0]), np.array([2, 3]), [np.array([4.0])]),
        (1.0, np.array([[2.0], [3.0]]), (4,)),
        {"f": 1.0, "g": [2.0, 3.0], "h": 4.0},
        {"f": 1.0, "g": {"stress": 2.0, "sag": np.array([3.0])}, "h": {"mass": 4}},
    ],
)
def test_constraints_come_as_tuples_lists_arrays_or_named(value):
    answer = read_answer(value)
    assert answer.fault is Fault.NONE
    assert_array_equal(answer.g, [2.0, 3.0])
    assert_array_equal(answer.h, [4.0])


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("constraints", 'did you mean "g"?'),
        ("G", 'did you mean "g"?'),
        ("ineq", 'did you mean "g"?'),
        ("c", 'did you mean "g"?'),
        ("con", 'did you mean "g"?'),
        ("gg", 'did you mean "g"?'),
        ("H", 'did you mean "h"?'),
        ("eq", 'did you mean "h"?'),
        ("noise", 'did you mean "se"?'),
        ("stress", 'constraints go under "g", {"f": .., "g": {"stress": ..}}'),
        ("cost", 'constraints go under "g", {"f": .., "g": {"cost": ..}}'),
    ],
)
def test_a_dict_with_another_key_is_refused_by_that_key_since_it_may_be_a_constraint(key, said):
    for answer in (read_answer({"f": 1.0, key: [1.0]}), read_rows({"f": np.ones(2), key: np.ones((2, 1))}, 2)[0]):
        assert answer.fault is Fault.MALFORMED
        assert f'"{key}" is no key of an answer: {said}' in answer.reason


def test_every_key_that_the_docs_name_is_read():
    whole = {"f": 1.0, "g": [2.0], "h": [3.0], "se": [0.1, 0.1, 0.1], "info": {"seconds": 12.0}}
    assert read_answer(whole).fault is Fault.NONE
    assert read_answer({"g": {"reach": 1.0}, "info": "stopped early"}).fault is Fault.NONE


def test_torch_numbers_are_numbers():
    torch = pytest.importorskip("torch")
    answer = read_answer((torch.tensor(1.0, requires_grad=True) * 2, torch.tensor([3.0, 4.0])))
    assert answer.f == 2.0
    assert_array_equal(answer.g, [3.0, 4.0])


@pytest.mark.parametrize(
    "value",
    [None, "3.0", b"3", 1j, np.array([1j]), [1.0, 2.0], np.zeros(3), (1.0, [2.0], [3.0], [4.0]), (), (1.0, "x"),
     (1.0, [[1.0, 2.0], [3.0]]), {"F": 1.0}, {"fun": 1.0, "g": [1.0]}, object(), [[]], np.datetime64("2020"),
     (1.0, np.ones((2, 2))), 10**400, (1.0, None, None, None)],
)  # fmt: skip
def test_anything_else_is_malformed(value):
    answer = read_answer(value)
    assert answer.fault is Fault.MALFORMED
    assert answer.reason.startswith("it returned")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_a_failure_wherever_it_stands(bad):
    assert read_answer(bad).fault is Fault.NOT_FINITE
    assert read_answer((1.0, [bad])).fault is Fault.NOT_FINITE
    assert read_answer((1.0, [0.0], [bad, 0.0])).fault is Fault.NOT_FINITE


class Rude:
    """An object that objects to being looked at."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError("no")

    def __repr__(self):
        raise RuntimeError("no")


def test_an_object_that_raises_when_read_is_malformed():
    assert read_answer(Rude()).fault is Fault.MALFORMED
    assert read_answer((1.0, Rude())).fault is Fault.MALFORMED


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.complex_numbers() | st.text(max_size=3) | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.tuples(inner, inner)
            | st.tuples(inner, inner, inner)
            | st.dictionaries(st.sampled_from(["f", "g", "h", "x"]), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_reading_never_raises_and_good_answers_are_finite_or_say_what_is_violated(value):
    answer = read_answer(value)
    if answer.fault is Fault.NONE:
        numbers = np.array([answer.f, *answer.g, *answer.h])
        assert not np.isinf(numbers).any()
        assert np.isfinite(numbers).all() or (answer.g > 0).any() or (np.abs(answer.h) > 0).any()


def test_rows_of_points_give_rows_of_answers():
    answers = read_rows((np.arange(3.0), np.ones((3, 2)), np.zeros(3)), 3)
    assert [a.f for a in answers] == [0.0, 1.0, 2.0]
    assert all(a.g.size == 2 and a.h.size == 1 for a in answers)
    named = read_rows({"f": np.arange(3.0), "g": {"a": np.ones(3), "b": np.zeros((3, 1))}}, 3)
    assert named[0].g_names == ("a", "b")
    some = read_rows((np.array([0.0, np.nan, 2.0]), -np.ones((3, 1))), 3)
    assert [a.fault for a in some] == [Fault.NONE, Fault.NOT_FINITE, Fault.NONE]


@pytest.mark.parametrize("value", [np.zeros(5), np.zeros((2, 3)), (np.zeros(3), np.zeros((2, 3))), None, "text", 1.0])
def test_rows_in_the_wrong_layout_are_malformed_and_say_that_rows_are_points(value):
    answers = read_rows(value, 3)
    assert len(answers) == 3
    assert all(a.fault is Fault.MALFORMED for a in answers)
