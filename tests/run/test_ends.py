"""Whatever ends a run, the result so far is there."""

import asyncio
import os
import signal

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco import Checkpoint, Stop, Workers
from meco.errors import InvalidInput
from meco.methods import DEFAULT
from meco.run.folder import RunFolder
from small_runs import BOX, f_and_g, posix, run


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
    assert caught.value.result.run.stop_reason == "error"
    again = run(fun, checkpoint=Checkpoint(tmp_path / "r", resume=True))
    assert_array_equal(again.evaluations.x, run().evaluations.x)


@pytest.mark.parametrize(("keyword", "record", "name"), [("workers", Workers, "timeout"), ("stop", Stop, "max_time")])
def test_endless_times_are_times(keyword, record, name):
    for seconds in (1e7, 1e9, float("inf")):
        assert run(**{keyword: record(**{name: seconds})}, budget=10).nfev == 10
    for wrong in (float("nan"), -1, "1", True):
        with pytest.raises(InvalidInput, match=name):
            record(**{name: wrong})


def test_the_callers_error_state_kills_no_engine():
    def huge(x):
        assert np.geterr()["over"] == "raise"
        return 1e308 * (1 if x[0] > 0 else -1), [1e308 * x[0]]

    seen = []
    with np.errstate(all="raise"):
        for method in ("SHADE", "SHADE-FR", "MeCO-rand", "MA-ES", DEFAULT, "COBYQA", "SACOBRA"):
            options = {"method": method, "budget": 30}
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
