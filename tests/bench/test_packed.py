"""The packed store: final numbers exactly, curves and designs where they are shown, and nothing that runs."""

from __future__ import annotations

import lzma
import re
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment, ReportPlan
from meco.bench.run import packed
from meco.bench.run.campaign_folder import PACKED_FILE, STORE_FILE, find_packed
from meco.bench.run.executors import RunExecutor
from meco.bench.run.result_store import VALUES, ResultStore, read_results, write_packed
from meco.bench.run.runner import run_campaign
from meco.cli import main
from meco.errors import DamagedFile, InvalidInput
from meco.report.page import write_campaign_report

SMALL = Experiment(
    "small",
    "Small",
    tuple(Contender(m, m) for m in ("SHADE", "MeCO-rand", "MA-ES")),
    ("C01", "C04", "C20"),
    dims=(10,),
    budget=500,
    runs=3,
    report=ReportPlan(views=("ranks", "values", "progress", "ecdf", "convergence", "actions")),
)
REPOSITORY = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    with ResultStore.open_campaign(out) as store:
        run_campaign([SMALL], store, RunExecutor(), quiet=True)
        store.add_failures([next(iter(store.read_runs()))._replace(seed=99)], "no luck")
    return out


@pytest.fixture
def alone(folder, tmp_path):
    """A folder with the packed store alone."""
    write_packed(read_results(folder), tmp_path / PACKED_FILE)
    return tmp_path


def page_text(made) -> str:
    return re.sub(r"page of [\d :-]+ UTC", "", made.page.read_text(encoding="utf-8"))


def test_everything_but_curves_and_designs_comes_back_as_it_was(folder, alone):
    before, after = read_results(folder), read_results(alone)
    assert list(after.runs) == list(before.runs)
    exact = [v for v in VALUES if v not in ("x", "curve", "actions")]
    for one, other in zip(before.runs.values(), after.runs.values()):
        assert [getattr(one, v) for v in exact] == [getattr(other, v) for v in exact]
    assert (after.failures, after.experiments, after.sessions) == (before.failures, before.experiments, before.sessions)
    assert (after.meco, after.digest) == (before.meco, before.digest)


@pytest.mark.parametrize(("views", "curves", "actions"), [(("ranks",), 0, 0), (("ecdf",), 27, 0), (("actions",), 9, 9)])
def test_curves_and_actions_are_kept_as_they_were_where_a_view_shows_them(folder, tmp_path, views, curves, actions):
    before = read_results(folder)
    before = replace(
        before, experiments=[replace(e, report=replace(e.report, views=views)) for e in before.experiments]
    )
    write_packed(before, tmp_path / PACKED_FILE)
    after = read_results(tmp_path).runs
    for name, count in (("curve", curves), ("actions", actions)):
        kept = {run: getattr(record, name) for run, record in after.items() if getattr(record, name)}
        assert len(kept) == count
        assert all(getattr(before.runs[run], name) == blob for run, blob in kept.items())


@pytest.mark.parametrize(("views", "alike"), [(("ranks",), slice(2, 3)), (("ranks", "trajectories"), slice(3))])
def test_the_best_design_on_each_problem_is_kept_and_of_each_method_where_it_is_drawn(folder, tmp_path, views, alike):
    before = read_results(folder)
    before = replace(
        before, experiments=[replace(e, report=replace(e.report, views=views)) for e in before.experiments]
    )
    write_packed(before, tmp_path / PACKED_FILE)
    after = read_results(tmp_path)
    kept = {run: record.x for run, record in after.runs.items() if record.x}
    assert len(kept) == len({run[alike] for run in before.runs})
    for run, x in kept.items():
        assert before.runs[run].x == x
        rivals = [record.sort_key() for other, record in before.runs.items() if other[alike] == run[alike]]
        assert before.runs[run].sort_key() == min(rivals)


def test_of_many_runs_those_at_even_ranks_keep_their_curves(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(packed, "CURVES", 2)
    write_packed(read_results(folder), tmp_path / PACKED_FILE)
    after = read_results(tmp_path)
    by_problem: dict[str, list[tuple[float, bool]]] = {}
    for run, r in after.runs.items():
        if run.method == "SHADE":
            by_problem.setdefault(run.case.problem, []).append((r.score, bool(r.curve)))
    assert len(by_problem) == 3
    assert all([kept for _, kept in sorted(members)] == [True, False, True] for members in by_problem.values())


def test_the_page_is_the_same_from_the_store_and_from_the_packed_one(folder, alone):
    pytest.importorskip("scipy")
    assert page_text(write_campaign_report(folder)) == page_text(write_campaign_report(alone))
    for table in (folder / "tables").iterdir():
        assert (alone / "tables" / table.name).read_bytes() == table.read_bytes()


def test_the_same_results_give_the_same_bytes(folder, alone, tmp_path):
    again = write_packed(read_results(alone), tmp_path / "again")
    assert again.read_bytes() == (alone / PACKED_FILE).read_bytes()


def test_a_campaign_in_a_folder_with_the_packed_store_alone_runs_only_what_is_missing(alone):
    with ResultStore.open_campaign(alone) as store:
        more = replace(SMALL, runs=4)
        assert store.count_runs() == 27
        summary = run_campaign([more], store, RunExecutor(), quiet=True)
        assert (summary.done, store.count_runs()) == (36, 36)
        assert store.read_sessions()[max(store.read_sessions())]["runs"] == 9
    assert len(read_results(alone).runs) == 36  # the store counts from now on


def test_a_packed_store_of_another_version_is_shown_but_not_added_to(folder, tmp_path):
    write_packed(replace(read_results(folder), meco="0.0.1"), tmp_path / PACKED_FILE)
    with pytest.raises(InvalidInput, match=r"holds results of meco 0\.0\.1.*another --out"):
        ResultStore.open_campaign(tmp_path)
    assert not (tmp_path / STORE_FILE).exists()
    assert read_results(tmp_path).meco == "0.0.1"


def test_a_packed_store_can_be_read_without_meco(alone):
    db = sqlite3.connect(":memory:")
    db.deserialize(lzma.decompress((alone / PACKED_FILE).read_bytes()))
    assert db.execute("SELECT COUNT(score), COUNT(DISTINCT run) FROM runs").fetchone() == (27, 27)


@pytest.mark.parametrize("content", ["", "short", "changed", "no archive", "no database", "other tables"])
def test_a_damaged_file_is_named_and_nothing_in_it_runs(content, alone):
    path = alone / PACKED_FILE
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 1
    other = sqlite3.connect(":memory:")
    other.execute("CREATE VIEW runs AS SELECT 1")
    path.write_bytes({
        "": b"", "short": whole[:-9], "changed": bytes(changed), "no archive": b"no archive",
        "no database": lzma.compress(b"no database" * 999), "other tables": lzma.compress(other.serialize()),
    }[content])  # fmt: skip
    for way in (read_results, ResultStore.open_campaign):
        with pytest.raises(DamagedFile, match=f"{PACKED_FILE} is (damaged|not a results file)"):
            way(alone)
    assert not (alone / STORE_FILE).exists()


def test_a_file_that_unpacks_to_too_much_is_refused(alone, monkeypatch):
    monkeypatch.setattr(packed, "LARGEST_CONTENT", 1000)
    with pytest.raises(DamagedFile, match="more than 1000 bytes"):
        read_results(alone)


def test_the_command_packs_a_folder(folder, tmp_path, capsys):
    pytest.importorskip("scipy")
    shutil.copy(folder / STORE_FILE, tmp_path)
    assert main(["report", str(tmp_path), "--page-only", "--pack"]) == 0
    assert PACKED_FILE in capsys.readouterr().out
    assert (tmp_path / PACKED_FILE).stat().st_size < 40_000
    (tmp_path / STORE_FILE).unlink()
    before = (tmp_path / PACKED_FILE).read_bytes()
    assert main(["report", str(tmp_path), "--page-only", "--pack"]) == 0
    assert (tmp_path / PACKED_FILE).read_bytes() == before


@pytest.mark.docs
def test_the_repository_keeps_its_results_in_at_most_three_megabytes():
    kept = find_packed(REPOSITORY)
    if kept is None:
        pytest.skip("only a checkout has it")
    assert kept.stat().st_size <= 3_000_000
    assert len(read_results(REPOSITORY).runs) > 10_000
