"""Decodings of the relaxation's control: hand-computed values, and the limits they keep."""

from __future__ import annotations

import array_api_compat.torch as torch_xp
import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.core.arrays import to_numpy
from meco.core.evaluation import Evaluation
from meco.errors import UnknownName
from meco.paper.action import ACTION_GRID, DECODERS, N_ACTIONS, GeometricDecoder, LinearDecoder
from meco.rules.epsilon import DELTA

LIBRARIES = pytest.mark.parametrize("xp", [array_api_strict, torch_xp], ids=["strict", "torch"])


def test_the_grids_are_the_papers_and_symmetric_for_the_ablations():
    assert ACTION_GRID.tolist() == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]
    assert DECODERS["geometric"].grid.tolist() == ACTION_GRID.tolist()
    assert_allclose(DECODERS["aa"].grid, [-1, -0.8, -0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6, 0.8, 1], atol=1e-15)
    assert_allclose(DECODERS["ca"].grid, DECODERS["aa"].grid / 10, atol=1e-15)
    assert all(len(d.grid) == N_ACTIONS and d.name == name for name, d in DECODERS.items())


def test_geometric_decoding_spans_delta_to_the_initial_scale():
    base = np.array([[5.0, DELTA, 40.0]])
    decoder = GeometricDecoder()
    assert_array_equal(decoder.first_allowance(base), [[DELTA] * 3])
    for action, expected in ((0.0, np.full((1, 3), DELTA)), (0.5, np.sqrt(base * DELTA)), (1.0, base)):
        assert_allclose(decoder.next_allowance(base * 7, np.array([action]), base), expected, rtol=1e-14)


def test_geometric_decoding_equals_eq_6_term_by_term():
    rng = np.random.default_rng(0)
    base, action = 10.0 ** rng.uniform(-3, 6, (4, 3)), rng.choice(ACTION_GRID, 4)
    eps = GeometricDecoder(delta=1e-2).next_allowance(base, action, base)
    for b in range(4):
        for c in range(3):
            assert eps[b, c] == pytest.approx(base[b, c] ** action[b] * 0.01 ** (1 - action[b]), rel=1e-13)


def test_the_aggressive_decoding_collapses_halves_and_doubles():
    base = np.array([[8.0, 2.0]])
    decoder = DECODERS["aa"]
    assert_array_equal(decoder.first_allowance(base), base)
    assert_allclose(decoder.next_allowance(base, np.array([1.0]), base), [[DELTA, DELTA]])
    assert_allclose(decoder.next_allowance(base, np.array([0.2]), base), [[6.4, 1.6]])
    assert_allclose(decoder.next_allowance(base / 4, np.array([-1.0]), base), base / 2)
    assert_allclose(decoder.next_allowance(base, np.array([-1.0]), base), base)  # never beyond the initial scale


def test_the_conservative_decoding_moves_by_a_tenth_at_most():
    eps, base = np.array([[1.0]]), np.array([[100.0]])
    moved = [float(DECODERS["ca"].next_allowance(eps, np.array([a]), base)[0, 0]) for a in DECODERS["ca"].grid]
    assert_allclose(moved, np.linspace(1.1, 0.9, 11))
    assert DECODERS["ca"].next_allowance(np.array([[DELTA]]), np.array([0.1]), base)[0, 0] == DELTA


@LIBRARIES
@pytest.mark.parametrize("name", DECODERS)
def test_decodings_run_on_every_array_library(name, xp):
    rng = np.random.default_rng(1)
    base, decoder = rng.uniform(DELTA, 50, (3, 2)), DECODERS[name]
    action = rng.choice(decoder.grid, 3)
    ours = decoder.next_allowance(decoder.first_allowance(base), action, base)
    theirs = decoder.next_allowance(decoder.first_allowance(xp.asarray(base)), xp.asarray(action), xp.asarray(base))
    assert_allclose(to_numpy(theirs), ours, rtol=1e-13)


def test_decoders_are_values_with_their_own_delta():
    assert DECODERS["ca"].with_delta(0.5) == LinearDecoder(delta=0.5, reach=0.1, label="ca")
    assert GeometricDecoder(0.5).first_allowance(np.array([[3.0]]))[0, 0] == 0.5


def test_an_unknown_decoder_names_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'geometric'"):
        DECODERS["geometrical"]


def test_the_threshold_of_the_release_is_one_allowance_on_the_sum_of_violations():
    c = np.array([[[0.0, 0.2], [1.0, 0.0], [3.0, 1.0], [0.0, 2.8]]])
    ev = Evaluation.of(np.array([[4.0, 3.0, 2.0, 1.0]]), c, np.zeros((1, 4, 0)))
    decoder = DECODERS["threshold"]
    assert decoder.scale(ev).tolist() == [[2.0]]  # the mean of 0.2, 1, 4 and 2.8
    key = decoder.values(ev, np.array([[1.0]]))
    assert key.major.tolist() == [[0.0, 0.0, 4.0, 2.8]]
    assert decoder.known(np.array([[1.0]]))["last action"].tolist() == [1.0]
