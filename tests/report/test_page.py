"""The report of a results folder: one page that stands alone, and files of every table and figure."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment, ReportPlan
from meco.bench.plan.run import Run
from meco.bench.run.executors import RunExecutor
from meco.bench.run.result_store import ResultStore, read_results
from meco.bench.run.runner import run_campaign
from meco.cli import main
from meco.report import page
from meco.report.figures import Palette
from meco.report.frame import read_runs
from small_campaign import SMALL
from small_runs import run_command_without

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>&lt; $x$ _y \r\n\x0b \x1b[2J \u202e{{ 7 * 7 }}"


class Elements(HTMLParser):
    """The names of elements in order, and the text between them."""

    def __init__(self, text):
        super().__init__()
        self.names, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page_fetches_nothing_and_every_link_leads_somewhere(report):
    text = report.page.read_text(encoding="utf-8")
    assert not re.findall(r'(?:src|href)="(?!#|data:)(?!http://www.w3.org)', text.replace("xlink:", ""))
    assert "A small &lt;experiment&gt;" in text
    assert set(re.findall(r'<a href="#([^"]+)"', text)) <= set(re.findall(r' id="([^"]+)"', text))


def test_every_table_and_figure_is_also_a_file(report, folder):
    names = {path.relative_to(folder).as_posix() for path in report.files}
    for part in ("ranks", "score", "feasibility-first", "pairs", "progress", "ecdf", "performance", "u-score"):
        assert {f"tables/small-{part}.csv", f"tables/small-{part}.tex", f"tables/small-{part}.md"} <= names
    for part in ("small-critical", "small-progress", "two-progress-4d", "small-actions", "two-heat", "two-relative"):
        assert {f"figures/{part}.svg", f"figures/{part}.pdf"} <= names
    for path in report.files:
        assert path.stat().st_size > 0
        if path.suffix == ".svg":
            assert ET.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_the_page_says_which_runs_are_missing_and_why(report):
    text = " ".join(Elements(report.page.read_text(encoding="utf-8")).texts)
    assert "Missing runs:" in text
    assert "MeCO, 4D: C01 0 of 2, C04 0 of 2 (" in text


def test_the_same_results_give_the_same_figures(folder, runs):
    colours = Palette().choose([runs])
    one, other = (page.figures.draw_progress(runs, colours).svg for _ in range(2))
    assert one == other


def rename(results, more):
    """The same results with more text at the end of names, reasons and notes."""

    def run(known):
        return Run(known.method, known.options, known.case._replace(problem=known.case.problem + more), known.seed)

    def plan(known):
        contenders = tuple(Contender(c.label + more, c.method, c.options, c.most) for c in known.contenders)
        report = replace(known.report, about=more, notes=(more,), focus=())
        problems = tuple(name + more for name in known.problems)
        return replace(known, title=known.title + more, contenders=contenders, problems=problems, report=report)

    return replace(
        results,
        runs={run(name): record for name, record in results.runs.items()},
        failures={run(name): reason + more for name, reason in results.failures.items()},
        experiments=[plan(replace(e, name=f"{e.name}x")) for e in results.experiments],
        sessions={name: facts | {"processor": more} for name, facts in results.sessions.items()},
    )


def test_hostile_texts_stay_texts(folder):
    views = ("ranks", "values", "pairs", "feasibility", "progress", "convergence", "actions")
    plain, hostile = (rename(read_results(folder), more) for more in (" more", HOSTILE))
    shown = []
    for contents in (plain, hostile):
        plans = [replace(e, report=replace(e.report, views=views)) for e in contents.experiments[:1]]
        contents = replace(contents, experiments=plans)
        shown.append(Elements(page.compose_page(page.build_chapters(contents), contents)))
    assert shown[1].names.count("script") == shown[0].names.count("script")
    assert shown[1].names.count("img") == 0
    assert "49" not in {text.strip() for text in shown[1].texts}
    whole = "".join(shown[1].texts)
    assert not set(whole) & set("\x00\x1b\x0b\u202e")


def test_without_the_packages_of_a_report_the_command_names_the_extra(folder):
    said = run_command_without(("pandas",), "report", str(folder), "--page-only", code=2)
    assert "pandas" in said
    assert "report]" in said
    assert len(said.splitlines()) == 1


def test_routes_show_a_flight_for_each_method(tmp_path):
    flights = Experiment(
        "routes", "", (Contender("SHADE", "SHADE"),), ("UAV-01",), budget=100, runs=2,
        report=ReportPlan(views=("trajectories",)),
    )  # fmt: skip
    with ResultStore.open_campaign(tmp_path) as store:
        run_campaign([flights], store, RunExecutor(), quiet=True)
        runs = read_runs(store.read_contents(), flights)
    picture = page.figures.draw_routes(runs, Palette().choose([runs]))
    routes = [line for line in picture.figure.axes[0].get_lines() if line.get_label() == "SHADE"]
    assert routes[0].get_xdata().shape == (8,)
    assert list(picture.table.frame.index) == ["UAV-01"]


def test_a_page_of_several_suites_begins_with_their_ranks(folder, monkeypatch):
    contents = read_results(folder)
    monkeypatch.setattr(page, "SUITES", {"small": "One suite", "again": "Another suite"})
    contents = replace(contents, experiments=[SMALL, replace(SMALL, name="again")])
    text = page.compose_page(page.build_chapters(contents), contents)
    assert text.index("Average ranks on the suites") < text.index('<details class="section" id="small"')


def test_meco_report_prints_the_ranks(folder, capsys):
    assert main(["report", str(folder), "--page-only"]) == 0
    assert "small: Average ranks" in capsys.readouterr().out
