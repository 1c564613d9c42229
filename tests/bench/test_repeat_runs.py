"""Stored runs repeat bit for bit, and a store holds those of one platform."""

from dataclasses import replace

import pytest

from meco.bench.plan import run as plan
from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment
from meco.bench.run.campaign_folder import MixedPlatforms
from meco.bench.run.executors import RunExecutor
from meco.bench.run.repeat_runs import draw_runs, repeat_runs
from meco.bench.run.result_store import ResultStore, read_results, write_packed
from meco.bench.run.runner import run_campaign
from meco.bench.run.used_packages import NOT_KNOWN, packages_of_run
from meco.cli import main
from meco.core.platform import Platform, describe_platform
from meco.errors import InvalidInput
from meco.files.modules import file_digest

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


def test_results_of_two_platforms_are_not_mixed(folder, tmp_path):
    other = Platform("12345678", {"arithmetic": "other", "numpy": "1.0"})
    with ResultStore.open_campaign(tmp_path) as store:
        store.add_platform(other)
        with pytest.raises(MixedPlatforms, match=r"two platforms are not mixed.*--out"):
            run_campaign([SMALL], store, RunExecutor(), quiet=True)
        with pytest.raises(MixedPlatforms, match="arithmetic: other there"):
            store.merge(read_results(folder))
        assert store.count_runs() == 0


def run_of(method, problem="C01", options="{}"):
    return plan.Run(method, options, plan.TestCase(problem, 3, "paper", 30), 1)


def test_packages_that_no_stored_run_used_may_be_installed_or_changed(folder, tmp_path):
    contents = read_results(folder)
    (facts,) = contents.platforms.values()
    bare = {k: v for k, v in facts.items() if k not in ("scipy", "cma", "pymoo")}
    later = Platform("11111111", {**bare, "scipy": "1.17.1"})
    newest = Platform("22222222", {**bare, "scipy": "1.18.0"})
    record = next(iter(contents.runs.values()))
    with ResultStore.open_campaign(tmp_path) as store:
        store.add_platform(Platform("00000000", bare), [run_of("SHADE")])
        store.add_runs([(run_of("SHADE"), replace(record, platform="00000000"))])
        store.add_platform(later, [run_of("SHADE", "C04"), run_of("COBYQA")])
        store.add_runs([(run_of("COBYQA"), replace(record, platform="11111111"))])
        store.add_platform(newest, [run_of("SHADE", "C05")])
        with pytest.raises(MixedPlatforms, match=r"scipy: 1.17.1 there, 1.18.0 here\)"):
            store.add_platform(newest, [run_of("COBYQA", "C05")])


def test_what_a_file_of_a_user_imports_tells_which_packages_it_uses(tmp_path):
    def packages(text):
        (tmp_path / "mine.py").write_text(text)
        run = plan.Run("SHADE", "{}", plan.TestCase("mine.py:f", 2, file_digest(tmp_path / "mine.py"), 30), 1)
        return packages_of_run(run, {"mine.py:f": str(tmp_path / "mine.py")})

    assert packages("import math, numpy as np\nfrom meco import problem\nimport beside\n") == NOT_KNOWN
    (tmp_path / "beside.py").write_text("from scipy.optimize import linprog\n")
    assert packages("import math\nimport beside\n") == {"scipy"}
    assert packages("import math, numpy as np\nfrom meco import problem\n") == frozenset()
    assert packages("import sklearn.svm\n") == NOT_KNOWN
    assert packages("from meco.engines.external.scipy import Cobyqa\n") == NOT_KNOWN
    assert packages_of_run(run_of("SHADE", "mine.py:f"), {"mine.py:f": str(tmp_path / "mine.py")}) == NOT_KNOWN


def test_another_platform_is_refused_before_any_work(tmp_path, monkeypatch):
    other = Platform("12345678", {"arithmetic": "other", "numpy": "1.0"})
    monkeypatch.setattr("meco.bench.run.runner.run_group", lambda task: pytest.fail("a task was handed out"))
    with ResultStore.open_campaign(tmp_path) as store:
        store.add_platform(other)
        with pytest.raises(MixedPlatforms):
            run_campaign([SMALL], store, RunExecutor(), quiet=True)
        assert store.read_experiments() == []


@pytest.mark.slow
def test_the_command_repeats_what_worker_processes_made(tmp_path, capsys):
    told = ["bench", "--problem", "C01", "C04", "--dim", "3", "--budget", "30", "--runs", "1", "--out", str(tmp_path)]
    assert main([*told, "--no-report", "--quiet", "--workers", "1", "--methods", "SHADE", "TR"]) == 0
    assert main(["verify", str(tmp_path), "--workers", "1"]) == 0
    assert "4 of 4 runs repeat bit for bit" in capsys.readouterr().out
