"""Writes to the folder of a run that a signal, a full disk or an error breaks off."""

from __future__ import annotations

import os
from functools import cache

import pytest
from numpy.testing import assert_array_equal

import meco
from interruption import pass_for
from meco import Checkpoint, Method, Workers
from meco.errors import CannotWrite
from meco.methods import DEFAULT
from meco.run.folder import run_folder as runfolder
from meco.run.folder.run_folder import RunFolder

BOX = [(-5.0, 5.0)] * 3
METHODS = ["TR", "SHADE-FR"]


def fun(x):
    return float(x @ x), [1.0 - x[0]]


def run(folder=None, method=DEFAULT, call=fun, **options):
    sized = Method(method, pop_size=7 if method == "SHADE-FR" else None)
    return meco.minimize(call, BOX, **({"method": sized, "budget": 40, "seed": 1, "checkpoint": folder} | options))


def files(folder):
    return {name: (folder / name).read_bytes() for name in ("evals.bin", "trace.jsonl") if (folder / name).exists()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The files of a method's run that nothing breaks off, made once."""

    @cache
    def made(method):
        folder = tmp_path_factory.mktemp("whole") / "run"
        run(folder, method)
        return files(folder)

    return made


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_signal_inside_a_write_leaves_the_log_as_if_it_had_come_before_or_after(
    tmp_path, monkeypatch, whole, method, share
):
    write, calls = os.write, []

    def broken(descriptor, content):
        calls.append(content)
        if len(calls) != 6:
            return write(descriptor, content)
        write(descriptor, bytes(content)[: int(share * len(content))])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("meco.run.log.log_file.os.write", broken)
        cut = run(tmp_path / "cut", method)
    assert cut.run.stop_reason == "interrupt"
    resumed = run(Checkpoint(tmp_path / "cut", resume=True), method)
    assert not [note for note in resumed.run.notes if "generations" not in note]  # nothing was damaged
    assert files(tmp_path / "cut") == whole(method)


class Own(BaseException):
    pass


@pytest.mark.parametrize("method", METHODS)
def test_an_error_of_the_function_on_a_full_disk_carries_the_result_and_resumes(tmp_path, method):
    options = {} if method == "SHADE-FR" else {"workers": Workers(batch=5)}
    calls = []

    def full(descriptor, content):
        raise OSError(28, "No space left on device")

    def fails(x):
        calls.append(x)
        if len(calls) < 25:
            return fun(x)
        patch.setattr("meco.run.log.log_file.os.write", full)
        raise Own

    pass_for(fun, fails)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Own) as caught:
        run(tmp_path / "cut", method, fails, **options)
    assert caught.value.result.nfev == 24
    resumed = run(Checkpoint(tmp_path / "cut", resume=True), method, **options)
    assert_array_equal(resumed.evaluations.x, run(None, method, **options).evaluations.x)


@pytest.mark.parametrize("method", ["TR", "MA-ES"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_the_trace_is_the_same_after_an_end_right_after_the_state_was_written(tmp_path, monkeypatch, whole, method, at):
    write, states = runfolder.write_bytes, []

    def killed(path, content):
        write(path, content)
        states.append(path)
        if len(states) == at:
            raise Own

    with monkeypatch.context() as patch:
        patch.setattr(runfolder, "STATE_COST_FACTOR", 0)
        patch.setattr(runfolder, "write_bytes", killed)
        with pytest.raises(Own):
            run(tmp_path / "cut", method)
    run(Checkpoint(tmp_path / "cut", resume=True), method)
    assert files(tmp_path / "cut") == whole(method)


def test_a_log_that_cannot_be_put_in_order_lets_go_of_its_file_once(tmp_path, monkeypatch):
    """Rewriting fails on a full disk: the descriptor may be somebody else's by then."""
    theirs = []

    def full(*args, **options):
        theirs.append(os.open(tmp_path / "theirs", os.O_CREAT | os.O_RDWR))
        raise OSError(28, "No space left on device")

    def finish(self, log, result):
        self.log_order = self.log_order[::-1]
        return ordered(self, log, result)

    ordered = RunFolder.write_result
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "write_result", finish)
        patch.setattr("meco.run.log.log_file.write_log", full)
        with pytest.raises(CannotWrite) as caught:
            run(tmp_path / "cut")
    assert caught.value.result.nfev == 40
    os.close(theirs[0])  # still open
    assert run(Checkpoint(tmp_path / "cut", resume=True)).nfev == 40
