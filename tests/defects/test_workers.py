"""Workers: timeouts inside daemonic processes, functions that cannot be sent, processes that cannot be started."""

import multiprocessing
import os
import threading
import time
from contextlib import contextmanager

import pytest

import meco
from meco import Workers, minimize
from meco.errors import InvalidInput, MecoError

BOX = [(-2.0, 2.0)] * 2


def bowl(x):
    return float(x @ x)


@contextmanager
def dask_executor():
    """A Dask worker process behind a nanny, which makes it daemonic."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor()


@contextmanager
def standard_pool():
    with multiprocessing.Pool(2) as pool:
        yield pool.map


@pytest.mark.parametrize("open_pool", [dask_executor, standard_pool])
def test_a_call_past_its_timeout_is_killed_inside_a_daemonic_worker(open_pool):
    def evaluate(x):  # sent by value
        if x[0] > 0.5:
            time.sleep(60)
        return float(x @ x)

    with open_pool() as workers:
        found = minimize(evaluate, BOX, budget=10, seed=1, workers=Workers(workers, batch=2, timeout=2.0))
    assert set(found.run.failures) == {"timeout"}
    assert (found.evaluations.failed == (found.evaluations.x[:, 0] > 0.5)).all()


def test_ten_lost_calls_of_one_reason_end_the_run():
    def evaluate(x):
        os._exit(3)

    with pytest.raises(MecoError, match=r"first 10 calls of fun all failed: .*code 3") as ended:
        minimize(evaluate, BOX, budget=60, seed=1, workers=2)
    assert ended.value.result.nfev <= 10
    assert minimize(evaluate, BOX, budget=15, seed=1, workers=2, on_error="penalize").run.nfail == 15


def test_a_function_that_dask_cannot_send_is_refused_in_words():
    lock = threading.Lock()

    def locked(x):
        with lock:
            return bowl(x)

    with dask_executor() as executor, pytest.raises(InvalidInput, match="fun cannot be sent to the workers"):
        minimize(locked, BOX, budget=10, seed=1, workers=executor)


def test_a_worker_that_cannot_be_started_ends_the_run_with_a_sentence(monkeypatch, tmp_path):
    def refuse():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fork", refuse)
        found = minimize(bowl, BOX, budget=20, seed=1, workers=2, checkpoint=tmp_path / "run")
    assert (found.run.stop_reason, found.nfev, found.run.nfail) == ("workers", 0, 0)
    assert "no worker process could be started (Resource temporarily unavailable)" in found.message
    again = minimize(bowl, BOX, workers=2, checkpoint=meco.Checkpoint(tmp_path / "run", resume=True))
    assert (again.nfev, again.run.nfail) == (20, 0)
