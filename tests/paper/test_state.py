"""The ten features: hand-computed values, an independent slow implementation, and what must not change them."""

from __future__ import annotations

import math

import array_api_compat.torch as torch_xp
import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.core.arrays import to_numpy
from meco.core.evaluation import Evaluation, concat_evaluations
from meco.core.rule import Population, Progress
from meco.paper import state as st
from meco.paper.reward import REWARDS, StepSummary
from meco.rules.epsilon import DELTA


def population(x, f, g, h=None, xp=np):
    """A population of any array library from nested lists; nan marks a failed candidate."""
    x, f, g = (np.asarray(v, dtype=float) for v in (x, f, g))
    h = np.zeros((*f.shape, 0)) if h is None else np.asarray(h, dtype=float)
    x, f, g, h = (xp.asarray(v, dtype=xp.float64) for v in (x, f, g, h))
    return Population(x, Evaluation.of(f, g, h))


def random_population(seed, runs=4, size=12, dim=5, ineq=3, eq=2, fail=0.0, xp=np):
    rng = np.random.default_rng(seed)
    f = rng.normal(0, 10, (runs, size))
    f[rng.random((runs, size)) < fail] = np.nan
    g, h = (
        rng.normal(-0.5, 1, (runs, size, ineq)),
        rng.normal(0, 0.01, (runs, size, eq)) * (rng.random((size, eq)) < 0.7),
    )
    return population(rng.random((runs, size, dim)), f, g, h, xp)


def slow_situation(x, f, c, ok, eps):
    """f_best and nu-bar of one run by plain loops."""
    members = [i for i in range(len(f)) if ok[i]]
    rank = {i: (sum(max(v - e, 0.0) for v, e in zip(c[i], eps)), f[i]) for i in members}
    least = sorted(sum(c[i]) for i in members)[:5]
    return f[min(members, key=rank.get)], sum(least) / len(least)


def slow_features(x, f, c, feasible, ok, f_best, nu_bar, first, spent, action):
    """Eq. 4 of one run, one entry at a time."""

    def over(d):
        return (1 if d >= 0 else -1) * max(abs(d), 1e-8)

    def mean(v):
        return sum(v) / len(v)

    def std(v):
        m = mean(v)
        return math.sqrt(mean([(e - m) ** 2 for e in v]))

    n = [i for i in range(len(f)) if ok[i]]
    coordinates = [x[i][j] for i in n for j in range(len(x[i]))]
    relative = [(f[i] - f_best) / over(first["f_worst"] - first["f_best"]) for i in n]
    agree = 0
    for p in range(len(n) - 1):
        for q in range(p + 1, len(n)):
            i, j = n[p], n[q]
            agree += (f[i] - f[j]) * (sum(c[i]) - sum(c[j])) > 0
    s = [
        std(coordinates), std(relative), mean(coordinates), mean(relative), f_best / over(first["f_best"]), spent,
        nu_bar / over(first["nu_bar"]), sum(feasible[i] for i in n) / len(n), action,
        2 * agree / (len(n) * (len(n) - 1)),
    ]  # fmt: skip
    return [min(10.0, max(-10.0, v)) for v in s]


def fast(first_pop, pop, eps, action, progress):
    first, ok = st.make_reference(first_pop.ev, DELTA, "relaxed"), st.valid_mask(pop.ev)
    return st.state_vector(pop, st.summarize_population(pop.ev, eps, ok, "relaxed"), first, progress, action, ok)


def test_features_equal_hand_computed_values():
    """Three candidates, two variables, one constraint; every number below was worked out on paper."""
    start = population([[[0, 0], [1, 1], [0.5, 0.5]]], [[4, 10, 1]], [[[-1], [0.5], [2.5]]])
    first = st.make_reference(start.ev, DELTA, "relaxed")
    assert_allclose([first.f_best[0], first.f_worst[0], first.f_min[0], first.nu_bar[0]], [4, 10, 1, 1])
    later = population([[[0, 0.5], [1, 1], [0.5, 0]]], [[2, 7, 1]], [[[-1], [-0.5], [0.6]]])
    now = st.summarize_population(later.ev, np.array([[0.5]]), None, "relaxed")
    assert_allclose([now.f_best[0], now.nu_bar[0]], [2, 0.2])  # the third exceeds 0.5, so f = 2 leads
    s = st.state_vector(later, now, first, Progress(30, 120, 1), np.array([0.3]), None)
    # coordinates (0, .5, 1, 1, .5, 0); relative objectives (0, 5, -1) / 6
    expected = [
        math.sqrt(1 / 6), math.sqrt((16 + 121 + 49) / 9 / 3) / 6, 0.5, 4 / 18, 0.5, 0.25, 0.2, 2 / 3, 0.3,
        0.0,  # pairs: the first two tie in nu, in the others f falls while nu rises
    ]  # fmt: skip
    assert_allclose(s, [expected], rtol=1e-14)


@pytest.mark.parametrize("fail", [0.0, 0.3])
@pytest.mark.parametrize("size", [3, 5, 12])
def test_features_equal_the_slow_implementation(fail, size):
    start, pop = random_population(1, size=size), random_population(2, size=size, fail=fail if size > 3 else 0.0)
    rng = np.random.default_rng(3)
    eps, action = rng.random((4, 5)), rng.random(4)
    s = fast(start, pop, eps, action, Progress(150, 400, 2))
    for b in range(4):
        ev = start.ev.map(lambda a, b=b: a[b])
        ok = ~ev.failed
        c = ev.c
        f_best, nu_bar = slow_situation(start.x[b], ev.f, c, ok, [DELTA] * 5)
        first = {"f_best": f_best, "nu_bar": nu_bar, "f_worst": max(ev.f[ok])}
        ev = pop.ev.map(lambda a, b=b: a[b])
        f_best, nu_bar = slow_situation(pop.x[b], ev.f, ev.c, ~ev.failed, eps[b])
        expected = slow_features(
            pop.x[b], ev.f, ev.c, ev.feasible, ~ev.failed, f_best, nu_bar, first, 150 / 400, action[b]
        )
        assert_allclose(s[b], expected, rtol=1e-12, atol=1e-13)


def test_a_failed_candidate_enters_no_feature():
    pop = random_population(4, size=9)
    wild = population(
        np.concatenate([pop.x, np.full((4, 2, 5), 0.99)], axis=1),
        np.concatenate([pop.ev.f, np.full((4, 2), np.nan)], axis=1),
        np.concatenate([pop.ev.g, np.full((4, 2, 3), 1e9)], axis=1),
        np.concatenate([pop.ev.h, np.full((4, 2, 2), 1e9)], axis=1),
    )
    eps, action, progress = np.full((4, 5), 0.1), np.zeros(4), Progress(10, 20, 1)
    assert_allclose(fast(wild, wild, eps, action, progress), fast(pop, pop, eps, action, progress), rtol=1e-13)


@pytest.mark.parametrize("fail", [0.0, 0.25])
def test_features_do_not_notice_the_order_of_candidates_and_constraints(fail):
    start, pop = random_population(5, fail=fail), random_population(6, fail=fail)
    eps, action, progress = np.random.default_rng(0).random((4, 5)), np.full(4, 0.4), Progress(24, 60, 1)
    s = fast(start, pop, eps, action, progress)
    move = np.random.default_rng(1).permutation(12)
    shuffled = [Population(p.x[:, move], p.ev.map(lambda a: a[:, move])) for p in (start, pop)]
    assert_allclose(fast(*shuffled, eps, action, progress), s, atol=1e-12, rtol=0)
    order_g, order_h = np.array([2, 0, 1]), np.array([1, 0])
    turned = [population(p.x, p.ev.f, p.ev.g[..., order_g], p.ev.h[..., order_h]) for p in (start, pop)]
    moved = eps[:, np.concatenate([order_g, 3 + order_h])]
    assert_allclose(fast(*turned, moved, action, progress), s, atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", REWARDS)
def test_rewards_do_not_notice_the_order_of_candidates(name):
    start, *pops = (random_population(seed, fail=0.2) for seed in (5, 6, 7))
    eps, known = np.random.default_rng(0).random((4, 5)), np.array([-40.0, -20.0, 0.0, np.inf])

    def reward(move):
        first = st.make_reference(start.ev.map(lambda a: a[:, move]), DELTA, "relaxed")
        seen = [p.ev.map(lambda a: a[:, move]) for p in pops]
        scores = [np.nanmin(ev.f + ev.nu, axis=1) for ev in seen]
        summaries = [st.summarize_population(ev, eps, st.valid_mask(ev), "relaxed") for ev in seen]
        moments = [
            StepSummary(now.f_reward, now.nu_bar, score, np.full(4, 50.0)) for now, score in zip(summaries, scores)
        ]
        return REWARDS[name](*moments, first, known)

    r = reward(np.arange(12))
    assert np.abs(r).max() > 0
    assert_allclose(reward(np.random.default_rng(1).permutation(12)), r, atol=1e-12, rtol=0)


@pytest.mark.parametrize("xp", [array_api_strict, torch_xp], ids=["strict", "torch"])
@pytest.mark.parametrize("fail", [0.0, 0.25])
def test_every_array_library_gives_the_same_features(xp, fail):
    eps, action, progress = np.random.default_rng(0).random((4, 5)), np.full(4, 0.4), Progress(24, 60, 1)
    s = fast(random_population(5, fail=fail), random_population(6, fail=fail), eps, action, progress)
    other = fast(
        random_population(5, fail=fail, xp=xp), random_population(6, fail=fail, xp=xp),
        xp.asarray(eps), xp.asarray(action), progress,
    )  # fmt: skip
    assert_allclose(to_numpy(other), s, atol=1e-12)


def test_denominators_keep_their_sign_and_stay_away_from_zero():
    assert_array_equal(
        st.safe_denominator(np.array([0.0, 1e-12, -1e-12, -3.0, 2.0, -0.0])), [1e-8, 1e-8, -1e-8, -3.0, 2.0, 1e-8]
    )


def test_features_are_clipped_and_finite_whatever_the_objective():
    huge = population([[[0.1], [0.2], [0.3]]], [[1e308, -1e308, 0.0]], [[[0.0], [0.0], [0.0]]])
    tiny = population([[[0.1], [0.2], [0.3]]], [[0.0, 0.0, 0.0]], [[[0.0], [0.0], [0.0]]])
    for start in (huge, tiny):
        for pop in (huge, tiny):
            s = fast(start, pop, np.full((1, 1), DELTA), np.zeros(1), Progress(3, 6, 1))
            assert np.isfinite(s).all()
            assert np.abs(s).max() <= st.FEATURE_BOUND


def test_the_mean_of_least_violations_takes_five_or_all_there_are():
    nu = np.array([[7.0, 1.0, 3.0, 2.0, 6.0, 5.0, 4.0]])
    assert st.mean_least_violation(nu, None)[0] == 3.0
    assert st.mean_least_violation(nu[:, :3], None)[0] == pytest.approx(11 / 3)
    assert st.mean_least_violation(nu, np.array([[1, 1, 0, 0, 0, 0, 0]], dtype=bool))[0] == 4.0


def test_masked_and_unmasked_means_agree_to_the_last_bit():
    """A run without failures must not notice a neighbour that has some."""
    alone, with_neighbour = random_population(7, runs=1), random_population(7, runs=1)
    broken = random_population(8, runs=1, fail=0.5)
    both = Population(
        np.concatenate([with_neighbour.x, broken.x]), concat_evaluations([with_neighbour.ev, broken.ev], axis=0)
    )
    eps, progress = np.full((2, 5), 0.1), Progress(10, 20, 1)
    assert both.ev.failed.any()
    assert_array_equal(
        fast(both, both, eps, np.zeros(2), progress)[0], fast(alone, alone, eps[:1], np.zeros(1), progress)[0]
    )


def test_a_population_that_failed_as_a_whole_has_only_its_budget_and_action():
    lost = random_population(9, fail=1.0)
    s = fast(lost, lost, np.full((4, 5), DELTA), np.full(4, 0.7), Progress(10, 20, 1))
    assert_array_equal(s, np.tile([0, 0, 0, 0, 0, 0.5, 0, 0, 0.7, 0], (4, 1)))


def test_without_constraints_the_violation_features_rest():
    pop = population([[[0.0], [1.0]]], [[1.0, 2.0]], np.zeros((1, 2, 0)))
    s = fast(pop, pop, np.zeros((1, 0)), np.zeros(1), Progress(2, 4, 0))
    assert_array_equal(s[0, [4, 6, 7, 9]], [1.0, 0.0, 1.0, 0.0])
