"""The report: every table and figure as a file, and a page that works in a real browser."""

from __future__ import annotations

import csv
import html
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from meco.experiments.plan import printed
from meco.experiments.plan.experiment import Contender, Experiment
from meco.experiments.report import figures, heatmaps, page, svg, tables, trajectories
from meco.experiments.report.figure import Axis, Box, Dot, Line, Panel, Spot, Tile, limits, margins, tick_text, ticks
from meco.experiments.report.report import build, write_report
from meco.experiments.report.result_set import ResultSet
from meco.experiments.report.table import Cell, Column, Table, mark_best, number, to_csv, to_html, to_latex, to_markdown
from meco.experiments.run.executors import Workers
from meco.experiments.run.runner import run_campaign
from meco.experiments.run.store import Store, read_results

pytest.importorskip("scipy")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VIEWS = (
    "ranks",
    "critical",
    "values",
    "pairs",
    "feasibility",
    "progress",
    "ecdf",
    "convergence",
    "performance",
    "actions",
)
SMALL = Experiment(
    "small", "A small <experiment>", tuple(Contender.of(m) for m in ("SHADE", "SHADE-eps", "MA-ES", "MeCO-rand")),
    ("C01", "C04", "C06", "C20"), dims=(10,), budget=200, runs=3, views=VIEWS, focus=("SHADE", "MA-ES"),
    printed="table1", first_seed=1,
)  # fmt: skip
BROKEN = Contender("MeCO", "MeCO", {"policy": "nobody"})
TWO = Experiment(
    "two", "Two dimensions", (*SMALL.contenders, BROKEN), ("C01", "C04"), dims=(4, 6), budget=150, runs=2, first_seed=1,
    views=("heat", "relative", "gain", "ranks", "progress"),
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    with Store.campaign(out) as store:
        run_campaign([SMALL, TWO], store, Workers(), quiet=True)
    return out


@pytest.fixture(scope="module")
def report(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return write_report(folder)


@pytest.fixture(scope="module")
def runs(folder):
    return ResultSet.of(read_results(folder), SMALL, 10)


# -- numbers ---------------------------------------------------------------------------------


def test_a_sample_holds_every_run_at_its_place(runs, folder):
    assert runs.shape == (4, 4, 3)
    assert runs.complete.all()
    with Store(folder) as store:
        found = next(
            r
            for run, r in store.records()
            if (run.method, run.case.problem, run.seed) == ("MA-ES", "C06", SMALL.first_seed + 2)
        )
    assert runs.score[2, 2, 2] == found.score


def test_curves_are_steps_that_end_at_the_result(runs):
    score = runs.curves["score"]
    assert score.shape == (4, 4, 3, 30)
    assert_allclose(score[..., -1], runs.score, rtol=0)
    assert np.all(np.diff(score[0], axis=-1)[~np.isnan(np.diff(score[0], axis=-1))] <= 0)


def test_the_score_table_shows_our_mean_the_last_population_and_the_printed_mean(runs):
    table = tables.score_table(runs)
    cell = table.rows[0][1]
    assert cell.value == pytest.approx(runs.score[0, 0].mean())
    assert [kind for kind, _ in cell.lines] == ["spread", "population", "paper"]
    assert cell.lines[2][1] == "paper 1.27e5"
    assert [c.peer for c in table.columns] == [False, False, False, True, True]
    assert sum(c.mark == "best" for c in table.rows[0]) == 1
    paper = printed.values("table1")
    below = sum(runs.score[0, j].mean() < paper[p, "SHADE"].mean for j, p in enumerate(runs.problems))
    assert [c.text for c in table.footer[0]][:2] == ["below printed", f"{below} of 4"]
    assert table.footer[0][-1].text == "–"  # a peer that the paper does not print


def test_ranks_stand_side_by_side_under_both_metrics_and_beside_the_printed_ones(runs):
    table = tables.rank_table(runs)
    heads = [c.label for c in table.columns]
    assert heads[1:3] == ["rank, f+ν", "rank, feasibility first"]
    row = next(r for r in table.rows if r[0].text == "SHADE")
    assert row[heads.index("printed, f+ν")].value == 5.0
    assert np.mean([r[1].value for r in table.rows]) == pytest.approx(2.5)


@pytest.mark.parametrize("metric", ["score", "first"])
def test_a_third_method_changes_no_p_value_before_the_correction(runs, monkeypatch, metric):
    monkeypatch.setattr(tables.stats, "holm", lambda p: p)
    column = 2 if metric == "score" else 4
    of_all = {row[0].text: row[column].value for row in tables.pair_table(runs).rows}
    for other in (1, 2, 3):
        kept = {(m // other, p, r): record for (m, p, r), record in runs.records.items() if m in (0, other)}
        two = replace(runs, contenders=(runs.contenders[0], runs.contenders[other]), records=kept)
        (row,) = tables.pair_table(two).rows
        assert row[column].value == of_all[row[0].text]


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
        made = write_report(partial)
    text = made.page.read_text(encoding="utf-8")
    assert ">nan" not in text
    assert "nan %" not in text


def test_an_incomplete_first_contender_leaves_the_other_heat_tiles_their_shares(partial):
    sets = [ResultSet.of(read_results(partial), TWO, dim) for dim in TWO.dims]
    assert not sets[0].complete[0]
    for panel in heatmaps.heat_figure(sets).panels:
        shares = {mark.label.split(",")[0]: mark.share for mark in panel.marks}
        assert np.isnan(shares.pop("SHADE"))
        assert np.all(np.isfinite(list(shares.values())))


def test_a_missing_contender_is_named_with_its_reason(folder):
    section = build(TWO, read_results(folder), figures.Palette())
    assert "nobody" in section.missing["MeCO"]


def test_a_contender_that_lacks_one_run_on_one_problem_is_not_finished(folder):
    found = read_results(folder)
    lacking = next(run for run in found.runs if (run.method, run.case.problem, run.seed) == ("MA-ES", "C06", 2))
    left = {run: record for run, record in found.runs.items() if run != lacking}
    whole = build(SMALL, found, figures.Palette())
    section = build(SMALL, replace(found, runs=left, failures={lacking: "out of memory"}), figures.Palette())
    assert "Not finished" not in page._run_line(whole)
    assert "Not finished (runs on the problem with fewest): MA-ES 2." in page._run_line(section)
    assert section.missing == {"MA-ES": "out of memory"}


def test_gains_are_relative_to_the_first_population(folder):
    s = ResultSet.of(read_results(folder), TWO, 4)
    table = tables.gain_table([s])
    share = 1 - s.score / s.numbers("first_score")
    assert table.rows[0][1].value == pytest.approx(share[0].mean())


def test_contenders_keep_their_colour_throughout_a_page(runs):
    palette = figures.Palette()
    first, second = palette.slots([runs]), palette.slots([runs])
    assert first == second
    assert first["SHADE"] == figures.USUAL.index("SHADE")
    assert len(set(first.values())) == len(first)


def test_numbers_read_as_in_the_paper():
    texts = [number(v) for v in (101234.0, 17.44, 579.4, 9876.0, 0.92514, 1e-5, 0.0, float("nan"), float("inf"))]
    assert texts == ["1.01e5", "17.4", "579", "9876", "0.925", "1.00e-5", "0", "–", "∞"]
    assert number(-30665.54, 6) == "-30665.5"
    assert mark_best([3.0, 1.0, 1.0, 2.0, float("nan")]) == ["", "best", "best", "second", ""]


def test_ticks_are_round_and_inside():
    assert ticks(0, 100, False, 6) == [0, 20, 40, 60, 80, 100]
    assert ticks(0.5, 2e4, True) == [1, 10, 100, 1000, 10000]
    assert ticks(7.2e4, 7.35e4, True) == [7.2e4, 7.25e4, 7.3e4, 7.35e4]
    assert [tick_text(v, True) for v in (0.01, 1.0, 2000.0, 1e6, 7.25e4)] == ["0.01", "1", "2000", "1e6", "7.25e4"]
    panel = Panel("", [Line(np.array([1.0, 2.0]), np.array([np.nan, 5.0]), 0)])
    assert limits(panel, "y")[0] < 5 < limits(panel, "y")[1]


def test_a_number_at_the_very_end_of_an_axis_has_room():
    short, long = (Panel("", [], Axis("evaluations", (0, end))) for end in (1, 25000))
    assert margins(long)[1] > margins(short)[1]


# -- files -----------------------------------------------------------------------------------

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


def test_figures_become_pdf_where_cairosvg_is_installed(folder):
    pytest.importorskip("cairosvg")
    made = [path for path in write_report(folder).files if path.suffix == ".pdf"]
    assert len(made) == len([path for path in (folder / "figures").iterdir() if path.suffix == ".svg"])
    assert all(path.read_bytes().startswith(b"%PDF") for path in made)


def test_without_cairosvg_the_report_says_how_to_get_pdf(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    assert any("SVG only" in line and "meco-opt[plot]" in line for line in write_report(folder).lines)


def test_the_page_needs_numpy_alone(folder, tmp_path):
    """What needs SciPy, the significance tests, is left out and the page says so."""
    shutil.copy(folder / "results.sqlite", tmp_path)
    code = (
        "import sys\n"
        "for name in ('scipy', 'matplotlib', 'cairosvg', 'torch', 'rich'): sys.modules[name] = None\n"
        "from meco.cli import main\n"
        f"sys.exit(main(['report', {str(tmp_path)!r}, '--page-only']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
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
        Box((0.0, 0.2, 0.5, 0.7, 1.0), 0.0, 0, "a <b>", (1.2,)),
        Dot((0.4, 0.5, 0.6), 0.0, 1),
        Tile((0, 1), (0, 1), float("nan"), "x"),
        Spot(0.5, 0.5, "sensor"),
        Line(np.array([0.0, 1.0]), np.array([np.nan, np.nan]), 0),
    ],
)
def test_every_mark_is_well_formed_svg(mark):
    text = svg.draw(Panel("p & q", [mark], Axis("x", (0, 2)), Axis("y", (-1, 1))), "id")
    assert ET.fromstring(text).tag == "svg"


def test_actions_are_drawn_as_shares_that_sum_to_one(runs):
    figure = heatmaps.action_figure(runs)
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
        "routes", "", (Contender("SHADE", "SHADE"),), ("UAV-01",), budget=100, runs=2, views=("trajectories",)
    )
    with Store.campaign(tmp_path) as store:
        run_campaign([flights], store, Workers(), quiet=True)
        s = ResultSet.of(store.results(), flights)
    figure = trajectories.trajectory_figure(s)
    route = next(m for m in figure.panels[0].marks if isinstance(m, Line))
    assert route.x.shape == (8,)
    assert figure.table.rows[0][0].text == "UAV-01"


# -- the page --------------------------------------------------------------------------------


def test_the_page_is_one_file_that_fetches_nothing(report):
    text = report.page.read_text(encoding="utf-8")
    assert not re.findall(r'(?:src|href)="(?!#|data:)', text)
    assert "@import" not in text
    assert "url(http" not in text
    assert "A small &lt;experiment&gt;" in text
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    targets = set(re.findall(r'href="#([^"]+)"', text))
    assert targets <= set(ids)


def test_every_picture_has_an_accessible_name_that_tells_its_figure(report):
    text = report.page.read_text(encoding="utf-8")
    names = re.findall(r'<title id="small-[^"]+">([^<]+)</title>', text)
    assert "Normalised convergence: f+ν" in names
    assert len(names) == len(set(names))


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2: (lighter + 0.05) / (darker + 0.05)."""
    parts = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in (one, other)])
    light = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]
    return float((light.max() + 0.05) / (light.min() + 0.05))


def test_every_series_colour_can_be_read_as_text_in_light_and_dark():
    style = svg.style("page.css")
    themes = [dict(re.findall(r"--(\w+): (#\w+)", block)) for block in re.findall(r"\{([^{}]*--s0: [^{}]*)\}", style)]
    assert len(themes) == 4  # light, dark twice, print
    for theme in themes:
        paper = theme["paper"] if len(theme["paper"]) == 7 else "#ffffff"
        assert min(contrast(theme[f"s{k}"], paper) for k in range(8)) >= 4.5


def test_the_page_says_what_was_run(report):
    text = html.unescape(report.page.read_text(encoding="utf-8"))
    for word in ("seeds from 1", "NumPy", "cores", "Missing or incomplete", "nobody", "seconds a run"):
        assert word in text


def test_a_report_written_twice_is_the_same_but_for_its_date(report, folder):
    first = report.page.read_text(encoding="utf-8")
    second = write_report(folder, page_only=True).page.read_text(encoding="utf-8")
    date = re.compile(r"page of [\d :-]+ UTC")
    assert date.sub("", first) == date.sub("", second)


PROBE = """
<script>
const found = {errors: window.trouble};
const table = document.querySelector("#small-ranks table");
const column = (i) => [...table.tBodies[0].rows].map((r) => r.cells[i].dataset.v);
const press = (i) => table.querySelectorAll("thead button")[i].click();
press(1); found.up = column(1).map(Number); found.sort = table.querySelectorAll("thead th")[1].ariaSort;
press(1); found.down = column(1).map(Number);
press(0); found.names = column(0);
const box = document.querySelector('#small-score input[data-hide="no-paper"]');
const line = document.querySelector("#small-score .paper");
found.before = getComputedStyle(line).display; box.click(); found.after = getComputedStyle(line).display;
const key = document.querySelector("#small-progress .legend button");
key.click(); found.pressed = key.getAttribute("aria-pressed");
found.lit = document.querySelectorAll("#small-progress .lit").length;
const back = getComputedStyle(document.body).backgroundColor;
document.getElementById("theme").click(); found.theme = [back, getComputedStyle(document.body).backgroundColor];
found.overflow = document.documentElement.scrollWidth - innerWidth;
document.documentElement.setAttribute("data-found", JSON.stringify(found));
</script>
"""


@pytest.fixture(scope="module")
def browser(report, tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("NO BROWSER: the page was NOT tried in one (Debian package: chromium)")
    profile = tmp_path_factory.mktemp("chromium")

    def look(text: str, *options: str) -> subprocess.CompletedProcess:
        page = profile / "page.html"
        page.write_text(text, encoding="utf-8")
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        command += [
            "--enable-logging=stderr",
            "--virtual-time-budget=4000",
            "--hide-scrollbars",
            *options,
            page.as_uri(),
        ]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    return look


@pytest.mark.parametrize("size", ["1400,900", "500,900"])
def test_in_a_browser_tables_sort_switches_switch_and_nothing_complains(report, browser, size):
    text = report.page.read_text(encoding="utf-8")
    early = "<script>window.trouble = []; addEventListener('error', (e) => trouble.push(e.message));</script>"
    text = text.replace("<head>", "<head>" + early).replace("</body>", PROBE + "</body>")
    done = browser(text, "--dump-dom", f"--window-size={size}")
    said = re.search(r'data-found="([^"]*)"', done.stdout)
    assert said, done.stderr
    found = json.loads(html.unescape(said[1]))
    assert found["errors"] == []
    assert "CONSOLE" not in done.stderr
    assert found["up"] == sorted(found["up"])
    assert found["down"] == sorted(found["up"], reverse=True)
    assert found["sort"] == "ascending"
    assert found["names"] == sorted(found["names"])
    assert (found["before"], found["after"]) == ("block", "none")
    assert found["pressed"] == "true"
    assert found["lit"] == 2
    assert found["theme"][0] != found["theme"][1]
    assert found["overflow"] <= 0  # no sideways scrolling of the whole page, on a phone neither


def test_a_screenshot_of_the_page_is_not_blank(report, browser, tmp_path):
    shot = tmp_path / "page.png"
    browser(report.page.read_text(encoding="utf-8"), f"--screenshot={shot}", "--window-size=1200,1600")
    image = pytest.importorskip("matplotlib.image").imread(shot)
    assert image.shape[:2] == (1600, 1200)
    assert np.std(image[..., :3]) > 0.03
