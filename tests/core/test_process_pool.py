"""Processes with one thread each: every variable is set for them, and this process keeps its own."""

import os
import signal

import pytest

from meco.core.process_pool import process_map
from meco.core.thread_variables import ONE_THREAD


def told(_):
    return {name: os.environ.get(name) for name in ONE_THREAD}, signal.getsignal(signal.SIGINT) == signal.SIG_IGN


@pytest.mark.parametrize("count", [0, 1])
def test_one_process_is_this_one(count):
    with process_map(count) as call:
        assert call is map


def test_processes_have_one_thread_and_leave_interrupts_to_this_one(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("VECLIB_MAXIMUM_THREADS", raising=False)
    with process_map(2) as call:
        assert list(call(abs, [-3, 2, -1])) == [3, 2, 1]
        assert list(call(told, [0])) == [(ONE_THREAD, True)]
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "VECLIB_MAXIMUM_THREADS" not in os.environ
