"""The numbers of a report: samples, curves, tables, ranks, and what a partial campaign leaves out."""

from __future__ import annotations

import shutil
import sqlite3
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from small_campaign import SMALL, TWO

from meco.bench.plan import printed
from meco.bench.report import heatmaps, page, result_figures, result_tables
from meco.bench.report.campaign_report import build_section, write_campaign_report
from meco.bench.report.run_arrays import RunArrays
from meco.bench.run.result_store import ResultStore, read_results
from meco.figures.panel import Axis, Line, Panel, axis_limits, panel_margins, tick_text, tick_values
from meco.figures.table import format_number, mark_best

pytest.importorskip("scipy")


def test_a_sample_holds_every_run_at_its_place(runs, folder):
    assert runs.shape == (4, 4, 3)
    assert runs.complete.all()
    with ResultStore.open(folder) as store:
        found = next(
            r
            for run, r in store.read_records()
            if (run.method, run.case.problem, run.seed) == ("MA-ES", "C06", SMALL.first_seed + 2)
        )
    assert runs.score[2, 2, 2] == found.score


def test_curves_are_steps_that_end_at_the_result(runs):
    score = runs.curves["score"]
    assert score.shape == (4, 4, 3, 30)
    assert_allclose(score[..., -1], runs.score, rtol=0)
    assert np.all(np.diff(score[0], axis=-1)[~np.isnan(np.diff(score[0], axis=-1))] <= 0)


def test_the_score_table_shows_our_mean_the_last_population_and_the_printed_mean(runs):
    table = result_tables.make_score_table(runs)
    cell = table.rows[0][1]
    assert cell.value == pytest.approx(runs.score[0, 0].mean())
    assert [kind for kind, _ in cell.lines] == ["spread", "population", "paper"]
    assert cell.lines[2][1] == "paper 1.27e5"
    assert [c.peer for c in table.columns] == [False, False, False, True, True]
    assert sum(c.mark == "best" for c in table.rows[0]) == 1
    paper = printed.read_cells("table1")
    below = sum(runs.score[0, j].mean() < paper[p, "SHADE"].mean for j, p in enumerate(runs.problems))
    assert [c.text for c in table.footer[0]][:2] == ["below printed", f"{below} of 4"]
    assert table.footer[0][-1].text == "–"  # a peer that the paper does not print


def test_ranks_stand_side_by_side_under_both_metrics_and_beside_the_printed_ones(runs):
    table = result_tables.make_rank_table(runs)
    heads = [c.label for c in table.columns]
    assert heads[1:3] == ["rank, f+ν", "rank, feasibility first"]
    row = next(r for r in table.rows if r[0].text == "SHADE")
    assert row[heads.index("printed, f+ν")].value == 5.0
    assert np.mean([r[1].value for r in table.rows]) == pytest.approx(2.5)


@pytest.mark.parametrize("metric", ["score", "first"])
def test_a_third_method_changes_no_p_value_before_the_correction(runs, monkeypatch, metric):
    monkeypatch.setattr(result_tables.stats, "holm_correction", lambda p: p)
    column = 2 if metric == "score" else 4
    of_all = {row[0].text: row[column].value for row in result_tables.make_pair_table(runs).rows}
    for other in (1, 2, 3):
        kept = {(m // other, p, r): record for (m, p, r), record in runs.records.items() if m in (0, other)}
        two = replace(runs, contenders=(runs.contenders[0], runs.contenders[other]), records=kept)
        (row,) = result_tables.make_pair_table(two).rows
        assert row[column].value == of_all[row[0].text]


def test_too_few_runs_for_any_test_are_named(runs):
    few = "no rank-sum test can have p below 0.05"
    assert few in result_tables.make_pair_table(runs).caption  # 3 runs of each
    more = {(m, p, r + k): record for (m, p, r), record in runs.records.items() for k in (0, 3)}
    assert "rank-sum test can have" not in result_tables.make_pair_table(replace(runs, records=more)).caption


@pytest.fixture(scope="module")
def partial(folder, tmp_path_factory):
    """A campaign stopped midway: SHADE, the first contender, has not met C01, and nobody C04 or C20 in 10D."""
    out = tmp_path_factory.mktemp("partial")
    shutil.copy(folder / "results.sqlite", out)
    with sqlite3.connect(out / "results.sqlite") as store:
        for lost in ('%["C04",10,%', '%["C20",10,%', '["SHADE",%["C01",%'):
            store.execute("DELETE FROM runs WHERE run LIKE ?", (lost,))
    store.close()
    return out


def test_a_partial_campaign_is_reported_without_warnings(partial):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = write_campaign_report(partial)
    text = made.page.read_text(encoding="utf-8")
    assert ">nan" not in text
    assert "nan %" not in text


def test_an_incomplete_first_contender_leaves_the_other_heat_tiles_their_shares(partial):
    sets = [RunArrays.from_store(read_results(partial), TWO, dim) for dim in TWO.dims]
    assert not sets[0].complete[0]
    for panel in heatmaps.make_heat_figure(sets).panels:
        shares = {mark.label.split(",")[0]: mark.share for mark in panel.marks}
        assert np.isnan(shares.pop("SHADE"))
        assert np.all(np.isfinite(list(shares.values())))


def test_a_missing_contender_is_named_with_its_reason(folder):
    section = build_section(TWO, read_results(folder), result_figures.Palette())
    assert "nobody" in section.missing["MeCO"]


def test_a_contender_that_lacks_one_run_on_one_problem_is_not_finished(folder):
    found = read_results(folder)
    lacking = next(run for run in found.runs if (run.method, run.case.problem, run.seed) == ("MA-ES", "C06", 2))
    left = {run: record for run, record in found.runs.items() if run != lacking}
    whole = build_section(SMALL, found, result_figures.Palette())
    section = build_section(
        SMALL, replace(found, runs=left, failures={lacking: "out of memory"}), result_figures.Palette()
    )
    assert "Not finished" not in page._describe_runs(whole)
    assert "Not finished (runs on the problem with fewest): MA-ES 2." in page._describe_runs(section)
    assert section.missing == {"MA-ES": "out of memory"}


def test_gains_are_relative_to_the_first_population(folder):
    s = RunArrays.from_store(read_results(folder), TWO, 4)
    table = result_tables.make_gain_table([s])
    share = 1 - s.score / s.field_values("first_score")
    assert table.rows[0][1].value == pytest.approx(share[0].mean())


def test_contenders_keep_their_colour_throughout_a_page(runs):
    palette = result_figures.Palette()
    first, second = palette.assign_slots([runs]), palette.assign_slots([runs])
    assert first == second
    assert first["SHADE"] == result_figures.USUAL.index("SHADE")
    assert len(set(first.values())) == len(first)


def test_numbers_read_as_in_the_paper():
    texts = [format_number(v) for v in (101234.0, 17.44, 579.4, 9876.0, 0.92514, 1e-5, 0.0, float("nan"), float("inf"))]
    assert texts == ["1.01e5", "17.4", "579", "9876", "0.925", "1.00e-5", "0", "–", "∞"]
    assert format_number(-30665.54, 6) == "-30665.5"
    assert mark_best([3.0, 1.0, 1.0, 2.0, float("nan")]) == ["", "best", "best", "second", ""]


def test_ticks_are_round_and_inside():
    assert tick_values(0, 100, False, 6) == [0, 20, 40, 60, 80, 100]
    assert tick_values(0.5, 2e4, True) == [1, 10, 100, 1000, 10000]
    assert tick_values(7.2e4, 7.35e4, True) == [7.2e4, 7.25e4, 7.3e4, 7.35e4]
    assert [tick_text(v, log=True) for v in (0.01, 1.0, 2000.0, 1e6, 7.25e4)] == ["0.01", "1", "2000", "1e6", "7.25e4"]
    panel = Panel("", [Line(np.array([1.0, 2.0]), np.array([np.nan, 5.0]), 0)])
    assert axis_limits(panel, "y")[0] < 5 < axis_limits(panel, "y")[1]


def test_a_number_at_the_very_end_of_an_axis_has_room():
    short, long = (Panel("", [], Axis("evaluations", (0, end))) for end in (1, 25000))
    assert panel_margins(long)[1] > panel_margins(short)[1]


def test_what_many_tables_ask_is_answered_once_and_cannot_be_changed(runs):
    assert runs.field_values("f") is runs.field_values("f")
    assert runs.feasibility_cells() is runs.feasibility_cells()
    assert runs.feasibility_cells(snapshot=True) is not runs.feasibility_cells()
    with pytest.raises(ValueError, match="read-only"):
        runs.field_values("f")[0] = 0.0
