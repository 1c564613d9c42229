"""Run folders of meco 0.3: exported and known as points, never resumed."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path

import numpy as np
import pytest

import meco
from meco import Checkpoint
from meco.cli import main
from meco.errors import InvalidInput
from meco.run.recorded import read_recorded

OLD = Path(__file__).parents[2] / "data" / "run-0.3.0"
BOUNDS = {"a": (-2, 2, "mm"), "b": (-2, 2)}


def fun(x):
    return x["a"] ** 2 + x["b"] ** 2, {"reach": 1.0 - x["a"]}


def test_every_answer_of_an_old_folder_is_read():
    recorded = read_recorded(OLD)
    entries = recorded.answers.entries
    assert (len(entries), sorted(n for n, e in entries.items() if not e.good)) == (14, [3])
    for entry in entries.values():
        if entry.good:
            f, g = fun(dict(zip("ab", entry.x)))
            assert (entry.answer.f, entry.answer.g.tolist()) == (f, list(g.values()))
            assert entry.answer.se.tolist() == [0.1, 0.2]
    assert recorded.answers.constraint_names() == ("reach",)


def test_an_old_folder_is_exported(capsys):
    assert main(["export", str(OLD)]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 14
    assert rows[3]["fault"] == "raised"
    assert float(rows[0]["reach"]) == 1.0 - float(rows[0]["a"])


def test_an_old_folder_serves_as_known_points():
    result = meco.minimize(fun, BOUNDS, budget=10, seed=1, evaluated=OLD)
    assert (result.nfev, int(result.evaluations.known.sum())) == (10, 13)


def test_an_old_folder_is_not_resumed_and_the_way_on_is_said(tmp_path, capsys):
    shutil.copytree(OLD, tmp_path / "run")
    with pytest.raises(InvalidInput, match=r"made by meco 0\.3 and cannot be resumed: .* evaluated="):
        meco.minimize(fun, BOUNDS, checkpoint=Checkpoint(tmp_path / "run", resume=True))
    assert main(["resume", str(tmp_path / "run")]) == 2
    assert "--evaluated" in capsys.readouterr().err


def test_damaged_places_of_an_old_log_are_left_out(tmp_path, capsys):
    shutil.copytree(OLD, tmp_path / "run")
    log = tmp_path / "run" / "evals.bin"
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 8
    log.write_bytes(content)
    assert len(read_recorded(tmp_path / "run").answers.entries) == 13
    assert "1 damaged places" in capsys.readouterr().err


def test_the_page_of_an_old_folder_is_written(tmp_path):
    assert main(["report", str(OLD), "--output", str(tmp_path / "page.html")]) == 0
    assert "reach" in (tmp_path / "page.html").read_text()
    assert np.isfinite(read_recorded(OLD).answers.entries[0].answer.f)
