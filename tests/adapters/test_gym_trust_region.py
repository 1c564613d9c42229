"""MeCO-TR-v0: Gymnasium's conventions, alone and in lockstep, and a picture of the search."""

import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from numpy.testing import assert_allclose  # noqa: E402

from meco.adapters.gymnasium import ENVIRONMENTS  # noqa: E402
from meco.errors import InvalidInput  # noqa: E402

SMALL = {"dim": 2, "budget": 60}


@pytest.mark.parametrize("discrete", [False, True])
def test_gymnasium_finds_nothing_wrong_with_the_search(discrete):
    assert "MeCO-TR-v0" in ENVIRONMENTS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make("MeCO-TR-v0", discrete=discrete, **SMALL).unwrapped)


def test_searches_in_lockstep_are_the_searches_alone():
    many = gymnasium.make_vec("MeCO-TR-v0", num_envs=3, **SMALL)
    s, info = many.reset(seed=5)
    action = np.array([[0.5, 0.0], [0.0, 0.3], [0.9, 0.9]], np.float32)
    for i in range(3):
        one = gymnasium.make("MeCO-TR-v0", **SMALL)
        alone, told = one.reset(seed=5 + i)
        assert told["problem"] == info["problem"][i]
        assert_allclose(alone, s[i])
        if i == 1:
            step, r, *_ = one.step(action[i])
    s, rewards, over, _, _ = many.step(action)
    assert_allclose(s[1], step)
    assert_allclose(rewards[1], r)
    while not over[0]:
        s, _, over, _, _ = many.step(action)
    s, rewards, over, _, _ = many.step(action)  # a new episode
    assert not over.any()


def test_render_draws_the_search():
    pytest.importorskip("cairosvg")
    env = gymnasium.make("MeCO-TR-v0", render_mode="rgb_array", **SMALL)
    env.reset(seed=1)
    first = env.render()
    env.step(np.array([0.5, 0.5], np.float32))
    second = env.render()
    assert first.shape == second.shape == (392, 660, 3)
    assert not np.array_equal(first, second)
    spoken = gymnasium.make("MeCO-TR-v0", render_mode="ansi", **SMALL)
    spoken.reset(seed=1, options={"problem": "G-bowl-linear-0003"})
    assert spoken.render().startswith("G-bowl-linear-0003  5 of 60 evaluations  quantile")


def test_what_cannot_be_played_together_is_refused():
    with pytest.raises(InvalidInput, match="equal D and equal numbers of constraints"):
        gymnasium.make("MeCO-TR-v0", problems=("G-bowl-free-0001", "G-bowl-linear-0001"), dim=2)


def test_the_search_is_observed_as_sets_too():
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make("meco.gym:MeCO-TR-sets-v0", dim=5, budget=100)
    check_env(env.unwrapped, skip_render_check=True)
    seen, _ = env.reset(seed=3)
    alone = gymnasium.make("meco.gym:MeCO-TR-v0", dim=5, budget=100)
    np.testing.assert_array_equal(seen["vector"], alone.reset(seed=3)[0])
    assert env.observation_space.contains(env.step(np.array([0.5, 0.1], dtype=np.float32))[0])
