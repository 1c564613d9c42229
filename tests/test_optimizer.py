"""Ask and tell: any order, any batch, saved and loaded without pickle."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import meco
from meco import Method, Variable
from meco.errors import DamagedFile, InvalidInput

BOX = [(-5.0, 5.0)] * 3
OPTIONS = {"method": Method("SHADE-FR", pop_size=10), "budget": 100, "seed": 3}


def values(x):
    return (x * x).sum(axis=-1), 1.0 - x[..., :2], x[..., :1] - x[..., 2:]


def rowwise(x):
    f, g, h = values(x[None])
    return f[0], g[0], h[0]


def solve_in_batches(search, draw, save=False):
    """Drive a search with random batches, told in random order, saved and loaded on the way."""
    waiting = np.zeros((0, 3))
    while not search.done:
        waiting = np.concatenate([waiting, search.ask(int(draw.integers(1, 8)))])
        waiting = waiting[draw.permutation(len(waiting))]
        some = int(draw.integers(0, len(waiting) + 1))
        if some:
            search.tell(waiting[:some], *values(waiting[:some]))
            waiting = waiting[some:]
        if save and draw.random() < 0.2:
            search = type(search).from_state(search.state())
    return search


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    method=st.sampled_from(["SHADE-FR", "SHADE", "MeCO-rand", "MA-ES", "C2oDE"]),
    save=st.booleans(),
)
def test_asking_and_telling_in_any_order_is_the_run_of_minimize(seed, method, save):
    options = {**OPTIONS, "method": Method(method, pop_size=10), "seed": seed}
    search = solve_in_batches(meco.Optimizer(BOX, 2, 1, **options), np.random.default_rng(seed), save)
    whole = meco.minimize(rowwise, BOX, **options)
    assert_array_equal(search.result.evaluations.x, whole.evaluations.x)
    assert_array_equal(search.result.x, whole.x)
    assert search.result.message == whole.message
    for key in whole.trace:
        assert_array_equal(search.result.trace[key], whole.trace[key])


def test_ask_gives_at_most_the_rest_of_the_generation():
    search = meco.Optimizer(BOX, 2, 1, **OPTIONS)
    first = search.ask(4)
    assert first.shape == (4, 3)
    assert search.ask().shape == (6, 3)
    assert search.ask().shape == (0, 3)
    assert search.ask(3).shape == (0, 3)
    assert_array_equal(search.pending[:4], first)
    search.tell(first, *values(first))
    assert search.ask().shape == (0, 3)  # six are still out
    rest = search.pending
    search.tell(rest[::-1], *values(rest[::-1]))
    assert search.ask().shape == (10, 3)


def test_the_budget_ends_the_asking():
    search = meco.Optimizer(BOX, 2, 1, **{**OPTIONS, "budget": 13})
    asked = 0
    while not search.done:
        x = search.ask()
        asked += len(x)
        search.tell(x, *values(x))
    assert asked == 13
    assert search.ask().shape == (0, 3)
    assert search.result.run.stop_reason == "budget"


def test_the_result_is_there_at_any_time():
    search = meco.Optimizer(BOX, 2, 1, **OPTIONS)
    assert np.isfinite(search.result.x).all()
    x = search.ask(3)
    search.tell(x, *values(x))
    assert search.result.nfev == 3
    assert search.result.run.stop_reason == "running"


def test_failed_points_are_told_as_such():
    search = meco.Optimizer(BOX, 2, 1, **OPTIONS)
    x = search.ask()
    f, g, h = values(x)
    f[0], failed = -1e9, np.arange(10) == 0
    g[1, 0] = np.inf
    search.tell(x, f, g, h, failed=failed)
    assert search.result.run.nfail == 2
    assert search.result.fun > -1e9


@pytest.mark.parametrize("told", [{"f": None, "failed": True}, {"failed": True}, {"failed": [True] * 10}])
def test_a_batch_that_failed_needs_no_values(told):
    search = meco.Optimizer(BOX, 2, 1, **OPTIONS)
    search.tell(search.ask(), **told)
    assert search.result.run.failures == {"told": 10}
    assert "10 of 10 evaluations failed: 10 told as failed." in search.result.message


@pytest.mark.parametrize("form", [list, tuple])
def test_rows_of_failed_points_may_be_none(form):
    search = meco.Optimizer(BOX, 2, 1, **OPTIONS)
    x = search.ask()
    f, g, h = (form(None if k == 3 else row for k, row in enumerate(part.tolist())) for part in values(x))
    search.tell(x, f, g, h, failed=np.arange(10) == 3)
    assert search.result.run.failures == {"told": 1}
    assert search.result.evaluations.failed.tolist() == [k == 3 for k in range(10)]


def test_flat_constraints_of_failed_points_may_be_none():
    search = meco.Optimizer(BOX, 1, **OPTIONS)
    x = search.ask()
    search.tell(x, [None, *[1.0] * 9], [None, *[-1.0] * 9], failed=[True, *[False] * 9])
    assert search.result.run.nfail == 1
    assert search.result.feasible


def test_points_that_have_not_failed_need_values():
    search = meco.Optimizer(BOX, 2, 1, **OPTIONS)
    x = search.ask()
    with pytest.raises(InvalidInput, match=r"tell\(x, f\) needs values; .* tell\(x, failed=True\)"):
        search.tell(x)
    with pytest.raises(InvalidInput, match="g must be told: 2 values for each point that has not failed"):
        search.tell(x, np.ones(10), failed=np.arange(10) == 0)
    with pytest.raises(InvalidInput, match="failed must be True, or one value for each of the 10 points"):
        search.tell(x, failed=[True] * 3)


def test_an_optimizer_is_kept_by_its_state_and_pickle_says_so():
    for keep in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match=r"cannot be pickled or copied; search.state\(\)"):
            keep(meco.Optimizer(BOX, **OPTIONS))


def test_one_point_may_be_told_alone():
    search = meco.Optimizer(BOX, 1, 0, **OPTIONS)
    x = search.ask(2)
    search.tell(x[0], 1.0, [0.5])
    search.tell(x[1].tolist(), 2.0, 0.5)
    assert search.result.nfev == 2


def test_equal_points_of_a_generation_are_told_each():
    search = meco.Optimizer(
        [Variable(0, 2, integer=True)] * 2, budget=60, method=Method("SHADE-FR", pop_size=10), seed=1
    )
    while not search.done:
        x = search.ask()
        search.tell(x[::-1], (x[::-1] ** 2).sum(axis=1))
    assert search.result.nfev == 60
    assert len(np.unique(search.result.evaluations.x, axis=0)) <= 9
    assert search.result.fun == 0.0


def test_known_points_and_starting_points_work_here_too():
    known = np.random.default_rng(1).uniform(-5, 5, (4, 3))
    search = meco.Optimizer(BOX, 2, 1, x0=[[0.1, 0.2, 0.3]], evaluated=(known, *values(known)), **OPTIONS)
    x = search.ask()
    assert_array_equal(x[0], [0.1, 0.2, 0.3])
    assert len(x) == 6  # four of the ten are known
    assert not {row.tobytes() for row in x} & {row.tobytes() for row in known}
    again = meco.Optimizer.from_state(search.state())
    assert_array_equal(again.pending, x)


@pytest.mark.parametrize("method", ["SHADE-FR", "MeCO-rand", "MA-ES", "CMA-ES-native"])
def test_the_state_travels_in_a_plain_file(tmp_path, method):
    options = {**OPTIONS, "method": method if method == "CMA-ES-native" else Method(method, pop_size=10)}
    search = meco.Optimizer(BOX, 2, 1, **options)
    for _ in range(3):
        x = search.ask()
        search.tell(x, *values(x))
    some = search.ask(4)
    search.tell(some[1:3], *values(some[1:3]))
    (tmp_path / "state.json").write_text(json.dumps(search.state()))
    again = meco.Optimizer.from_state(json.loads((tmp_path / "state.json").read_text()))
    assert_array_equal(again.pending, search.pending)
    assert again.result.nfev == search.result.nfev
    for each in (search, again):
        rest = each.pending
        each.tell(rest, *values(rest))
        solve_in_batches(each, np.random.default_rng(0))
    assert_array_equal(again.result.evaluations.x, search.result.evaluations.x)


def test_a_state_that_is_none_is_refused():
    for none in ({"inputs": "{}"}, {}, 7, meco.Optimizer(BOX, **OPTIONS).state() | {"format": 99}):
        with pytest.raises(DamagedFile, match="no state of an Optimizer"):
            meco.Optimizer.from_state(none)


def test_mistakes_are_named():
    search = meco.Optimizer(BOX, 2, 1, **OPTIONS)
    x = search.ask(3)
    f, g, h = values(x)
    for told, words in (
        ((x, f), "g must be told"),
        ((x, f, g[:, :1], h), "g must have shape"),
        ((x, f[:2], g, h), r"f must have shape \(\d+,\)"),
        ((x[:, :2], f, g, h), "3 variables"),
        ((x + 1e-9, f, g, h), "was not asked for"),
    ):
        with pytest.raises(InvalidInput, match=words):
            search.tell(*told)
    search.tell(x[:1], f[:1], g[:1], h[:1])
    with pytest.raises(InvalidInput, match="told already"):
        search.tell(x, f, g, h)
    assert search.result.nfev == 1  # a refused call enters nothing
    with pytest.raises(InvalidInput, match="0 or more"):
        search.ask(-1)
    with pytest.raises(InvalidInput, match="n_ineq"):
        meco.Optimizer(BOX, -1, 0, **OPTIONS)


def test_a_misspelt_keyword_offers_the_nearest():
    with pytest.raises(TypeError, match="keyword of Optimizer named 'bugdet'; did you mean 'budget'"):
        meco.Optimizer(BOX, bugdet=100)


def test_a_method_that_cannot_be_asked_says_so():
    pytest.importorskip("scipy")
    with pytest.raises(InvalidInput, match="COBYQA calls the problem itself"):
        meco.Optimizer(BOX, 1, 0, method="COBYQA", budget=50)


def test_a_state_with_another_number_or_budget_is_refused():
    search = meco.Optimizer(BOX, n_ineq=1, method=Method("SHADE-FR", pop_size=10), budget=60, seed=1)
    for _ in range(2):
        x = search.ask()
        search.tell(x, (x**2).sum(1), 1 - x[:, :1])
    state = search.state()
    assert meco.Optimizer.from_state(state).result.nfev == 20
    events = state["events"]
    changes = [
        {"events": events[1:]}, {"events": events[::-1]}, {"events": [*events, events[-1]]}, {"events": [["ask"]]},
        {"inputs": state["inputs"] | {"budget": 0}}, {"inputs": {}}, {"events": "[" * 100_000},
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(DamagedFile):
            meco.Optimizer.from_state(state | change)
