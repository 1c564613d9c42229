"""The Q-network and the policies: torch's numbers, stacked networks, chance that arrives as an argument."""

from __future__ import annotations

import array_api_compat.torch as torch_xp
import array_api_strict
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco.core.arrays import to_numpy
from meco.errors import InvalidInput
from meco.paper.network import draw_weights, selu, stack_networks
from meco.paper.policy import (
    ConstantPolicy,
    EpsilonGreedy,
    Greedy,
    Masked,
    RandomPolicy,
    Weights,
    q_values,
    stack_policies,
)

RNG = np.random.default_rng(0)
NETWORK = draw_weights(RNG)
STATES = RNG.uniform(-10, 10, (40, 10))
DRAW = RNG.random((40, 2))
ALL = [Greedy(NETWORK), EpsilonGreedy(NETWORK, 0.3), RandomPolicy(), ConstantPolicy(4), Masked(Greedy(NETWORK))]


def torch_network(weights):
    net = torch.nn.Sequential(torch.nn.Linear(10, 64), torch.nn.SELU(), torch.nn.Linear(64, 11)).double()
    with torch.no_grad():
        for layer, w, b in ((net[0], weights.w1, weights.b1), (net[2], weights.w2, weights.b2)):
            layer.weight.copy_(torch.asarray(w.T))
            layer.bias.copy_(torch.asarray(b))
    return net


def test_action_values_equal_torchs():
    theirs = torch_network(NETWORK)(torch.asarray(STATES)).detach().numpy()
    assert_allclose(q_values(NETWORK, STATES), theirs, rtol=1e-12, atol=1e-12)
    squashed = torch.sigmoid(torch.asarray(theirs)).numpy()
    assert_allclose(q_values(NETWORK, STATES, output="sigmoid"), squashed, rtol=1e-12)


def test_action_values_equal_a_sum_written_out():
    s = STATES[3]
    hidden = []
    for j in range(64):
        z = sum(s[i] * NETWORK.w1[i, j] for i in range(10)) + NETWORK.b1[j]
        hidden.append(1.0507009873554805 * (z if z > 0 else 1.6732632423543772 * (np.exp(z) - 1)))
    q = [sum(hidden[j] * NETWORK.w2[j, k] for j in range(64)) + NETWORK.b2[k] for k in range(11)]
    assert_allclose(q_values(NETWORK, s), q, rtol=1e-12)


def test_selu_does_not_overflow():
    assert_allclose(selu(np.array([-1e9, 0.0, 1e9])), [-1.7580993408473766, 0.0, 1.0507009873554805e9])


def test_a_row_of_states_is_that_state_alone():
    together = q_values(NETWORK, STATES)
    for b in range(len(STATES)):
        assert_array_equal(together[b], q_values(NETWORK, STATES[b : b + 1])[0])


def test_stacked_networks_serve_a_row_each_or_many_rows_each():
    networks = [draw_weights(np.random.default_rng(i)) for i in range(4)]
    stacked = stack_networks(networks)
    assert stacked.w1.shape == (4, 10, 64)
    one_each, many_each = q_values(stacked, STATES[:4]), q_values(stacked, STATES.reshape(4, 10, 10))
    for k, network in enumerate(networks):
        assert_array_equal(one_each[k], q_values(network, STATES[k : k + 1])[0])
        assert_allclose(many_each[k], q_values(network, STATES[10 * k : 10 * k + 10]), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("xp", [array_api_strict, torch_xp], ids=["strict", "torch"])
@pytest.mark.parametrize("policy", ALL, ids=lambda p: type(p).__name__)
def test_policies_choose_alike_on_every_array_library(policy, xp):
    index = policy.act(xp.asarray(STATES), xp.asarray(DRAW))
    assert_array_equal(to_numpy(index), policy.act(STATES, DRAW))


@pytest.mark.parametrize("policy", ALL, ids=lambda p: type(p).__name__)
def test_a_policy_does_not_notice_the_neighbours(policy):
    together = policy.act(STATES, DRAW)
    assert together.shape == (40,)
    assert ((together >= 0) & (together <= 10)).all()
    for b in range(40):
        assert policy.act(STATES[b : b + 1], DRAW[b : b + 1])[0] == together[b]


def test_gradients_flow_through_the_action_values():
    weights = Weights(*(torch.asarray(w).requires_grad_() for w in NETWORK))
    q_values(weights, torch.asarray(STATES)).sum().backward()
    assert all(w.grad is not None and bool(w.grad.abs().sum() > 0) for w in weights)


def test_greedy_takes_the_largest_value():
    assert_array_equal(Greedy(NETWORK).act(STATES, DRAW), np.argmax(q_values(NETWORK, STATES), axis=-1))


def test_exploration_follows_its_draws():
    greedy = Greedy(NETWORK).act(STATES, DRAW)
    index = EpsilonGreedy(NETWORK, rate=0.3).act(STATES, DRAW)
    for b in range(40):
        assert index[b] == (int(DRAW[b, 1] * 11) if DRAW[b, 0] < 0.3 else greedy[b])
    assert_array_equal(EpsilonGreedy(NETWORK, rate=0.0).act(STATES, DRAW), greedy)


def test_random_actions_are_equally_frequent():
    draw = np.random.default_rng(5).random((11000, 2))
    counts = np.bincount(RandomPolicy().act(np.zeros((11000, 10)), draw), minlength=11)
    assert ((counts > 850) & (counts < 1150)).all()  # 5 standard deviations
    assert RandomPolicy().act(np.zeros((1, 10)), np.array([[0.0, np.nextafter(1.0, 0.0)]]))[0] == 10


def test_a_masked_policy_sees_the_hidden_features_as_zero():
    blind = STATES.copy()
    blind[:, 6:] = 0.0
    assert_array_equal(Masked(Greedy(NETWORK)).act(STATES, DRAW), Greedy(NETWORK).act(blind, DRAW))
    assert_array_equal(Masked(Greedy(NETWORK), hidden=()).act(STATES, DRAW), Greedy(NETWORK).act(STATES, DRAW))
    assert Masked(Greedy(NETWORK, {"decoder": "aa"})).metadata["decoder"] == "aa"


def test_fresh_weights_lie_within_one_over_the_root_of_the_fan_in():
    for w, bound in zip(draw_weights(np.random.default_rng(1)), (10**-0.5, 10**-0.5, 1 / 8, 1 / 8)):
        assert np.abs(w).max() <= bound
        assert np.abs(w).max() > 0.8 * bound


def test_impossible_policies_are_refused():
    with pytest.raises(InvalidInput, match="from 0 to 10; got 11"):
        ConstantPolicy(11)
    with pytest.raises(InvalidInput, match="from 1 to 10; got 0"):
        Masked(RandomPolicy(), hidden=(0,))
    with pytest.raises(InvalidInput, match="share features, controls, delta and reading"):
        stack_policies([Greedy(NETWORK, {"decoder": "aa"}), Greedy(NETWORK, {"decoder": "ca"})])


@pytest.mark.parametrize("method", ["MeCO-u", "MeCO-rand"])
def test_a_control_does_not_notice_its_neighbours(method):
    together = meco.solve(method, "tilted", budget=300, seeds=[3, 4, 5])
    alone = meco.solve(method, "tilted", budget=300, seeds=[4])[0]
    assert_array_equal(together[1].x, alone.x)
    assert_array_equal(together[1].trace["action"], alone.trace["action"])


def test_a_list_of_policies_gives_each_run_its_own():
    each = [Greedy(draw_weights(np.random.default_rng(i))) for i in range(3)]
    together = meco.solve("MeCO", "tilted", budget=300, seeds=[1, 2, 3], policy=each)
    for b in range(3):
        alone = meco.solve("MeCO", "tilted", budget=300, seeds=[b + 1], policy=each[b])[0]
        assert_array_equal(together[b].trace["eps"], alone.trace["eps"])
    with pytest.raises(InvalidInput, match="3 runs need one policy, or 3 networks; got 2"):
        meco.solve("MeCO", "tilted", budget=300, seeds=[1, 2, 3], policy=each[:2])
    with pytest.raises(InvalidInput, match="a name, a file or a policy"):
        meco.solve("MeCO", "tilted", budget=300, seeds=[1], policy=7)


def test_an_unknown_engine_names_the_nearest():
    with pytest.raises(meco.errors.UnknownName, match="did you mean 'maes'"):
        meco.solve("MeCO-rand", "tilted", budget=300, seeds=[1], engine="ma-es")


def test_the_learned_rule_runs_on_the_evolution_strategy():
    policy = Greedy(NETWORK)
    together = meco.solve("MeCO", "tilted", budget=300, seeds=[1, 2], policy=policy, engine="maes")
    alone = meco.solve("MeCO", "tilted", budget=300, seeds=[2], policy=policy, engine="maes")[0]
    assert_array_equal(together[1].x, alone.x)
    assert "sigma" in alone.trace
    assert "action" in alone.trace
