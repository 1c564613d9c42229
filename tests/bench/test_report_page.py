"""The report page as a reader meets it: a headline, values where one points, hints where something does not fit."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment, ReportPlan
from meco.bench.report import overview, result_figures
from meco.bench.report.campaign_report import build_section, list_known_experiments, write_campaign_report
from meco.bench.report.headline import compose_headline
from meco.bench.report.overview import MOST_METHODS, SuiteStanding, compose_overview
from meco.bench.report.result_tables import make_pair_table
from meco.bench.report.run_arrays import RunArrays
from meco.bench.report.sentence import SuiteRanks, compose_sentence
from meco.bench.report.stats import RankTest
from meco.bench.run.campaign_folder import PACKED_FILE, find_packed
from meco.bench.run.executors import start_executor
from meco.bench.run.result_store import ResultStore, read_results
from meco.bench.run.runner import run_campaign
from meco.figures.figure import Figure

pytest.importorskip("scipy")
browsing = pytest.importorskip("tools.browser", reason="only a checkout has the tools")
needs_browser = pytest.mark.skipif(
    browsing.find_browser() is None, reason="NO BROWSER: install chromium to look at the pages"
)
VIEWS = ("ranks", "critical", "values", "feasibility", "progress", "ecdf", "convergence")
TRIAL = Experiment(
    "trial", "A trial", tuple(Contender.from_method(m) for m in ("SHADE", "SHADE-eps", "MA-ES", "C2oDE")),
    ("C01", "C04", "C20"), dims=(4,), budget=120, runs=2, report=ReportPlan(views=VIEWS), first_seed=1,
)  # fmt: skip
KEPT = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("page")
    with ResultStore.open_campaign(out) as store:
        run_campaign([TRIAL], store, start_executor("serial", 1), quiet=True)
    write_campaign_report(out, page_only=True)
    return out


@pytest.fixture(scope="module")
def results(folder):
    return RunArrays.from_store(read_results(folder), TRIAL, 4)


def test_the_headline_says_who_comes_first(results, folder):
    top = compose_headline([results])
    ranks = results.rank_table("first").mean(axis=1)
    best = results.labels[int(ranks.argmin())]
    assert f"of 4 methods on 3 problems, 120 evaluations a run, {best} (average rank {ranks.min():.1f}" in top.sentence
    assert top.figure.table.rows[0][0].text == best
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.index(top.sentence[:40]) < page.index("<h2>A trial</h2>")


def test_every_figure_has_its_numbers_beside_it(folder):
    found = read_results(folder)
    items = build_section(TRIAL, found, result_figures.Palette()).items
    drawn = [item for item in items if isinstance(item, Figure)]
    assert drawn
    for item in drawn:
        assert item.table is not None or all(panel.table is not None for panel in item.panels), item.name


def test_families_differ_by_their_strokes_and_variants_by_their_colours(results):
    slots = result_figures.Palette().assign_slots([results])
    assert len(set(slots.values())) == 4
    dash = dict(zip(results.labels, result_figures.line_dashes(results)))
    assert dash["SHADE"] == dash["SHADE-eps"] == ""
    assert len({dash["SHADE"], dash["MA-ES"], dash["C2oDE"]}) == 3


def test_every_link_of_the_page_leads_somewhere(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    names = set(re.findall(r'id="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= names
    assert "trial-convergence-score-C04" in names


NAMES = {"one": "One suite", "other": "Another suite"}
SUITES = [replace(TRIAL, name=name, title=name) for name in NAMES]


@pytest.fixture(scope="module")
def two_suites(folder, tmp_path_factory):
    """The trial as if it were two suites."""
    out = tmp_path_factory.mktemp("suites")
    with ResultStore.open_campaign(out) as store:
        store.merge(replace(read_results(folder), experiments=SUITES))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overview, "SUITES", NAMES)
        write_campaign_report(out, page_only=True)
        yield out


def test_a_page_of_several_suites_begins_with_one_line_one_table_and_one_picture(two_suites):
    stored = read_results(two_suites)
    top = compose_overview([RunArrays.from_store(stored, e, 4) for e in list_known_experiments(stored)])
    assert top.sentence.startswith("First by average rank")  # the default did not run
    assert len(top.table.rows) <= MOST_METHODS
    assert [column.label for column in top.table.columns] == ["Method", *NAMES.values()]
    assert [figure.name for figure in top.figures] == ["suites-ranks", "suites-profiles"]
    text = (two_suites / "report.html").read_text(encoding="utf-8")
    parts = [f'<p class="headline">{top.sentence}', 'id="suites"', 'id="suites-ranks"', 'id="suites-profiles"']
    places = [text.index(part) for part in (*parts, '<details class="fold" id="')]
    assert places == sorted(places)
    assert "<details open" not in text  # all else is closed
    assert "on one platform" in text


def suite(title, difference=1.0, steered=None, **ranks):
    """A suite with these average ranks."""
    return SuiteRanks(title, {name.replace("_", "-"): rank for name, rank in ranks.items()}, difference, steered)


def test_the_line_says_where_the_default_leads_and_on_how_many_suites_that_is_no_chance():
    far, near = suite("far", TR=1.0, SHADE=2.5), suite("near", TR=1.0, SHADE=1.5)
    lead = "TR, the default, is before every method of others on 2 of 2 suites"
    assert compose_sentence([far, near]) == f"{lead}, on 1 by more than the critical difference."
    assert compose_sentence([suite("ours", TR=2.0, TR_ES=1.0, SHADE=4.0)]).startswith(lead.replace("2", "1"))


def test_the_line_says_who_is_ahead_of_the_default_and_whether_that_may_be_chance():
    said = compose_sentence([suite("far", TR=2.5, SHADE=1.0), suite("near", TR=1.5, MeCO=1.0)])
    assert "on 0 of 2 suites" in said
    assert said.endswith("; behind SHADE on far; behind MeCO (paper) on near (may be chance).")


def test_the_line_calls_a_tie_a_tie():
    said = compose_sentence([suite("even", TR=1.5, SHADE=1.5)])
    assert "on 0 of 1 suites" in said
    assert said.endswith("; level with SHADE on even.")


def test_the_line_counts_suites_where_the_default_did_not_run():
    said = compose_sentence([suite("here", TR=1.0, SHADE=3.0), suite("there", SLSQP=1.0, SHADE=2.0)])
    assert "on 1 of 2 suites" in said
    assert said.endswith("; not run on there, where SLSQP is first.")


def test_without_scipy_the_line_calls_nothing_chance_and_nothing_sure():
    said = compose_sentence([suite("one", float("nan"), TR=2.0, MeCO_TR=1.5, SHADE=1.0)])
    lead, loss, steered = said.split("; ")
    assert lead == "TR, the default, is before every method of others on 0 of 1 suites"
    assert loss == "behind SHADE on one (not tested)"
    assert steered == "MeCO-TR, TR under a learned policy, ranks better on 1 of 1 (none tested here)."


def test_the_line_says_where_a_test_tells_the_steered_method_from_the_default():
    sure, chance = RankTest(0.011, ahead=False), RankTest(0.3, ahead=True)
    tested = [suite(title, steered=t, TR=2.0, MeCO_TR=1.0) for title, t in (("maps", sure), ("others", chance))]
    told = compose_sentence(tested)
    assert "ranks better on 2 of 2, and by a signed-rank test" in told
    assert told.endswith("is told from it on maps (ahead, p 0.011).")
    assert "is told from it on none" in compose_sentence(tested[1:])
    assert "on 0 of 1 suites" in compose_sentence(tested[1:])  # nobody else is there


def test_the_test_on_the_line_is_that_of_the_table_of_pairs(results):
    renamed = (Contender("TR", "TR"), Contender("MeCO-TR", "MeCO-TR"), *results.contenders[2:])
    made = replace(results, contenders=renamed)
    row = next(row for row in make_pair_table(made, "TR").rows if row[0].text == "MeCO-TR")
    assert SuiteStanding("trial", made).summary.steered.p == row[4].value


@pytest.mark.docs
def test_the_kept_results_make_the_page_by_themselves(tmp_path):
    kept = find_packed(KEPT)
    if kept is None:
        pytest.skip("only a checkout has the kept results")
    (tmp_path / PACKED_FILE).write_bytes(kept.read_bytes())
    made = write_campaign_report(tmp_path, page_only=True).page
    assert made.stat().st_size < 3e6
    assert len(list_known_experiments(read_results(tmp_path))) > 5


@pytest.mark.docs
@needs_browser
def test_pointing_at_a_curve_reads_it(folder, results):
    with browsing.Browser() as browser:
        browser.open((folder / "report.html").as_uri())
        line = "document.querySelector('#trial-progress svg .line[data-s=\"MA-ES\"] path')"
        place = browser.ask(
            f"(p => {{ document.documentElement.style.scrollBehavior = 'auto'; p.scrollIntoView({{ block: 'center' }});"
            "const at = p.getPointAtLength(p.getTotalLength()).matrixTransform(p.getScreenCTM());"
            "return [at.x, at.y]; })"
            f"({line})"
        )
        browser.point(*place)
        browser.wait("!document.querySelector('.tip').hidden")
        said = re.fullmatch(r"(\S+): (\S+) at (\S+)", browser.ask("document.querySelector('.tip').textContent"))
        assert float(said[3]) == 100.0
        shown = {row[0].text: row[1].value for row in _progress(results).table.rows}
        assert float(said[2]) == pytest.approx(shown[said[1]], rel=0.05)
        assert browser.errors == []


def _progress(results):
    from meco.bench.report.curves import make_progress_figure

    return make_progress_figure(results)


@pytest.mark.docs
@needs_browser
def test_a_link_opens_every_fold_around_what_it_leads_to(two_suites):
    with browsing.Browser() as browser:
        browser.open((two_suites / "report.html").as_uri())
        assert browser.ask("document.querySelectorAll('details[open]').length") == 0
        assert browser.ask("document.documentElement.scrollHeight") < 4000
        browser.ask("location.hash = 'other-progress'")
        browser.wait("document.getElementById('other').open")
        assert browser.errors == []


@pytest.mark.docs
@needs_browser
def test_what_does_not_fit_says_so_until_it_was_scrolled(folder):
    with browsing.Browser(width=390, height=844) as browser:
        browser.open((folder / "report.html").as_uri())
        browser.wait("document.querySelectorAll('.scroll.more').length > 0")
        assert browser.ask("document.documentElement.scrollWidth") == 390
        browser.ask("document.querySelectorAll('.scroll').forEach(s => { s.scrollLeft = 1e6; })")
        browser.wait("document.querySelectorAll('.scroll.more').length === 0")
        assert browser.errors == []


@pytest.mark.docs
@needs_browser
def test_on_a_phone_many_pictures_are_folded_and_a_link_opens_them(folder):
    with browsing.Browser(width=390, height=844) as browser:
        browser.open((folder / "report.html").as_uri())
        assert not browser.ask("document.querySelector('#trial-convergence-score details.many').open")
        browser.ask("location.hash = 'trial-convergence-score-C04'")
        browser.wait("document.querySelector('#trial-convergence-score details.many').open")
    with browsing.Browser() as browser:
        browser.open((folder / "report.html").as_uri())
        assert browser.ask("document.querySelector('#trial-convergence-score details.many').open")
