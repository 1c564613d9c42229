"""Stored runs repeat bit for bit, and name the platform that made them."""

from dataclasses import replace

import pytest

from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment
from meco.bench.run.executors import RunExecutor
from meco.bench.run.repeat_runs import draw_runs, repeat_runs
from meco.bench.run.result_store import ResultStore, read_results, write_packed
from meco.bench.run.runner import run_campaign
from meco.cli import main
from meco.core.platform import describe_platform
from meco.errors import InvalidInput

SMALL = Experiment(
    "small", "Small", (Contender("SHADE", "SHADE"), Contender("TR", "TR")), ("C01", "C04"), dims=(3,), budget=30, runs=2
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("campaign")
    with ResultStore.open_campaign(made) as store:
        run_campaign([SMALL], store, RunExecutor(), quiet=True)
    return made


def test_every_run_names_the_platform_that_made_it(folder):
    contents = read_results(folder)
    assert {record.platform for record in contents.runs.values()} == {describe_platform().digest}
    assert contents.platforms == {describe_platform().digest: dict(describe_platform().facts)}


def test_runs_drawn_at_random_repeat_bit_for_bit_also_from_a_packed_store(folder, tmp_path):
    write_packed(read_results(folder), tmp_path / "runs.sqlite.xz")
    for contents in (read_results(folder), read_results(tmp_path)):
        drawn = draw_runs(contents, 30, seed=1)
        assert len(set(drawn)) == len(drawn) == 8
        assert [said for _, said in repeat_runs(contents, drawn, RunExecutor())] == [""] * 8


def test_a_run_that_differs_says_in_what_and_whether_its_platform_was_another(folder):
    contents = read_results(folder)
    run = next(iter(contents.runs))
    changed = replace(contents, runs={run: replace(contents.runs[run], score=-1.0)})
    ((_, said),) = repeat_runs(changed, [run], RunExecutor())
    assert said.startswith("score -1.0 is ")
    assert "platform" not in said
    other = replace(changed, platforms={describe_platform().digest: {"arithmetic": "other"}})
    ((_, said),) = repeat_runs(other, [run], RunExecutor())
    assert "platforms differ in arithmetic" in said
    ((_, said),) = repeat_runs(replace(changed, platforms={}), [run], RunExecutor())
    assert said.endswith("its platform was not recorded")


def test_the_draw_keeps_to_methods_and_seconds(folder):
    contents = read_results(folder)
    assert {run.method for run in draw_runs(contents, 3, methods=["tr"])} == {"TR"}
    assert draw_runs(contents, 3, seed=1) == draw_runs(contents, 3, seed=1)
    with pytest.raises(InvalidInput, match="no such runs"):
        draw_runs(contents, 3, most_seconds=0.0)
    with pytest.raises(InvalidInput, match="at least 1"):
        draw_runs(contents, 0)


@pytest.mark.slow
def test_the_command_repeats_what_worker_processes_made(tmp_path, capsys):
    told = ["bench", "--problem", "C01", "C04", "--dim", "3", "--budget", "30", "--runs", "1", "--out", str(tmp_path)]
    assert main([*told, "--no-report", "--quiet", "--workers", "1", "--methods", "SHADE", "TR"]) == 0
    assert main(["verify", str(tmp_path), "--workers", "1"]) == 0
    assert "4 of 4 runs repeat bit for bit" in capsys.readouterr().out
