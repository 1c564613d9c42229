"""What is concluded about the policy of MeCO-TR from kept results."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))

import learnt
from meco.mdp.quantile import Outcomes
from meco.training.matches import Match

NAMES = [*learnt.RIVALS, learnt.POLICY]


def made(f):
    """Results of feasible runs from objective values [N, K, 4]."""
    matches = [Match("basin-free", k + 1, 2, 100) for k in range(len(f))]
    return learnt.Judged(NAMES, matches, Outcomes(f, np.zeros(f.shape), np.ones(f.shape, dtype=bool)))


def test_a_policy_that_is_one_of_the_constants_is_neither_ahead_nor_behind():
    rng = np.random.default_rng(1)
    f = rng.random((300, len(NAMES), 4)) + 0.05 * np.arange(len(NAMES))[:, None]
    f[:, -1] = rng.random((300, 4))  # as the first constant, with other seeds
    found = learnt.gap(made(f))
    ahead = found.scores[learnt.POLICY] - found.scores[NAMES[0]]
    assert abs(ahead.mean()) < 3 * ahead.std() / np.sqrt(300)


def test_a_policy_that_always_takes_the_constant_of_hindsight_closes_the_gap():
    rng = np.random.default_rng(2)
    f = 1.0 + rng.random((40, len(NAMES), 4))
    good = rng.integers(len(learnt.STEADY), size=40)
    f[np.arange(40), good] -= 1.0
    f[:, -1] = rng.random((40, 4))
    assert learnt.gap(made(f)).closed() == pytest.approx(1.0, abs=0.05)


def test_without_a_gap_no_share_of_it_is_told():
    found = learnt.gap(made(np.ones((5, len(NAMES), 4))))
    assert np.isnan(found.closed())
    assert any("5 problems" in line for line in learnt.gap_lines(made(np.ones((5, len(NAMES), 4)))))


def test_mixing_changes_the_named_features_alone_and_keeps_them_together():
    s, bank = np.zeros((50, 4)), np.repeat(np.arange(1.0, 9.0)[:, None], 4, axis=1)
    seen = learnt.mixed(s, bank, (1, 3), np.random.default_rng(3))
    assert (seen[:, [0, 2]] == 0.0).all()
    assert (seen[:, 1] == seen[:, 3]).all()
    assert set(seen[:, 1]) <= set(bank[:, 0])
    assert len(set(seen[:, 1])) > 3
    assert (s == 0.0).all()
