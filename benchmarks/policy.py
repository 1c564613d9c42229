"""What a decision costs: the Q-network in NumPy beside torch's, and the whole state-to-allowance step.

    python benchmarks/policy.py

Targets: at most 30 microseconds for one forward pass of one run in NumPy, at most 120 for
features, decision and decoding of one run (N = 50, D = 50).
"""

from __future__ import annotations

import numpy as np

import meco
from _side_by_side import medians, optional
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.streams import Streams
from meco.paper.meco import steer_relaxation
from meco.paper.network import draw_weights, q_values
from meco.paper.policy import Greedy

CALLS = 500  # of each candidate in a round
ROUNDS = 21


def main() -> None:
    weights = draw_weights(np.random.default_rng(0))
    s, u = np.random.default_rng(1).random((1, 10)), np.zeros((1, 2))
    policy = Greedy(weights)
    candidates = {"q_values, NumPy": lambda: q_values(weights, s), "greedy action, NumPy": lambda: policy.act(s, u)}
    if optional("torch"):
        candidates["q_values, torch"] = make_torch_forward(weights, s)
    candidates["features to allowance, NumPy"] = make_whole_decision(policy)
    for name, seconds in medians({k: repeat_call(c) for k, c in candidates.items()}, ROUNDS).items():
        print(f"{name:30s} {seconds / CALLS * 1e6:7.1f} us")


def repeat_call(call):
    """A candidate called often enough to time."""

    def run():
        for _ in range(CALLS):
            call()

    return run


def make_torch_forward(weights, s):
    """The same network as a torch module, without gradients."""
    import torch

    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(10, 64), torch.nn.SELU(), torch.nn.Linear(64, 11)).double()
    with torch.no_grad():
        for layer, w, b in ((net[0], weights.w1, weights.b1), (net[2], weights.w2, weights.b2)):
            layer.weight.copy_(torch.asarray(w.T))
            layer.bias.copy_(torch.asarray(b))
    state = torch.asarray(s)
    assert np.allclose(net(state).detach().numpy(), q_values(weights, s), rtol=1e-12)

    def forward():
        with torch.inference_mode():
            return net(state)

    return forward


def make_whole_decision(policy):
    """What a controller adds to a generation of SHADE: one run, N = 50, D = 50."""
    evaluator = Evaluator.on(meco.get_problem("C01", dim=50), budget=2500)
    search = steer_relaxation(policy, Task.of(evaluator, Streams([2])), "epsilon")
    x = search.ask()
    search.tell(x, evaluator.evaluate(x))
    return lambda: search.controller.decide(search.chance())


if __name__ == "__main__":
    main()
