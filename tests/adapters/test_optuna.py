"""Optuna's door: constraints, scales and steps, parallel trials, studies that are stopped and go on."""

import math
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

optuna = pytest.importorskip("optuna")

from optuna.distributions import FloatDistribution, IntDistribution  # noqa: E402

import meco  # noqa: E402
from meco.adapters.optuna import MecoSampler  # noqa: E402
from meco.adapters.optuna_trials import SearchedParameter  # noqa: E402
from meco.errors import MecoError  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)


def corner(trial):
    """(x - 2)^2 + (y - 1)^2 with x + y <= 2 and x^2 <= y: the answer is (1, 1)."""
    x, y = trial.suggest_float("x", -3, 3), trial.suggest_float("y", -3, 3)
    trial.set_constraint("sum", x + y - 2)
    trial.set_constraint("square", x * x - y)
    return (x - 2) ** 2 + (y - 1) ** 2


def study(objective=corner, trials=50, direction="minimize", n_jobs=1, **given):
    made = optuna.create_study(sampler=MecoSampler(**{"budget": trials, "seed": 1} | given), direction=direction)
    made.optimize(objective, n_trials=trials, n_jobs=n_jobs, catch=(RuntimeError,))
    return made


def test_a_study_with_constraints_reaches_the_corner():
    found = study().best_trial
    assert found.value == pytest.approx(1.0, abs=1e-3)
    assert all(c <= 0 for c in found.constraints.values())


def test_a_study_repeats_itself_with_its_seed():
    values = [[t.value for t in study(trials=25, seed=s, method="SHADE-FR").trials] for s in (3, 3, 4)]
    assert values[0] == values[1] != values[2]


def test_the_first_trial_is_the_middle():
    assert study(trials=1).trials[0].params == {"x": 0.0, "y": 0.0}


def test_constraints_func_is_understood_as_other_samplers_do():
    def objective(trial):
        x = trial.suggest_float("x", -3, 3)
        trial.set_user_attr("c", (1.0 - x,))
        return x * x

    found = study(objective, trials=30, constraints_func=lambda trial: trial.user_attrs["c"])
    assert found.best_value == pytest.approx(1.0, abs=1e-2)
    assert found.best_trial.constraints["0"] <= 0


def test_the_other_direction():
    def objective(trial):
        x = trial.suggest_float("x", 0, 3)
        trial.set_constraint("most", x - 2)
        return x

    assert study(objective, trials=25, direction="maximize").best_value == pytest.approx(2.0, abs=1e-2)


def test_scales_steps_and_whole_numbers():
    def objective(trial):
        rate = trial.suggest_float("rate", 1e-6, 1.0, log=True)
        width = trial.suggest_float("width", 0.0, 2.0, step=0.25)
        layers = trial.suggest_int("layers", 1, 9, step=2)
        units = trial.suggest_int("units", 1, 1000, log=True)
        assert width % 0.25 == 0
        assert layers in (1, 3, 5, 7, 9)
        trial.set_constraint("room", layers + 4 * width - 8)
        return math.log10(rate / 1e-3) ** 2 + (width - 1.0) ** 2 + (layers - 7) ** 2 + math.log10(units / 100) ** 2

    found = study(objective, trials=100).best_params
    assert (found["width"], found["layers"]) == (0.75, 5) or (found["width"], found["layers"]) == (0.25, 7)
    assert found["rate"] == pytest.approx(1e-3, rel=0.2)
    assert found["units"] == pytest.approx(100, rel=0.1)


@pytest.mark.parametrize(
    "distribution",
    [
        FloatDistribution(-2.0, 3.0),
        FloatDistribution(1e-5, 10.0, log=True),
        FloatDistribution(0.1, 0.7, step=0.2),
        IntDistribution(-4, 11, step=3),
        IntDistribution(1, 100, log=True),
    ],
    ids=str,
)
def test_an_axis_goes_there_and_back_and_stays_inside(distribution):
    axis = SearchedParameter.of(distribution)
    for share in np.linspace(0.0, 1.0, 33):
        x = axis.low + share * (axis.high - axis.low)
        value = axis.to_value(round(x) if axis.integer else x)
        assert distribution._contains(distribution.to_internal_repr(value))
        assert axis.to_value(axis.from_value(value)) == pytest.approx(value, rel=1e-12)


def test_categorical_and_conditional_parameters_are_left_to_the_independent_sampler():
    def objective(trial):
        kind = trial.suggest_categorical("kind", ["a", "b"])
        extra = trial.suggest_float("extra", 0, 1) if kind == "b" else 0.0
        return trial.suggest_float("x", -1, 1) ** 2 + extra

    found = study(objective, trials=80, seed=2)
    assert found.best_value < 1e-4
    assert {t.params["kind"] for t in found.trials} == {"a", "b"}


def test_failed_and_pruned_trials_teach_where_not_to_go():
    def objective(trial):
        x = trial.suggest_float("x", -3, 3)
        if x > 1.5:
            raise RuntimeError("the simulator crashed")
        if x < -2:
            raise optuna.TrialPruned
        return (x - 1.4) ** 2

    found = study(objective, trials=40)
    assert found.best_value < 1e-4


def test_trials_of_others_count_from_the_start_and_later():
    made = optuna.create_study(sampler=MecoSampler(budget=40, seed=1))
    for x in (0.0, 0.5, 2.9):
        made.enqueue_trial({"x": x, "y": 1.0})
    made.optimize(corner, n_trials=20)
    made.enqueue_trial({"x": 0.999, "y": 0.9985})
    made.optimize(corner, n_trials=20)
    assert made.best_value == pytest.approx(1.0, abs=1e-3)


def test_parameters_without_bounds_are_searched_from_0_and_the_bounds():
    study = optuna.create_study(sampler=MecoSampler(budget=60, seed=1))

    def far(trial):
        x, y = trial.suggest_float("x", -math.inf, math.inf), trial.suggest_float("y", 1.0, math.inf)
        return (x - 70.0) ** 2 + (y - 0.5) ** 2

    study.optimize(far, n_trials=60)
    assert study.trials[0].params == {"x": 0.0, "y": 11.0}
    assert study.best_value < 0.26


def test_several_objectives_are_refused():
    made = optuna.create_study(sampler=MecoSampler(), directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match="MecoSampler cannot be used"):
        made.optimize(lambda t: (t.suggest_float("x", 0, 1), 1.0), n_trials=3)


def test_parallel_trials_each_have_a_search_and_learn_from_all():
    first = threading.Barrier(4)

    def together(trial):
        value = corner(trial)
        if trial.number < 4:
            first.wait(60)
        return value

    found = study(together, trials=60, n_jobs=4)
    assert len(found.sampler._searches) > 1
    assert found.best_value == pytest.approx(1.0, abs=0.05)
    assert len({tuple(t.params.values()) for t in found.trials}) > 50  # hardly any twice


def test_a_new_sampler_goes_on_where_the_study_stands():
    made = study(trials=30)
    made.sampler = MecoSampler(budget=50, seed=9)
    before = made.best_value
    made.optimize(corner, n_trials=20)
    assert made.best_value <= before
    near = [abs(t.params["x"] - 1) < 0.6 for t in made.trials[30:]]
    assert np.mean(near) > 0.8  # nothing is explored again


def test_a_sampler_can_be_pickled():
    made = study(trials=20)
    made.sampler = pickle.loads(pickle.dumps(made.sampler))
    made.optimize(corner, n_trials=5)


WORKER = """
import sys, time, optuna
from meco.adapters.optuna import MecoSampler
sys.path.insert(0, sys.argv[2])
from test_optuna import corner
def objective(trial):
    time.sleep(0.05)
    return corner(trial)
study = optuna.load_study(study_name="s", storage=sys.argv[1], sampler=MecoSampler(budget=60))
study.optimize(objective, n_trials=int(sys.argv[3]))
"""


def workers(storage, folder, trials):
    command = [sys.executable, "-W", "ignore", "-c", WORKER, storage, folder, str(trials)]
    return [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(2)]


@pytest.mark.slow
def test_two_processes_on_a_database_are_killed_and_resumed(tmp_path):
    pytest.importorskip("sqlalchemy")
    storage, folder = f"sqlite:///{tmp_path}/s.db", str(Path(__file__).parent)
    made = optuna.create_study(study_name="s", storage=storage)
    first = workers(storage, folder, 1000)
    deadline = time.monotonic() + 120
    while sum(t.state.is_finished() for t in made.trials) < 25 and time.monotonic() < deadline:
        time.sleep(0.1)
    for worker in first:
        worker.send_signal(signal.SIGKILL)
        worker.communicate()
    killed = len(made.trials)
    assert killed >= 25
    for worker in workers(storage, folder, 15):
        assert worker.wait(120) == 0, worker.communicate()[1].decode()
    assert sum(t.state == optuna.trial.TrialState.COMPLETE for t in made.trials[killed:]) == 30
    assert made.best_value == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("wrong", [{"method": "COBYQA"}, {"method": "SHADEE"}, {"budget": 0}])
def test_what_cannot_be_asked_is_refused_when_the_sampler_is_made(wrong):
    with pytest.raises(MecoError):
        MecoSampler(**wrong)


@pytest.mark.parametrize("method", ["TR", "SHADE"])
@pytest.mark.parametrize("budget", [1, 2])
def test_a_study_goes_on_after_a_very_small_budget(budget, method):
    assert len(study(trials=12, budget=budget, method=method).trials) == 12


def test_without_a_budget_a_sampler_plans_as_minimize_does():
    """50 evaluations for each variable."""

    def corner_of_three(trial):
        x = np.array([trial.suggest_float(name, -3, 3) for name in "xyz"])
        trial.set_constraint("sum", x.sum() - 2)
        trial.set_constraint("square", x[0] ** 2 - x[1])
        return float((x - 2) @ (x - 2))

    def evaluate(x):
        return float((x - 2) @ (x - 2)), [x.sum() - 2, x[0] ** 2 - x[1]]

    made = optuna.create_study(sampler=MecoSampler(seed=1))
    made.optimize(corner_of_three, n_trials=40)
    found = meco.minimize(evaluate, [(-3, 3)] * 3, seed=1)
    assert found.run.budget == 150
    np.testing.assert_array_equal([list(t.params.values()) for t in made.trials], found.evaluations.x[:40])


@pytest.mark.parametrize("value", [-math.inf, math.nan, math.inf])
def test_trials_without_a_finite_value_do_not_mislead_the_search(value):
    def fails_first(trial):
        x, y = trial.suggest_float("x", -3, 3), trial.suggest_float("y", -3, 3)
        return value if trial.number < 5 else (x - 2) ** 2 + (y - 1) ** 2

    finite = [t.value for t in study(fails_first).trials if t.value is not None and math.isfinite(t.value)]
    assert min(finite) < 1e-6
