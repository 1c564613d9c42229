"""Tables of a report: their numbers, marks and files."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from meco.bench.run.result_store import read_results
from meco.report import stats, tables
from meco.report.frame import read_runs
from meco.report.tables import Table
from small_campaign import SMALL

ODD = Table(
    "t",
    "A & B",
    pd.DataFrame({"x_1": [101234.0, np.nan], "=2+3": [2.0, 1.0]}, index=pd.Index(["a & b", "@b"], name="Name")),
    best={"x_1": "min", "=2+3": "min"},
)


def test_latex_is_escaped_and_uses_the_rules_of_booktabs():
    text = ODD.to_latex()
    assert r"a \& b" in text
    assert r"x\_1" in text
    assert r"\textbf{1.012e+05}" in text
    assert r"\toprule" in text
    assert r"\bottomrule" in text


def test_markdown_marks_the_best_number_of_each_column():
    lines = ODD.to_markdown().splitlines()
    assert lines[0] == "| Name | x_1 | =2+3 |"
    assert lines[2] == "| a & b | **1.012e+05** | 2 |"
    assert lines[3] == "| @b | – | **1** |"


def test_csv_has_full_numbers_and_no_formula_for_a_spreadsheet():
    assert list(csv.reader(ODD.to_csv().splitlines())) == [
        ["Name", "x_1", "'=2+3"],
        ["a & b", "101234", "2"],
        ["'@b", "", "1"],
    ]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@"])
def test_a_name_that_begins_like_a_formula_is_a_text(sign):
    assert tables.guard_formula(f"{sign}1+2") == f"'{sign}1+2"
    assert tables.guard_formula(-1.0) == -1.0


def test_equal_numbers_are_best_together():
    assert tables.mark_best([2.0, 1.0, 1.0, 3.0, np.nan]) == ["second", "best", "best", "", ""]


def test_means_and_deviations_are_those_of_the_runs(runs):
    frame = tables.make_score_table(runs).frame.loc["C04", "SHADE"]
    values = runs.cube("score")[0, 1]
    assert (frame.runs, frame["mean"], frame["std"]) == (3, values.mean(), values.std())
    assert frame.printed_mean == 350.0 or np.isfinite(frame.printed_mean)


def test_the_uav_score_is_one_at_the_best_and_zero_at_the_worst_of_each_mission(runs):
    score = tables.performance(runs)["score"]
    assert_array_equal(np.nanmax(score, axis=(0, 2)), 1.0)
    assert_array_equal(np.nanmin(score, axis=(0, 2)), 0.0)


def test_missing_runs_are_listed_with_their_cell_and_reason(folder):
    contents = read_results(folder)
    lost = {run: "worker killed" for run in contents.runs if run.method == "MA-ES" and run.case.problem == "C01"}
    kept = {run: record for run, record in contents.runs.items() if run not in lost}
    runs = read_runs(replace(contents, runs=kept, failures=lost), SMALL, 10)
    assert tables.list_missing([runs]) == ["MA-ES: C01 0 of 3 (worker killed)"]
    assert "MA-ES" not in runs.complete
    table = tables.make_rank_table([runs])
    assert np.isnan(table.frame.loc["MA-ES", "rank, f+ν"])
    assert table.texts().loc["MA-ES", "rank, f+ν"] == "–"


def test_actions_of_a_run_are_averaged_in_thirds(runs):
    table = tables.make_action_table(runs)
    assert list(table.frame.index) == [f"{p}, MeCO-rand" for p in runs.problems]
    _, taken = runs.actions("MeCO-rand", "C01")
    third = len(taken[0, :-1]) // 3
    assert table.frame["last third"].iloc[0] == pytest.approx(taken[:, -1 - third : -1].mean())


def test_a_pair_table_counts_each_other_method_once(runs):
    table = tables.make_pair_table(runs, "SHADE")
    assert list(table.frame.index) == ["SHADE-eps", "MA-ES", "MeCO-rand"]
    assert "cannot reach 0.05" in table.caption
    found = stats.compare(stats.order_keys(runs, "score"), runs.labels, "SHADE")
    assert_array_equal(table.frame["p (Holm), f+ν"], found.p)


def test_a_problem_without_any_run_has_dashes(folder):
    contents = read_results(folder)
    kept = {run: record for run, record in contents.runs.items() if run.case.problem != "C04"}
    runs = read_runs(replace(contents, runs=kept), SMALL, 10)
    for table in tables.make_value_tables(runs):
        assert set(table.texts().loc["C04"]) == {"–"}
        assert set(table.cell_marks().loc["C04"]) == {""}
        assert "best" in set(table.cell_marks().loc["C01"])


def test_lines_of_a_cell_are_one_line_in_text_files(runs):
    table = tables.make_rank_table([runs])
    text = "\n".join(table.to_text())
    assert "\\n" not in text
    first = table.texts().iloc[0, 0].split("\n")
    for shown in (text, table.to_markdown(), table.to_latex()):
        assert f"{first[0]} ({first[1]})" in shown


def test_only_methods_with_too_few_runs_are_named(runs):
    assert tables.make_pair_table(runs, "SHADE").caption.endswith("for SHADE-eps, MA-ES, MeCO-rand.")
    assert tables._least_p(3, 10) < stats.ALPHA < tables._least_p(3, 3)


def test_html_in_a_name_is_a_text_in_markdown():
    assert tables.escape_markdown("<b>a|b</b> < 0.1") == r"&lt;b>a\|b&lt;/b> < 0.1"
