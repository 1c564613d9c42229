"""Episodes of MeCO-TR: steered from outside they are the runs that a policy steers, and rewards sum to the quantile."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco.errors import InvalidInput
from meco.learn import TrustRegionEpisode
from meco.learn.tr.quantile import Outcomes, quantile


def play_episode(action, **options):
    episode = TrustRegionEpisode("ring", seeds=[1, 2], budget=60, **options)
    s, done, rewards, states = episode.reset(), [False], [], []
    states.append(s)
    while not done[0]:
        s, r, done = episode.step(action)
        rewards.append(r)
        states.append(s)
    return episode, np.array(rewards), np.stack(states)


def test_constants_from_outside_are_the_constants_of_the_method():
    episode, _, states = play_episode([[0.5, 0.3]] * 2)
    assert np.all(np.abs(states) <= 1.0)
    assert episode.nfev.tolist() == [60, 60]
    for here, there in zip(
        episode.results(), meco.solve("MeCO-TR", "ring", 60, [1, 2], policy={"theta": 0.5, "share": 0.3})
    ):
        assert_array_equal(here.x, there.x)
        assert_array_equal(here.trace["share"][1:], there.trace["share"][1:])


def test_grid_indices_are_actions_too():
    by_index, _, _ = play_episode([13, 13])  # theta 0.75, share 0.3
    by_value, _, _ = play_episode([[0.75, 0.3]] * 2)
    assert_array_equal(by_index.results()[0].x, by_value.results()[0].x)


def test_rewards_sum_to_the_final_quantile_among_the_references():
    rng = np.random.default_rng(1)
    references = Outcomes(rng.uniform(0, 3, (2, 10, 5)), np.zeros((2, 10, 5)), np.ones((2, 10, 5), dtype=bool))
    episode, rewards, _ = play_episode([[0.3, 0.0]] * 2, references=references)
    final = [Outcomes(np.array(r.f), np.array(r.nu), np.array(r.feasible)) for r in episode.results()]
    expected = [quantile(one, Outcomes(*(part[b, -1] for part in references))) for b, one in enumerate(final)]
    assert_allclose(rewards.sum(axis=0), expected)
    _, own, _ = play_episode([[0.3, 0.0]] * 2)
    assert np.all(own.sum(axis=0) > 0.9)  # better than its own first points


@pytest.mark.parametrize(
    ("actions", "complaint"),
    [
        ([0.5, 0.5, 0.5], r"need actions of shape \(2, 2\), values of theta and share, or \(2,\), indices"),
        ([[0.5, 2.0], [0.5, 0.0]], r"share must lie in \[0, 1\]"),
        ([3, 20], "go from 0 to 19"),
    ],
)
def test_actions_that_mean_nothing_are_refused(actions, complaint):
    episode = TrustRegionEpisode("ring", seeds=[1, 2], budget=100)
    with pytest.raises(InvalidInput, match="call reset"):
        episode.step([0, 0])
    episode.reset()
    with pytest.raises(InvalidInput, match=complaint):
        episode.step(actions)


def test_problems_with_different_numbers_of_constraints_are_played_apart():
    problems = [meco.get_problem("G-bowl-linear-0001", dim=3), meco.get_problem("G-bowl-free-0001", dim=3)]
    with pytest.raises(InvalidInput, match="equal numbers of constraints"):
        TrustRegionEpisode(problems, seeds=[1, 2])
