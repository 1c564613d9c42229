"""Signals are noted once and acted on between two steps."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import meco
from meco.core import signals

posix = pytest.mark.skipif(os.name != "posix", reason="signals and fork are those of POSIX")


@posix
def test_a_signal_is_noted_and_a_later_one_interrupts(monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    with signals.note_signals() as heard:
        assert not heard()
        monkeypatch.setattr(signals, "REPEAT_SECONDS", float("inf"))
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGTERM)  # at once: the same signal again
        assert heard()
        monkeypatch.setattr(signals, "REPEAT_SECONDS", 0.0)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is before


@posix
def test_ctrl_c_in_an_evaluation_ends_the_run_after_it():
    def fun(x):
        if x[0] > 3:
            os.kill(os.getpid(), signal.SIGINT)
        return float(x @ x)

    result = meco.minimize(fun, [(-5, 5)] * 2, method="SHADE-FR", budget=500, seed=1)
    assert result.run.stop_reason == "interrupt"
    assert result.evaluations.x[-1, 0] > 3
    assert np.sum(result.evaluations.x[:, 0] > 3) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class SignalledPoint:
    """A starting point that sends SIGINT when it is read, long before the first call."""

    def __array__(self, dtype=None, copy=None):
        os.kill(os.getpid(), signal.SIGINT)
        return np.zeros(2)


@posix
@pytest.mark.parametrize("options", [{}, {"method": "SHADE-FR"}, {"workers": meco.Workers(2, asynchronous=True)}])
def test_ctrl_c_before_the_first_call_ends_the_run_with_a_result(options):
    result = meco.minimize(lambda x: float(x @ x), [(-5, 5)] * 2, x0=SignalledPoint(), budget=20, seed=1, **options)
    assert (result.run.stop_reason, result.nfev, result.success) == ("interrupt", 0, False)
    assert str(result)


@posix
def test_a_signal_that_comes_again_while_the_run_is_ending_does_not_cost_the_result(monkeypatch):
    """The second of a pair may come after the result is made: until then minimize() waits and listens."""
    waits = []

    def wait(seconds):
        waits.append(seconds)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(signals.time, "sleep", wait)

    def fun(x):
        os.kill(os.getpid(), signal.SIGINT)
        return float(x @ x)

    result = meco.minimize(fun, [(-5, 5)] * 2, method="SHADE-FR", budget=500, seed=1)
    assert (result.run.stop_reason, result.nfev, len(waits)) == ("interrupt", 1, 1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@posix
def test_a_signal_between_two_handlers_leaves_both_as_they_were(monkeypatch):
    """SIGTERM comes when the handler of SIGINT is already another and its own is not."""
    before = [signal.getsignal(number) for number in signals.STOP_SIGNALS]
    usual = signal.signal

    def interrupted(number, handler):
        if number == signal.SIGTERM and handler is not before[1]:
            raise KeyboardInterrupt
        return usual(number, handler)

    monkeypatch.setattr(signal, "signal", interrupted)
    with pytest.raises(KeyboardInterrupt), signals.note_signals():
        pass
    assert [signal.getsignal(number) for number in signals.STOP_SIGNALS] == before


@posix
def test_after_a_signal_a_command_goes_straight_from_its_handler_to_none(monkeypatch):
    """Not by way of the one of before, which would end the process should the signal come again then."""
    before, installed = [signal.getsignal(number) for number in signals.STOP_SIGNALS], []
    usual = signal.signal
    monkeypatch.setattr(signal, "signal", lambda number, handler: installed.append(handler) or usual(number, handler))
    try:
        with pytest.raises(KeyboardInterrupt), signals.treat_sigterm_as_interrupt():
            os.kill(os.getpid(), signal.SIGTERM)
        assert installed[2:] == [signal.SIG_IGN, signal.SIG_IGN]
    finally:
        for number, handler in zip(signals.STOP_SIGNALS, before, strict=True):
            usual(number, handler)


@posix
def test_a_signal_while_a_command_still_imports_ends_it_with_a_result(tmp_path):
    """An interrupt raised in code that Python runs from a string, as dataclasses do, would end `python -m` with -2."""
    (tmp_path / "p.py").write_text(
        "import os, signal\n"
        "from meco.run.folder import RunFolder\n"
        "bounds, usual = [(-5, 5)] * 2, RunFolder.open\n"
        "def fun(x):\n"
        "    return float(x @ x)\n"
        "def interrupted(*args):\n"
        "    exec('os.kill(os.getpid(), signal.SIGINT)')\n"
        "    return usual(*args)\n"
        "RunFolder.open = interrupted\n"
    )
    line = [sys.executable, "-m", "meco", "solve", "p.py:fun", "--checkpoint", "r", "--quiet", "--json"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2, done
    assert json.loads(done.stdout)["stop_reason"] == "interrupt"


@posix
def test_a_handler_of_the_application_stays_in_charge():
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        result = meco.minimize(
            lambda x: os.kill(os.getpid(), signal.SIGINT) or float(x @ x), [(-5, 5)] * 2, method="SHADE-FR", budget=20
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert (result.nfev, len(heard)) == (20, 20)


@posix
def test_what_comes_after_an_interrupt_does_not_disturb_the_way_out(tmp_path):
    """Two SIGTERM before a search has begun to listen: the second must not kill the process on its way out."""
    script = tmp_path / "s.py"
    script.write_text(
        "import os, signal, sys, time\n"
        "from meco.core.signals import treat_sigterm_as_interrupt\n"
        "try:\n"
        "    with treat_sigterm_as_interrupt():\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        time.sleep(5)\n"
        "except KeyboardInterrupt:\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(0.1)\n"
        "    sys.exit(130)\n"
    )
    assert subprocess.run([sys.executable, script]).returncode == 130


@pytest.mark.parametrize("answer", ["raises", "nan"])
def test_a_call_that_fails_by_the_interrupt_itself_is_asked_again_by_the_resumed_run(tmp_path, answer):
    calls, options = [], {"bounds": [(-5, 5)] * 2, "budget": 20, "seed": 1}

    def fun(x):
        calls.append(1)
        if len(calls) == 8:  # a program that fun runs gets Ctrl-C from the terminal as well, and dies of it
            signal.raise_signal(signal.SIGINT)
            if answer == "nan":
                return float("nan")
            raise subprocess.CalledProcessError(-signal.SIGINT, "sim")
        return float(x @ x)

    whole = meco.minimize(lambda x: float(x @ x), **options)
    cut = meco.minimize(fun, **options, checkpoint=tmp_path / "run")
    assert (cut.run.stop_reason, cut.nfev, cut.run.nfail) == ("interrupt", 7, 0)
    resumed = meco.minimize(fun, **options, checkpoint=meco.Checkpoint(tmp_path / "run", resume=True))
    np.testing.assert_array_equal(resumed.evaluations.x, whole.evaluations.x)
    assert resumed.run.nfail == 0
