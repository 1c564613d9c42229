"""The network of a policy: features in, one hidden layer of SELU units, action values out. A pure function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, namespace
from meco.paper.controls import CONTROLS, ControlSet
from meco.paper.features import FEATURES, FeatureSet

HIDDEN = 64  # units (paper, "Meta-Level MDP")
Q_OUTPUTS = ("linear", "sigmoid")
SELU_ALPHA = 1.6732632423543772848170429916717  # Klambauer et al. 2017
SELU_SCALE = 1.0507009873554804934193349852946


class Weights(NamedTuple):
    """One network, or K stacked ones with a leading axis: w1 [S, H], b1 [H], w2 [H, A], b2 [A].

    flatten_weights() and the digests of policy files take the fields in this order.
    """

    w1: Array
    b1: Array
    w2: Array
    b2: Array


class NetworkShape(NamedTuple):
    """Sizes of a network: features S, hidden units H, outputs A."""

    features: int
    hidden: int
    outputs: int

    @classmethod
    def of(cls, features: FeatureSet, controls: ControlSet, hidden: int = HIDDEN) -> NetworkShape:
        """A value for every combination of controls, from every feature."""
        return cls(len(features.names), hidden, len(controls.grid))

    @property
    def layers(self) -> Weights:
        """The shape of each part of Weights."""
        s, h, a = self
        return Weights((s, h), (h,), (h, a), (a,))


PAPER_SHAPE = NetworkShape.of(FEATURES["population-10"], CONTROLS["epsilon"])  # 10-64-11


def selu(x: Array) -> Array:
    """scale * x above 0, scale * alpha * (e^x - 1) below."""
    xp = namespace(x)
    return SELU_SCALE * (xp.maximum(x, 0.0) + SELU_ALPHA * xp.expm1(xp.minimum(x, 0.0)))


def q_values(weights: Weights, s: Array, output: str = "linear") -> Array:
    """The outputs, a value for each action: s [S], [B, S] or [K, M, S] -> [..., A].

    Weights of one network serve every row; K stacked networks take s [K, S], a row each,
    or [K, M, S], M rows each. output "sigmoid" squashes the values into (0, 1). nan in a row stays in that row.
    """
    xp = namespace(s)
    alone = s.ndim < 3
    x = s[..., None, :] if alone else s  # a product per run: row b is run b alone, to the last bit
    hidden = selu(x @ weights.w1 + weights.b1[..., None, :])
    q = hidden @ weights.w2 + weights.b2[..., None, :]
    q = q[..., 0, :] if alone else q
    return 1.0 / (1.0 + xp.exp(-q)) if output == "sigmoid" else q


def draw_weights(rng: np.random.Generator, shape: NetworkShape = PAPER_SHAPE) -> Weights:
    """Fresh weights in the order of the fields, uniform within 1 / sqrt(fan-in), torch's default law; moves rng."""

    def draw_layer(fan_in: int, fan_out: int) -> tuple[np.ndarray, np.ndarray]:
        """Weights [fan_in, fan_out] and biases [fan_out] of one layer."""
        bound = fan_in**-0.5
        return rng.uniform(-bound, bound, (fan_in, fan_out)), rng.uniform(-bound, bound, fan_out)

    return Weights(*draw_layer(shape.features, shape.hidden), *draw_layer(shape.hidden, shape.outputs))


def stack_networks(networks: Iterable[Weights]) -> Weights:
    """Several networks of one shape, at least one, as one with a leading axis."""
    return Weights(*(np.stack(parts) for parts in zip(*networks, strict=True)))


def flatten_weights(weights: Weights) -> np.ndarray:
    """The numbers of one network in a row: [P]."""
    return np.concatenate([np.ravel(part) for part in weights])
