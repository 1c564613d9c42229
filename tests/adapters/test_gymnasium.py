"""The Gymnasium environments: conventions kept, and the same numbers as the episode behind them."""

import os
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from meco.adapters.gymnasium import ENVIRONMENTS, MecoEnv, MecoVectorEnv  # noqa: E402
from meco.errors import InvalidInput  # noqa: E402
from meco.paper import Episode  # noqa: E402
from meco.problems.suite import get_problem  # noqa: E402

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_sb3_dqn.py"
SMALL = {"problems": ("C01", "C07", "C20"), "dim": 10, "budget": 250}


def test_gymnasium_finds_nothing_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make("MeCO-v0", **SMALL).unwrapped)


FRESH = [
    "import gymnasium; print(gymnasium.make('meco.gym:MeCO-v0').spec.id)",
    "import gymnasium, meco.gym; print(gymnasium.make('MeCO-v0').spec.id)",
]
MORE_FRESH = [  # the same two ways into the registry, with other words
    "import gymnasium; print(gymnasium.make_vec('meco.gym:MeCO-v0', num_envs=2).spec.id)",
    "import meco.gym, gymnasium; gymnasium.register_envs(meco.gym); print(gymnasium.make('MeCO-v0').spec.id)",
    "import gymnasium; print(gymnasium.make('meco.adapters.gymnasium:MeCO-v0').spec.id)",
    "import gymnasium as g; s = g.make('meco.gym:MeCO-v0').spec; print(g.make(type(s).from_json(s.to_json())).spec.id)",
]


@pytest.mark.parametrize("script", [*FRESH, *(pytest.param(each, marks=pytest.mark.slow) for each in MORE_FRESH)])
def test_a_name_makes_the_environment_in_a_fresh_interpreter(script):
    """Gymnasium 1 reads no entry points of others: the module in the name is how it finds them without an import."""
    # NumPy warns of pinned instructions that this processor does not have
    plain = {name: value for name, value in os.environ.items() if name != "NPY_DISABLE_CPU_FEATURES"}
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, env=plain)
    assert done.stdout.strip() == "MeCO-v0", done.stderr


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_environment_is_registered_alone_and_in_lockstep(name):
    spec = gymnasium.spec(name)
    one, many = ENVIRONMENTS[name]
    assert gymnasium.envs.registration.load_env_creator(spec.entry_point) is one
    assert gymnasium.envs.registration.load_env_creator(spec.vector_entry_point) is many


def test_render_says_where_the_run_stands(capsys):
    env = gymnasium.make("MeCO-v0", render_mode="ansi", **SMALL)
    env.reset(seed=3, options={"problem": "C07"})
    assert env.render().startswith("C07  50 of 250 evaluations  f ")
    env.step(4)
    assert env.render().startswith("C07  100 of 250 evaluations  f ")
    shown = MecoEnv(render_mode="human", **SMALL)
    shown.reset(seed=3, options={"problem": "C07"})
    shown.step(4)
    assert capsys.readouterr().out.splitlines()[1] == env.render()
    with pytest.raises(InvalidInput, match="render_mode must be 'ansi', 'human' or None; got 'rgb'"):
        MecoEnv(render_mode="rgb", **SMALL)


def test_stable_baselines_finds_nothing_wrong():
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(gymnasium.make("MeCO-v0", **SMALL).unwrapped)


def test_an_episode_ends_with_the_budget_as_terminated():
    env = MecoEnv(**SMALL)
    env.reset(seed=1)
    ends = [env.step(5)[2:4] for _ in range(4)]
    assert ends == [(False, False)] * 3 + [(True, False)]


def test_index_k_is_the_action_value_k_over_ten():
    env = MecoEnv(**SMALL)
    env.reset(seed=3, options={"problem": "C07"})
    for k in (0, 7, 10):
        s, *_ = env.step(k)
        assert s[8] == np.float32(k / 10)


@pytest.mark.parametrize("bad", [0.3, -1, 11, np.nan, "5", None])
def test_an_action_that_is_no_index_is_refused(bad):
    env = gymnasium.make("MeCO-v0", dim=2, budget=200, disable_env_checker=True)
    env.reset(seed=1)
    with pytest.raises(InvalidInput, match="an action is a whole number from 0 to 10; got"):
        env.step(bad)


def test_problems_may_be_one_name_and_not_none():
    one = gymnasium.make("MeCO-v0", problems="C01", dim=4).unwrapped
    assert [problem.name for problem in one.problems] == ["C01"]
    with pytest.raises(InvalidInput, match="problems is empty"):
        gymnasium.make("MeCO-v0", problems=[])


def test_the_environment_is_the_episode():
    env = MecoEnv(**SMALL)
    s, info = env.reset(seed=5, options={"problem": "C20"})
    seed = env._episode.seeds
    episode = Episode([env._process.problems[2]], seed, 250, references=np.array([np.inf]))
    np.testing.assert_array_equal(s, episode.reset()[0].astype(np.float32))
    assert info["problem"] == "C20"
    for k in (3, 9, 10, 0):
        s, r, over, _, info = env.step(k)
        expected, reward, done = episode.step([k / 10])
        np.testing.assert_array_equal(s, expected[0].astype(np.float32))
        assert (r, over) == (reward[0], done[0])
        assert info["score"] == episode.score[0]
        assert info["nfev"] == episode.nfev[0]


def test_the_same_seed_gives_the_same_episodes():
    env = MecoEnv(**SMALL)

    def rewards():
        env.reset(seed=9)
        return [[env.step(k)[1] for k in (4, 8, 10, 2)] + [env.reset()[1]["problem"]] for _ in range(3)]

    assert rewards() == rewards()


def test_the_reference_objective_of_the_reward_learns_from_ended_episodes():
    env = MecoEnv(problems=("C01",), dim=10, budget=250)
    env.reset(seed=1)
    assert not env._process.references[0].least
    for _ in range(4):
        env.step(10)
    assert env._process.references[0].least["C01"] == env._episode.best_objective[0]


def test_run_i_of_the_vector_environment_is_the_environment_seeded_alike():
    many = gymnasium.make_vec("MeCO-v0", num_envs=3, **SMALL)
    seen, _ = many.reset(seed=20)
    one = MecoEnv(**SMALL)
    first, _ = one.reset(seed=22)
    np.testing.assert_array_equal(seen[2], first)
    for turn in range(9):  # beyond the end: all start anew at the next step, whatever the action
        seen, r, ended, cut, info = many.step(np.array([1, 5, 9]))
        if turn == 4:
            expected, reward, over = one.reset()[0], 0.0, False
        else:
            expected, reward, over, _, _ = one.step(9)
        np.testing.assert_array_equal(seen[2], expected)
        assert (r[2], ended[2], cut[2]) == (reward, over, False)
    assert info["problem"].shape == (3,)
    assert many.observation_space.contains(seen)


def test_each_run_of_a_vector_environment_can_be_given_its_problem():
    many = MecoVectorEnv(num_envs=2, **SMALL)
    _, info = many.reset(seed=1, options={"problem": ["C20", "C01"]})
    assert info["problem"].tolist() == ["C20", "C01"]
    with pytest.raises(InvalidInput, match="2 environments need one problem or 2; got 1"):
        many.reset(options={"problem": ["C20"]})


def test_a_problem_of_another_size_is_refused():
    env = MecoEnv(**SMALL)
    with pytest.raises(InvalidInput, match="problems of 10 variables; RC20 has 2"):
        env.reset(seed=1, options={"problem": "RC20"})


@pytest.mark.docs
def test_the_example_trains_a_stable_baselines_agent(monkeypatch, capsys):
    pytest.importorskip("stable_baselines3")
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert "mean return" in capsys.readouterr().out


def value_at_the_origin(problem):
    return problem.raw(np.zeros(10))[0].item()


def test_random_instances_differ_between_episodes_and_repeat_with_a_seed():
    drawn = []
    for _ in range(2):
        environment = gymnasium.make("MeCO-v0", problems="C01", instance="random", budget=250).unwrapped
        for seed in (1, None):
            environment.reset(seed=seed)
            drawn.append(value_at_the_origin(environment.episode.problem[0]))
    assert drawn[:2] == drawn[2:]
    assert drawn[0] != drawn[1]


def test_random_instances_run_in_lockstep():
    many = MecoVectorEnv(num_envs=2, problems=("C01", "C07"), instance="random", budget=250)
    many.reset(seed=1)
    assert many.step(np.zeros(2, dtype=int))[0].shape[0] == 2


def test_random_instances_leave_problems_without_instances_as_they_are():
    given = get_problem("RC19")
    environment = gymnasium.make("MeCO-v0", problems=given, instance="random", budget=250).unwrapped
    environment.reset(seed=1)
    assert environment.episode.problem[0] is given
