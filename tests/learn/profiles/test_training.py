"""meco train-tr: rounds of rollouts, fits, the choice and what is written, on runs that are made up."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from meco.cli import main
from meco.commands.train_tr import read_configs
from meco.errors import DamagedFile, InvalidInput, UnknownName
from meco.learn import draw_log
from meco.learn.engine_digest import engine_digest
from meco.learn.profiles import rollouts as rollouts_file
from meco.learn.profiles.rollouts import RolloutResult
from meco.learn.profiles.training import ABLATIONS, ProfileConfig, ProfileTraining, train_profiles
from meco.learn.tr.quantile import Outcomes
from meco.policies import load_policy
from meco.tr.profile_features import PROFILE_FEATURE_NAMES

SMALL = ProfileConfig(
    families=("bowl-linear", "valley-inside", "valley-planes"), layout="2:10", problems=2, judges=1, judge_seeds=1,
    runs=8, steps=50, hidden=4,
)  # fmt: skip


def made_up_runs(batch):
    """Results without a search: what is held from the switch on decides, and chance; policies are worth 0."""
    count = len(batch.seeds)
    chance = np.array([np.random.default_rng(seed).random(1 + len(PROFILE_FEATURE_NAMES)) for seed in batch.seeds])
    f = np.where(batch.plan.switch > 1.0, batch.plan.before, batch.plan.profile) + 0.1 * chance[:, 0]
    states = 2.0 * chance[:, 1:] - 1.0
    course = np.repeat(states[None], 3, axis=0).astype(np.float32)
    taken = np.repeat((np.array(batch.seeds) % 3)[None], 3, axis=0)
    none = np.zeros(count)
    return RolloutResult(Outcomes(f, none, none == 0.0), states, course, taken)


@pytest.fixture
def made_up(monkeypatch):
    monkeypatch.setattr(rollouts_file, "run_rollouts", made_up_runs)


def train(folder, *configs, stop=lambda: False):
    said = []
    done = train_profiles(configs or (SMALL,), folder, 1, stop, said.append, "meco train-tr")
    return done, said


def test_a_training_writes_a_policy_its_tree_and_a_log(tmp_path, made_up):
    done, said = train(tmp_path)
    assert done
    for name, kind in (("tr-profiles", "profiles"), ("tr-profiles-tree", "profile-tree")):
        path = tmp_path / f"{name}.safetensors"
        told = load_policy(path).metadata
        assert path.stat().st_size < 40_000
        assert told["kind"] == kind
        assert told["engine"] == engine_digest()
        assert told["families"] == {"train": ["bowl-linear", "valley-inside"], "choose": ["valley-planes"]}
        assert told["command"] == "meco train-tr"
        assert len(told["profiles"]) == 10
    lines = [json.loads(line) for line in (tmp_path / "tr-profiles.training.jsonl").read_text().splitlines()]
    assert [line["round"] for line in lines if "round" in line] == [1, 2]
    assert lines[-1]["tree"]
    assert any("agrees in" in line for line in said)
    for part in ("round 1 of 2", "round 2 of 2", "choice on the choose families"):
        assert f"{part}: 100% of its evaluations" in said


def test_a_log_of_rounds_says_that_it_has_no_picture(tmp_path, made_up):
    train(tmp_path)
    with pytest.raises(DamagedFile, match=r"the log of a `meco train-tr`, of which there is no picture"):
        draw_log(tmp_path / "tr-profiles.training.jsonl", tmp_path / "log.svg")


def test_a_policy_of_another_training_is_not_overwritten(tmp_path, made_up, capsys):
    given = {**SMALL.as_dict(), "families": ",".join(SMALL.families)}
    words = ["train-tr", "--out", str(tmp_path), "--quiet"]
    for name in ("families", "layout", "problems", "judges", "judge_seeds", "runs", "steps", "hidden"):
        words += ["--set", f"{name}={given[name]}"]
    assert main(words) == 0
    assert main(words) == 0
    assert main([*words, "--seeds", "2"]) == 2
    assert "tr-profiles.safetensors is the policy of another training (seed 1 there, 2 here)" in capsys.readouterr().err


def test_the_help_names_every_setting(capsys):
    with pytest.raises(SystemExit):
        main(["train-tr", "--help"])
    said = capsys.readouterr().out
    assert all(name in said for name in ProfileConfig.setting_names())


def test_a_stopped_training_goes_on_and_equal_seeds_give_equal_policies(tmp_path, made_up):
    train(tmp_path / "one")
    calls = iter([False, True])
    assert not train(tmp_path / "two", stop=lambda: next(calls, True))[0]
    assert train(tmp_path / "two")[0]
    one, two = (load_policy(tmp_path / name / "tr-profiles.safetensors") for name in ("one", "two"))
    for a, b in zip(one.weights, two.weights):
        assert_array_equal(a, b)


def test_trainings_together_are_the_trainings_alone(tmp_path, made_up):
    other = replace(SMALL, name="other", seed=2)
    train(tmp_path / "both", SMALL, other)
    train(tmp_path / "alone", other)
    for folder in ("both", "alone"):
        assert (tmp_path / folder / "other-tree.safetensors").is_file()
    one, two = (load_policy(tmp_path / name / "other.safetensors") for name in ("both", "alone"))
    for a, b in zip(one.weights[:3], two.weights[:3]):  # the last has the threshold, which made-up runs choose
        assert_array_equal(a, b)


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_trains(tmp_path, made_up, name):
    config = replace(SMALL, name=name, rounds=1, **ABLATIONS[name])
    assert train(tmp_path, config)[0]
    policy = load_policy(tmp_path / f"{name}.safetensors")
    unseen = config.fit_settings.unseen
    assert_array_equal(policy.weights.w1[list(unseen)], np.zeros((len(unseen), SMALL.hidden)))


def test_a_training_for_each_seed_and_one_for_each_ablation():
    class Given:
        device, set, seeds, ablations = None, ["runs=3"], (4, 5), True

    configs = read_configs(Given)
    assert [c.name for c in configs[:2]] == ["tr-profiles-seed4", "tr-profiles-seed5"]
    assert {c.seed for c in configs[2:]} == {4}
    assert len(configs) == 2 + len(ABLATIONS)
    assert {c.runs for c in configs} == {3}


def test_settings_that_cannot_be_are_refused(capsys):
    with pytest.raises(UnknownName, match="group of features"):
        ProfileConfig(unseen=("nonsense",))
    with pytest.raises(UnknownName, match="group of controls"):
        ProfileConfig(fixed=("nonsense",))
    with pytest.raises(InvalidInput, match="D and evaluations per variable"):
        ProfileConfig(layout="5")
    with pytest.raises(InvalidInput, match="some to train on and some to choose on"):
        ProfileTraining(replace(SMALL, families=("bowl-linear",)))
    with pytest.raises(InvalidInput, match="at least 1; got 0"):
        SMALL.with_texts({"runs": "0"})
    assert main(["train-tr", "--processes=0"]) == 2
    assert "--processes must be at least 1; got 0\n" in capsys.readouterr().err


@pytest.mark.parametrize("device", ["meta:9:9", "nonsense"])
def test_a_device_that_cannot_be_used_is_refused_before_anything_runs(tmp_path, capsys, device):
    assert main(["train-tr", "--quiet", "--out", str(tmp_path), f"--set=device={device}"]) == 2
    assert capsys.readouterr().err == (
        f"meco: torch cannot use the device '{device}' here; train on 'cpu' or on one it lists\n"
    )


@pytest.mark.slow
def test_the_command_trains_on_searches_and_says_how(tmp_path, monkeypatch):
    words = ["train-tr", "--quiet", "--out", str(tmp_path), "--set=families=bowl-linear,ripples-linear,valley-planes"]
    words += ["--set=layout=2:10", "--set=problems=2", "--set=judges=1", "--set=runs=6", "--set=steps=50"]
    monkeypatch.setattr("sys.argv", ["meco", *words])
    assert main(words) == 0
    told = load_policy(tmp_path / "tr-profiles.safetensors").metadata
    assert told["command"].startswith("meco train-tr --set=families=")
    assert str(tmp_path) not in told["command"]
