"""Joined results: no run is given a policy that it was not made with, and earlier runs of a method can be dropped."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment
from meco.bench.run.campaign_folder import PACKED_FILE
from meco.bench.run.result_store import read_results, write_packed
from meco.bench.run.run_record import RunRecord
from meco.bench.run.store_contents import StoreContents

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from tools import join_results

CONTENDERS = (Contender.from_method("SHADE"), Contender.from_method("MeCO"))
PLAN = Experiment("small", "Small", CONTENDERS, ("RC20",), budget=20, runs=1)


@pytest.fixture(autouse=True)
def _no_other_plans(monkeypatch):
    monkeypatch.setattr(join_results, "EXPERIMENTS", {})


def folder(path: Path, digest: str, options: str | None = None) -> str:
    """A folder with a run of each contender, that of MeCO with a policy or under other options."""
    plan = replace(PLAN, pins={"meco-10d": digest})
    runs = {
        run._replace(options=options) if options and run.method == "MeCO" else run: RunRecord(
            run.seed, 1.0, 0.0, True, 1.0, 1.0, 0.0, True, 1.0, 2.0, None, 20, 0, digest, b"", b""
        )
        for _, run in plan.wanted_runs()
    }
    path.mkdir()
    write_packed(StoreContents("0.2.0", runs, experiments=[plan]), path / PACKED_FILE)
    return str(path)


def joined(*words: str) -> dict[tuple[str, str], str]:
    """What the joined file has, and from which folder: (method, options) -> digest of the folder's policy."""
    join_results.main(words)
    runs = read_results(words[0]).runs
    return {(run.method, run.options): record.notes for run, record in runs.items()}


def test_earlier_runs_of_a_method_are_dropped_and_later_ones_stay(tmp_path, capsys):
    old, new = folder(tmp_path / "old", "11111111"), folder(tmp_path / "new", "22222222")
    found = joined(old, new, "--without", "MeCO")
    assert found == {("SHADE", "{}"): "22222222", ("MeCO", '{"policy":"meco-10d@22222222"}'): "22222222"}
    assert "left out: 1 earlier runs of MeCO" in capsys.readouterr().out
    plan = next(e for e in read_results(old).experiments if e.name == "small")
    assert [c.label for c in plan.contenders] == ["SHADE", "MeCO"]
    assert plan.pins["meco-10d"] == "22222222"


@pytest.mark.parametrize("options", ['{"policy":"random"}', '{"policy":{"epsilon":0.5}}'])
def test_a_policy_without_a_file_needs_no_digest(tmp_path, options):
    assert ("MeCO", options) in joined(folder(tmp_path / "old", "11111111", options))


@pytest.mark.parametrize("options", ["{}", '{"policy":"meco-10d"}'])
def test_a_run_that_names_no_policy_is_joined_only_when_told_with_which_it_was_made(tmp_path, capsys, options):
    old = folder(tmp_path / "old", "11111111", options)
    (tmp_path / "again").mkdir()
    again = tmp_path / "again" / PACKED_FILE
    again.write_bytes((Path(old) / PACKED_FILE).read_bytes())
    assert list(joined(old)) == [("SHADE", "{}")]
    assert "left out: 1 runs of MeCO that name no policy" in capsys.readouterr().out
    told = joined(str(again.parent), "--policy-of-unnamed", "33333333")
    assert told["MeCO", '{"policy":"meco-10d@33333333"}'] == "11111111"
    assert "left out" not in capsys.readouterr().out
