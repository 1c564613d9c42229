"""The reserve of problems that no benchmark runs."""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def reserve(monkeypatch):
    """The module benchmarks/reserve.py."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import reserve as module

    yield module
    sys.modules.pop("reserve", None)


def test_reserve_and_development_share_no_problem_and_a_third_is_reserved(reserve):
    rows = list(csv.DictReader(reserve.FILE.read_text(encoding="utf-8").splitlines()))
    assert len({(row["suite"], row["problem"]) for row in rows}) == len(rows) == 157 + 24
    assert {row["set"] for row in rows} == {"reserve", "development"}
    for suite, names in reserve.read_sets().items():
        held = [name for name, kind in names.items() if kind == "reserve"]
        assert len(held) == {"cutest": 53, "g": 8}[suite]
        assert reserve.without_reserve(suite, held) == []
        assert len(reserve.without_reserve(suite, names)) == len(names) - len(held)
        assert not set(held) & set(reserve.IN_TESTS[suite])


def test_names_with_the_prefix_of_the_suite_are_excluded_too(reserve):
    assert reserve.without_reserve("cutest", ["S2MPJ-HS7", "S2MPJ-HS71"]) == ["S2MPJ-HS71"]


@pytest.mark.official
def test_both_lists_together_are_the_open_problems_and_the_fixed_seed_draws_them(reserve):
    folder = os.environ.get("MECO_DATA")
    table = Path(folder or "") / "s2mpj_open.csv"
    if folder is None or not table.is_file():
        pytest.skip("THE RESERVE IS NOT COMPARED WITH THE OPEN PROBLEMS: MECO_DATA has no s2mpj_open.csv")
    with open(table, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert set(reserve.read_sets()["cutest"]) == {row["problem"] for row in rows}
    assert reserve.draw_all(rows) == reserve.read_sets()
