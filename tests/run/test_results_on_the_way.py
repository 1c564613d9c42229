"""What a callback is handed: the same whenever it is looked at, and the best of it known before anybody looks."""

from __future__ import annotations

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from meco import Method, Tolerances, Workers, minimize
from meco.answer.table import Judgement, Table
from meco.core.evaluation import Evaluation
from meco.core.metrics import feasibility_first
from meco.core.rule import best
from meco.evaluations import Evaluations
from meco.run.answer import Answer, Fault
from meco.run.layout import Answers, PriorEvaluations
from small_runs import run

COLUMNS = [field.name for field in fields(Evaluations)]
BOX = [(-2.0, 2.0)] * 3


def fails_now_and_then(x):
    if x[2] > 1.5:
        raise ValueError("no design")
    return float(x @ x), [0.5 - x[0]], [x[1] - x[2]]


def changes_its_mind(x):
    """Penalties with one constraint for the first few calls, and two ever after."""
    changes_its_mind.calls += 1
    few = changes_its_mind.calls < 8
    return float(x @ x), [0.5 - x[0]] if few else [0.5 - x[0], x[1] - 1.0]


def frozen(result):
    """Everything that a result holds, as bytes and plain values."""
    columns = {name: np.asarray(getattr(result.evaluations, name)).tobytes() for name in COLUMNS}
    trace = {name: rows.tobytes() for name, rows in result.trace.items()}
    return columns, trace, result.summary(), repr(result)


def told(look, fun=fails_now_and_then, budget=300, **options):
    changes_its_mind.calls = 0
    seen = []
    minimize(fun, BOX, budget=budget, seed=3, callback=lambda result: seen.append(look(result)), **options)
    return seen


@pytest.mark.parametrize(
    "options",
    [
        {"method": "SHADE"},
        {"tolerances": Tolerances(ineq=0.1), "budget": 28},
        {"method": "SHADE", "on_error": "retry"},
        {"method": "SHADE", "fun": changes_its_mind},
        {"method": "TR", "workers": Workers(asynchronous=True), "budget": 28},
    ],
    ids=["SHADE", "tolerances", "retries", "other constraints", "asynchronous"],
)
@pytest.mark.filterwarnings("ignore:evaluation .* counts as failed")
def test_a_result_on_the_way_is_the_same_whenever_it_is_looked_at(options):
    at_once, later = told(frozen, **options), told(lambda result: result, **options)
    assert len(at_once) > 5
    assert [frozen(result) for result in later[::-1]][::-1] == at_once
    assert [len(result.evaluations) for result in later] == [result.nfev for result in later]


def test_columns_are_read_only_and_shared_by_all_who_look():
    first, *_, last = told(lambda result: result, method="SHADE")
    assert np.shares_memory(first.evaluations.f, last.evaluations.f) or len(first.evaluations) <= 16
    with pytest.raises(ValueError, match="read-only"):
        last.evaluations.x[0] = 0.0


def test_results_that_nobody_looked_at_can_be_copied_and_sent():
    last = told(lambda result: result, method="SHADE")[-1]
    for other in (copy.deepcopy(last), pickle.loads(pickle.dumps(last)), copy.copy(last)):
        assert frozen(other) == frozen(last)
    with pytest.raises(AttributeError, match="colour"):
        _ = last.evaluations.colour


def test_results_are_looked_at_in_other_threads_while_the_search_goes_on():
    with ThreadPoolExecutor(4) as pool:
        seen = told(lambda result: pool.submit(frozen, result), method="SHADE")
        assert [look.result() for look in seen] == told(frozen, method="SHADE")


def drawn(draw):
    fault = Fault.RAISED if draw.random() < 0.2 else Fault.NONE
    f, g, h = (np.nan,) * 3 if fault else draw.integers(-3, 4, 3) / 2.0
    if fault:
        return draw.random(2), Answer(np.nan, fault=fault)
    return draw.random(2), Answer(float(f), np.array([g]), np.array([0.1 * h]), ("",), ("",))


@pytest.mark.parametrize("seed", range(40))
def test_the_best_is_the_first_of_the_best_rows_in_whatever_portions_they_come(seed):
    draw, tolerances = np.random.default_rng(seed), (0.5, 0.06)
    some = draw.integers(-3, 4, (3, 1)) / 2.0
    known = None if seed % 2 else PriorEvaluations(draw.random((3, 2)), some[:, 0], some + 0.5, 0.0 * some)
    answers = Answers()
    answers.declare(1, 1)
    table = Table(answers, known, 2)
    for number in draw.permutation(30) if seed % 3 == 0 else range(30):  # with gaps, or without
        answers.enter(int(number), 0, *drawn(draw))
        if draw.random() < 0.3:
            every = table.evaluations(Judgement(*tolerances))
            strict = every.to_evaluation(0.0, tolerances[1])
            ev = strict if strict.feasible.any() else Evaluation.of(strict.f, strict.g, strict.h, *tolerances)
            at = int(best(feasibility_first(ev))[0])
            assert every.leader == at
            assert every.best is not None
            np.testing.assert_array_equal(every.best.x, every.x[at])
            assert every.best[4:6] == (every.feasible[at], not every.failed[at])
            assert len(every) == len(answers) + (0 if known is None else 3)


def test_tables_that_were_handed_out_stay_when_a_late_answer_takes_its_place():
    draw, answers, tables = np.random.default_rng(1), Answers(), []
    answers.declare(1, 1)
    table = Table(answers, None, 2)
    for number in (1, 2, 4, 0, 5, 3):
        answers.enter(number, 0, *drawn(draw))
        tables.append((sorted(answers.entries), table.evaluations(Judgement(0.0, 1e-4))))
        if number == 2:
            assert len(tables[-1][1].f) == 2  # one that was read, the others were not
    for numbers, every in tables:
        assert_array_equal(every.x, [answers.entries[n].x for n in numbers])
        assert_array_equal(every.fault, [answers.entries[n].answer.fault for n in numbers])


def test_callbacks_do_not_make_a_run_quadratic():
    """Late callbacks take as many calls of functions as early ones, and columns move only when they have doubled."""
    calls, counts, columns = 0, [], []

    def count(frame, event, arg):
        nonlocal calls
        calls += event in ("call", "c_call")

    def look(result):
        assert result.nfev == len(result.evaluations)
        counts.append(calls)
        columns.append(result.evaluations.f)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run(budget=2000, callback=look, method=Method("SHADE", pop_size=10))
    finally:
        sys.setprofile(before)
    steps = np.diff(counts)
    assert len(steps) > 190
    assert np.median(steps[-50:]) < 1.5 * np.median(steps[:50])
    assert len({column.__array_interface__["data"][0] for column in columns}) <= np.log2(2000) + 1
