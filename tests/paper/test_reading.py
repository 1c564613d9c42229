"""Readings of f_best and of the order of guides: hand-computed state and reward, and what they change in a run."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco.core.evaluation import Evaluation
from meco.core.rule import Population, Progress
from meco.errors import InvalidInput, UnknownName
from meco.paper.episode import Episode
from meco.paper.features import PopulationTen
from meco.paper.files import save_policy
from meco.paper.network import Weights
from meco.paper.policy import Greedy
from meco.paper.reading import AS_PRINTED, GUIDE_ORDERS, READINGS, RELAXED, Reading
from meco.paper.resolve import make_untrained
from meco.paper.reward import StepSummary, reward_function

DELTA, EPS = 1e-3, 0.5


def population(f, c):
    x = np.zeros((1, 4, 2))
    return Population(x, Evaluation.of(np.array([f]), np.array([c])[..., None], np.zeros((1, 4, 0))))


# f_best(0) = 2 by f, 8 feasibility first, 6 with delta allowed; f_best(1) = 1, 5, and 3 with 0.5 allowed
FIRST = population([8.0, 6.0, 2.0, 10.0], [0.0, 0.0005, 2.5, 0.5])
LATER = population([5.0, 3.0, 1.0, 9.0], [0.0, 0.4, 0.9, 0.7])


def observe(best):
    features, last = PopulationTen(best), {"epsilon": np.zeros(1)}
    known = {"progress": Progress(4, 8, 0), "delta": DELTA, "eps": np.array([[DELTA]])}
    _, first = features.observe({**known, "population": FIRST}, last, None)
    s, later = features.observe({**known, "population": LATER, "eps": np.array([[EPS]])}, last, first)
    return s[0], first, later


@pytest.mark.parametrize(
    ("best", "s2", "s4", "s5"),
    [
        ("least", math.sqrt(0.13671875), 0.4375, 1 / 2),  # (4, 2, 0, 8) / (10 - 2)
        ("feasible", math.sqrt(2.1875), -0.25, 5 / 8),  # (0, -2, -4, 4) / (10 - 8)
        ("relaxed", math.sqrt(0.546875), 0.375, 3 / 6),  # (2, 0, -2, 6) / (10 - 6)
        ("release", math.sqrt(0.13671875), 0.1875, 3 / 2),  # (2, 0, -2, 6) / (10 - 2)
    ],
)
def test_the_state_under_each_reading_equals_hand_computed_values(best, s2, s4, s5):
    s, _, _ = observe(best)
    assert_allclose(s[[1, 3, 4]], [s2, s4, s5], rtol=1e-14)


@pytest.mark.parametrize(
    ("best", "r1"),
    [("least", (2 - 1) / (2 + 2)), ("feasible", (8 - 5) / (8 + 2)), ("relaxed", 3 / 8), ("release", (6 - 3) / (6 + 2))],
)
def test_the_reward_under_each_reading_equals_hand_computed_values(best, r1):
    _, first, later = observe(best)
    before, after = (StepSummary(m.now.f_reward, m.now.nu_bar, np.ones(1), np.ones(1)) for m in (first, later))
    r = reward_function("full")(before, after, later.first, np.array([-2.0]))
    omega = 0.5 / 0.750125  # nu-bar: 2 / 4 and 3.0005 / 4
    assert r[0] == pytest.approx(((1 - omega) * r1 + (0.750125 - 0.5) / 0.750125) / 2, rel=1e-14)


@pytest.mark.parametrize(
    ("order", "ranked"),
    [("score", [2, 1, 0, 3]), ("feasible", [0, 1, 3, 2])],  # f + nu is 5, 3.4, 1.9, 9.7
)
def test_guides_are_ranked_by_the_score_or_feasibility_first(order, ranked):
    key = GUIDE_ORDERS[order].key(LATER.ev, None)
    assert np.lexsort((key.minor, key.major), axis=-1)[0].tolist() == ranked


@pytest.mark.parametrize("name", READINGS)
def test_an_episode_obeys_its_reading_after_every_step(name):
    episode = Episode(meco.get_problem("C22", dim=10), [1, 2], 300, reading=READINGS[name])
    episode.reset()
    for action in (1.0, 0.9, 0.5):
        episode.step([action, action])
        nu, f = episode.c.sum(axis=-1), episode.f
        beyond = np.maximum(episode.c - episode.eps[:, None, :], 0.0).sum(axis=-1)
        major = {"least": 0 * f, "feasible": nu}.get(READINGS[name].best, beyond)
        chosen = np.lexsort((f, major), axis=-1)[:, 0]
        assert_array_equal(episode.population_summary.f_best, f[[0, 1], chosen])
        assert_array_equal(episode.population_summary.f_reward, episode.population_summary.f_best)


def test_a_policy_file_that_does_not_say_its_reading_is_of_the_relaxed_one(tmp_path):
    weights = make_untrained([1]).weights
    network = Weights(*(part[0] for part in weights))
    save_policy(tmp_path / "old.safetensors", network)
    save_policy(tmp_path / "new.safetensors", network, {"best": "least", "guide_order": "score"})
    assert Reading.of(meco.load_policy(tmp_path / "old.safetensors").metadata) == RELAXED
    assert Reading.of(meco.load_policy(tmp_path / "new.safetensors").metadata) == AS_PRINTED
    with pytest.raises(InvalidInput, match="best must be one of least, feasible, relaxed, release; got 'lowest'"):
        save_policy(tmp_path / "wrong.safetensors", network, {"best": "lowest"})


def test_the_reading_of_a_method_can_be_set():
    problem = meco.get_problem("C22", dim=10)
    for method in ("MeCO-u", "MeCO-rand"):
        printed, relaxed = (
            meco.solve(method, problem, seeds=[1], budget=500, reading=name)[0].score for name in ("least", "relaxed")
        )
        assert printed == meco.solve(method, problem, seeds=[1], budget=500)[0].score != relaxed
    with pytest.raises(UnknownName, match="reading"):
        meco.solve("MeCO", problem, seeds=[1], budget=500, reading="worst")


def test_the_reading_of_a_policy_steers_its_runs():
    weights, problem = meco.load_policy("meco-10d").weights, meco.get_problem("C22", dim=10)
    found = {}
    for name, reading in READINGS.items():
        policy = Greedy(weights, vars(reading))
        solved = meco.solve("MeCO", problem, seeds=[1, 2], policy=policy, budget=500)
        episode = Episode(problem, [1, 2], 500, reading=reading)
        s, done = episode.reset(), np.array([False])
        while not done.all():
            s, _, done = episode.step(policy.act(s, None) / 10)
        assert [r.score for r in episode.results()] == [r.score for r in solved]
        found[name] = tuple(r.score for r in solved)
    assert len(set(found.values())) > 3


def test_unknown_readings_are_refused():
    with pytest.raises(UnknownName, match="best"):
        Reading("lowest")
    with pytest.raises(UnknownName, match="guide_order"):
        Reading("least", "f")


def test_a_printed_result_names_its_policy_and_reading():
    (result,) = meco.solve("MeCO", meco.get_problem("C01", dim=10), seeds=[1])
    digest = meco.load_policy("meco-10d").metadata["digest"][:12]
    assert f"policy: meco-10d {digest} (f_best least, guides score)" in repr(result)
    assert result.run.policy in repr(result)
