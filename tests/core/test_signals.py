"""Signals are noted once and acted on between two steps."""

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
