"""Settings and presets of trainings: the numbers of the paper, checked, and read from text."""

import json
import sys

import pytest

torch = pytest.importorskip("torch")

from meco.errors import InvalidInput, MissingExtra, UnknownName  # noqa: E402
from meco.paper import TaskSettings, TrainingConfig, lockstep_groups  # noqa: E402
from meco.paper.action import ACTION_GRID  # noqa: E402
from meco.paper.network import PAPER_SHAPE  # noqa: E402
from meco.paper.presets import (  # noqa: E402
    HELD_OUT,
    PRESETS,
    PRINTED_SEEDS,
    make_configs_for_seeds,
    make_leave_one_out_configs,
)
from meco.problems.suite import CEC_NAMES  # noqa: E402
from quick_training import quick  # noqa: E402


def test_the_defaults_are_the_numbers_of_the_paper():
    c = TrainingConfig()
    learner = c.learner
    assert (c.epochs, learner.memory, learner.batch) == (50, 64, 8)
    assert (learner.explore, learner.copy_every, learner.gamma) == (0.1, 10, 1.0)
    assert (learner.lr_first, learner.lr_last, c.episode.pop_size, c.evaluations) == (5e-3, 1e-4, 50, 500)
    assert c.task.problems == CEC_NAMES
    fold = make_leave_one_out_configs("fold", dim=50)[0]
    assert fold.episodes * fold.steps == 66_150


def test_settings_survive_json():
    c = quick(reward="r1+r2", decoder="ca", seed=7)
    assert TrainingConfig.from_dict(json.loads(json.dumps(c.as_dict()))) == c


def test_an_unknown_setting_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownName, match=r"no training setting named 'memmory'; did you mean 'memory'\?"):
        TrainingConfig.from_dict({"memmory": 5})
    with pytest.raises(UnknownName, match="did you mean 'epochs'"):
        TrainingConfig().with_texts({"epoch": "5"})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"reward": "r3"}, "no reward named 'r3'"),
        ({"decoder": "geo"}, "did you mean 'geometric'"),
        ({"instances": "offical"}, "did you mean 'official'"),
        ({"suite": "cec2071"}, "did you mean 'cec2017'"),
        ({"problems": ("C01", "C99")}, "no training problem named 'C99'"),
        ({"problems": ("C01", "C01")}, "counts once"),
        ({"batch": 100}, "does not fit into a memory of 64"),
        ({"epochs": 0}, "epochs of a training must be at least 1; got 0"),
        ({"budget": 50}, "leaves no step"),
        ({"parallel_episodes": 3}, "must divide the 1400 episodes"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, message):
    with pytest.raises((InvalidInput, UnknownName), match=message):
        TrainingConfig.from_dict(wrong)


def test_settings_are_read_from_text_by_their_type():
    c = TrainingConfig().with_texts({"memory": "512", "lr_first": "1e-2", "budget": "none", "problems": "C01,C02"})
    assert (c.learner.memory, c.learner.lr_first, c.episode.budget) == (512, 1e-2, None)
    assert c.task.problems == ("C01", "C02")
    with pytest.raises(InvalidInput, match="memory must be an integer; got 'many'"):
        c.with_texts({"memory": "many"})


def test_the_presets_make_every_policy_the_paper_needs():
    names = {p: [c.name for c in PRESETS[p](1)] for p in PRESETS}
    assert names["10d"] == ["meco-10d"]
    assert names["loo50"] == [f"meco-loo50-{c}" for c in CEC_NAMES]
    for d in (10, 30, 50, 100):
        assert names[f"split-{d}d"] == [f"meco-split-{d}d"]
    kinds = {"aa": (10, 50, 100), "ca": (10, 50, 100), **dict.fromkeys(("r1", "r2", "r1r2"), (10, 30, 50, 100))}
    assert sorted(names["ablation"]) == sorted(f"meco-{k}-{d}d" for k, dims in kinds.items() for d in dims)
    assert len(names["ablation"]) == 18


def test_a_fold_never_trains_on_the_problem_it_leaves_out():
    for config in PRESETS["loo50"](1):
        assert len(config.task.problems) == 27
        assert config.name[-3:] not in config.task.problems
    for preset in ("split-10d", "ablation"):
        assert all(not set(HELD_OUT) & set(c.task.problems) for c in PRESETS[preset](1))


def test_no_two_folds_and_seeds_draw_alike():
    configs = make_configs_for_seeds(PRESETS["loo50"], [1, 2, 3])
    assert len({c.seed for c in configs}) == len({c.name for c in configs}) == 84


def test_policies_of_equal_size_train_in_one_batch():
    groups = lockstep_groups(PRESETS["ablation"](1))
    assert [len(g) for g in groups] == [1] * 18  # each has another D, decoding or reward
    assert [len(g) for g in lockstep_groups(PRESETS["loo50"](1), most=12)] == [12, 12, 4]


def test_trainings_as_printed_are_those_of_the_papers_setup():
    """The numbers of its sections Meta-Level MDP and Setup."""
    folds, (transfer,) = PRESETS["loo50"](1), PRESETS["10d"](1)
    assert (PAPER_SHAPE.features, PAPER_SHAPE.hidden, PAPER_SHAPE.outputs) == (10, 64, 11)
    assert ACTION_GRID.tolist() == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]
    for config in (*folds, transfer):
        learner, episode = config.learner, config.episode
        assert (learner.memory, learner.batch, config.epochs) == (64, 8, 50)
        assert (learner.lr_first, learner.lr_last) == (5e-3, 1e-4)
        assert (learner.explore, learner.copy_every, learner.gamma) == (0.1, 10, 1)
        assert (episode.reward, episode.decoder, episode.pop_size) == ("full", "geometric", 50)
        assert (episode.best, episode.guide_order) == ("least", "score")
        assert (config.task.suite, config.task.instances, config.parallel_episodes) == ("cec2017", "paper", 1)
        assert config.evaluations == 50 * config.task.dim
    assert {c.task.dim for c in folds} == {50}
    assert [set(CEC_NAMES) - set(c.task.problems) for c in folds] == [{name} for name in CEC_NAMES]
    assert (transfer.task.dim, transfer.task.problems) == (10, CEC_NAMES)


def test_seeds_of_trainings_as_printed_are_fixed_and_the_first_has_the_plain_name():
    assert PRINTED_SEEDS == (1, 2, 3, 4, 5)
    configs = [c for name in ("loo50", "10d") for c in make_configs_for_seeds(PRESETS[name], PRINTED_SEEDS)]
    assert len(configs) == 5 * 29
    assert len({(c.seed, c.task.dim) for c in configs}) == len({c.name for c in configs}) == len(configs)
    plain = [c.name for c in configs if "-seed" not in c.name]
    assert plain == [*(f"meco-loo50-{name}" for name in CEC_NAMES), "meco-10d"]
    assert [c.name for c in PRESETS["10d"](4)] == ["meco-10d-seed4"]


def test_training_without_torch_says_which_extra_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r'training needs torch.*pip install "meco-opt\[train\]"'):
        from meco.paper import Learner  # noqa: F401


def test_settings_are_values():
    assert quick().with_settings(seed=2, memory=9) == quick(seed=2, memory=9)


@pytest.mark.parametrize("problems", [(object,), (1,), "C01"])
def test_problems_that_are_no_names_are_refused(problems):
    with pytest.raises(InvalidInput, match="problems of a training must be names"):
        TaskSettings(problems=problems)
