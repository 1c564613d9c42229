"""Matches: drawn from one set of families, played in lockstep, each as if it were played alone."""

from functools import partial

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from meco.learn.tr.matches import Match, drawn_matches, in_lockstep, play
from meco.policies.network import Weights, draw_weights, stack
from meco.policies.policy import Correcting
from meco.problems.generated import GENERATED
from meco.tr.steered import correcting_shape, steered_search

MATCHES = [Match("bowl-linear", 1, 3, 60), Match("steps-outside", 2, 3, 60), Match("bowl-whole", 1, 3, 60)]
SHAPE = correcting_shape(2)


def test_matches_come_from_one_set_of_families_and_group_by_shape():
    drawn = drawn_matches("train", [(2, 50), (5, 20)], 2)
    assert len(drawn) == sum(family.set == "train" for family in GENERATED.values()) * 2 * 2
    assert len(set(drawn)) == len(drawn)
    for places in in_lockstep(drawn):
        assert len({drawn[i].shape for i in places}) == 1


def test_a_network_of_zeros_leaves_the_rule_of_the_engine():
    seen = []

    def make(task):
        engine = steered_search(Correcting(Weights(*(np.zeros(sizes) for sizes in SHAPE.layers))), task)
        steer = engine.controller.steer
        engine.controller.steer = lambda values: (seen.append((engine.engine.default_theta(), values)), steer(values))
        return engine

    play(MATCHES[:1], [1], make)
    assert len(seen) > 5
    for own, values in seen:
        assert_allclose(values["theta"], own, atol=1e-12)


def test_copies_differ_in_their_policies_alone_and_a_run_in_company_is_the_run_alone():
    rng = np.random.default_rng(1)
    networks = [draw_weights(rng, SHAPE) for _ in range(6)]

    def played(matches, seeds, weights, copies=1):
        return play(matches, seeds, partial(steered_search, Correcting(stack(weights))), copies)

    together = played(MATCHES, [5, 6, 7], networks, copies=2)
    assert together.f.shape == (6, 10)
    assert_array_equal(together.f[4], played(MATCHES[1:2], [6], networks[4:5]).f[0])
    same = played(MATCHES, [5, 6, 7], networks[:3] * 2, copies=2)
    assert_array_equal(same.f[:3], same.f[3:])
