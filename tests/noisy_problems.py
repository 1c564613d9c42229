"""A noisy function that several tests call: a cylinder that must hold a force at a limited pressure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PRESS = {"area": (5e-4, 6e-3, "m2"), "press": (2e6, 3.5e7, "Pa")}
DOUBTFUL = 24  # a seed of a run of 120 calls whose answer is feasible in the mean, and not surely


def noisy_press(seed: int, size: float = 0.01) -> Callable[[dict[str, float]], Any]:
    """Cost, force and pressure, each measured with noise of so much of it."""
    rng = np.random.default_rng(seed)

    def measure(x: dict[str, float]) -> Any:
        z = 1.0 + size * rng.normal(size=3)
        f = (x["area"] * 1e4 + 2.0 * x["press"] / 1e7) * z[0]
        return f, {"force": 5e4 - x["area"] * x["press"] * z[1], "press": x["press"] * z[2] - 2e7}

    return measure
