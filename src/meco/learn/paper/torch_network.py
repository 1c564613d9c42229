"""K Q-networks side by side in one tensor: initialisation, forward pass, gradient.

One hidden layer of SELU units (paper, "Meta-Level MDP"). All numbers of a network lie in
one row, so a stack of K networks is [K, P] and an elementwise optimiser steps all at once.
Letters: K policies, M transitions, S state features, H hidden units, A actions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from meco.policies.network import SELU_ALPHA, SELU_SCALE, NetworkShape, Weights


def view_layers(stack: Tensor, shape: NetworkShape) -> Weights:
    """Where the weights lie in a stack [K, P]: views w1 [K, S, H], b1 [K, H], w2 [K, H, A], b2 [K, A]."""
    k, (s, h, a) = stack.shape[0], shape
    w1, b1, w2, b2 = stack.split([s * h, h, h * a, a], dim=1)
    return Weights(w1.view(k, s, h), b1, w2.view(k, h, a), b2)


def init_networks(seeds: Iterable[int], shape: NetworkShape) -> Tensor:
    """A stack [K, P] as torch.nn.Linear would start each network after manual_seed(seed)."""
    return torch.stack([_init_network(seed, shape) for seed in seeds])


def _init_network(seed: int, shape: NetworkShape) -> Tensor:
    """One row [P] of a stack, drawn from the seed in the order of the fields of Weights."""
    generator = torch.Generator().manual_seed(seed)

    def linear(inputs: int, outputs: int) -> tuple[Tensor, Tensor]:
        bound = inputs**-0.5  # both weight and bias; torch keeps the weight as [outputs, inputs]
        weight = torch.empty(outputs, inputs, dtype=torch.float64).uniform_(-bound, bound, generator=generator)
        bias = torch.empty(outputs, dtype=torch.float64).uniform_(-bound, bound, generator=generator)
        return weight.T.reshape(-1), bias

    return torch.cat([*linear(shape.features, shape.hidden), *linear(shape.hidden, shape.outputs)])


class Pass(NamedTuple):
    """A forward pass: hidden activations [K, M, H] and Q values [K, M, A]."""

    hidden: Tensor
    q: Tensor


def forward(net: Weights, s: Tensor, *, sigmoid: bool = False) -> Pass:
    """Q values of states s [K, M, S], each row of the stack seeing its own states."""
    hidden = torch.selu(torch.baddbmm(net.b1[:, None], s, net.w1))
    q = torch.baddbmm(net.b2[:, None], hidden, net.w2)
    return Pass(hidden, torch.sigmoid(q) if sigmoid else q)


def weight_gradient(net: Weights, s: Tensor, activations: Pass, dq: Tensor, *, sigmoid: bool = False) -> Tensor:
    """Derivative [K, P] of a loss by the weights, from its derivative by the Q values dq [K, M, A].

    activations are those of forward(net, s); neither is changed.
    """
    if sigmoid:
        dq = dq * activations.q * (1.0 - activations.q)
    slope = torch.where(
        activations.hidden > 0, SELU_SCALE, activations.hidden + SELU_SCALE * SELU_ALPHA
    )  # SELU' from SELU
    dz = torch.bmm(dq, net.w2.transpose(1, 2)) * slope
    parts = (torch.bmm(s.transpose(1, 2), dz), dz.sum(1), torch.bmm(activations.hidden.transpose(1, 2), dq), dq.sum(1))
    return torch.cat([p.flatten(1) for p in parts], dim=1)
