"""OptunaHub's door: the folder for its registry, loaded from disk by optunahub, with Optuna 5."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from doors import one_problem

optuna = pytest.importorskip("optuna", minversion="5")
optunahub = pytest.importorskip("optunahub")

ROOT = Path(__file__).parents[2]
optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    out = tmp_path_factory.mktemp("registry")
    subprocess.run([sys.executable, ROOT / "tools" / "optunahub.py", "--out", out], check=True)
    return out / "package"


@pytest.fixture(scope="module")
def sampler(registry):
    return optunahub.load_local_module("samplers/meco", registry_root=str(registry)).MecoSampler


def suggest(trial):
    return [trial.suggest_float(name, *ends) for name, ends in one_problem.BOUNDS.items()]


def beam(trial):
    x = suggest(trial)
    stress, slack = one_problem.limits(*x)
    trial.set_constraint("stress", float(stress))
    trial.set_constraint("slack", float(slack))
    return one_problem.weight(*x)


def test_the_folder_has_what_the_registry_asks_for(registry):
    folder = registry / "samplers" / "meco"
    assert {path.name for path in folder.iterdir()} >= {"README.md", "LICENSE", "__init__.py"}
    front = re.match(r"---\n(.*?)\n---\n", (folder / "README.md").read_text(), flags=re.DOTALL).group(1)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert set(fields) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert "sampler" in fields["tags"]
    assert optuna.__version__ in fields["optuna_versions"]


def test_its_trials_are_the_search_of_minimize(sampler):
    study = optuna.create_study(sampler=sampler(budget=60, seed=7))
    study.optimize(beam, n_trials=60)
    seen = np.array([[trial.params[name] for name in "hlt"] for trial in study.trials])
    np.testing.assert_array_equal(seen, one_problem.points_of_minimize())


def test_both_ways_to_say_constraints_make_the_same_study(sampler):
    def objective(trial):
        x = suggest(trial)
        trial.set_user_attr("c", one_problem.limits(*x).tolist())
        return one_problem.weight(*x)

    by_func = sampler(budget=40, seed=7, constraints_func=lambda trial: trial.user_attrs["c"])
    studies = [optuna.create_study(sampler=by_func), optuna.create_study(sampler=sampler(budget=40, seed=7))]
    for study, function in zip(studies, (objective, beam)):
        study.optimize(function, n_trials=40)
    assert [t.params for t in studies[0].trials] == [t.params for t in studies[1].trials]
    assert list(studies[1].best_trial.constraints) == ["stress", "slack"]


def test_a_trial_that_fails_does_not_end_the_study(sampler):
    def objective(trial):
        x = suggest(trial)
        if one_problem.fails(*x):
            raise RuntimeError("the mesh could not be made")
        trial.set_constraint("stress", float(one_problem.limits(*x)[0]))
        trial.set_constraint("slack", float(one_problem.limits(*x)[1]))
        return one_problem.weight(*x)

    study = optuna.create_study(sampler=sampler(budget=120, seed=1))
    study.optimize(objective, n_trials=120, catch=(RuntimeError,))
    assert study.best_value < 0.052


def test_its_example_runs(registry, tmp_path):
    text = (registry / "samplers" / "meco" / "example.py").read_text()
    assert 'load_module(package="samplers/meco")' in text
    local = text.replace(
        'load_module(package="samplers/meco")', f'load_local_module("samplers/meco", registry_root={str(registry)!r})'
    )
    (tmp_path / "example.py").write_text(local)
    done = subprocess.run([sys.executable, tmp_path / "example.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) == pytest.approx(1.0, abs=1e-2)
