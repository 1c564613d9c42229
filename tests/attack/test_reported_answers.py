"""Wrong answers that an attack once found, each as the test that would have found it."""

import os
import pickle
import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from small_runs import BOX, posix, run

import meco
from meco.blackbox.answers import Cause, EvaluationFailed, raised
from meco.blackbox.calls import CallJob, Stopping
from meco.blackbox.workers import Executor
from meco.errors import InvalidInput


def test_what_is_told_is_copied():
    search = meco.Optimizer(BOX, n_ineq=1, n_eq=1, method="SHADE-FR", budget=300, seed=1, pop_size=10)
    x, f, g, h = (np.zeros((10, n)) for n in (3, 1, 1, 1))
    while not search.done:
        asked = search.ask()
        n = len(asked)
        x[:n], f[:n, 0], g[:n], h[:n] = asked, (asked**2).sum(1), 1 - asked[:, :1], 0.0
        search.tell(x[:n], f[:n, 0], g[:n], h[:n])
        for told in (x, f, g, h):
            told[:] = -777.0
    result = search.result
    assert result.fun == float((result.x**2).sum())
    assert result.constr["g1"]["value"] == 1 - result.x[0] <= 0


def test_what_a_function_returns_is_copied():
    shared = np.zeros(1)

    def fun(x):
        shared[0] = 1.0 - x[0]
        return float(x @ x), shared

    made = run(fun).evaluations
    assert_array_equal(made.g[:, 0], 1.0 - made.x[:, 0])


def test_points_bounds_limits_and_known_values_are_copied():
    class Limits:
        lb, ub = np.array([1.0]), np.array([np.inf])
        A = np.array([[1.0, 0.0, 0.0]])

    given = {"x0": np.full((1, 3), 2.0), "evaluated": (np.full((2, 3), 3.0), np.full(2, 27.0), np.full((2, 1), -2.0))}
    box = np.array(BOX)

    def fun(x):
        box[:], given["x0"][:], given["evaluated"][0][:], given["evaluated"][2][:] = 9.0, 9.0, 9.0, 9.0
        Limits.lb[:], Limits.A[:] = 9.0, 9.0
        return float(x @ x)

    result = meco.minimize(fun, box, Limits(), method="SHADE-FR", budget=40, pop_size=10, seed=1, **given)
    made = result.evaluations
    assert (made.x >= -5).all()
    assert (made.x <= 5).all()
    assert_array_equal(made.x[2], [2.0] * 3)
    assert_array_equal(made.x[0], [3.0] * 3)
    assert_array_equal(made.g[:, 0], 1.0 - made.x[:, 0])


def test_a_callback_cannot_change_the_run():
    def spoil(result):
        with pytest.raises(ValueError, match="read-only"):
            result.evaluations.f[:] = -1.0
        result.x[:] = 99.0

    assert_array_equal(run(callback=spoil).evaluations.f, run().evaluations.f)


@pytest.mark.parametrize("later", [(1.0, [-1.0, -1.0]), (1.0, [-1.0], [0.0])])
def test_a_first_answer_without_constraints_decides_nothing(later):
    calls = []

    def fun(x):
        calls.append(0)
        return 1e9 if len(calls) == 1 else later

    result = run(fun)
    assert result.nfail <= 1
    assert result.fun == 1.0
    assert len(result.constr) == sum(map(len, later[1:]))


def test_known_values_and_names_that_contradict_the_answers_are_refused():
    with pytest.raises(InvalidInput, match="evaluated has 0 and 0"):
        run(evaluated=([[1.0, 1.0, 1.0]], [3.0]))
    with pytest.raises(InvalidInput, match="constraint_names has 2"):
        run(constraint_names=["a", "b"])


@posix
def test_a_function_that_forks_answers_once_wherever_it_runs():
    def forks(x):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        return float(x @ x)

    with ThreadPoolExecutor(1) as pool:
        for workers in (1, 2, pool):
            made = run(forks, workers=workers, budget=20).evaluations
            assert_array_equal(made.f, [float(x @ x) for x in made.x])


@posix
def test_a_worker_that_dies_and_leaves_a_child_is_noticed():
    def fun(x):
        if x[0] > 0:
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
            os._exit(3)
        return float(x @ x)

    begun = time.monotonic()
    made = run(fun, workers=2, budget=20).evaluations
    assert time.monotonic() - begun < 50
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
    answer = pickle.loads(pickle.dumps(raised(Trap("no"))))
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
        assert result.stop_reason == "workers"
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
    monkeypatch.setattr("meco.blackbox.workers.GRACE", 0.2)
    backend = Executor(Forgetful(), lambda number, points: ([raised(ValueError())] * len(points), 0.0), timeout=0.1)
    found = list(backend.run([CallJob(i, np.zeros((1, 2))) for i in range(6)], Stopping()))
    assert sorted(index for index, *_ in found) == list(range(6))
    assert sum("lost" in answers[0].reason for _, answers, _ in found) == 2


def test_lost_futures_do_not_outlast_max_time():
    begun = time.monotonic()
    result = run(workers=Forgetful(), max_time=1.0)
    assert result.stop_reason == "max_time"
    assert time.monotonic() - begun < 30
