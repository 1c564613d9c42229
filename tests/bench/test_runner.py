"""The runner: the same results wherever it runs, nothing lost when something dies."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment
from meco.bench.plan.revise import adjust_experiment, pin_versions
from meco.bench.run import runner as runner_module
from meco.bench.run.campaign_progress import CampaignProgress
from meco.bench.run.estimate import estimate_experiments
from meco.bench.run.executors import RunExecutor, Unreachable, start_executor
from meco.bench.run.groups import GroupOutcome, RunGroup, make_groups, run_group
from meco.bench.run.result_store import ResultStore
from meco.bench.run.run_record import read_actions
from meco.bench.run.runner import CampaignStopped, raise_when_stopped, run_campaign
from meco.cli import main
from meco.core.progress_line import format_duration
from meco.errors import InvalidInput, MecoError, UnknownName

SMALL = Experiment(
    "small", "Small", tuple(Contender(m, m) for m in ("SHADE", "SHADE-eps", "MeCO-rand", "MA-ES")),
    ("C01", "C04", "C06"), dims=(10,), budget=100, runs=4,
)  # fmt: skip


def campaign(folder, experiment=SMALL, executor="serial", workers=2):
    """Run an experiment and return the store's digest."""
    crew = start_executor(executor, workers)
    try:
        with ResultStore.open_campaign(folder) as store:
            summary = run_campaign([experiment], store, crew, quiet=True)
            return store.read_contents().digest, summary
    finally:
        crew.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return campaign(tmp_path_factory.mktemp("serial"))[0]


def test_a_campaign_runs_everything_once(tmp_path):
    _, summary = campaign(tmp_path)
    assert (summary.done, summary.wanted, summary.failures) == (48, 48, {})


def test_runs_of_methods_that_left_are_not_made_and_named_in_one_line(tmp_path, capsys):
    plan = replace(SMALL, contenders=(Contender("SHADE", "SHADE"), Contender.from_method("MeCO-TR")))
    _, summary = campaign(tmp_path, plan)
    assert (summary.done, summary.wanted, summary.removed) == (12, 12, ("MeCO-TR",))
    assert estimate_experiments([plan])[0].wanted == 12
    words = ["reproduce", "uav", "--methods", "MeCO-TR", "--quiet", "--out", str(tmp_path / "none")]
    assert main([*words, "--executor", "serial"]) == 2
    assert "no method named 'MeCO-TR'; it left in 0.4: use TR" in capsys.readouterr().err


@pytest.mark.parametrize("workers", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_results_do_not_depend_on_processes_or_their_number(tmp_path, pinned, workers):
    assert campaign(tmp_path, executor="processes", workers=workers)[0] == pinned


@pytest.mark.slow
def test_results_do_not_depend_on_dask(tmp_path, pinned):
    pytest.importorskip("distributed")
    assert campaign(tmp_path, executor="dask")[0] == pinned


def test_results_do_not_depend_on_how_runs_are_grouped(tmp_path, undisturbed, monkeypatch):
    monkeypatch.setattr("meco.bench.run.groups.LOCKSTEP_RUNS", 5)
    assert campaign(tmp_path)[0] == undisturbed


def test_a_restart_runs_only_what_is_missing(tmp_path, undisturbed, monkeypatch):
    campaign(tmp_path, adjust_experiment(SMALL, runs=2, methods=["SHADE", "MA-ES"]))
    ran: list[int] = []
    monkeypatch.setattr(runner_module, "run_group", lambda task: ran.append(len(task.runs)) or run_group(task))
    digest, _ = campaign(tmp_path)
    assert sum(ran) == 48 - 12
    assert digest == undisturbed


def test_tasks_cover_every_run_once_with_equal_dimensions_and_the_longest_first():
    mixed = Experiment(
        "mixed", "", (Contender("SHADE", "SHADE"), Contender("COBRA", "COBRA")), ("C01", "C02"), dims=(10, 50), runs=7
    )
    runs = [run for _, run in mixed.wanted_runs()]
    tasks = make_groups(runs)
    assert sorted(run for task in tasks for run in task.runs) == sorted(runs)
    assert all(len({(r.method, r.case.dim) for r in task.runs}) == 1 for task in tasks)
    assert [t.guessed_seconds for t in tasks] == sorted((t.guessed_seconds for t in tasks), reverse=True)
    assert max(len(t.runs) for t in tasks if t.method == "COBRA") == 1


def test_runs_with_their_own_policies_share_a_task(tmp_path):
    files = save_policies(tmp_path)
    own = Experiment(
        "own", "", tuple(Contender(f.name, "MeCO", {"policy": str(f)}) for f in files), ("C01",), dims=(10,), runs=2
    )
    tasks = make_groups(run for _, run in own.wanted_runs())
    assert len(tasks) == 1
    together = run_group(tasks[0]).records
    alone = [run_group(RunGroup((run,))).records[0] for run in tasks[0].runs]
    assert [(r.f, r.nu, r.curve) for r in together] == [(r.f, r.nu, r.curve) for r in alone]


def test_controls_that_are_held_are_an_option_of_a_run():
    held = tuple(Contender(f"action {a}", "MeCO", {"policy": {"epsilon": a}}) for a in (0.0, 1.0))
    experiment = pin_versions(Experiment("held", "", held, ("C06",), dims=(10,), runs=2))
    tasks = make_groups(run for _, run in experiment.wanted_runs())
    assert [{run.options for run in task.runs} for task in tasks] == [
        {'{"policy":{"epsilon":0.0}}'},
        {'{"policy":{"epsilon":1.0}}'},
    ]
    for task, action in zip(tasks, (0.0, 1.0)):
        assert set(read_actions(run_group(task).records[0].actions)[1, 1:]) == {action}


def test_hidden_features_change_what_a_policy_does(tmp_path):
    file = save_policies(tmp_path)[0]
    pair = tuple(Contender(str(h), "MeCO", {"policy": str(file), **h}) for h in ({}, {"hidden": [7, 8, 9, 10]}))
    experiment = Experiment("pair", "", pair, ("C01",), dims=(10,), runs=3)
    actions = [run_group(task).records[0].actions for task in make_groups(run for _, run in experiment.wanted_runs())]
    assert len(actions) == 2
    assert actions[0] != actions[1]


def test_a_policy_trained_anew_makes_new_runs(tmp_path):
    files = save_policies(tmp_path)
    one = Experiment("one", "", (Contender("MeCO", "MeCO", {"policy": str(files[0])}),), ("C01",), dims=(10,), runs=1)
    first = pin_versions(one)
    files[1].replace(files[0])
    from meco.bench.plan.revise import read_policy_digest

    read_policy_digest.cache_clear()
    second = pin_versions(one)
    assert next(first.wanted_runs()) != next(second.wanted_runs())
    assert campaign(tmp_path / "out", one)[1].failures == {}


def save_policies(folder):
    from meco.paper.network import draw_weights
    from meco.paper.store import save_policy

    files = []
    for seed in (1, 2):
        file = folder / f"p{seed}.safetensors"
        save_policy(file, draw_weights(np.random.default_rng(seed)), {"suite": "none"})
        files.append(file)
    return files


# -- what goes wrong -------------------------------------------------------------------------


def test_a_method_that_cannot_run_is_reported_and_the_others_finish(tmp_path):
    broken = Contender("MeCO", "MeCO", {"policy": "meco-10dd"})
    mixed = Experiment(
        "mixed", "", (Contender("SHADE", "SHADE"), broken), ("C01", "C04"), dims=(10,), budget=100, runs=2
    )
    _, summary = campaign(tmp_path, mixed)
    assert summary.done == 4
    assert {run.method for run in summary.failures} == {"MeCO"}
    assert "meco-10dd" in next(iter(summary.failures.values()))
    with ResultStore.open(tmp_path) as store:
        assert set(store.read_failures()) == set(summary.failures)


def test_an_option_that_one_problem_cannot_take_does_not_stop_the_others(tmp_path):
    capped = Experiment(
        "capped", "", (Contender("COBRA", "COBRA", {"cap": 20}),), ("C01", "C02"), dims=(12, 2), budget=12, runs=2
    )
    _, summary = campaign(tmp_path, capped)
    assert {(run.case.dim, reason) for run, reason in summary.failures.items()} == {
        (12, "cap must be at least 4 D = 48 points; got 20")
    }
    assert (summary.done, len(summary.failures)) == (4, 4)


def test_an_option_that_no_problem_can_change_is_tried_once(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(runner_module, "run_group", lambda task: ran.append(task) or run_group(task))
    wrong = Experiment("wrong", "", (Contender("SHADE", "SHADE", {"popsize": 9}),), ("C01",), dims=(2, 10, 50), runs=2)
    _, summary = campaign(tmp_path, wrong)
    assert len(ran) == 1
    assert len(summary.failures) == 6
    assert all("SHADE has no option 'popsize'" in reason for reason in summary.failures.values())


def test_a_session_names_the_versions_of_the_packages_that_are_there(tmp_path):
    campaign(tmp_path, adjust_experiment(SMALL, runs=1, methods=["SHADE"]))
    with ResultStore.open(tmp_path) as store:
        facts = next(iter(store.read_sessions().values()))
    assert facts["numpy"] == np.__version__
    for name in ("scipy", "cma", "pymoo", "torch"):
        assert (name in facts) == (find_spec(name) is not None)


def test_one_bad_run_does_not_take_its_neighbours_along(tmp_path, monkeypatch):
    def fragile(task):
        if any(run.case.problem == "C04" and run.seed == 44 for run in task.runs):
            return GroupOutcome(error="ValueError: bad luck")
        return run_group(task)

    monkeypatch.setattr(runner_module, "run_group", fragile)
    _, summary = campaign(tmp_path, adjust_experiment(SMALL, methods=["SHADE"]))
    assert summary.done == 11
    assert [(run.case.problem, run.seed) for run in summary.failures] == [("C04", 44)]


class Dying(RunExecutor):
    """RunExecutor of which some die with their task."""

    lost = (ConnectionResetError,)

    def __init__(self, deaths: int, victim: str = "SHADE") -> None:
        self.deaths, self.victim, self.renewed = deaths, victim, 0

    def submit(self, work, task):
        future = super().submit(work, task) if task.method != self.victim or self.deaths <= 0 else None
        if future is None:
            from concurrent.futures import Future

            self.deaths -= 1
            future = Future()
            future.set_exception(ConnectionResetError())
        return future

    def replace_lost(self):
        self.renewed += 1


def test_tasks_of_a_lost_worker_are_done_again(tmp_path, undisturbed):
    workers = Dying(deaths=3)
    with ResultStore.open_campaign(tmp_path) as store:
        summary = run_campaign([SMALL], store, workers, quiet=True)
        assert store.read_contents().digest == undisturbed
    assert (workers.renewed, summary.failures) == (3, {})


def test_a_task_that_kills_every_worker_is_given_up_and_the_others_finish(tmp_path):
    with ResultStore.open_campaign(tmp_path) as store:
        summary = run_campaign([SMALL], store, Dying(deaths=10**6), quiet=True)
    assert summary.done == 36
    assert "its worker died 5 times" in next(iter(summary.failures.values()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_signal_keeps_what_is_finished_and_the_rest_follows(tmp_path, undisturbed, monkeypatch, number):
    done = []

    def stopping(task):
        if len(done) == 2:
            os.kill(os.getpid(), number)
            pytest.fail("the signal was not heard")
        done.append(task)
        return run_group(task)

    monkeypatch.setattr(runner_module, "run_group", stopping)
    with ResultStore.open_campaign(tmp_path) as store, raise_when_stopped():
        with pytest.raises(CampaignStopped):
            run_campaign([SMALL], store, RunExecutor(), quiet=True)
        os.kill(os.getpid(), number)  # a second one does not disturb the way out
    monkeypatch.setattr(runner_module, "run_group", run_group)
    with ResultStore.open(tmp_path) as store:
        assert 0 < store.count_runs() < 48
    assert campaign(tmp_path)[0] == undisturbed


@pytest.mark.parametrize(
    ("spec", "workers", "error", "words"),
    [
        ("thread", None, UnknownName, "no executor named 'thread'"),
        ("processes", 0, InvalidInput, "--workers must be at least 1"),
        ("dask:tcp://127.0.0.1:9", None, Unreachable, "no Dask scheduler answers at tcp://127.0.0.1:9"),
        ("dask:nonsense", None, InvalidInput, "names a scheduler; got 'dask:nonsense'"),
    ],
)
def test_workers_that_cannot_be_had_are_a_clear_error(spec, workers, error, words, monkeypatch):
    if spec.startswith("dask"):
        pytest.importorskip("distributed")
        monkeypatch.setattr("meco.bench.run.executors.REACH_SECONDS", 1)
    with pytest.raises(error, match=words) as caught:
        start_executor(spec, workers)
    assert isinstance(caught.value, MecoError)


def test_time_left_is_learned_from_finished_tasks():
    tasks = make_groups(run for _, run in SMALL.wanted_runs())
    progress = CampaignProgress(tasks, 0, workers=2, quiet=True)
    assert progress.seconds_left() is None
    progress.count_finished(tasks[0], 10 * tasks[0].guessed_seconds)
    expected = 10 * sum(t.guessed_seconds for t in tasks[1:]) / 2
    assert progress.seconds_left() == pytest.approx(expected)
    assert [format_duration(s) for s in (5, 65, 3725)] == ["0:05", "1:05", "1:02:05"]
