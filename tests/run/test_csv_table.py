"""Every evaluation of a run as a table."""

from __future__ import annotations

import csv
import io
import sys
from types import SimpleNamespace

import pytest
from numpy.testing import assert_array_equal

import meco
from small_runs import BOX, named

QUICK = {"method": "SHADE-FR", "budget": 60, "seed": 1}


def test_every_evaluation_is_a_row_of_a_table(tmp_path):
    result = meco.minimize(named, BOX, **QUICK)
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert list(rows[0]) == ["x1", "x2", "x3", "f", "reach", "height", "level", "feasible", "failed", "known"]
    assert_array_equal([float(row["f"]) for row in rows], result.evaluations.f)
    assert_array_equal([row["feasible"] == "1" for row in rows], result.evaluations.feasible)
    assert result.to_csv(tmp_path / "run.csv") is None
    assert (tmp_path / "run.csv").read_text() == result.to_csv()


def test_named_variables_are_columns_by_name_and_none_hides_another():
    bounds = {"width": (0.0, 2.0), "f": (0.0, 2.0)}
    result = meco.minimize(lambda v: v["width"] * v["f"], bounds, **QUICK)
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert list(rows[0])[:3] == ["width", "x_f", "f"]


def test_a_data_frame_needs_pandas_alone(monkeypatch):
    result = meco.minimize(named, BOX, **QUICK)
    made = SimpleNamespace(DataFrame=dict)
    monkeypatch.setitem(sys.modules, "pandas", made)
    assert_array_equal(result.to_frame()["f"], result.evaluations.f)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        result.to_frame()
