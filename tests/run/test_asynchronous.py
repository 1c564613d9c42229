"""asynchronous=True: a point for every free worker, none of them twice, and nothing recorded is lost."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from event_logs import what_happened
from interruption import broken_off
from meco import Checkpoint, Stop, Variables, Workers
from meco.errors import DamagedFile, InvalidInput
from meco.methods import DEFAULT
from meco.run.recorded import read_recorded

BOX = [(-2.0, 2.0)] * 4
one_of_family = pytest.mark.parametrize("method", ["TR"])


def fun(x):
    return float(np.sum((x - 0.3) ** 2) + x[0] * x[1]), [0.5 - x[0] - x[1]]


def values(x):
    found = [fun(row) for row in x]
    return np.array([f for f, _ in found]), np.array([g for _, g in found])


def uneven(x):
    time.sleep(0.001 + 0.01 * abs(np.sin(1e4 * x[0])))
    return fun(x)


def follow(search, draw, told=None):
    """Tell outstanding points in random order, and ask for more in random numbers, up to eight."""
    while not search.done and (told is None or len(search.answers) < told):
        out = search.pending
        search.ask(int(draw.integers(0, 9 - len(out))))
        out = search.pending
        if len(out):
            chosen = out[draw.permutation(len(out))[: int(draw.integers(1, 4))]]
            search.tell(chosen, *values(chosen))
    return search.result


@one_of_family
def test_every_free_worker_gets_a_point_at_once_and_none_that_is_out(method):
    search = meco.Optimizer(BOX, 1, budget=90, method=method, seed=1, workers=Workers(batch=8, asynchronous=True))
    draw = np.random.default_rng(1)
    while len(search.answers) < 70:
        assert len(search.ask(8 - len(search.pending))) > 0
        out = search.pending
        assert out.shape == (8, 4)
        apart = np.max(np.abs(out[:, None] - out[None]), axis=-1) + np.eye(8)
        assert apart.min() > 0.0
        one = out[draw.integers(8)][None]
        search.tell(one, *values(one))


@one_of_family
@pytest.mark.parametrize(
    "batch", [pytest.param(1, marks=pytest.mark.slow), 4, pytest.param(32, marks=pytest.mark.slow)]
)
def test_the_budget_is_spent_exactly_and_the_answer_is_good(method, batch):
    search = meco.Optimizer(BOX, 1, budget=160, method=method, seed=2, workers=Workers(batch=batch, asynchronous=True))
    result = follow(search, np.random.default_rng(batch))
    assert (result.nfev, result.feasible, len(search.pending), len(search.ask(3))) == (160, True, 0, 0)
    assert result.fun < 0.0675 + 1e-3


@pytest.mark.parametrize("workers", [1, 3, "threads"])
def test_minimize_works_with_workers_and_executors(workers):
    def curved(x):  # no model is exact: else the search ends at the answer to the last bit, and may step onto it again
        f, g = uneven(x)
        return f + float(np.sum(np.exp(x))), g

    with ThreadPoolExecutor(3) as pool:
        result = meco.minimize(
            curved,
            BOX,
            budget=40,
            seed=1,
            workers=Workers(pool if workers == "threads" else workers, asynchronous=True),
        )
    assert (result.nfev, result.feasible, result.run.stop_reason) == (40, True, "budget")
    assert result.fun < 4.9  # 4.76 is possible
    assert len(np.unique(result.evaluations.x, axis=0)) == 40


def test_no_more_futures_are_out_than_the_batch_says():
    class Counting(ThreadPoolExecutor):
        out = most = 0

        def submit(self, *args):
            self.out += 1
            self.most = max(self.most, self.out)
            future = super().submit(*args)
            future.add_done_callback(lambda _: setattr(self, "out", self.out - 1))
            return future

    with Counting(8) as pool:
        meco.minimize(uneven, BOX, budget=60, seed=1, workers=Workers(pool, batch=5, asynchronous=True))
    assert pool.most == 5


def test_methods_and_maps_that_cannot_are_named():
    with pytest.raises(InvalidInput, match="TR; SHADE proposes whole generations"):
        meco.minimize(fun, BOX, method="SHADE", workers=Workers(asynchronous=True))
    with pytest.raises(InvalidInput, match="TR; SHADE proposes whole generations"):
        meco.Optimizer(BOX, 1, method="SHADE", workers=Workers(asynchronous=True))
    with pytest.raises(InvalidInput, match="a map takes points together"):
        meco.minimize(fun, BOX, workers=Workers(map, asynchronous=True))


def test_a_class_made_of_an_optimizer_is_asynchronous_too():
    class Counting(meco.Optimizer):
        told = 0

        def tell(self, x, *values):
            self.told += len(x)
            super().tell(x, *values)

    class Decided(meco.Optimizer):
        def __init__(self):
            super().__init__(BOX, 1, budget=40, seed=1, workers=Workers(asynchronous=True))

    search = Counting(BOX, 1, budget=40, seed=1, workers=Workers(asynchronous=True))
    assert len(Decided().ask(30)) == 30  # more than the first points
    result = follow(search, np.random.default_rng(1))
    assert (result.nfev, search.told, type(search).__name__) == (40, 40, "Counting")
    again = Counting.from_state(search.state())
    assert isinstance(again, Counting)
    assert again.asynchronous


def test_failures_are_survived_and_called_again_where_asked():
    def fails(x):
        if x[0] > 0.5:
            raise ValueError("no mesh")
        return fun(x)

    for on_error in ("penalize", "retry"):
        result = meco.minimize(fails, BOX, budget=35, seed=1, workers=Workers(2, asynchronous=True), on_error=on_error)
        assert (result.nfev, result.feasible) == (35, True)
        assert result.run.nfail > 0
        assert (result.evaluations.attempt.max() == 2) == (on_error == "retry")


def test_a_function_that_fails_at_first_is_searched_on(tmp_path):
    calls = []

    def late(x):
        calls.append(x)
        if len(calls) <= 15:
            raise RuntimeError("warming up")
        return fun(x)

    result = meco.minimize(late, BOX, budget=50, seed=1, workers=Workers(asynchronous=True), on_error="penalize")
    assert (result.nfev, result.run.nfail, result.feasible) == (50, 15, True)


def test_a_start_where_everything_fails_is_left():
    def fails(x):
        if np.abs(x).max() < 1.2:
            raise ValueError("no mesh")
        return fun(x)

    for workers in (1, 4):
        result = meco.minimize(
            fails, BOX, budget=40, seed=1, workers=Workers(workers, asynchronous=True), on_error="penalize"
        )
        assert (result.nfev, result.feasible) == (40, True)


def test_constraints_that_most_answers_have_are_found_here_too():
    calls = []

    def odd(x):
        calls.append(x)
        return 1e9 if len(calls) == 1 else fun(x)

    with pytest.warns(UserWarning, match="counts as failed"):
        result = meco.minimize(odd, BOX, budget=40, seed=1, workers=Workers(asynchronous=True))
    assert (result.nfev, result.run.nfail, result.feasible, list(result.constraints)) == (40, 1, True, ["g1"])


def test_a_target_and_a_callback_end_the_run():
    assert (
        meco.minimize(
            fun, BOX, budget=200, seed=1, workers=Workers(asynchronous=True), stop=Stop(target=0.2)
        ).run.stop_reason
        == "target"
    )
    assert meco.minimize(fun, BOX, budget=200, seed=1, workers=Workers(asynchronous=True), stop="feasible").nfev < 30
    seen = []
    result = meco.minimize(
        fun,
        BOX,
        budget=99,
        seed=1,
        workers=Workers(asynchronous=True),
        callback=lambda r: seen.append(r.nfev) or len(seen) > 40,
    )
    assert result.run.stop_reason == "callback"
    assert seen == sorted(seen)


def test_known_points_and_starting_points_are_used():
    known = np.random.default_rng(1).uniform(-2, 2, (30, 4))
    start = [0.1, 0.5, 0.2, 0.3]
    result = meco.minimize(
        fun, BOX, budget=40, seed=1, evaluated=(known, *values(known)), x0=start, workers=Workers(asynchronous=True)
    )
    assert (result.nfev, result.evaluations.known.sum()) == (40, 30)
    assert_array_equal(result.evaluations.x[30], start)
    assert not {x.tobytes() for x in known} & {x.tobytes() for x in result.evaluations.x[30:]}


@pytest.mark.parametrize(
    ("integer", "log"), [([True, True, False, False], False), (True, False), (False, [True] + 3 * [False])]
)
def test_integers_and_other_scales_are_kept(integer, log):
    box = Variables.of([1.0] * 4, [9.0] * 4, integer, log)
    result = meco.minimize(
        lambda x: (float(x @ x), [3.2 - x[0]]), box, budget=30, seed=1, workers=Workers(2, asynchronous=True)
    )
    assert (result.nfev, result.feasible) == (30, True)
    whole = np.broadcast_to(integer, 4)
    assert_array_equal(result.evaluations.x[:, whole] % 1, 0)


SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize("seed", range(2))
def test_a_lattice_whose_every_place_is_out_is_called_again(seed):
    search = meco.Optimizer(
        Variables.of(*SQUARE[[0, 3]], integer=True),
        budget=40,
        method=DEFAULT,
        seed=seed,
        workers=Workers(batch=8, asynchronous=True),
    )
    while not search.done:
        search.ask(8 - len(search.pending))
        last = search.pending[-1:]  # what was asked for first is late
        search.tell(last, last.sum(axis=-1))
    assert (search.result.nfev, search.result.fun) == (40, 0.0)


@pytest.mark.parametrize("after", [0, 3, 20])
def test_a_lattice_whose_every_place_is_known_is_called_all_the_same(tmp_path, after):
    options = {"budget": 30, "seed": 1, "evaluated": (SQUARE, SQUARE.sum(axis=-1))}
    box, folder = Variables.of(*SQUARE[[0, 3]], integer=True), tmp_path / "run"
    meco.minimize(
        broken_off(np.sum, after), box, checkpoint=folder, workers=Workers(asynchronous=True, batch=4), **options
    )
    result = meco.minimize(np.sum, box, checkpoint=Checkpoint(folder, resume=True), **options)
    assert (result.nfev, result.fun, result.evaluations.known.sum()) == (30, 0.0, 4)


def interrupted(folder, after, budget):
    return meco.minimize(
        broken_off(fun, after),
        BOX,
        budget=budget,
        seed=1,
        checkpoint=folder,
        workers=Workers(asynchronous=True, batch=4),
    )


@pytest.mark.parametrize("after", [0, 3, 20, 39])
def test_a_resumed_run_has_the_events_of_one_that_was_not_interrupted(tmp_path, after):
    whole = meco.minimize(
        fun, BOX, budget=40, seed=1, checkpoint=tmp_path / "whole", workers=Workers(asynchronous=True, batch=4)
    )
    assert interrupted(tmp_path / "run", after, 40).nfev == after
    result = meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True))
    assert (result.nfev, result.fun) == (40, whole.fun)
    assert what_happened(tmp_path / "run") == what_happened(tmp_path / "whole")
    inputs = read_recorded(tmp_path / "run").inputs
    assert (inputs["asynchronous"], inputs["options"]["batch"]) == (True, 4)


def test_the_batch_of_a_folder_overrides_the_workers_of_who_resumes_it(tmp_path):
    meco.minimize(fun, BOX, budget=30, seed=1, workers=4, checkpoint=tmp_path / "run", stop=Stop(max_time=0.0))
    resumed = meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), workers=2)
    assert read_recorded(tmp_path / "run").inputs["options"]["batch"] == 4
    assert_array_equal(
        resumed.evaluations.x, meco.minimize(fun, BOX, budget=30, seed=1, workers=Workers(batch=4)).evaluations.x
    )


def test_an_asynchronous_folder_keeps_its_order_and_is_read_like_any_other(tmp_path):
    calls, enough = [], Event()

    def first_is_slow(x):
        calls.append(x)
        if len(calls) == 1:
            enough.wait(60)
        elif len(calls) == 20:
            enough.set()
        return fun(x)

    with ThreadPoolExecutor(3) as pool:
        meco.minimize(
            first_is_slow,
            BOX,
            budget=60,
            seed=1,
            workers=Workers(pool, batch=3, asynchronous=True),
            checkpoint=tmp_path / "run",
        )
    numbers = list(read_recorded(tmp_path / "run").answers.entries)
    assert sorted(numbers) == list(range(60))
    assert numbers.index(0) > 10


def test_a_run_stays_what_it_was_begun_as(tmp_path):
    options = {"budget": 30, "seed": 1, "checkpoint": tmp_path / "run"}
    again = Checkpoint(tmp_path / "run", resume=True)
    meco.minimize(fun, BOX, stop=Stop(max_time=0.0), **options)
    with pytest.raises(InvalidInput, match="its asynchronous is False"):
        meco.minimize(fun, BOX, workers=Workers(asynchronous=True), **options | {"checkpoint": again})


def test_a_call_that_takes_forever_holds_nobody_up():
    search = meco.Optimizer(BOX, 1, budget=160, method="TR", seed=1, workers=Workers(batch=4, asynchronous=True))
    never, draw = [], np.random.default_rng(3)
    while len(search.answers) < 150:
        search.ask(4 + len(never) - len(search.pending))
        out = search.pending
        if len(search.answers) in (40, 80) and len(never) < len(search.answers) // 40:
            never.append(search._run.search.proposals.step)  # the very step that the search waits for
        box = search._run.search.loop.evaluator.box
        told = out[[not any(np.array_equal(x, box.to_box(t.x[None, None])[0, 0]) for t in never) for x in out]]
        one = told[draw.integers(len(told))][None]
        search.tell(one, *values(one))
    assert search.result.fun < 0.0675 + 1e-3


@pytest.mark.parametrize("told", [0, 5, 25, 50])
def test_an_optimizer_goes_on_from_its_state_with_what_is_out(told):
    search = meco.Optimizer(BOX, 1, budget=50, seed=1, workers=Workers(batch=4, asynchronous=True))
    follow(search, np.random.default_rng(told), told)
    again = meco.Optimizer.from_state(json.loads(json.dumps(search.state())))
    assert_array_equal(np.sort(again.pending, axis=0), np.sort(search.pending, axis=0))
    result = follow(again, np.random.default_rng(1))
    assert (result.nfev, result.feasible) == (50, True)
    state = search.state()
    with pytest.raises(DamagedFile):
        meco.Optimizer.from_state(state | {"events": [["tell", 7, 0.0, 0, "", 1.0, [], [], None, None, ""]]})
