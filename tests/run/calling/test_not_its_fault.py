"""What is not the function's fault is no evaluation: the run stops with a sentence, and asks for the point again."""

from __future__ import annotations

import multiprocessing
import os
import sys
import textwrap
import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest

import meco
from event_logs import events_of, what_happened
from meco import Checkpoint, Command, Method, Workers
from meco.errors import InvalidInput
from meco.run.answer import EvaluationFailed
from small_runs import posix

BOX = [(-2.0, 2.0)] * 2
METHOD = Method("SHADE", pop_size=6)


def bowl(x):
    return float(x @ x), [0.5 - x[0]]


def program(folder):
    """A program that answers as bowl() does."""
    path = folder / "sim.py"
    path.write_text(
        textwrap.dedent(f"""
        #!{sys.executable}
        import json, sys
        x = json.load(open(sys.argv[1]))["x"]
        json.dump({{"f": x[0] ** 2 + x[1] ** 2, "g": [0.5 - x[0]]}}, open(sys.argv[2], "w"))
        """).lstrip()
    )
    path.chmod(0o755)
    return path


@posix
@pytest.mark.parametrize("loss", ["removed", "not executable", "no room"])
def test_a_program_that_cannot_be_started_ends_the_run_and_fails_no_design(tmp_path, monkeypatch, loss):
    path = program(tmp_path)
    fun = Command(f"{path} {{input}} {{output}}", folder=tmp_path / "calls")
    options = {"method": METHOD, "budget": 12, "seed": 1}
    whole = meco.minimize(fun, BOX, checkpoint=tmp_path / "whole", **options)

    def lose(result):
        if loss == "removed":
            path.rename(tmp_path / "gone.py")
        elif loss == "not executable":
            path.chmod(0o644)
        else:
            (tmp_path / "calls").rename(tmp_path / "moved")
            (tmp_path / "calls").write_text("no folder")

    part = meco.minimize(fun, BOX, checkpoint=tmp_path / "run", callback=lose, **options)
    assert (part.run.stop_reason, part.nfev, part.run.nfail) == ("workers", 6, 0)
    assert "cannot " in part.message
    if loss == "removed":
        (tmp_path / "gone.py").rename(path)
    elif loss == "not executable":
        path.chmod(0o755)
    else:
        (tmp_path / "calls").unlink()
    result = meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **options)
    assert (result.nfev, result.run.nfail) == (12, 0)
    assert what_happened(tmp_path / "run") == what_happened(tmp_path / "whole")
    assert result.fun == whole.fun


class Leaving:
    """An executor whose scheduler leaves after some answers, as Dask's does."""

    def __init__(self, answers, error):
        self.left, self.error = answers, error

    def submit(self, call, *args):
        future = Future()
        self.left -= 1
        if self.left >= 0:
            future.set_result(call(*args))
        elif self.error == "submit":
            raise RuntimeError("client is closed")
        elif self.error == "cancel":
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_exception(type(self.error, (Exception,), {})("the scheduler left"))
        return future


@pytest.mark.parametrize("error", ["submit", "cancel", "FutureCancelledError", "CommClosedError"])
def test_workers_that_are_gone_end_the_run_and_fail_no_design(tmp_path, error):
    options = {"method": METHOD, "budget": 18, "seed": 1}
    whole = meco.minimize(bowl, BOX, **options)
    part = meco.minimize(bowl, BOX, workers=Leaving(8, error), checkpoint=tmp_path / "run", **options)
    assert (part.run.stop_reason, part.nfev, part.run.nfail) == ("workers", 8, 0)
    result = meco.minimize(bowl, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **options)
    assert (result.nfev, result.fun) == (18, whole.fun)


def test_a_function_that_an_executor_cannot_send_is_named():
    class Refusing:
        def submit(self, call, *args):
            raise TypeError("cannot pickle '_thread.lock' object")

    with pytest.raises(InvalidInput, match="fun cannot be sent to the workers of Refusing"):
        meco.minimize(bowl, BOX, workers=Refusing(), budget=10)


def _timed_in_a_pool(connection):
    result = meco.minimize(bowl, BOX, method=METHOD, budget=8, seed=1, workers=Workers(timeout=30.0))
    connection.send((result.nfev, result.run.nfail))


@posix
def test_a_timeout_works_in_a_daemonic_process():
    """As those of multiprocessing.Pool and of Dask's nanny are, which may not start others."""
    mine, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_timed_in_a_pool, args=(theirs,), daemon=True)
    process.start()
    assert mine.poll(60)
    assert mine.recv() == (8, 0)
    process.join()


def test_a_pool_of_processes_can_time_out():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        result = meco.minimize(bowl, BOX, method=METHOD, budget=8, seed=1, workers=Workers(pool.map, timeout=30.0))
    assert (result.nfev, result.run.nfail) == (8, 0)


@posix
def test_ten_lost_calls_at_the_start_end_the_run():
    with pytest.raises(EvaluationFailed, match="the first 10 calls of fun all failed") as ended:
        meco.minimize(lambda x: os._exit(3), BOX, method=METHOD, budget=100, workers=2)
    assert ended.value.result.nfev < 12


def test_every_answer_that_workers_handed_over_is_logged_before_the_search_learns(tmp_path):
    """Four workers answer at once while the search takes long: none of the answers waits for it."""
    seen = []

    def callback(result):
        seen.append(sum(event[0] == "tell" for event in events_of(tmp_path / "run")))

    def fun(x):
        time.sleep(0.05)
        return bowl(x)

    with ThreadPoolExecutor(4) as pool:
        workers = Workers(pool, batch=4, asynchronous=True)
        result = meco.minimize(
            fun, BOX, method="TR", budget=24, seed=1, workers=workers, checkpoint=tmp_path / "run", callback=callback
        )
    assert result.nfev == 24
    assert all(np.diff(seen) >= 0)
    assert seen[-1] == 24
