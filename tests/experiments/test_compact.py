"""The compact file: final numbers exactly, curves at their checkpoints, and nothing that runs."""

from __future__ import annotations

import io
import lzma
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.cli import main
from meco.errors import DamagedFile, InvalidInput
from meco.experiments.plan.experiment import Contender, Experiment
from meco.experiments.report.report import write_report
from meco.experiments.run import compact
from meco.experiments.run.checkpoints import POINTS, SHARES, checkpoints
from meco.experiments.run.compact import read_compact, write_compact
from meco.experiments.run.executors import Workers
from meco.experiments.run.folder import COMPACT, STORE
from meco.experiments.run.record import unpack
from meco.experiments.run.runner import run_campaign
from meco.experiments.run.store import VALUES, Store, read_results

SMALL = Experiment(
    "small", "Small", tuple(Contender(m, m) for m in ("SHADE", "MeCO-rand", "MA-ES")), ("C01", "C04", "C20"),
    dims=(10,), budget=500, runs=3, views=("ranks", "values", "progress", "ecdf", "convergence", "actions"),
)  # fmt: skip
REPOSITORY = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    with Store.campaign(out) as store:
        run_campaign([SMALL], store, Workers(), quiet=True)
        store.fail([next(iter(store.done()))._replace(seed=99)], "no luck")
    return out


@pytest.fixture
def alone(folder, tmp_path):
    """A folder with the compact file alone."""
    write_compact(read_results(folder), tmp_path / COMPACT)
    return tmp_path


def page_text(made) -> str:
    return re.sub(r"page of [\d :-]+ UTC", "", made.page.read_text(encoding="utf-8"))


def test_everything_but_curves_and_designs_comes_back_as_it_was(folder, alone):
    before, after = read_results(folder), read_results(alone)
    assert list(after.runs) == list(before.runs)
    exact = [v for v in VALUES if v not in ("x", "curve")]
    for one, other in zip(before.runs.values(), after.runs.values()):
        assert [getattr(one, v) for v in exact] == [getattr(other, v) for v in exact]
    assert (after.failures, after.experiments, after.sessions) == (before.failures, before.experiments, before.sessions)
    assert (after.meco, after.digest) == (before.meco, before.digest)


def test_curves_come_back_at_their_checkpoints_as_the_report_rounds_them(folder, alone):
    pairs = zip(read_results(folder).runs.items(), read_results(alone).runs.values())
    for (run, one), other in pairs:
        kept, again = checkpoints(one, run.case.budget), checkpoints(other, run.case.budget)
        for name in kept:
            assert_array_equal(kept[name], again[name])


def test_a_checkpoint_is_the_curve_there_to_a_seventh_of_a_percent_of_the_way_to_go(folder):
    (run, record) = next(iter(read_results(folder).runs.items()))
    curve, kept = unpack(record.curve), checkpoints(record, run.case.budget)
    index = np.searchsorted(curve["nfev"], SHARES * run.case.budget, side="right") - 1
    begun = index >= 0
    whole = curve["score"][index[begun]]
    assert_allclose(kept["score"][begun] - record.score, whole - record.score, rtol=2e-3, atol=1e-6 * abs(whole[0]))
    assert kept["score"][-1] == record.score


@pytest.mark.parametrize(("views", "alike"), [(("ranks",), slice(2, 3)), (("ranks", "trajectories"), slice(3))])
def test_the_best_design_on_each_problem_is_kept_and_of_each_method_where_it_is_drawn(folder, tmp_path, views, alike):
    before = read_results(folder)
    before = replace(before, experiments=[replace(e, views=views) for e in before.experiments])
    after = read_compact(write_compact(before, tmp_path / COMPACT))
    kept = {run: record.x for run, record in after.runs.items() if record.x}
    assert len(kept) == len({run[alike] for run in before.runs})
    for run, x in kept.items():
        assert before.runs[run].x == x
        rivals = [record.order() for other, record in before.runs.items() if other[alike] == run[alike]]
        assert before.runs[run].order() == min(rivals)


def test_of_many_runs_those_at_even_ranks_keep_their_curves(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(compact, "CURVES", 2)
    after = read_compact(write_compact(read_results(folder), tmp_path / COMPACT))
    by_problem: dict[str, list[tuple[float, bool]]] = {}
    for run, r in after.runs.items():
        if run.method == "SHADE":
            by_problem.setdefault(run.case.problem, []).append((r.score, bool(r.curve)))
    assert len(by_problem) == 3
    assert all([kept for _, kept in sorted(members)] == [True, False, True] for members in by_problem.values())


def test_the_page_is_the_same_from_the_store_and_from_the_compact_file(folder, alone):
    pytest.importorskip("scipy")
    assert page_text(write_report(folder)) == page_text(write_report(alone))
    for table in (folder / "tables").iterdir():
        assert (alone / "tables" / table.name).read_bytes() == table.read_bytes()


def test_the_same_results_give_the_same_bytes(folder, alone, tmp_path):
    again = write_compact(read_results(alone), tmp_path / "again")
    assert again.read_bytes() == (alone / COMPACT).read_bytes()


def test_a_campaign_in_a_folder_with_the_compact_file_alone_runs_only_what_is_missing(alone):
    with Store.campaign(alone) as store:
        more = replace(SMALL, runs=4)
        assert store.count() == 27
        summary = run_campaign([more], store, Workers(), quiet=True)
        assert (summary.done, store.count()) == (36, 36)
        assert store.sessions()[max(store.sessions())]["runs"] == 9
    assert len(read_results(alone).runs) == 36  # the store counts from now on


def test_a_compact_file_of_another_version_is_shown_but_not_added_to(folder, tmp_path):
    write_compact(replace(read_results(folder), meco="0.0.1"), tmp_path / COMPACT)
    with pytest.raises(InvalidInput, match=r"holds results of meco 0\.0\.1.*another --out"):
        Store.campaign(tmp_path)
    assert not (tmp_path / STORE).exists()
    assert read_results(tmp_path).meco == "0.0.1"


def test_a_compact_file_can_be_read_without_meco(alone):
    with lzma.open(alone / COMPACT) as packed, np.load(packed) as arrays:
        assert arrays["score"].shape == (27,)
        assert arrays["curve_score"].shape == (27, POINTS)


@pytest.mark.parametrize(
    "content",
    [b"", b"no archive", lzma.compress(b"no npz"), lzma.compress(b"x" * 99)[:-9], "pickle", "lacking", "crooked"],
)
def test_a_damaged_file_is_named_and_nothing_in_it_runs(content, alone):
    path = alone / COMPACT
    if isinstance(content, str):
        with lzma.open(path) as packed, np.load(packed) as found:
            arrays = dict(found)
        if content == "lacking":
            del arrays["nu"]
        else:
            arrays |= {"seed": np.array([print], dtype=object)} if content == "pickle" else {"case": np.array([77])}
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        content = lzma.compress(buffer.getvalue())
    path.write_bytes(content)
    with pytest.raises(DamagedFile, match=f"{COMPACT} is damaged"):
        read_results(alone)
    with pytest.raises(DamagedFile, match=f"{COMPACT} is damaged"):
        Store.campaign(alone)
    assert not (alone / STORE).exists()


def test_a_file_that_unpacks_to_too_much_is_refused(alone, monkeypatch):
    monkeypatch.setattr(compact, "LARGEST_CONTENT", 1000)
    with pytest.raises(DamagedFile, match="more than 1000 bytes"):
        read_results(alone)


def test_the_command_packs_a_folder(folder, tmp_path, capsys):
    pytest.importorskip("scipy")
    shutil.copy(folder / STORE, tmp_path)
    assert main(["report", str(tmp_path), "--page-only", "--pack"]) == 0
    assert COMPACT in capsys.readouterr().out
    assert (tmp_path / COMPACT).stat().st_size < 40_000
    (tmp_path / STORE).unlink()
    assert main(["report", str(tmp_path), "--page-only", "--pack"]) == 2  # there is nothing to pack


def test_the_repository_keeps_its_results_in_at_most_two_megabytes():
    if not (REPOSITORY / COMPACT).exists():
        pytest.skip("only a checkout has it")
    assert (REPOSITORY / COMPACT).stat().st_size <= 2_000_000
    assert len(read_results(REPOSITORY).runs) > 10_000
