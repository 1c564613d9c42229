"""The files of a report: tables in every format, figures, and the marks they are drawn with."""

from __future__ import annotations

import csv
import re
import shutil
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from numpy.testing import assert_allclose

from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment, ReportPlan
from meco.bench.report import heatmaps, trajectories
from meco.bench.report.campaign_report import write_campaign_report
from meco.bench.report.run_arrays import RunArrays
from meco.bench.run.executors import RunExecutor
from meco.bench.run.result_store import ResultStore
from meco.bench.run.runner import run_campaign
from meco.figures import svg
from meco.figures.panel import Axis, BoxPlot, Dot, Line, Panel, Spot, Tile
from meco.figures.table import Cell, Column, Table, to_csv, to_html, to_latex, to_markdown
from small_runs import run_command_without

pytest.importorskip("scipy")

TABLE = Table(
    "t", "A & B", [Column("Name", head=True), Column("x_1")],
    [
        [Cell("a & b", "a & b"), Cell("1.01e5", 101234.0, "best", (("spread", "± 3"),))],
        [Cell("c"), Cell("–", float("nan"))],
    ],
)  # fmt: skip


def test_a_table_as_latex_is_escaped_and_marked():
    text = to_latex(TABLE)
    assert r"a \& b" in text
    assert r"x\_1" in text
    assert r"\textbf{$1.01\mathrm{e}{5}$}" in text
    assert r"$\pm$ 3" in text
    assert text.count(r"\\") >= 3


def test_any_label_passes_through_latex_and_markdown_whole():
    odd = Table("t", "odd", [Column("a|b", head=True), Column("y")], [[Cell("[x]"), Cell(r"\{$}^~<>&|")]])
    row = to_latex(odd).splitlines()[5]
    assert row == r"{[}x] & \textbackslash{}\{\$\}\textasciicircum{}\textasciitilde{}$<$$>$\&$|$ \\"
    assert to_markdown(odd).splitlines()[0] == r"| a\|b | y |"


def test_a_table_as_markdown_marks_the_best():
    assert to_markdown(TABLE).splitlines()[2] == "| a & b | **1.01e5** (± 3) |"


def test_a_table_as_csv_holds_full_numbers():
    assert list(csv.reader(to_csv(TABLE).splitlines())) == [["Name", "x_1"], ["a & b", "101234"], ["c", ""]]


def test_a_table_as_html_can_be_read_aloud():
    root = ET.fromstring(to_html(TABLE).replace("–", "-"))
    assert root.attrib["aria-label"] == "A & B"
    assert root.find(".//caption").text == "A & B"
    assert [th.attrib["scope"] for th in root.iter("th")] == ["col", "col", "row", "row"]
    assert "(best)" in "".join(root.itertext())


def test_every_table_and_figure_is_also_a_file(report, folder):
    names = {path.relative_to(folder).as_posix() for path in report.files}
    for part in ("ranks", "score", "feasibility-first", "pairs", "progress", "ecdf", "performance"):
        assert {f"tables/small-{part}.csv", f"tables/small-{part}.tex"} <= names
    for part in ("critical", "progress-4d", "convergence-score", "feasibility", "heat", "relative"):
        assert {f"figures/two-{part}.svg", f"figures/small-{part}.svg"} & names
    assert all(path.stat().st_size > 0 for path in report.files)
    assert not list(folder.rglob("*.part*"))


def test_a_figure_file_is_the_drawing_of_the_page_with_its_colours_inside(report, folder):
    for path in (path for path in report.files if path.suffix == ".svg"):
        root = ET.parse(path).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(" not in path.read_text(encoding="utf-8")  # not every program knows variables
    text = (folder / "figures" / "small-progress.svg").read_text(encoding="utf-8")
    assert "#c2410c" in text
    assert text.count('class="panel"') == 3  # the figure and its two panels
    drawn = re.findall(r'<path d="(M[^"]+L[^"]+)"', text)
    assert drawn
    assert set(drawn) <= set(re.findall(r'<path d="([^"]+)"', report.page.read_text(encoding="utf-8")))


def test_figures_become_pdf_where_cairosvg_is_installed(report, folder):
    pytest.importorskip("cairosvg")
    made = [path for path in report.files if path.suffix == ".pdf"]
    assert len(made) == len([path for path in (folder / "figures").iterdir() if path.suffix == ".svg"])
    assert all(path.read_bytes().startswith(b"%PDF") for path in made)


def test_without_cairosvg_the_report_says_how_to_get_pdf(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    assert any("SVG only" in line and "meco-opt[plot]" in line for line in write_campaign_report(folder).lines)


def test_the_page_needs_numpy_alone(folder, tmp_path):
    """What needs SciPy, the significance tests, is left out and the page says so."""
    shutil.copy(folder / "results.sqlite", tmp_path)
    extras = ("scipy", "matplotlib", "cairosvg", "torch", "rich")
    run_command_without(extras, "report", str(tmp_path), "--page-only")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="small-ranks"' in text
    assert "pairs: a significance test needs scipy" in text


def test_the_long_csv_has_one_row_per_problem_and_method(report, folder):
    with open(folder / "tables" / "small-score.csv", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 16
    assert rows[0]["printed_mean"] == "127000"
    assert int(rows[0]["runs"]) == 3


@pytest.mark.parametrize(
    "mark",
    [
        BoxPlot((0.0, 0.2, 0.5, 0.7, 1.0), 0.0, 0, "a <b>", (1.2,)),
        Dot((0.4, 0.5, 0.6), 0.0, 1),
        Tile((0, 1), (0, 1), float("nan"), "x"),
        Spot(0.5, 0.5, "sensor"),
        Line(np.array([0.0, 1.0]), np.array([np.nan, np.nan]), 0),
    ],
)
def test_every_mark_is_well_formed_svg(mark):
    text = svg.draw_panel(Panel("p & q", [mark], Axis("x", (0, 2)), Axis("y", (-1, 1))), "id")
    assert ET.fromstring(text).tag == "svg"


def test_actions_are_drawn_as_shares_that_sum_to_one(runs):
    figure = heatmaps.make_action_figure(runs)
    assert [p.title for p in figure.panels] == ["C01, MeCO-rand", "C04, MeCO-rand", "C06, MeCO-rand", "C20, MeCO-rand"]
    tiles = [m for m in figure.panels[0].marks if isinstance(m, Tile)]
    starts = {t.x for t in tiles}
    assert_allclose([sum(t.share for t in tiles if t.x == x) for x in starts], 1.0)
    assert [c.label for c in figure.table.columns] == ["Problem", "first third", "middle third", "last third"]
    _, actions = runs.action_trace(3, 0)
    third = len(actions[0, :-1]) // 3
    assert figure.table.rows[0][3].value == pytest.approx(actions[:, -1 - third : -1].mean())


def test_routes_show_the_map_and_a_flight_for_each_method(tmp_path):
    flights = Experiment(
        "routes",
        "",
        (Contender("SHADE", "SHADE"),),
        ("UAV-01",),
        budget=100,
        runs=2,
        report=ReportPlan(views=("trajectories",)),
    )
    with ResultStore.open_campaign(tmp_path) as store:
        run_campaign([flights], store, RunExecutor(), quiet=True)
        s = RunArrays.from_store(store.read_contents(), flights)
    figure = trajectories.make_trajectory_figure(s)
    route = next(m for m in figure.panels[0].marks if isinstance(m, Line))
    assert route.x.shape == (8,)
    assert figure.table.rows[0][0].text == "UAV-01"
