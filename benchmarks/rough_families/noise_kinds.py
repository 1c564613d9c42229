"""Noise of generated problems: what chance makes of a call, from standard normal numbers that are given.

A kind disturbs the point, v [B, N, D], or the outputs [B, N, 1 + p + q] without their scales, by z [B, N, count]. The
same z gives the same answer; who draws it (core/batching.py) makes calls differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, astype, namespace
from meco.problems.generated.constraint_kinds import Draw

Numbers = Mapping[str, Array]
RARE = 1.2816  # normal numbers beyond it are one in ten
FREEDOM = 3  # degrees of freedom of heavy tails


class NoiseKind(NamedTuple):
    """How a kind disturbs outputs, or the point, and the normal numbers that it takes beyond one for each of them."""

    disturb: Callable[[Array, Array, Numbers], Array]
    more: int = 0
    of_point: bool = False

    def draw_level(self, rng: Draw, dim: int, outputs: int) -> dict[str, np.ndarray]:
        """The size of the noise of each output or variable beside what it changes across the box: [1, count]."""
        count = dim if self.of_point else outputs
        return {"level": 10.0 ** (rng.uniform(-3.5, -1.5) + rng.uniform(-0.5, 0.5, (1, count)))}

    def count_draws(self, dim: int, outputs: int) -> int:
        """Normal numbers that a call of so many variables and outputs takes."""
        return self.more + (dim if self.of_point else outputs)


def add_even(outputs: Array, z: Array, p: Numbers) -> Array:
    """Outputs [B, N, count] with noise that is the same everywhere, normal: a measurement. z has their shape."""
    return outputs + p["level"] * z


def add_proportional(outputs: Array, z: Array, p: Numbers) -> Array:
    """Outputs [B, N, count] with noise in proportion to their value, and little where that is 0: a relative error."""
    size = 3.0 * p["level"] * (0.02 + namespace(outputs).abs(outputs))
    return outputs + size * z


def add_rare(outputs: Array, z: Array, p: Numbers) -> Array:
    """Outputs [B, N, count] of which one call in ten is far off, the others hardly: an iteration that stops early."""
    size = 0.1 + 3.9 * astype(z[..., :1] > RARE, z.dtype)
    return outputs + size * p["level"] * z[..., 1:]


def add_heavy(outputs: Array, z: Array, p: Numbers) -> Array:
    """Outputs [B, N, count] with heavy tails that all values of a call have in common: a few random scenarios."""
    xp = namespace(outputs)
    spread = xp.sqrt(xp.mean(z[..., :FREEDOM] * z[..., :FREEDOM], axis=-1))[..., None]
    return outputs + p["level"] * z[..., FREEDOM:] / (spread + 1e-3)


def move_point(v: Array, z: Array, p: Numbers) -> Array:
    """Displacements v [B, N, D] moved by tolerances: what is evaluated lies beside what was asked for."""
    return v + p["level"] * z


NOISES = {
    "even": NoiseKind(add_even),
    "proportional": NoiseKind(add_proportional),
    "rare": NoiseKind(add_rare, more=1),
    "heavy": NoiseKind(add_heavy, more=FREEDOM),
    "moved": NoiseKind(move_point, of_point=True),
}
