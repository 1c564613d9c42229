"""What a campaign costs before it is run."""

import pytest

from meco import gone
from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment
from meco.bench.plan.experiments import EXPERIMENTS
from meco.bench.run.estimate import CostModel, estimate_experiments, format_estimates
from meco.bench.run.executors import RunExecutor
from meco.bench.run.groups import RunGroup
from meco.bench.run.result_store import ResultStore, read_results
from meco.bench.run.runner import run_campaign
from meco.cli import main
from meco.methods import METHODS

SMALL = Experiment("small", "Small", (Contender("SHADE", "SHADE"),), ("C01", "C04"), dims=(3,), budget=60, runs=2)


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    folder = tmp_path_factory.mktemp("campaign")
    with ResultStore.open_campaign(folder) as store:
        run_campaign([SMALL], store, RunExecutor(), quiet=True)
    return read_results(folder)


def test_runs_that_are_done_or_shared_cost_nothing_again(contents):
    wanted = [run for _, run in SMALL.wanted_runs()]
    whole, again = estimate_experiments([SMALL, SMALL])
    assert (whole.wanted, whole.missing, whole.costliest) == (4, 4, "SHADE")
    assert whole.seconds == pytest.approx(RunGroup(tuple(wanted)).guessed_seconds)
    assert (again.wanted, again.missing, again.seconds) == (4, 0, 0.0)
    (rest,) = estimate_experiments([SMALL], list(contents.runs)[:3])
    assert rest.missing == 1


def test_stored_runs_tell_the_seconds_of_an_evaluation(contents):
    costs = CostModel(contents)
    run = next(iter(contents.runs))
    each = sorted(record.seconds / record.nfev for record in contents.runs.values())
    middle = (each[1] + each[2]) / 2
    assert costs.seconds(run) == pytest.approx(60 * middle)
    wide = run._replace(case=run.case._replace(dim=6, budget=120))
    assert costs.seconds(wide) == pytest.approx(2 * 120 * middle)  # twice the variables
    other = run._replace(method="TR")
    assert costs.seconds(other) == RunGroup((other,)).guessed_seconds


def test_the_table_ends_with_the_sum():
    lines = format_estimates(estimate_experiments([SMALL]), 16)
    assert lines[0].split()[:3] == ["experiment", "runs", "missing"]
    assert lines[-3].split()[:3] == ["all", "4", "4"]


def test_the_command_runs_nothing(tmp_path, capsys):
    out = str(tmp_path / "new")
    assert main(["reproduce", "short-engineering", "--estimate", "--out", out, "--workers", "16"]) == 0
    assert "short-engineering" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()


def test_every_peer_is_planned_and_costly_ones_at_few_evaluations_in_few_variables():
    planned = {c.method for e in EXPERIMENTS.values() for c in e.contenders}
    assert set(METHODS) <= planned <= {*METHODS, *gone.NAMES["method"]}
    for experiment in EXPERIMENTS.values():
        if {c.method for c in experiment.contenders} & {"NOMAD", "Optuna-TPE", "Optuna-GP", "SCBO"}:
            assert all(case.dim <= 20 and case.budget <= 300 for case in experiment.cases())
            assert experiment.runs == 5
