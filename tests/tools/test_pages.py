"""Pages and tables agree: what README and the docs quote is what the repository keeps."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from meco.bench.report.campaign_report import write_tables
from meco.bench.run.campaign_folder import PACKED_FILE

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
    shutil.copy(ROOT / "results" / PACKED_FILE, tmp_path)
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


@pytest.mark.parametrize("page", MARKED, ids=lambda page: page.name)
def test_a_marker_does_not_begin_a_line(page):
    """There it would begin a block of HTML, and the rest of the line would not be Markdown."""
    assert not re.search(r"^[ >*-]*<!--=", page.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_an_experiment_that_was_not_run_is_said_to_be_so(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "TABLES", tmp_path)
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


def test_numbers_follow_the_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "TABLES", tmp_path)
    small_suite(tmp_path)
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


def test_steering_is_compared_problem_by_problem():
    found = steering.read_steering()
    assert len(found.families) == len(found.quantiles) == 336
    lead = found.gains("own rule")
    counts = {family: int((found.families == family).sum()) for family in lead}
    mean = sum(lead[f] * counts[f] for f in lead) / sum(counts.values())
    assert mean == pytest.approx(found.mean("MeCO-TR") - found.mean("own rule"))


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
    assert tank.solvers["COBYQA"] == (1.0, 4e-4, ("974.258", "936.513"))
    assert designs.best_solvers(tank) == ["MeCO", "COBYQA"]
    said = [designs.write_gap(row) for row in tank.solvers.values()]
    assert said == ["< 0.1 %", "< 0.1 %", "50 % feasible", "28 % (50 % feasible)"]


def test_the_kept_designs_are_nine_with_every_solver_that_is_shown():
    kept = designs.read_designs()
    assert len(kept) == 9
    assert all(set(designs.SHOWN) <= set(design.solvers) for design in kept)
