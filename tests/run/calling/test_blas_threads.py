"""Threads of linear algebra: their number is recorded, and a resumed run says where it changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import meco
from interruption import broken_off
from meco import Checkpoint
from meco.errors import InvalidInput
from meco.run.calling.answers import Fault
from meco.run.calling.blas_threads import count_blas_threads
from meco.run.folder import run_folder as runfolder
from meco.run.log.evaluation_log import Entry, EvaluationLog
from meco.run.log.recorded_answers import RecordedAnswers

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


def test_the_number_of_threads_is_known_and_recorded(tmp_path):
    assert count_blas_threads() is None or count_blas_threads() >= 1
    meco.minimize(lambda x: x @ x, [(-1, 1)] * 2, budget=20, checkpoint=tmp_path / "run")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["threads"] == count_blas_threads()


def test_a_run_resumed_with_other_threads_works_and_says_so(tmp_path):
    begun = run(tmp_path / "run", 80, threads=2)
    assert begun.returncode == 0, begun.stderr
    if json.loads((tmp_path / "run" / "run.json").read_text())["threads"] != 2:
        pytest.skip("NOT CHECKED: the library of linear algebra cannot be told its number of threads")
    resumed = run(tmp_path / "run", 10**6, threads=1)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.startswith("90 ")
    assert "begun with 2 threads of linear algebra and goes on with 1" in resumed.stdout
    assert resumed.stderr.count("begun with 2 threads") == 1


def test_a_run_resumed_with_the_same_threads_says_nothing(tmp_path, recwarn, monkeypatch):
    options = {"budget": 30, "seed": 1, "checkpoint": Checkpoint(tmp_path / "run", resume=True)}
    for threads in (3, 3, None):
        monkeypatch.setattr(runfolder, "count_blas_threads", lambda threads=threads: threads)
        assert "threads" not in meco.minimize(np.sum, [(-1, 1)] * 2, **options).message
    assert not recwarn.list
    monkeypatch.setattr(runfolder, "count_blas_threads", lambda: 1)
    with pytest.warns(UserWarning, match=r"begun with 3 threads of linear algebra and goes on with 1: .*=3 keeps them"):
        meco.minimize(np.sum, [(-1, 1)] * 2, **options)


@pytest.mark.filterwarnings("ignore:the run was begun")
def test_a_run_that_went_on_with_other_threads_says_so_ever_after(tmp_path, monkeypatch):
    options = {"budget": 30, "seed": 1, "checkpoint": Checkpoint(tmp_path / "run", resume=True)}
    numbers = iter([3, 3, 1, 3])  # a new run asks when it is written, too
    monkeypatch.setattr(runfolder, "count_blas_threads", lambda: next(numbers))
    for said in ("was interrupted", "goes on with 1"):
        assert said in meco.minimize(broken_off(np.sum, 10), [(-1, 1)] * 2, **options).message
    with pytest.warns(UserWarning, match="begun with 3 threads of linear algebra and went on with 1: .*last bits$"):
        result = meco.minimize(np.sum, [(-1, 1)] * 2, **options)
    assert (result.nfev, "went on with 1" in result.message) == (30, True)


def test_answers_of_nearly_the_same_points_are_taken_only_where_that_was_allowed():
    entry = Entry(0, 0, 0, Fault.NONE, np.array([0.5, 2.0]), 1.0)
    for near, moved, taken in ((None, 1e-15, False), (1e-6, 1e-9, True), (1e-6, 1e-3, False)):
        log = EvaluationLog(9, unreplayed=RecordedAnswers([entry], None if near is None else np.full(2, near)))
        log.declare_constraints(0, 0)
        if taken:
            assert log.replay_answer(0, entry.x + moved)
        else:
            with pytest.raises(InvalidInput, match="number of its threads"):
                log.replay_answer(0, entry.x + moved)
