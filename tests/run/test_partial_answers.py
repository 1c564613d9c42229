"""Answers of which only a part is known: they teach, they count in the order, and runs with them go on bit for bit."""

from functools import cache

import numpy as np
import pytest

import meco
from interruption import kill_run
from meco import Checkpoint, Optimizer, Workers, minimize
from meco.run.answer import Answer, Fault, check_finite, read_answer, read_rows

BOUNDS = [(0.0, 4.0)] * 2
BEST = 0.125  # of the staged problem: (x - 2)^2 + (y - 1)^2 under x y >= 1, x + y <= 2.5


def staged(x):
    """Stops at the first violated stage; nan is what was not computed."""
    first, second = 1.0 - x[0] * x[1], x[0] + x[1] - 2.5
    if first > 0.0:
        return np.nan, [first, np.nan]
    if second > 0.0:
        return np.nan, [first, second]
    return (x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2, [first, second]


def staged_by_name(x):
    """The same with names, of which those of later stages are left out."""
    f, (first, second) = staged(x)
    known = {"room": first} | ({} if np.isnan(second) else {"weight": second})
    return {"g": known} if np.isnan(f) else {"f": f, "g": known}


# -- what an answer says -----------------------------------------------------------------------------


def test_a_number_that_is_missing_beside_a_violated_constraint_is_no_failure():
    answer = read_answer((np.nan, [0.5, np.nan]))
    assert answer.fault is Fault.NONE
    np.testing.assert_array_equal(answer.g, [0.5, np.nan])


@pytest.mark.parametrize(
    "value", [(np.nan, [-0.5]), (np.inf, [0.5]), np.nan, (np.nan, [np.nan]), (1.0, [np.nan, -1.0])]
)
def test_a_number_that_is_missing_without_a_reason_is_one(value):
    assert read_answer(value).fault is Fault.NOT_FINITE


def test_constraints_alone_and_none_in_the_place_of_a_number_are_read():
    assert np.isnan(read_answer({"g": [0.5]}).f)
    assert np.isnan(read_answer((None, [0.5, None])).g[1])
    assert read_answer({"fun": 1.0, "g": [0.5]}).fault is Fault.MALFORMED
    assert read_answer(None).fault is Fault.MALFORMED


def test_rows_may_have_gaps():
    first, second = read_rows((np.array([np.nan, 1.0]), np.array([[0.5], [-1.0]])), 2)
    assert (first.fault, second.fault) == (Fault.NONE, Fault.NONE)
    assert np.isnan(first.f)


def test_an_equality_that_is_clearly_off_is_a_reason():
    assert check_finite(Answer(np.nan, h=np.array([0.1]))).fault is Fault.NONE
    assert check_finite(Answer(np.nan, h=np.array([1e-6]))).fault is Fault.NOT_FINITE


# -- what a search makes of it ------------------------------------------------------------------------


@cache
def meeting_curve():
    return minimize(staged, BOUNDS, budget=60, seed=1)


def test_the_search_ends_where_whole_answers_would_end():
    result = meeting_curve()
    assert result.fun == pytest.approx(BEST, abs=1e-3)
    assert result.run.nfail == 0
    assert np.isnan(result.evaluations.f).sum() > 5


@pytest.mark.parametrize("method", ["TR", "SHADE-FR", "MA-ES", "SciPy-DE", "COBYQA", "COBRA", "CMA-ES"])
def test_every_method_can_be_told_them(method):
    budget = 60 if meco.METHODS[method].models_functions else 150
    result = minimize(staged, BOUNDS, budget=budget, seed=1, method=method)
    assert (result.feasible, result.nfev, result.run.nfail) == (True, budget, 0)


def test_feasibility_first_searches_as_with_whole_answers():
    def whole(x):
        first, second = 1.0 - x[0] * x[1], x[0] + x[1] - 2.5
        return (x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2, [max(first, 0.0), max(second, 0.0) if first <= 0.0 else 0.0]

    a, b = (minimize(fun, BOUNDS, budget=200, seed=1, method="SHADE-FR") for fun in (staged, whole))
    np.testing.assert_array_equal(a.evaluations.x, b.evaluations.x)


def test_names_that_were_left_out_at_first_are_learnt():
    result = minimize(staged_by_name, BOUNDS, budget=60, seed=1)
    assert list(result.constraints) == ["room", "weight"]
    assert result.fun == pytest.approx(BEST, abs=1e-2)
    assert result.run.nfail == 0


def test_where_no_answer_was_whole_the_least_violation_that_is_known_is_shown():
    result = minimize(lambda x: {"g": {"room": 1.0 + x[0] ** 2}}, [(-1.0, 2.0)], budget=30, seed=1)
    assert result.status == 2
    assert "No answer was whole" in result.message
    assert result.constraints["room"].value < 1.01


def test_a_search_that_has_no_whole_answer_yet_goes_on_to_later_stages():
    """The violated first stage leaves the second unknown; a point that tells of both is the better one."""

    def fun(x):
        first, second = 0.5 * x[0] - x[1] + 0.6, x[0] + 0.3 * x[1] - 0.45
        if first > 0.0:
            return np.nan, [first, np.nan, np.nan]
        if second > 0.0:
            return np.nan, [first, second, np.nan]
        return float(np.sum((x - 0.9) ** 2)), [first, second, x[2] - 0.5]

    result = minimize(fun, [(0.0, 1.0)] * 3, budget=40, seed=1)
    told = result.evaluations.told.sum(axis=1)
    assert result.feasible
    assert told[-20:].mean() > told[:7].mean()


def test_batches_and_free_workers_can_be_told_them():
    for workers in (Workers(2, batch=4), Workers(2, asynchronous=True)):
        result = minimize(staged, BOUNDS, budget=60, seed=1, workers=workers)
        assert result.fun == pytest.approx(BEST, abs=0.05)


def test_categories_and_gaps_together():
    def fun(d):
        room = {"a": 0.5, "b": -0.5, "c": -0.2}[d["kind"]] + d["w"] - 1.0
        if room > 0.0:
            return None, {"room": room}
        return (d["w"] - 0.7) ** 2 + {"a": 0.0, "b": 0.3, "c": 0.2}[d["kind"]], {"room": room}

    result = minimize(fun, {"kind": ["a", "b", "c"], "w": (0.0, 2.0)}, budget=50, seed=1)
    assert result.fun == pytest.approx(0.04, abs=1e-3)


# -- doors ---------------------------------------------------------------------------------------------


def test_ask_and_tell_and_a_saved_state_are_the_same_search():
    search = Optimizer(BOUNDS, 2, budget=40, seed=1)
    for _ in range(12):
        tell_all(search)
    search = Optimizer.from_state(search.state())
    while not search.done:
        tell_all(search)
    expected = minimize(staged, BOUNDS, budget=40, seed=1)
    np.testing.assert_array_equal(search.result.evaluations.x, expected.evaluations.x)


def tell_all(search):
    x = search.ask()
    values = [staged(row) for row in x]
    search.tell(x, [f for f, _ in values], [g for _, g in values])


def test_an_objective_may_be_left_out_of_tell():
    search = Optimizer([(0.0, 1.0)], 1, budget=5, seed=1)
    x = search.ask()
    search.tell(x, None, g=np.ones((len(x), 1)))
    assert search.result.run.nfail == 0


def test_a_killed_run_goes_on_bit_for_bit(tmp_path):
    expected = minimize(staged_by_name, BOUNDS, budget=40, seed=1)
    kill_run(lambda fun: minimize(fun, BOUNDS, budget=40, seed=1, checkpoint=tmp_path / "run"), staged_by_name, 24)
    result = minimize(staged_by_name, BOUNDS, checkpoint=Checkpoint(tmp_path / "run", resume=True))
    np.testing.assert_array_equal(result.evaluations.x, expected.evaluations.x)
    np.testing.assert_array_equal(result.evaluations.f, expected.evaluations.f)


def test_known_points_may_have_gaps():
    first = minimize(staged, BOUNDS, budget=20, seed=1)
    every = first.evaluations
    result = minimize(staged, BOUNDS, budget=25, seed=2, evaluated=(every.x, every.f, every.g))
    assert result.fun <= first.fun


def test_page_and_table_can_be_made_of_them(tmp_path):
    result = meeting_curve()
    every = result.evaluations
    page = result.report(tmp_path / "page.html").read_text()
    assert f"{every.partial.sum()} of 60 answers were partial" in page
    assert f"{100 * every.told[:, 2].mean():.0f} %" in page
    assert meco.Result.to_csv(result).count("nan") > 5


def test_whole_answers_leave_no_word_of_partial_ones(tmp_path):
    result = minimize(lambda x: (x[0], [0.5 - x[0]]), [(0.0, 1.0)], budget=10, seed=1)
    assert not result.evaluations.partial.any()
    assert "partial" not in result.report(tmp_path / "page.html").read_text()


def test_a_failed_call_is_no_partial_answer():
    result = minimize(lambda x: np.nan if x[0] > 0.5 else x[0], [(0.0, 1.0)], budget=10, seed=1)
    assert result.evaluations.failed.any()
    assert not result.evaluations.partial.any()
