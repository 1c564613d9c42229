"""Threads of linear algebra: one for a search, the caller's for the function; their number is recorded."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest
from numpy.testing import assert_array_equal

import meco
from meco.run import blas as blas_threads
from meco.run.blas import count_blas_threads, find_thread_functions
from meco.run.recorded import read_recorded

BEGUN = """
    import sys
    import numpy as np, meco
    folder, left = sys.argv[1], [int(sys.argv[2])]
    def curved(x):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return float(np.sum((x - 0.3) ** 2) + np.sum(x[1:] * x[:-1])), [0.1 - x[0]]
    kept = meco.Checkpoint(folder, resume=True)
    result = meco.minimize(curved, [(-1.0, 1.0)] * 32, budget=90, seed=1, method="TR", checkpoint=kept)
    print(result.nfev, result.message)
"""


def run(folder, calls, threads):
    given = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    command = [sys.executable, "-c", textwrap.dedent(BEGUN), str(folder), str(calls)]
    return subprocess.run(command, env=given, capture_output=True, text=True, timeout=300)


def test_the_number_of_threads_is_known():
    assert count_blas_threads() is None or count_blas_threads() >= 1


def test_a_run_resumed_with_other_threads_is_the_same_to_the_last_bit(tmp_path):
    """A search has one thread whatever the environment says: from 30 variables on the last bits depend on it."""
    if find_thread_functions().set is None:
        pytest.skip("NOT CHECKED: the library of linear algebra cannot be told its number of threads")
    for folder, calls in (("resumed", 80), ("whole", 10**6)):
        begun = run(tmp_path / folder, calls, threads=2)
        assert begun.returncode == 0, begun.stderr
    resumed = run(tmp_path / "resumed", 10**6, threads=1)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.startswith("90 ")
    assert "threads of linear algebra" not in resumed.stdout + resumed.stderr
    known = [read_recorded(tmp_path / folder).answers.entries for folder in ("resumed", "whole")]
    assert_array_equal(*([entries[n].x for n in range(90)] for entries in known))


class Library:
    """Linear algebra that knows how many threads it has."""

    def __init__(self, threads):
        self.threads = threads

    def set(self, count):
        self.threads = count


@pytest.fixture
def library(monkeypatch):
    """A library with 4 threads in the place of NumPy's."""
    found = Library(4)
    functions = blas_threads.ThreadFunctions(lambda: found.threads, found.set)
    monkeypatch.setattr(blas_threads, "find_thread_functions", lambda: functions)
    return found


def test_a_search_has_one_thread_and_the_function_and_the_callback_those_of_the_caller(library):
    seen = {"search": set(), "function": set(), "callback": set()}

    def note(where, value):
        seen[where].add(library.threads)
        return value

    meco.minimize(
        lambda x: note("function", float(x @ x)),
        [(-1, 1)] * 2,
        cheap={"disc": lambda x: note("search", float(x @ x) - 0.9)},
        callback=lambda result: note("callback", False),
        budget=20,
        seed=1,
    )
    assert seen["function"] == seen["callback"] == {4}
    assert 1 in seen["search"]
    assert library.threads == 4


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_function_in_threads_of_an_executor_has_the_callers_threads(library, asynchronous):
    seen = set()
    with ThreadPoolExecutor(3) as pool:
        workers = meco.Workers(pool, batch=3, asynchronous=asynchronous)
        meco.minimize(lambda x: (seen.add(library.threads), float(x @ x))[1], [(-1, 1)] * 2, budget=20, workers=workers)
    assert seen == {4}
    assert library.threads == 4


def test_asking_and_telling_has_one_thread_and_the_loop_its_own(library):
    seen = set()
    search = meco.Optimizer([(-1, 1)] * 2, budget=12, seed=1, cheap=lambda x: (seen.add(library.threads), -1.0)[1])
    while not search.done:
        x = search.ask()
        assert library.threads == 4
        search.tell(x, (x**2).sum(axis=1))
    assert search.result.nfev == 12
    assert seen == {1}
    assert library.threads == 4


def test_what_a_function_sets_for_itself_stays_set(library):
    def setting(x):
        library.set(3)
        return float(x @ x)

    meco.minimize(setting, [(-1, 1)] * 2, budget=12, seed=1)
    assert library.threads == 3


def test_searches_side_by_side_leave_the_number_as_it_was(library):
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(meco.minimize, lambda x: float(x @ x), [(-1, 1)] * 2, budget=30, seed=k) for k in (1, 2)]
        assert [run.result().nfev for run in runs] == [30, 30]
    assert library.threads == 4


def test_a_search_inside_a_function_has_one_thread_too(library):
    with blas_threads.one_thread(), blas_threads.threads_of_caller():
        assert library.threads == 4
        with blas_threads.one_thread():
            assert library.threads == 1
            with blas_threads.threads_of_caller():
                assert library.threads == 4
        assert library.threads == 4
    assert library.threads == 4


def test_an_error_leaves_the_number_as_it_was(library):
    with pytest.raises(RuntimeError), blas_threads.one_thread(), blas_threads.threads_of_caller():
        raise RuntimeError
    assert library.threads == 4
