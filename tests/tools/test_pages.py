"""Pages and tables agree: what README and the docs quote is what the repository keeps."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from meco.bench.report.campaign_report import write_tables
from meco.bench.run.campaign_folder import PACKED_FILE, find_packed

pytest.importorskip("scipy", reason="SCIPY MISSING: the numbers of the pages are NOT checked")
ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from tools.pages import designs, renew, standings, steering, tables  # noqa: E402
from tools.pages.renew import BLOCKS  # noqa: E402

MARKED = [page for page in renew.PAGES if "<!--=" in page.read_text() or "<!-- numbers: " in page.read_text()]


def test_every_page_and_picture_says_what_tables_records_and_measurements_have():
    old = [file.name for file, text in renew.make_pages().items() if file.read_text(encoding="utf-8") != text]
    assert not old, "run: python -m tools.pages"


def test_every_page_of_a_method_says_on_which_units_its_search_depends():
    lacking = [p.name for p in renew.PAGES if p.parent.name == "methods" and "numbers: units" not in p.read_text()]
    assert lacking == ["index.md"]


@pytest.mark.slow
def test_the_tables_are_those_of_the_store(tmp_path):
    shutil.copy(find_packed(ROOT / "results"), tmp_path / PACKED_FILE)
    made = {file.name: file.read_bytes() for file in write_tables(tmp_path) if file.suffix == ".csv"}
    assert made == {file.name: file.read_bytes() for file in tables.TABLES.glob("*.csv")}


def prose(page):
    """What is written by hand, sentence by sentence."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", "", renew.INLINE.sub("", renew.BLOCK.sub("", text)), flags=re.DOTALL)
    return re.split(r"(?<=[.:;])\s+|\n\n", text)


def ranks_of_tables():
    """Every rank of a table, with one digit and with two."""
    found = set()
    for file in tables.TABLES.glob("*-ranks.csv"):
        for row in tables.read_table(file.stem).values():
            found |= {f"{tables.parse_number(text):.{digits}f}" for text in row.values() for digits in (1, 2)}
    return found


@pytest.mark.parametrize("page", MARKED, ids=lambda page: page.name)
def test_a_rank_written_by_hand_stands_in_a_table(page):
    known = ranks_of_tables()
    for sentence in prose(page):
        if re.search(r"\brank", sentence):  # none is below 1: what is, is a level or a share
            quoted = re.findall(r"(?<![\d.])[1-9]\d?\.\d{1,2}(?!\d)", sentence)
            assert not [number for number in quoted if number not in known], sentence


def test_no_rank_share_or_p_value_of_stored_runs_is_typed_on_the_page_of_results():
    """Numbers of the paper and of benchmarks/results may be: their sentences say so."""
    told = re.compile(r"\bp (?:of )?[0-9.]+|\d %|\branks? [^.;:]*?[1-9]\d?\.\d{1,2}(?!\d)")
    for sentence in prose(renew.DOCS / "results.md"):
        if not re.search(r"print|benchmarks/", sentence):
            assert not told.search(sentence), sentence


@pytest.mark.parametrize("page", MARKED, ids=lambda page: page.name)
def test_a_marker_does_not_begin_a_line(page):
    """There it would begin a block of HTML, and the rest of the line would not be Markdown."""
    assert not re.search(r"^[ >*-]*<!--=", page.read_text(encoding="utf-8"), flags=re.MULTILINE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that takes the place of results/tables."""
    monkeypatch.setattr(tables, "TABLES", tmp_path)
    return tmp_path


def test_an_experiment_that_was_not_run_is_said_to_be_so(folder):
    page = "<!-- numbers: summary rwco -->\nold\n<!-- end --> and <!--=rwco-ranks|TR|runs-->7<!--/-->."
    made = renew.renew_page(page)
    assert "Not run yet: `meco reproduce rwco`" in made
    assert made.endswith("and <!--=rwco-ranks|TR|runs-->–<!--/-->.")
    assert renew.renew_page(made) == made


def small_suite(folder):
    """Two methods on two problems: TR is better, feasibility first on one problem only."""
    (folder / "uav-ranks.csv").write_text(
        'Method,"rank, f+ν","rank, feasibility first",feasible runs,runs\nTR,1.25,1,0.875,10\nSHADE,1.75,2,0.5,3\n'
    )
    (folder / "uav-feasibility.csv").write_text("Method,UAV-01,UAV-02\nTR,1,0.75\nSHADE,1,0\n")
    (folder / "uav-feasibility-first.csv").write_text(
        "problem,method,feasible_share,mean_f,std_f,mean_violation\n"
        "UAV-01,TR,1,2,0,\nUAV-01,SHADE,1,1,0,\nUAV-02,TR,0.75,2,0,\nUAV-02,SHADE,0,,,1\n"
    )


def test_numbers_follow_the_tables(folder):
    small_suite(folder)
    told = BLOCKS["summary"]("uav")
    assert "**TR (default) 1.25** and SHADE 1.75" in told
    assert "10; 3 of SHADE" in told
    assert "| TR (default) | 1 | 2 | none |" in BLOCKS["losses"]("uav")
    assert renew.format_table_number("uav-ranks|TR|feasible runs|%") == "88 %"
    assert renew.format_table_number("uav-ranks|MeCO-TR|runs") == "–"
    with pytest.raises(KeyError):
        renew.format_table_number("uav-ranks|SHAED|runs")


def test_a_critical_difference_tells_apart_what_is_further_away():
    table = {m: {standings.FIRST: str(rank)} for m, rank in {"a": 1.0, "b": 1.5, "c": 3.0}.items()}
    made = standings.Standing("uav", table, problems=16)
    assert round(made.difference, 3) == 0.829  # 2.344 sqrt(3 * 4 / (6 * 16))
    assert made.level(standings.FIRST) == ["b"]


def test_a_method_takes_the_place_of_another_among_those_that_are_printed(folder):
    head = 'Method,"rank, feasibility first","printed, feasibility first"\n'
    (folder / "realworld-ranks.csv").write_text(f"{head}MeCO,1,1\nSHADE,2,2\nTR,3,\n")
    (folder / "realworld-feasibility-first.csv").write_text(
        "problem,method,feasible_share,mean_f,std_f,mean_violation\n"
        "RC20,MeCO,1,1,0,\nRC20,SHADE,1,2,0,\nRC20,TR,1,3,0,\nRC21,MeCO,1,2,0,\nRC21,SHADE,1,3,0,\nRC21,TR,1,1,0,\n"
    )
    assert renew.format_table_number("instead|TR|MeCO|realworld") == "1.50"


BY_PROBLEM = [suite for suite in standings.JUDGED if (tables.TABLES / f"{suite}-feasibility.csv").is_file()]


@pytest.mark.parametrize("suite", BY_PROBLEM)
def test_a_standing_has_as_many_problems_as_its_tables(suite):
    by_problem = tables.read_table(f"{suite}-feasibility")
    assert standings.read_standing(suite).problems == len(next(iter(by_problem.values())))


def test_stored_runs_are_counted():
    stored, older = (int(renew.format_table_number(f"stored|{which}").replace(",", "")) for which in ("all", "older"))
    assert 0 < older < stored


# -- where the default is not first -----------------------------------------------------------


def rank_file(folder, suite, **ranks):
    """A table of ranks, the same by both metrics."""
    rows = "".join(f"{method.replace('_', '-')},{rank},{rank},1,5\n" for method, rank in ranks.items())
    (folder / f"{suite}-ranks.csv").write_text(
        'Method,"rank, f+ν","rank, feasibility first",feasible runs,runs\n' + rows
    )


def pairs_file(folder, name, method, p):
    """A test of two methods, with the same p by both metrics."""
    head = 'Method,"wins, f+ν","p (Holm), f+ν","wins, feasibility first","p (Holm), feasibility first"\n'
    (folder / f"{name}.csv").write_text(f"{head}{method},0,{p},0,{p}\n")


def test_within_half_a_rank_and_by_chance_the_default_is_no_exception(folder):
    rank_file(folder, "uav", TR=1.5, SHADE=1.0)
    pairs_file(folder, "uav-pairs-default", "SHADE", 0.05)
    assert BLOCKS["exceptions"]().endswith("within half a rank of the first and not significantly behind it.")


def test_more_than_half_a_rank_behind_is_an_exception_even_if_it_may_be_chance(folder):
    rank_file(folder, "uav", TR=1.75, SHADE=1.0)
    pairs_file(folder, "uav-pairs-default", "SHADE", 0.5)
    assert "| UAV missions | by f+ν | 1.75 (2) | SHADE 1.00 | 0.5 |" in BLOCKS["exceptions"]()


def test_surely_behind_by_less_than_half_a_rank_is_an_exception(folder):
    rank_file(folder, "uav", TR=1.25, SHADE=1.0)
    pairs_file(folder, "uav-pairs-default", "SHADE", 0.04)
    assert "| UAV missions | feasibility first | 1.25 (2) | SHADE 1.00 | 0.04 |" in BLOCKS["exceptions"]()


def test_being_behind_without_a_test_is_an_error_and_being_first_needs_none(folder):
    rank_file(folder, "uav", TR=1.25, SHADE=1.0)
    with pytest.raises(ValueError, match="has no test of TR against SHADE"):
        BLOCKS["exceptions"]()
    rank_file(folder, "uav", TR=1.0, SHADE=1.25)
    assert "On 1 suites" in BLOCKS["exceptions"]()


def test_a_suite_where_the_default_did_not_run_is_told(folder):
    rank_file(folder, "rwco-large", SLSQP=1.0, SHADE=2.0)
    told = "| real-world problems beyond 30 variables | feasibility first | not run | SLSQP 1.00 | – |"
    assert told in BLOCKS["exceptions"]()


def test_a_dimension_of_an_experiment_that_has_two_is_a_suite_of_its_own(folder):
    columns = '"10D, f+ν","10D, feasibility first","30D, f+ν","30D, feasibility first"'
    (folder / "unseen-ranks.csv").write_text(f"Method,{columns}\nTR,1,1,2,2\nCOBYQA,2,2,1,1\n")
    pairs_file(folder, "unseen-pairs-default-30d", "COBYQA", 0.25)
    told = BLOCKS["exceptions"]()
    assert "unseen instance, 10 variables" not in told
    assert "| CEC2017, unseen instance, 30 variables | by f+ν | 2.00 (2) | COBYQA 1.00 | 0.25 |" in told
    assert standings.read_standing("unseen-30d").problems == 28


# -- what the policy adds ---------------------------------------------------------------------


def test_the_judgement_of_the_policy_is_read_whole_and_its_leads_are_differences_of_quantiles():
    found = steering.read_judgement()
    assert (found.problems, found.families, len(found.profiles)) == (326, 25, 10)
    for rival in found.rivals.values():
        assert found.quantile - rival.quantile == pytest.approx(rival.lead, abs=1.1e-4)
    quantiles = [found.rivals[name].quantile for name in found.profiles]
    assert quantiles == sorted(quantiles, reverse=True)


def test_a_judgement_with_an_unknown_line_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(steering, "KEPT", tmp_path)
    (tmp_path / "steering.txt").write_text("2 problems of 1 families\n\n0.5  policy\nsomething else here\n\n")
    with pytest.raises(ValueError, match="something else here"):
        steering.read_judgement()


def test_profiles_have_a_sign_where_a_test_tells_them_apart_and_a_mean_where_they_ran_everywhere(folder):
    for suite in ("steering-10d", "steering-30d"):
        rank_file(folder, suite, MeCO_TR=2.0, TR=1.0)
    pairs_file(folder, "steering-10d-pairs-meco-tr", "TR", 0.04)
    pairs_file(folder, "steering-30d-pairs-meco-tr", "TR", 0.06)
    told = BLOCKS["profiles"]("steering-10d", "steering-30d")
    assert "| TR (default) | **1.00** \\*+ | **1.00** | **1.00** |" in told
    rank_file(folder, "steering-30d", MeCO_TR=1.0)
    rows = BLOCKS["profiles"]("steering-10d", "steering-30d").splitlines()[2:4]
    assert rows == ["| MeCO-TR | 2.00 | **1.00** | **1.50** |", "| TR (default) | **1.00** \\*+ | – | – |"]


def test_a_profile_without_a_test_is_an_error(folder):
    rank_file(folder, "steering-10d", MeCO_TR=2.0, TR=1.0)
    with pytest.raises(ValueError, match="no test of MeCO-TR against TR"):
        BLOCKS["profiles"]("steering-10d")


PRINTED = """
tank: D = 4, 5 inequalities, 0 equalities, 0 integers, 200 evaluations, best 936.4664
  solver       feasible   median gap    worst gap   s/run   f of each seed
  MeCO             100%     1.90e-09     1.90e-09     0.6   936.466 936.466
  COBYQA           100%     4.00e-04     7.46e-02     0.7   974.258 936.513
  SciPy DE          50%          inf          inf     0.0   2218.95 inf
  pycma AL          50%     2.81e-01          inf     0.1   inf 1899.79
"""


def test_a_table_of_designs_is_read_as_it_was_printed_and_calls_ties_ties():
    (tank,) = designs.parse_designs(PRINTED)
    assert (tank.name, tank.dim) == ("tank", 4)
    assert tank.solvers["COBYQA"] == (1.0, 4e-4, 7.46e-2, ("974.258", "936.513"))
    assert designs.best_solvers(tank) == ["MeCO", "COBYQA"]
    said = [designs.write_gap(row) for row in tank.solvers.values()]
    assert said == ["< 0.1 %", "< 0.1 %", "50 % feasible", "28 % (50 % feasible)"]


def test_the_kept_designs_are_nine_with_every_solver_that_is_shown():
    kept = designs.read_designs()
    assert len(kept) == 9
    assert all(set(designs.SHOWN) <= set(design.solvers) for design in kept)
