"""Writes to the folder of a run that a signal, a full disk or an error breaks off."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache

import pytest
from numpy.testing import assert_array_equal

import meco
from event_logs import what_happened
from interruption import pass_for
from meco import Checkpoint, Method, Workers
from meco.errors import CannotWrite
from meco.methods import DEFAULT

BOX = [(-5.0, 5.0)] * 3
METHODS = ["TR", "SHADE-FR"]


def fun(x):
    return float(x @ x), [1.0 - x[0]]


def run(folder=None, method=DEFAULT, call=fun, **options):
    sized = Method(method, pop_size=7 if method == "SHADE-FR" else None)
    return meco.minimize(call, BOX, **({"method": sized, "budget": 40, "seed": 1, "checkpoint": folder} | options))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What happens in a method's run that nothing breaks off, made once."""

    @cache
    def made(method):
        folder = tmp_path_factory.mktemp("whole") / "run"
        run(folder, method)
        return what_happened(folder)

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
        patch.setattr("meco.run.log.os.write", broken)
        cut = run(tmp_path / "cut", method)
    assert cut.run.stop_reason == "interrupt"
    resumed = run(Checkpoint(tmp_path / "cut", resume=True), method)
    assert not [note for note in resumed.run.notes if "generations" not in note]  # nothing was damaged
    assert what_happened(tmp_path / "cut") == whole(method)


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
        patch.setattr("meco.run.log.os.write", full)
        raise Own

    pass_for(fun, fails)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Own) as caught:
        run(tmp_path / "cut", method, fails, **options)
    assert caught.value.result.nfev == 24
    assert caught.value.result.run.stop_reason == "error"
    resumed = run(Checkpoint(tmp_path / "cut", resume=True), method, **options)
    assert_array_equal(resumed.evaluations.x, run(None, method, **options).evaluations.x)


@pytest.mark.parametrize("method", ["TR", "SHADE-FR"])
@pytest.mark.parametrize("broken", ["write", "ftruncate", "fsync", "replace"])
def test_one_operation_that_fails_leaves_a_folder_that_resumes(tmp_path, monkeypatch, whole, method, broken):
    """Whichever of them it is: the error carries the result, and the resumed run has the same events."""
    plain, k = getattr(os, broken), 0
    while True:
        calls = []

        def fails(*given, at=k, calls=calls, **named):
            calls.append(given)
            if len(calls) == at + 1:
                raise OSError(5, "Input/output error")
            return plain(*given, **named)

        folder = tmp_path / f"{broken}{k}"
        with monkeypatch.context() as patch:
            patch.setattr(os, broken, fails)
            with suppress(CannotWrite):
                run(Checkpoint(folder, fsync=True), method, budget=12)
        if len(calls) <= k:
            break
        run(Checkpoint(folder, resume=True), method, budget=12)
        assert what_happened(folder) == what_happened_of(whole, method, tmp_path)
        k += 1
    assert k > 0 or broken == "ftruncate"


def what_happened_of(whole, method, folder):
    """What happens in a run of 12 calls that nothing breaks off."""
    if not (folder / "plain").exists():
        run(folder / "plain", method, budget=12)
    return what_happened(folder / "plain")


def test_the_answer_that_could_not_be_written_is_in_the_result(tmp_path, monkeypatch):
    write = os.write

    def full(descriptor, content):
        if b'["tell",11,' in bytes(content):
            raise OSError(28, "No space left on device")
        return write(descriptor, content)

    with monkeypatch.context() as patch:
        patch.setattr("meco.run.log.os.write", full)
        with pytest.raises(CannotWrite) as caught:
            run(tmp_path / "cut", "SHADE-FR")
    assert caught.value.result.nfev == 12
    assert run(Checkpoint(tmp_path / "cut", resume=True), "SHADE-FR").nfev == 40
