"""Rules turn evaluations into an order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from meco.core.evaluation import Evaluation
from meco.rules import (
    DELTA,
    BalancedPenalty,
    FeasibilityFirst,
    FixedEpsilon,
    Key,
    Population,
    Progress,
    ScheduledEpsilon,
    StaticPenalty,
    best,
    decode_action,
    gain,
    initial_scale,
    not_worse,
    order,
    relaxed_violation,
)

BEGIN = Progress(50, 2500, 0)
NO_DRAW = np.zeros((1, 2))
ALL_RULES = [
    StaticPenalty(), BalancedPenalty(), BalancedPenalty("apm"), FeasibilityFirst(), FixedEpsilon(),
    FixedEpsilon(per_constraint=True), ScheduledEpsilon(),
]  # fmt: skip


def evaluation(f, g=None, h=None) -> Evaluation:
    f = np.asarray(f, dtype=float)[None]
    empty = np.zeros((*f.shape, 0))
    g = empty if g is None else np.asarray(g, dtype=float)[None]
    h = empty if h is None else np.asarray(h, dtype=float)[None]
    return Evaluation.of(f, g, h)


def population(ev: Evaluation) -> Population:
    return Population(np.zeros((*ev.f.shape, 2)), ev)


def key_under(rule, ev: Evaluation) -> Key:
    return rule.key(ev, rule.start(population(ev), BEGIN, NO_DRAW))


def test_violations_put_inequalities_first_and_have_no_tolerance():
    ev = evaluation([1.0], g=[[-2.0, 3.0]], h=[[-0.00005]])
    assert_array_equal(ev.c, [[[0.0, 3.0, 0.00005]]])
    assert_allclose(ev.nu, [[3.00005]])
    assert not ev.feasible.any()
    assert evaluation([1.0], g=[[0.0]], h=[[1e-4]]).feasible.all()
    assert not evaluation([1.0], g=[[1e-12]]).feasible.any()


def test_what_is_not_finite_has_failed_and_loses_to_everything():
    ev = evaluation([1.0, np.nan, 2.0, np.inf], g=[[1.0], [0.0], [np.inf], [0.0]])
    assert_array_equal(ev.failed, [[False, True, True, True]])
    for rule in ALL_RULES:
        key = key_under(rule, ev)
        assert order(key)[0, 0] == 0
        assert np.isinf(key.major[0, 1:]).all()
        assert not not_worse(Key(key.major[:, 1:2], key.minor[:, 1:2]), Key(key.major[:, :1], key.minor[:, :1])).any()


def test_the_static_penalty_adds_the_violation():
    key = key_under(StaticPenalty(2.0), evaluation([1.0, 1.0], g=[[3.0], [-3.0]]))
    assert_array_equal(key.minor, [[7.0, 1.0]])
    assert_array_equal(key.major, [[0.0, 0.0]])


def test_the_balanced_penalty_weighs_by_ranges_and_feasible_share():
    ev = evaluation([0.0, 4.0, 10.0, 2.0], g=[[5.0], [1.0], [0.0], [3.0]])
    state = BalancedPenalty().start(population(ev), BEGIN, NO_DRAW)
    assert_allclose(state, [[(2 - 0.25) * 10 / 5]])
    level = evaluation([0.0, 4.0], g=[[2.0], [2.0]])
    assert_allclose(BalancedPenalty().adapt(state, population(level), BEGIN, NO_DRAW), state)
    assert_allclose(BalancedPenalty().start(population(level), BEGIN, NO_DRAW), [[1e12]])
    assert_allclose(BalancedPenalty("apm").start(population(ev), BEGIN, NO_DRAW), [[4.0 / 2.25]])


def test_feasibility_first_compares_violation_then_objective():
    ranked = order(key_under(FeasibilityFirst(), evaluation([9.0, 1.0, 5.0, 0.0], g=[[0.0], [2.0], [0.0], [2.0]])))
    assert_array_equal(ranked, [[2, 0, 3, 1]])


def test_the_fixed_level_is_a_tenth_of_the_largest_first_violation():
    ev = evaluation([5.0, 1.0, 3.0], g=[[0.0], [0.9], [10.0]])
    assert_array_equal(order(key_under(FixedEpsilon(), ev)), [[1, 0, 2]])
    per = FixedEpsilon(per_constraint=True)
    assert_allclose(per.start(population(ev), BEGIN, NO_DRAW), [[1.0]])


def test_scalar_levels_threshold_and_subtract_alike():
    rng = np.random.default_rng(1)
    ev = evaluation(rng.normal(size=30), g=rng.normal(size=(30, 1)))
    one = order(key_under(FixedEpsilon(level=0.3), ev))
    assert_array_equal(one, order(key_under(FixedEpsilon(level=0.3, per_constraint=True), ev)))


def test_relaxed_violation_is_nu_without_allowance_and_zero_with_enough():
    c = np.array([[[1.0, 2.0], [0.5, 4.0]]])
    assert_allclose(relaxed_violation(c, np.zeros((1, 2))), [[3.0, 4.5]])
    assert_allclose(relaxed_violation(c, np.array([[0.75, 3.0]])), [[0.25, 1.0]])
    assert_allclose(relaxed_violation(c, np.full((1, 2), np.inf)), [[0.0, 0.0]])


def test_decoding_spans_delta_to_the_initial_scale():
    base = np.array([[5.0, DELTA, 40.0]])
    assert_allclose(decode_action(np.array([0.0]), base), [[DELTA] * 3])
    assert_allclose(decode_action(np.array([0.5]), base), np.sqrt(base * DELTA))
    assert_allclose(decode_action(np.array([1.0]), base), base)


def test_the_initial_scale_leaves_failures_out_and_stops_at_delta():
    ev = evaluation([1.0, 1.0, np.nan], g=[[2.0, 0.0], [4.0, 0.0], [1e9, 1e9]])
    assert_allclose(initial_scale(ev), [[3.0, DELTA]])


def test_a_schedule_falls_geometrically_with_the_budget():
    rule = ScheduledEpsilon(first=1.0, last=0.0, until=0.5)
    pop = population(evaluation([1.0, 2.0], g=[[10.0], [10.0]]))
    state = rule.start(pop, Progress(0, 100, 0), NO_DRAW)
    assert_allclose(state.eps, [[10.0]])
    assert_allclose(rule.adapt(state, pop, Progress(25, 100, 5), NO_DRAW).eps, [[np.sqrt(10.0 * DELTA)]])
    assert_allclose(rule.adapt(state, pop, Progress(80, 100, 9), NO_DRAW).eps, [[DELTA]])


def test_gains_of_the_two_levels_are_scaled_apart():
    trial = Key(np.array([[1.0, 0.0, 0.0, 2.0]]), np.array([[0.0, 1.0, 2.0, 0.0]]))
    parent = Key(np.array([[1e9, 0.0, 0.0, np.inf]]), np.array([[0.0, 5.0, 3.0, np.inf]]))
    better = np.ones((1, 4), dtype=bool)
    assert_allclose(gain(trial, parent, better), [[1.0, 1.0, 0.25, 0.0]])
    assert_allclose(gain(trial, parent, better, raw=True), [[1e9 - 1, 4.0, 1.0, 0.0]])


keys = st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), min_size=1, max_size=12)


@given(keys)
def test_order_sorts_pairs_stably(pairs):
    major, minor = (np.array([[p[i] for p in pairs]], dtype=float) for i in (0, 1))
    expected = sorted(range(len(pairs)), key=lambda i: (pairs[i], i))
    assert order(Key(major, minor))[0].tolist() == expected
    assert best(Key(major, minor))[0] == expected[0]


@given(st.tuples(st.integers(0, 2), st.integers(0, 2)), st.tuples(st.integers(0, 2), st.integers(0, 2)))
def test_not_worse_is_the_lexicographic_order(a, b):
    one, two = (Key(np.array([[float(p[0])]]), np.array([[float(p[1])]])) for p in (a, b))
    assert bool(not_worse(one, two)[0, 0]) == (a <= b)


@pytest.mark.parametrize("rule", ALL_RULES, ids=repr)
def test_every_rule_survives_no_constraints_and_all_failed(rule):
    assert_array_equal(order(key_under(rule, evaluation([2.0, 1.0]))), [[1, 0]])
    hopeless = key_under(rule, evaluation([np.nan, np.nan], g=[[1.0], [1.0]]))
    assert np.isinf(hopeless.minor).all()
