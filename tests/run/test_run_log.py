"""What a service hears of a run: the logger "meco", and progress as JSON."""

import json
import logging
import subprocess
import sys

import pytest

import meco
from meco.errors import UnknownName

BOX = [(-2, 2)] * 2


def bowl(x):
    if x[1] > 1.5:
        raise RuntimeError("mesh")
    return float(x @ x), [1 - x[0]]


def test_the_logger_hears_begin_best_values_failures_and_end(caplog):
    with caplog.at_level(logging.DEBUG, logger="meco"):
        result = meco.minimize(bowl, BOX, method=meco.Method("SHADE", pop_size=6), budget=60, seed=1)
    said = [record.getMessage() for record in caplog.records if record.name == "meco"]
    assert said[0] == "SHADE begins: 2 variables, 60 evaluations, seed 1"
    assert said[-1] == result.message
    assert any(text.startswith("best feasible f = ") for text in said)
    assert sum("failed: RuntimeError: mesh" in text for text in said) == result.run.nfail > 0
    last = caplog.records[-1]
    assert (last.levelname, last.meco_nfev, last.meco_fun) == ("INFO", 60, result.fun)


def test_warnings_and_errors_reach_the_logger(caplog):
    with caplog.at_level(logging.INFO, logger="meco"), pytest.warns(UserWarning, match="few for"):
        meco.minimize(bowl, BOX, budget=4, seed=1)
    assert any(record.levelname == "WARNING" for record in caplog.records)
    with caplog.at_level(logging.INFO, logger="meco"), pytest.raises(RuntimeError):
        meco.minimize(lambda x: None, BOX, budget=40, seed=1)
    assert caplog.records[-1].levelname == "ERROR"


def test_a_program_that_does_not_log_neither_loads_logging_nor_sees_anything():
    code = (
        "import sys, meco; meco.minimize(lambda x: float(x @ x), [(-1, 1)] * 2, budget=20, seed=1); "
        "print('logging' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("False", "")


def test_progress_as_json_is_an_object_a_line(capsys):
    meco.minimize(bowl, BOX, budget=40, seed=1, callback=meco.Progress("json"))
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    assert lines[-1]["nfev"] == lines[-1]["budget"] == 40
    assert {"best", "feasible", "violation", "failed", "elapsed", "left"} <= set(lines[-1])


def test_another_form_of_progress_is_refused():
    with pytest.raises(UnknownName, match="json"):
        meco.Progress("jsn")
