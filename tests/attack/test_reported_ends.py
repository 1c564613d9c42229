"""Runs that ended badly in an attack, each as the test that would have found it."""

import asyncio
import os
import signal

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from small_runs import BOX, f_and_g, posix, run

import meco
from meco.blackbox.runfolder import RunFolder
from meco.errors import DamagedFile, InvalidInput
from meco.methods import DEFAULT


class Own(BaseException):
    pass


@pytest.mark.parametrize("error", [GeneratorExit, asyncio.CancelledError, Own, MemoryError])
def test_whatever_ends_a_run_carries_the_result(error, tmp_path):
    calls = []

    def fun(x):
        calls.append(x)
        if len(calls) == 25 and not issubclass(error, Exception):
            raise error
        return f_and_g(x)

    def stop(result):
        if issubclass(error, Exception) and result.nfev >= 20:
            raise error

    with pytest.raises(error) as caught:
        run(fun, callback=stop, checkpoint=tmp_path / "r")
    assert caught.value.result.nfev in (20, 24)
    assert caught.value.result.stop_reason == "error"
    again = run(fun, checkpoint=tmp_path / "r", resume=True)
    assert_array_equal(again.evaluations.x, run().evaluations.x)


@pytest.mark.parametrize("name", ["eval_timeout", "max_time"])
def test_endless_times_are_times(name):
    for seconds in (1e7, 1e9, float("inf")):
        assert run(**{name: seconds}, budget=10).nfev == 10
    for wrong in (float("nan"), -1, "1", True):
        with pytest.raises(InvalidInput, match=name):
            run(**{name: wrong})


def test_a_state_with_another_number_or_budget_is_refused():
    search = meco.Optimizer(BOX, n_ineq=1, method="SHADE-FR", budget=60, pop_size=10, seed=1)
    for _ in range(2):
        x = search.ask()
        search.tell(x, (x**2).sum(1), 1 - x[:, :1])
    state = search.state()
    assert meco.Optimizer.from_state(state).result.nfev == 20
    old = {key: value for key, value in state.items() if key != "sha256"}
    changes = [
        {"number": state["number"] + 1000}, {"number": state["number"][::-1]}, {"number": np.arange(19)},
        {"x": state["x"][:, :2]}, {"f": state["f"][:5]}, {"inputs": state["inputs"].replace("60", "15")},
        {"inputs": state["inputs"].replace('"out": 0', '"out": 99')}, {"inputs": "[" * 100_000}, {"inputs": "{}"},
    ]  # fmt: skip
    for change in changes:
        for before in (state, old):
            with pytest.raises(DamagedFile):
                meco.Optimizer.from_state(before | change)
    with pytest.raises(DamagedFile, match="changed or damaged"):
        meco.Optimizer.from_state(state | {"inputs": state["inputs"].replace("0.0001", "0.001")})


def test_the_callers_error_state_kills_no_engine():
    def huge(x):
        assert np.geterr()["over"] == "raise"
        return 1e308 * (1 if x[0] > 0 else -1), [1e308 * x[0]]

    seen = []
    with np.errstate(all="raise"):
        for method in ("SHADE", "SHADE-FR", "MeCO-rand", "MA-ES", DEFAULT, "COBYQA", "SACOBRA"):
            options = {"method": method, "pop_size": None, "budget": 30}
            assert run(huge, **options, callback=lambda r: seen.append(np.geterr()["over"])).nfev == 30
            assert run(**options).nfev == 30
        meco.solve("SHADE", "tilted", budget=100, seeds=[1])
        search = meco.Optimizer(BOX, method="SHADE", budget=100, seed=1)
        while not search.done:
            x = search.ask()
            search.tell(x, np.full(len(x), 1e308))
    assert set(seen) == {"raise"}


@posix
def test_an_interrupt_in_the_last_moments_keeps_the_result(monkeypatch, tmp_path):
    """The signal comes while files are let go: the result is there already."""
    close, sent = RunFolder.close, []

    def interrupted(self):
        if not sent:
            sent.append(os.kill(os.getpid(), signal.SIGINT))
        close(self)

    monkeypatch.setattr(RunFolder, "close", interrupted)
    assert run(checkpoint=tmp_path / "r").nfev == 40
    assert sent
