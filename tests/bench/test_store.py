"""The store: each run once, all or nothing, and clear words when something is in the way."""

from __future__ import annotations

import math
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.batch_solve import solve
from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment
from meco.bench.plan.experiment import TestCase as Case
from meco.bench.plan.run import Run
from meco.bench.run.campaign_folder import STORE_FILE, StoreError
from meco.bench.run.curve import CURVE_SHARES, read_curve, sample_curve
from meco.bench.run.result_store import ResultStore, read_results
from meco.bench.run.run_record import RunRecord, read_actions, read_design, sample_actions
from meco.core.evaluation import Evaluation
from meco.core.problem import Problem
from meco.errors import DamagedFile, InvalidInput
from meco.problems.suite import get_problem

CASE = Case("C01", 10, "paper", 500)
TOY = Experiment("toy", "A toy", (Contender("SHADE", "SHADE"),), ("C01",), dims=(10,), runs=2)


def record(seed: int, **changes) -> RunRecord:
    usual = RunRecord(
        seed, 1.5, 0.25, False, 1.75, 1.6, 0.3, False, 1.9, 9.0, None, 500, 0, "", b"\0" * 8,
        b"curve", b"", 0.1,
    )  # fmt: skip
    return replace(usual, **changes)


def run(seed: int, method: str = "SHADE") -> Run:
    return Run(method, "{}", CASE, seed)


def test_a_record_keeps_the_results_of_a_run():
    problem = get_problem("C06", dim=10)
    found = solve("SHADE", problem, 500, [3])[0]
    kept = RunRecord.from_result(found, problem, 500, 0.5)
    assert (kept.f, kept.nu, kept.score, kept.final_score) == (found.f, found.nu, found.score, found.paper.final_score)
    assert_array_equal(read_design(kept.x, 10), found.x)


@pytest.mark.parametrize("problem", ["C01", "C06"])
def test_a_curve_is_the_trace_at_the_checkpoints_to_a_seventh_of_a_percent_of_the_way_to_go(problem):
    problem = get_problem(problem, dim=10)
    found = solve("SHADE", problem, 600, [3])[0]
    kept = RunRecord.from_result(found, problem, 600, 0.5)
    curve, trace = read_curve(kept.curve, kept.score, kept.f), found.trace
    index = np.searchsorted(trace["nfev"], CURVE_SHARES * 600 + 1e-6, side="right") - 1
    begun, feasible = index >= 0, (index >= 0) & trace["feasible"][index]
    assert_array_equal(np.isnan(curve["score"]), ~begun)
    assert_allclose(curve["score"][begun] - found.score, trace["score"][index[begun]] - found.score, rtol=0.0014)
    assert_array_equal(np.isnan(curve["f"]), ~feasible)
    assert_allclose(curve["f"][feasible] - found.f, trace["f"][index[feasible]] - found.f, rtol=0.0014)
    assert_allclose(curve["nu"][begun], np.where(feasible, 0.0, trace["nu"][index])[begun], rtol=0.0014)
    assert curve["score"][-1] == found.score


def test_a_curve_keeps_what_is_infinite_and_a_run_without_a_trace_has_none():
    trace = {"nfev": np.array([10, 100]), "feasible": np.array([False, False])}
    trace |= {"score": np.array([np.inf, 2.0]), "f": np.array([1.0, 1.0]), "nu": np.array([np.inf, 1.0])}
    curve = read_curve(sample_curve(trace, (2.0, 1.0, 1.0), 100), 2.0, 1.0)
    assert (curve["score"][10], curve["nu"][10], curve["score"][-1]) == (np.inf, np.inf, 2.0)
    assert np.isnan(read_curve(sample_curve({}, (2.0, 1.0, 1.0), 100), 2.0, 1.0)["score"]).all()


def test_a_survivor_that_breaks_one_of_several_tolerances_is_not_called_feasible():
    """1.5e-4 is beyond the tolerance of its constraint, 1e-4, though within the sum of both."""

    def values(x):
        return x[..., 0], [], [1.5e-4 + 0.0 * x[..., 0], 0.0 * x[..., 0]]

    problem = Problem("pair", np.zeros(2), np.ones(2), 0, 2, values)
    found = solve("SHADE", problem, 100, [1])[0]
    assert (found.paper.snapshot.nu, found.paper.snapshot.feasible) == (1.5e-4, False)
    assert not RunRecord.from_result(found, problem, 100, 0.0).snapshot_feasible


@pytest.mark.parametrize("method", ["SHADE", "CMA-ES", "COBYQA"])
def test_the_best_survivor_is_feasible_where_its_own_values_say_so(method):
    pytest.importorskip("cma")
    problem = get_problem("tilted", 3)
    found = solve(method, problem, 150, [1])[0]
    ev = Evaluation.of(*problem.raw(found.paper.snapshot.x), problem.ineq_tol, problem.eq_tol)
    assert found.paper.snapshot.feasible == bool(ev.feasible)


def test_actions_are_thinned_to_a_hundred_generations_with_both_ends():
    counts, actions = read_actions(sample_actions({"nfev": np.arange(1, 2501), "action": np.ones(2500)}, 2500))
    assert len(counts) == len(actions) == 101
    assert (counts[0], counts[-1]) == (1, 2500)


def test_what_is_added_comes_back_and_a_second_result_for_the_same_run_is_ignored(tmp_path):
    with ResultStore.open_campaign(tmp_path) as store:
        store.add_runs([(run(0), record(0)), (run(1), record(1, feasible_at=77, f=math.inf))])
        store.add_runs([(run(1), record(1, f=-1.0))])
    with ResultStore.open(tmp_path) as store:
        found = dict(store.read_records())
    assert set(found) == {run(0), run(1)}
    assert found[run(0)] == record(0)
    assert found[run(1)].f == math.inf
    assert found[run(1)].feasible_at == 77


def test_a_failure_is_forgotten_when_the_result_of_that_very_run_comes(tmp_path):
    with ResultStore.open_campaign(tmp_path) as store:
        store.add_failures([run(0), run(1)], "no torch")
        store.add_runs([(run(1), record(1)), (run(2), record(2))])
        assert store.read_failures() == {run(0): "no torch"}
        store.add_failures([run(0)], "too little memory")
        assert store.read_failures() == {run(0): "too little memory"}
        store.add_runs([(run(0), record(0))])
        assert store.read_failures() == {}


def test_an_interrupted_write_leaves_nothing_of_it(tmp_path):
    def broken():
        yield run(0), record(0)
        raise KeyboardInterrupt

    with ResultStore.open_campaign(tmp_path) as store:
        with pytest.raises(KeyboardInterrupt):
            store.add_runs(broken())
        assert store.count_runs() == 0


def test_a_full_disk_is_said_clearly_and_what_was_there_stays_whole(tmp_path):
    with ResultStore.open_campaign(tmp_path) as store:
        store.add_runs([(run(0), record(0))])
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match=r"disk is full.*give the same command"):
            store.add_runs([(run(k), record(k, x=bytes(2000))) for k in range(1, 50)])
    with ResultStore.open(tmp_path) as store:
        assert store.read_runs() == {run(0)}


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are a Unix thing")
def test_a_disk_that_is_full_from_the_start_leaves_no_half_made_store(tmp_path):
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "from meco.bench.run.campaign_folder import StoreError\nfrom meco.bench.run.result_store import ResultStore\n"
        f"try: ResultStore.open_campaign({str(tmp_path / 'out')!r})\n"
        "except StoreError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "cannot write results" in done.stdout
    assert not (tmp_path / "out" / STORE_FILE).exists()


def test_results_of_another_version_are_not_mixed_but_can_be_read(tmp_path):
    with ResultStore.open_campaign(tmp_path) as store:
        store._db.execute("UPDATE meta SET value = '0.0.1' WHERE name = 'meco'")
    with pytest.raises(InvalidInput, match=r"holds results of meco 0\.0\.1.*another --out"):
        ResultStore.open_campaign(tmp_path)
    with ResultStore.open(tmp_path) as store:
        assert store.count_runs() == 0
    with pytest.raises(InvalidInput, match=r"holds results of meco 0\.0\.1"):  # the refusal let go of the folder
        ResultStore.open_campaign(tmp_path)


def test_another_format_is_refused_for_reading_too(tmp_path):
    with ResultStore.open_campaign(tmp_path) as store:
        store._db.execute("UPDATE meta SET value = '99' WHERE name = 'format'")
    with pytest.raises(InvalidInput, match="format 99"):
        ResultStore.open(tmp_path)


@pytest.mark.parametrize("way", [ResultStore.open, ResultStore.open_campaign])
def test_a_file_that_is_no_store_is_named_and_left_alone(tmp_path, way):
    (tmp_path / STORE_FILE).write_bytes(b"hello, this is no database at all")
    with pytest.raises(DamagedFile, match="is not a results file of meco"):
        way(tmp_path)
    assert (tmp_path / STORE_FILE).read_bytes().startswith(b"hello")


def test_another_database_is_not_taken_for_a_store(tmp_path):
    with sqlite3.connect(tmp_path / STORE_FILE) as db:
        db.execute("CREATE TABLE mine (x)")
    with pytest.raises(DamagedFile, match="is not a results file of meco"):
        ResultStore.open_campaign(tmp_path)


def test_a_store_whose_making_was_cut_short_is_made_anew(tmp_path):
    (tmp_path / STORE_FILE).write_bytes(b"")
    with pytest.raises(InvalidInput, match="holds no results yet"):
        ResultStore.open(tmp_path)
    with ResultStore.open_campaign(tmp_path) as store:
        assert store.count_runs() == 0


def test_a_folder_without_results_says_what_makes_them(tmp_path):
    with pytest.raises(InvalidInput, match="meco reproduce or bench"):
        ResultStore.open(tmp_path)


def test_foreign_files_are_ignored_and_a_lock_left_behind_never_blocks(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".lock").write_text("12345")
    (tmp_path / f"{STORE_FILE}-journal").write_bytes(b"")
    with ResultStore.open_campaign(tmp_path) as store:
        store.add_runs([(run(0), record(0))])
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_two_campaigns_cannot_write_to_one_folder(tmp_path):
    pytest.importorskip("fcntl")
    with ResultStore.open_campaign(tmp_path), pytest.raises(InvalidInput, match="is already in use"):
        ResultStore.open_campaign(tmp_path)
    ResultStore.open_campaign(tmp_path).close()


def test_stores_of_several_machines_join(tmp_path):
    for part, seeds in (("a", (0, 1)), ("b", (1, 2))):
        with ResultStore.open_campaign(tmp_path / part) as store:
            store.add_experiment(replace(TOY, contenders=(Contender(part, "SHADE"),)))
            store.add_runs([(run(s), record(s)) for s in seeds])
            store.add_session(part, {"started": part})
    with ResultStore.open_campaign(tmp_path / "a") as store:
        assert store.merge(read_results(tmp_path / "b")) == 1
        assert {r.seed for r in store.read_runs()} == {0, 1, 2}
        assert [c.label for c in store.read_experiments()[0].contenders] == ["a", "b"]
        assert set(store.read_sessions()) == {"a", "b"}


def test_stores_of_two_versions_do_not_join(tmp_path):
    for part in ("a", "b"):
        ResultStore.open_campaign(tmp_path / part).close()
    with ResultStore.open_campaign(tmp_path / "a") as store:
        other = replace(read_results(tmp_path / "b"), meco="0.0.1")
        with pytest.raises(InvalidInput, match="not mixed"):
            store.merge(other)


def test_the_digest_does_not_depend_on_order_or_time(tmp_path):
    rows = [(run(0), record(0)), (run(1), record(1))]
    digests = []
    for part, order in (("a", rows), ("b", rows[::-1])):
        with ResultStore.open_campaign(tmp_path / part) as store:
            for where, what in order:
                store.add_runs([(where, replace(what, seconds=float(len(digests))))])
            digests.append(store.read_contents().digest)
    assert digests[0] == digests[1]


def test_an_experiment_survives_the_store(tmp_path):
    with ResultStore.open_campaign(tmp_path) as store:
        store.add_experiment(TOY)
        assert store.read_experiments() == [TOY]


def test_a_store_is_an_ordinary_sqlite_file(tmp_path):
    with ResultStore.open_campaign(tmp_path) as store:
        store.add_runs([(run(0), record(0))])
    with sqlite3.connect(tmp_path / STORE_FILE) as db:
        assert db.execute("SELECT score FROM runs").fetchall() == [(1.75,)]


@pytest.mark.parametrize("name", ["meco", "format"])
@pytest.mark.parametrize("value", [b"\xff\x00", b""])
def test_facts_that_are_no_texts_are_refused(tmp_path, name, value):
    with ResultStore.open_campaign(tmp_path) as store:
        store._db.execute("UPDATE meta SET value = ? WHERE name = ?", (value, name))
    with pytest.raises((DamagedFile, InvalidInput), match=r"is damaged|format"):
        read_results(tmp_path)


@pytest.mark.parametrize("table", ["sessions", "platforms"])
@pytest.mark.parametrize("value", [None, 3.5, "{"])
def test_facts_that_are_no_json_are_refused(tmp_path, table, value):
    with ResultStore.open_campaign(tmp_path) as store:
        store._db.execute(f"INSERT INTO {table} VALUES ('a', ?)", (value,))
        with pytest.raises(DamagedFile, match=f"{table}( is not a JSON|.a must be an object)"):
            getattr(store, f"read_{table}")()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_the_place_of_a_store_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "results.sqlite")
    with pytest.raises(DamagedFile, match="no plain file"):
        ResultStore.open(tmp_path)
