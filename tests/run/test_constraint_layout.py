"""The layout of constraints: names at any time, lists until the fifth answer, numbers alone are penalties."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from engine_classes import ENGINE_CLASSES, marked
from interruption import broken_off, pass_for
from meco import Checkpoint, Method, Tolerances, Workers
from meco.errors import InvalidInput, MissingExtra
from meco.methods import DEFAULT
from meco.run.answer import Fault, read_answer
from meco.run.layout import Answers
from small_runs import run

BOX = [(-5.0, 5.0)] * 3
pytestmark = pytest.mark.filterwarnings("ignore:evaluation .* counts as failed")


def honest(x):
    return float(x @ x), {"reach": 1.0 - x[0], "height": x[1] - 3.0}


def odd_at(*numbers, odd=1e9):
    """The honest function, but for some of its calls."""
    calls = []

    def fun(x):
        calls.append(x)
        return odd if len(calls) - 1 in numbers else honest(x)

    return fun


def entered(*answers, **options):
    """Answers that were entered in order."""
    made = Answers(**options)
    for number, answer in enumerate(answers):
        made.enter(number, 0, np.zeros(3), read_answer(answer))
    return made


def faults(answers):
    return [entry.answer.fault for entry in answers.entries.values()]


def test_a_list_grows_until_the_fifth_answer_and_earlier_ones_are_partial():
    answers = entered((1.0, [2.0]), (1.0, [2.0, 3.0]), (1.0, [2.0, 3.0, -1.0]))
    assert answers.counts == (3, 0)
    _, g, _ = answers.values([entry.answer for entry in answers.entries.values()])
    assert_array_equal(g, [[2.0, np.nan, np.nan], [2.0, 3.0, np.nan], [2.0, 3.0, -1.0]])
    assert faults(answers) == [Fault.NONE] * 3


@pytest.mark.parametrize("odd", [(1.0, [2.0, 3.0, 4.0]), (1.0, [2.0]), (1.0, [2.0, 3.0], [1.0]), 7.0])
def test_later_another_number_of_constraints_is_a_failed_evaluation(odd):
    answers = entered(*[(1.0, [2.0, 3.0])] * 5, odd, (1.0, [0.0, 0.0]))
    assert answers.counts == (2, 0)
    assert faults(answers) == [Fault.NONE] * 5 + [Fault.MISMATCH, Fault.NONE]


def test_names_may_appear_at_any_time_and_earlier_answers_are_partial():
    first = [{"f": 1.0, "g": {"a": -1.0}}] * 20
    answers = entered(*first, {"f": 1.0, "g": {"a": -1.0, "b": 2.0}}, {"f": 1.0, "g": {"b": 1.0}})
    assert answers.constraint_names() == ("a", "b")
    _, g, _ = answers.values([answers.entries[n].answer for n in (0, 20, 21)])
    assert_array_equal(g, [[-1.0, np.nan], [-1.0, 2.0], [np.nan, 1.0]])


def test_a_name_that_is_missing_where_nothing_is_violated_is_a_failure():
    whole = {"f": 1.0, "g": {"a": -1.0, "b": -2.0}}
    answers = entered(whole, {"f": 1.0, "g": {"a": -1.0}}, {"f": 1.0, "g": {"a": 1.0}})
    assert faults(answers) == [Fault.NONE, Fault.MISMATCH, Fault.NONE]


def test_names_in_another_order_are_no_contradiction():
    answers = entered({"f": 1.0, "g": {"b": 2.0, "a": 1.0}}, {"f": 1.0, "g": {"a": 1.0, "b": 2.0}})
    assert_array_equal(answers.entries[1].answer.g, [2.0, 1.0])


def test_a_number_alone_is_a_penalty_once_an_answer_has_constraints():
    answers = entered(1e9, 1e9, (1.0, [2.0, 3.0]), 1e9)
    assert answers.counts == (2, 0)
    assert faults(answers) == [Fault.MISMATCH, Fault.MISMATCH, Fault.NONE, Fault.MISMATCH]


@pytest.mark.parametrize("budget", [1, 2, 3, 5, 9, 20, 60])
@pytest.mark.parametrize("seed", range(4))
def test_a_penalty_is_never_the_answer_where_some_answers_have_constraints(budget, seed):
    draw, whole = np.random.default_rng(seed), []

    def fun(x):
        if draw.random() < 0.6:
            return 1e9 + draw.random()
        whole.append(x)
        return float(x @ x), [1 - x[0]]

    result = meco.minimize(fun, [(-4, 4)] * 2, budget=budget, seed=seed)
    assert result.fun < 1e9 or not whole


@pytest.mark.parametrize("method", [DEFAULT, "SHADE"])
def test_a_penalty_outside_a_small_region_is_not_the_answer(method):
    def fun(x):
        return honest(x) if np.abs(x - 0.5).max() < 2.5 else 1e9

    for seed in range(3):
        result = meco.minimize(fun, BOX, method=method, budget=80, seed=seed, x0=[[-4, -4, -4], [0.5] * 3])
        assert (list(result.constraints), result.fun < 100) == (["reach", "height"], True)


@pytest.mark.parametrize("method", marked(ENGINE_CLASSES))
def test_one_poisoned_answer_never_decides(method):
    try:
        result = meco.minimize(odd_at(0), BOX, method=method, budget=25, seed=1)
    except MissingExtra as missing:
        pytest.skip(f"METHOD NOT CHECKED: {method}: {missing}")
    assert result.run.failures == {"mismatch": 1}
    assert list(result.constraints) == ["reach", "height"]
    assert result.fun < 100
    assert result.nfev == 25


def test_the_odd_answer_is_reported_once():
    with pytest.warns(UserWarning, match="evaluation 3 counts as failed: it gave 0 inequalities") as caught:
        meco.minimize(odd_at(3, 20), BOX, method="SHADE-FR", budget=500, seed=1)
    assert len(caught) == 1


@pytest.mark.parametrize("first", [5, 9, 30])
@pytest.mark.parametrize("method", ["SHADE-FR", DEFAULT, "COBYQA"])
def test_a_search_that_began_with_penalties_begins_again_and_resumes(method, first, tmp_path):
    options = {"method": method, "budget": 45, "seed": 1}
    whole = meco.minimize(odd_at(*range(first)), BOX, checkpoint=tmp_path / "whole", **options)
    assert (whole.nfev, whole.run.failures, whole.success) == (45, {"mismatch": first}, True)
    for after in (3, first, first + 2):
        folder = tmp_path / f"run{after}"
        breaks = broken_off(odd_at(*range(first)), after)
        meco.minimize(breaks, BOX, checkpoint=folder, **options)
        rest = pass_for(breaks, odd_at(*range(first - after)))
        resumed = meco.minimize(rest, BOX, checkpoint=Checkpoint(folder, resume=True), **options)
        assert_array_equal(resumed.evaluations.x, whole.evaluations.x)
        assert_array_equal(resumed.evaluations.g, whole.evaluations.g)


@pytest.mark.parametrize(
    "given", [{"evaluated": ([[1.0, 1.0, 1.0]], [3.0])}, {"tolerances": Tolerances(names=["a", "b", "c"])}]
)
def test_what_is_said_beforehand_is_refused_when_answers_contradict(given):
    with pytest.raises(InvalidInput, match="2 inequalities and 0 equalities in the answers of fun"):
        meco.minimize(honest, BOX, method="SHADE-FR", budget=100, seed=1, **given)


def test_a_single_odd_answer_does_not_refuse_what_was_said_beforehand():
    known = ([[1.0, 1.0, 1.0]], [3.0], [[0.0, -2.0]])
    result = meco.minimize(
        odd_at(0), BOX, method="SHADE-FR", budget=60, seed=1, evaluated=known, tolerances=Tolerances(names=["p", "q"])
    )
    assert result.run.failures == {"mismatch": 1}
    assert list(result.constraints) == ["p", "q"]


@pytest.mark.parametrize("options", [{"workers": Workers(asynchronous=True)}, {}, {"workers": Workers(2, batch=4)}])
def test_penalties_come_first_wherever_calls_are_made(options):
    def fun(x):
        return 1e9 if x[2] > 4.5 or (x == x[0]).all() else honest(x)

    result = meco.minimize(
        fun, BOX, method=DEFAULT, budget=40, seed=1, x0=[[c] * 3 for c in np.linspace(-4, 4, 12)], **options
    )
    assert (result.nfev, list(result.constraints), result.fun < 100) == (40, ["reach", "height"], True)


def test_a_function_that_cannot_make_up_its_mind_ends_the_run_all_the_same():
    draw = np.random.default_rng(1)

    def fickle(x):
        return honest(x) if draw.random() < 0.5 else float(x @ x)

    for method in ("SHADE-FR", DEFAULT, "SciPy-DE"):
        assert meco.minimize(fickle, BOX, method=method, budget=40, seed=1).nfev == 40


@pytest.mark.parametrize("later", [(1.0, [-1.0, -1.0]), (1.0, [-1.0], [0.0])])
def test_a_first_answer_without_constraints_decides_nothing(later):
    calls = []

    def fun(x):
        calls.append(0)
        return 1e9 if len(calls) == 1 else later

    result = run(fun, method=Method("SHADE", pop_size=8))
    assert result.run.nfail <= 1
    assert result.fun == 1.0
    assert len(result.constraints) == sum(map(len, later[1:]))
