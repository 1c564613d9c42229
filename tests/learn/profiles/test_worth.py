"""What profiles are worth, learnt from samples whose worth is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.errors import InvalidInput
from meco.learn.profiles.deep_q import fit_deep_q
from meco.learn.profiles.tree import describe_tree, fit_tree, tree_weights
from meco.learn.profiles.worth import FitSettings, WorthSamples, fit_worth, with_threshold
from meco.policies.network import q_values
from meco.policies.policy import Greedy, ProfileTree
from meco.tr.profiles import complete_profiles

QUICK = FitSettings(hidden=8, steps=600, batch=256)


def draw_samples(count=3000):
    """Profile 1 is 0.4 better than the default where feature 0 is above 0, and 0.4 worse where it is not."""
    rng = np.random.default_rng(1)
    s, profile, family = rng.uniform(-1, 1, (count, 3)), rng.integers(3, size=count), rng.integers(8, size=count)
    worth = np.where(profile == 1, np.where(s[:, 0] > 0, 0.4, -0.4), 0.0)
    return WorthSamples(s, profile, 0.5 + 0.1 * s[:, 2] + worth + 0.1 * rng.standard_normal(count), family)


def test_samples_of_one_family_are_refused():
    """What was learnt could be judged on nothing."""
    samples = draw_samples()
    with pytest.raises(InvalidInput, match="two train families"):
        fit_worth(samples._replace(family=0 * samples.family), 3, QUICK)


def test_the_network_finds_where_a_profile_is_better_than_the_default():
    fit = fit_worth(draw_samples(), 3, QUICK)
    worth = q_values(fit.weights, np.array([[0.6, 0.0, 0.0], [-0.6, 0.0, 0.9]]))
    assert_array_equal(worth.argmax(axis=-1) == 1, [True, False])
    assert_allclose(worth[:, 0], 0.0, atol=1e-12)  # the default's
    assert_allclose(worth[:, 1], [0.4, -0.4], atol=0.15)
    assert fit.quality["error"] < 0.6 * fit.quality["without"]  # what is left is chance, and V
    assert fit.quality["gain"] > 0.1


def test_equal_seeds_give_equal_networks_and_what_is_not_seen_does_not_matter():
    samples = draw_samples(600)
    hidden = QUICK._replace(steps=100, unseen=(0,))
    one, other = fit_worth(samples, 3, hidden).weights, fit_worth(samples, 3, hidden).weights
    assert all(np.array_equal(a, b) for a, b in zip(one, other))
    s = samples.s[:20].copy()
    before = q_values(one, s)
    s[:, 0] = -s[:, 0]
    assert_array_equal(q_values(one, s), before)


def test_below_the_threshold_the_default_is_taken():
    weights = fit_worth(draw_samples(600), 3, QUICK._replace(steps=100)).weights
    s = np.random.default_rng(2).uniform(-1, 1, (50, 3))
    assert set(Greedy(with_threshold(weights, 1e3)).act(s, np.zeros((50, 2)))) == {0}


def test_deep_q_learns_to_take_what_is_rewarded_at_the_end():
    rng = np.random.default_rng(1)
    course, taken = rng.uniform(-1, 1, (4, 400, 2)), rng.integers(2, size=(4, 400))
    reward = np.mean(taken, axis=0)  # every decision for profile 1 adds a quarter
    weights = fit_deep_q([(course, taken, reward)], 2, FitSettings(hidden=8, steps=1500, batch=128, rate=5e-3))
    assert np.mean(q_values(weights, course[0]).argmax(axis=-1) == 1) > 0.9


def values_of_a_tree(s):
    """Three profiles, each best in its part."""
    best = np.where(s[:, 1] > 0.3, 2, np.where(s[:, 0] > 0.0, 1, 0))
    return np.eye(3)[best]


def test_a_tree_that_is_enough_is_found_and_loses_nothing():
    s = np.random.default_rng(3).uniform(-1, 1, (4000, 4))
    tree = fit_tree(s, values_of_a_tree(s))
    assert tree.agreement > 0.93
    assert tree.loss < 0.07
    words = describe_tree(tree, ["r2", "radius", "x", "y"], ["default", "slow", "fast"])
    assert any(line.startswith("radius <= ") for line in words)
    assert sum("of the decisions" in line for line in words) >= 3


def test_a_tree_in_the_place_of_a_network_takes_the_profiles_of_its_leaves():
    s = np.random.default_rng(4).uniform(-1, 1, (500, 4))
    tree = fit_tree(s, values_of_a_tree(s))
    profiles = dict(list(complete_profiles().items())[:3])
    policy = ProfileTree(tree_weights(tree, 4, 3), {"controls": "tr-profiles", "profiles": profiles})
    node = np.zeros(len(s), dtype=int)
    for _ in range(3):
        asked = [tree.questions[n] for n in node]
        node = 2 * node + 1 + np.array([q is not None and x[q.feature] > q.cut for q, x in zip(asked, s)])
    assert_array_equal(policy.act(s, np.zeros((500, 2))), np.array(tree.leaves)[node - 7])
