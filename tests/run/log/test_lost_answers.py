"""Functions that fork, workers that die, maps and executors that lose results: no value is another's."""

import os
import pickle
import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from meco import Stop
from meco.run.answer import Cause, EvaluationFailed, make_raised_answer
from meco.run.stop import Stopping, StopRun
from meco.run.workers import Futures
from small_runs import posix, run


@posix
def test_a_function_that_forks_answers_once_wherever_it_runs():
    def forks(x):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        return float(x @ x)

    with ThreadPoolExecutor(1) as pool:
        for workers in (1, 2, pool):
            made = run(forks, workers=workers, budget=10).evaluations
            assert not made.failed.any()
            assert_array_equal(made.f, [float(x @ x) for x in made.x])


@posix
def test_a_worker_that_dies_and_leaves_a_child_is_noticed(tmp_path):
    def fun(x):
        if x[0] > 0:
            if os.fork() == 0:
                time.sleep(600)
                (tmp_path / "nobody noticed").touch()
                os._exit(0)
            os._exit(3)
        return float(x @ x)

    made = run(fun, workers=2, budget=20).evaluations
    assert not (tmp_path / "nobody noticed").exists()
    assert_array_equal(made.failed, made.x[:, 0] > 0)


def test_an_exception_never_travels_as_code(tmp_path):
    mark = tmp_path / "ran"

    class Trap(Exception):
        def __reduce__(self):
            return os.mkdir, (str(mark),)

    def fun(x):
        raise Trap("no")

    run(fun, budget=10, on_error="penalize")
    if os.name == "posix":
        run(fun, budget=10, workers=2, on_error="penalize")
    answer = pickle.loads(pickle.dumps(make_raised_answer(Trap("no"))))
    assert not mark.exists()
    assert isinstance(answer.cause, Cause)
    assert answer.cause.error is None
    with pytest.raises(EvaluationFailed) as caught:
        run(fun, on_error="raise")
    assert isinstance(caught.value.__cause__, Trap)


def test_maps_that_lose_or_mix_results_do_not_change_values():
    def mixed(call, jobs):
        return list(map(call, jobs))[::-1]

    assert_array_equal(run(workers=mixed).evaluations.f, run().evaluations.f)
    for broken in (lambda c, j: list(map(c, j))[:-1], lambda c, j: [c(j[0])] * len(j), lambda c, j: [None] * len(j)):
        result = run(workers=broken)
        assert result.run.stop_reason == "workers"
        made = result.evaluations
        assert_array_equal(made.f, [float(x @ x) for x in made.x])


class Forgetful:
    """An executor that loses every third future."""

    count = 0

    def submit(self, call, *args):
        self.count += 1
        future = Future()
        if self.count % 3:
            future.set_result(call(*args))
        return future


def test_lost_futures_are_bounded_by_a_time(monkeypatch):
    monkeypatch.setattr("meco.run.workers.GRACE_SECONDS", 0.2)
    call = lambda number, points: ([make_raised_answer(ValueError())] * len(points), 0.0)  # noqa: E731
    pool, found = Futures(Forgetful(), call, timeout=0.1), []
    for number in range(6):
        pool.submit(number, np.zeros((1, 2)))
    while pool.futures:
        found += pool.collect(Stopping(Stop()))
    assert sorted(number for number, *_ in found) == list(range(6))
    assert sum("lost" in answers[0].reason for _, answers, _ in found) == 2


def test_an_executor_that_answers_nothing_ends_the_run_and_fails_no_design(monkeypatch):
    monkeypatch.setattr("meco.run.workers.GRACE_SECONDS", 0.2)

    class Silent:
        def submit(self, call, *args):
            return Future()

    pool = Futures(Silent(), lambda number, points: None, timeout=0.1)
    pool.submit(0, np.zeros((1, 2)))
    with pytest.raises(StopRun, match="gave no answer"):
        pool.collect(Stopping(Stop()))


def test_lost_futures_do_not_outlast_max_time():
    result = run(workers=Forgetful(), stop=Stop(max_time=0.5))  # which would be waited for without end
    assert result.run.stop_reason == "max_time"
