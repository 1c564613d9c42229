"""The Q-network: ten features, 64 SELU units, eleven action values. A pure function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from meco.arrays import Array, namespace
from meco.mdp.action import ACTIONS
from meco.mdp.state import FEATURES

HIDDEN = 64
OUTPUTS = ("linear", "sigmoid")
SELU_ALPHA = 1.6732632423543772848170429916717  # Klambauer et al. 2017
SELU_SCALE = 1.0507009873554804934193349852946


class Weights(NamedTuple):
    """One network, or K stacked ones with a leading axis: w1 [10, 64], b1 [64], w2 [64, 11], b2 [11]."""

    w1: Array
    b1: Array
    w2: Array
    b2: Array


SHAPES = Weights((FEATURES, HIDDEN), (HIDDEN,), (HIDDEN, ACTIONS), (ACTIONS,))


def selu(x: Array) -> Array:
    """scale * x above 0, scale * alpha * (e^x - 1) below."""
    xp = namespace(x)
    return SELU_SCALE * (xp.maximum(x, 0.0) + SELU_ALPHA * xp.expm1(xp.minimum(x, 0.0)))


def q_values(weights: Weights, s: Array, output: str = "linear") -> Array:
    """Value of each action: s [10], [B, 10] or [K, M, 10] -> [..., 11].

    Weights of one network serve every row; K stacked networks take s [K, 10], a row each,
    or [K, M, 10], M rows each. output "sigmoid" squashes the values into (0, 1).
    """
    xp = namespace(s)
    alone = s.ndim < 3
    x = s[..., None, :] if alone else s  # a product per run: row b is run b alone, to the last bit
    hidden = selu(x @ weights.w1 + weights.b1[..., None, :])
    q = hidden @ weights.w2 + weights.b2[..., None, :]
    q = q[..., 0, :] if alone else q
    return 1.0 / (1.0 + xp.exp(-q)) if output == "sigmoid" else q


def draw_weights(generator: np.random.Generator) -> Weights:
    """Fresh weights, uniform within 1 / sqrt(fan-in) for every layer: torch's default law."""

    def layer(fan_in: int, fan_out: int) -> tuple[np.ndarray, np.ndarray]:
        bound = fan_in**-0.5
        return generator.uniform(-bound, bound, (fan_in, fan_out)), generator.uniform(-bound, bound, fan_out)

    return Weights(*layer(FEATURES, HIDDEN), *layer(HIDDEN, ACTIONS))


def stack(networks: Iterable[Weights]) -> Weights:
    """Several networks as one with a leading axis."""
    return Weights(*(np.stack(parts) for parts in zip(*networks, strict=True)))
