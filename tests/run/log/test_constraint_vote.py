"""How many constraints there are is learnt from the answers: most of the first nine decide, and all of them in the end.

Never one of them alone.
"""

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
from meco.run.calling.answers import Fault, read_answer
from meco.run.folder import run_folder as runfolder
from meco.run.folder.reader import load_run
from meco.run.log.evaluation_log import Entry, EvaluationLog
from meco.run.log.log_file import MARK, read_log
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
    """A log that was told these answers, in order."""
    log = EvaluationLog(**options)
    for number, answer in enumerate(answers):
        log.add_answer(Entry.of(number, 0, 0, np.zeros(3), read_answer(answer)))
    return log


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
        meco.minimize(odd_at(3, 20), BOX, method=Method("SHADE-FR", pop_size=6), budget=60, seed=1)
    assert len(caught) == 1


@pytest.mark.filterwarnings("error")
def test_no_answer_is_called_failed_that_later_counts():
    """The first four, a batch, have no constraints; the five after them, of which the jury is made as well, have."""
    calls = []

    def late(x):
        calls.append(x)
        return float(x @ x) if len(calls) <= 4 else (float(x @ x), [1.0 - x[0], -5.0])

    method = Method("SHADE-FR", pop_size=4)
    with pytest.warns(UserWarning, match=r"evaluation 0 counts as failed: .* instead of 2 and 0") as caught:
        result = meco.minimize(late, BOX, method=method, budget=40, seed=1)
    assert len(caught) == 1
    assert result.run.failures == {"mismatch": 4}


def test_failures_have_no_kind_that_no_call_has():
    calls = []

    def one_batch(x):
        calls.append(x)
        return (float(x @ x), [1.0 - x[0]]) if len(calls) <= 2 else (float(x @ x), [1.0 - x[0], -1.0])

    result = meco.minimize(one_batch, BOX, method=Method("SHADE-FR", pop_size=4), budget=40, seed=1)
    assert 0 not in result.run.failures.values()


@pytest.mark.parametrize(("few", "size"), [((0,), 4), ((0, 1, 2), 4), ((0, 1, 2, 3), 4), ((1, 2), 6)])
def test_first_batches_smaller_than_the_jury_are_overruled_by_it(few, size, tmp_path):
    result = meco.minimize(
        odd_at(*few), BOX, method=Method("SHADE-FR", pop_size=size), budget=100, seed=1, checkpoint=tmp_path / "run"
    )
    assert result.run.failures == {"mismatch": len(few)}
    assert result.feasible
    assert result.fun < 100
    assert result.nfev == 100
    again = meco.minimize(
        odd_at(*few),
        BOX,
        method=Method("SHADE-FR", pop_size=size),
        budget=100,
        seed=1,
        checkpoint=Checkpoint(tmp_path / "run", resume=True),
    )
    assert_array_equal(again.evaluations.x, result.evaluations.x)
    assert again.x.tolist() == result.x.tolist()


@pytest.mark.parametrize("after", [0, 1, 5, 8, 9, 10, 30])
def test_an_interrupt_among_the_first_answers_changes_nothing(after, tmp_path):
    whole = meco.minimize(odd_at(0, 2), BOX, method="SHADE-FR", budget=60, seed=1)
    breaks = broken_off(odd_at(0, 2), after)
    options = {"method": "SHADE-FR", "budget": 60, "seed": 1, "checkpoint": tmp_path / "run"}
    part = meco.minimize(breaks, BOX, **options)
    assert part.nfev == after
    assert [e.number for e in read_log(tmp_path / "run" / "evals.bin").entries] == list(range(after))
    rest = odd_at(*[number - after for number in (0, 2)])
    pass_for(breaks, rest)
    resumed = meco.minimize(rest, BOX, **options | {"checkpoint": Checkpoint(tmp_path / "run", resume=True)})
    assert_array_equal(resumed.evaluations.x, whole.evaluations.x)
    assert_array_equal(resumed.evaluations.g, whole.evaluations.g)


def test_the_decision_does_not_depend_on_who_finishes_first():
    answers = [1.0, (1.0, [2.0]), (1.0, [2.0, 3.0])]
    told = [read_answer(answers[i]) for i in (0, 1, 2, 2, 1, 1, 0, 1, 2, 2, 2)]
    rng = np.random.default_rng(1)
    for _ in range(20):
        log = EvaluationLog(100)
        for number in rng.permutation(len(told)):
            log.add_answer(Entry.of(int(number), 0, 0, np.zeros(2), told[number]))
        assert log.counts == (1, 0)  # four of the first nine
        assert [n for n, e in sorted(log.entries.items()) if e.good] == [1, 4, 5, 7]


def test_ties_go_to_more_constraints_and_failures_have_no_vote():
    log = entered(None, float("nan"), 5.0, (5.0, [1.0]), budget=4)
    log.fix_constraints()
    assert log.counts == (1, 0)
    assert [log.entries[n].fault for n in range(4)] == [
        Fault.MALFORMED, Fault.NOT_FINITE, Fault.MISMATCH, Fault.NONE,
    ]  # fmt: skip


def test_most_names_win_and_another_order_is_no_contradiction():
    swapped = {"f": 1.0, "g": {"b": 2.0, "a": 1.0}}
    log = entered(
        swapped, *[{"f": 1.0, "g": {"a": 1.0, "b": 2.0}}] * 3, {"f": 1.0, "g": {"a": 1.0, "c": 2.0}}, budget=5
    )
    assert log.constraint_names() == ("a", "b")
    assert_array_equal(log.entries[0].g, [1.0, 2.0])
    assert log.entries[4].fault is Fault.MISMATCH


@pytest.mark.parametrize(
    "given", [{"evaluated": ([[1.0, 1.0, 1.0]], [3.0])}, {"tolerances": Tolerances(names=["a", "b", "c"])}]
)
def test_what_is_said_beforehand_is_refused_when_most_answers_contradict(given):
    with pytest.raises(InvalidInput, match="2 inequalities and 0 equalities in most of the first 9 answers"):
        meco.minimize(honest, BOX, method="SHADE-FR", budget=100, seed=1, **given)


def test_a_single_odd_answer_does_not_refuse_what_was_said_beforehand():
    known = ([[1.0, 1.0, 1.0]], [3.0], [[0.0, -2.0]])
    result = meco.minimize(
        odd_at(0), BOX, method="SHADE-FR", budget=60, seed=1, evaluated=known, tolerances=Tolerances(names=["p", "q"])
    )
    assert result.run.failures == {"mismatch": 1}
    assert list(result.constraints) == ["p", "q"]


ODD = [1e9, (1e9, [-1.0]), (1e9, [], [0.0]), {"f": 1e9, "g": {"reach": -1.0}}]


@pytest.mark.parametrize(
    ("method", "odd", "first"),
    [*(("SHADE-FR", odd, first) for odd in ODD for first in (5, 9, 30)), (DEFAULT, 1e9, 15), (DEFAULT, 1e9, 9)],
)
def test_a_jury_of_odd_answers_is_overruled_by_most(method, odd, first, tmp_path):
    budget = 80 if method == "SHADE-FR" else 40
    options = {"method": method, "budget": budget, "seed": 1, "checkpoint": tmp_path / "run"}
    result = meco.minimize(odd_at(*range(first), odd=odd), BOX, **options)
    assert (result.nfev, result.run.failures, list(result.constraints)) == (
        budget,
        {"mismatch": first},
        ["reach", "height"],
    )
    assert (result.success, result.fun < 100) == (True, True)
    _, log, damaged = load_run(tmp_path / "run")
    assert (damaged, log.faults[Fault.MISMATCH], log.counts) == (0, first, (2, 0))


@pytest.mark.parametrize(
    ("method", "after"), [*(("SHADE-FR", after) for after in (7, 12, 25, 60)), (DEFAULT, 12), (DEFAULT, 35)]
)
def test_a_run_whose_jury_is_overruled_resumes_bit_for_bit(method, after, tmp_path, monkeypatch):
    monkeypatch.setattr(runfolder, "STATE_COST_FACTOR", 0)
    options = {"method": method, "budget": 70 if method == "SHADE-FR" else 40, "seed": 1}
    whole = meco.minimize(odd_at(*range(11)), BOX, **options)
    options["checkpoint"] = tmp_path / "run"
    breaks = broken_off(odd_at(*range(11)), after)
    meco.minimize(breaks, BOX, **options)
    rest = pass_for(breaks, odd_at(*range(11 - after)))
    resumed = meco.minimize(rest, BOX, **options | {"checkpoint": Checkpoint(tmp_path / "run", resume=True)})
    assert_array_equal(resumed.evaluations.x, whole.evaluations.x)
    assert_array_equal(resumed.evaluations.g, whole.evaluations.g)
    assert (resumed.fun, resumed.run.failures) == (whole.fun, whole.run.failures)


def test_what_is_said_beforehand_is_refused_by_most_answers_after_an_odd_jury_too():
    with pytest.raises(InvalidInput, match="2 inequalities and 0 equalities in most answers") as caught:
        meco.minimize(odd_at(*range(9)), BOX, method=DEFAULT, budget=80, seed=1, evaluated=([[1.0, 1.0, 1.0]], [3.0]))
    assert caught.value.result.nfev > 9


@pytest.mark.parametrize("options", [{"workers": Workers(asynchronous=True)}, {}, {"workers": Workers(2, batch=4)}])
def test_an_odd_jury_is_overruled_wherever_calls_are_made(options):
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

    for method in ("SHADE-FR", DEFAULT):
        assert meco.minimize(fickle, BOX, method=method, budget=40, seed=1).nfev == 40


def test_a_penalty_without_constraints_on_most_of_the_box_is_a_failure():
    def fun(x):
        return 1e6 if x[0] < 2.0 else honest(x)

    for method in ("SHADE-FR", DEFAULT):
        result = meco.minimize(fun, BOX, method=method, budget=40, seed=2, x0=[[3.0, 0.0, 0.0], [4.0, 1.0, 1.0]])
        assert (list(result.constraints), result.fun < 100) == (["reach", "height"], True)


def test_a_number_alone_is_a_failure_beside_a_single_answer_with_constraints():
    result = meco.minimize(odd_at(*range(1, 80)), BOX, method=DEFAULT, budget=30, seed=1)
    assert (list(result.constraints), result.run.failures) == (["reach", "height"], {"mismatch": 29})


@pytest.mark.parametrize("options", [{}, {"workers": Workers(asynchronous=True)}])
def test_a_folder_is_read_with_the_constraints_that_its_run_kept_on_a_tie(options, tmp_path):
    tells = iter([True] * 5 + [False] * 6 + [True])  # five against four of the first nine, then six against five

    def fun(x):
        return float(x @ x), [1.0 - x[0]] if next(tells) else [1.0 - x[0], x[1] - 50.0]

    result = meco.minimize(fun, BOX, budget=12, seed=1, checkpoint=tmp_path / "run", **options)
    _, log, _ = load_run(tmp_path / "run")
    assert (len(result.constraints), result.run.failures) == (2, {"mismatch": 6})
    assert (log.counts, log.faults[Fault.MISMATCH]) == ((2, 0), 6)


@pytest.mark.parametrize("method", ["SHADE", DEFAULT])
@pytest.mark.parametrize("penalties", [{1}, {1, 2, 3}])
def test_penalties_that_differ_are_never_the_answer_though_they_are_half_or_more(method, penalties):
    """A number alone where other answers have constraints is a penalty: every second call, or three of five."""
    calls = []

    def fun(x):
        calls.append(1)
        if len(calls) % (2 if len(penalties) == 1 else 5) in penalties:
            return -1e9 - len(calls)
        return float(x @ x), [1.0 - x[0], x[1] - 3.0]

    result = meco.minimize(fun, BOX, method=method, budget=30, seed=1)
    assert len(result.constraints) == 2
    assert result.fun > 0


def test_a_damaged_answer_among_the_first_leaves_the_decision_to_most(tmp_path):
    meco.minimize(
        odd_at(0, 1, 2), BOX, method=Method("SHADE-FR", pop_size=4), budget=40, seed=1, checkpoint=tmp_path / "run"
    )
    file = tmp_path / "run" / "evals.bin"
    frames = file.read_bytes().split(MARK)
    frames[7] = frames[7][:-1]  # an answer of the second generation
    file.write_bytes(MARK.join(frames))
    _, log, damaged = load_run(tmp_path / "run")
    assert (damaged, len(log), log.counts) == (1, 39, (2, 0))


@pytest.mark.parametrize("later", [(1.0, [-1.0, -1.0]), (1.0, [-1.0], [0.0])])
def test_a_first_answer_without_constraints_decides_nothing(later):
    calls = []

    def fun(x):
        calls.append(0)
        return 1e9 if len(calls) == 1 else later

    result = run(fun)
    assert result.run.nfail <= 1
    assert result.fun == 1.0
    assert len(result.constraints) == sum(map(len, later[1:]))


def test_known_values_and_names_that_contradict_the_answers_are_refused():
    with pytest.raises(InvalidInput, match="evaluated has 0 and 0"):
        run(evaluated=([[1.0, 1.0, 1.0]], [3.0]))
    with pytest.raises(InvalidInput, match="names has 2"):
        run(tolerances=Tolerances(names=["a", "b"]))
