"""RC44: layout of a wind farm, power systems."""

from __future__ import annotations

import math

import numpy as np

from meco.core.arrays import Array, Constants, namespace
from meco.core.problem import problem
from meco_rwco.parts import Values

TURBINES = 15
ROTOR, SPREAD = 40.0, 0.01  # rotor radius in m, growth of the wake per metre
THRUST = 1 - math.sqrt(1 - 0.8)  # speed lost right behind a rotor
RATED_POWER = 1500.0  # kW
CUT_IN, RATED, CUT_OUT = 3.5, 14.0, 25.0  # m/s

# Weibull scale (m/s) and frequency of the 24 wind sectors
SCALES = (7, 5, 5, 5, 5, 4, 5, 6, 7, 7, 8, 9.5, 10, 8.5, 8.5, 6.5, 4.6, 2.6, 8, 5, 6.4, 5.2, 4.5, 3.9)
FREQUENCIES = (
    *(0.0003, 0.0072, 0.0237, 0.0242, 0.0222, 0.0301, 0.0397, 0.0268, 0.0626, 0.0801, 0.1025, 0.1445),
    *(0.1909, 0.1162, 0.0793, 0.0082, 0.0041, 0.0008, 0.0010, 0.0005, 0.0013, 0.0031, 0.0085, 0.0222),
)


def _power_curve_weights() -> np.ndarray:
    """Weights [37] of exp(-(v / C)^2) at the speeds 3.5, 3.8, ..., 14 and 25 in the mean power of a turbine."""
    speeds = CUT_IN + 0.3 * np.arange(36)
    middle = np.exp((speeds[:-1] + speeds[1:]) / 2 - 7.5)
    share = middle / (5 + middle)
    return np.concatenate([share, [1.0, -1.0]]) - np.concatenate([[0.0], share, [0.0]])


_DIRECTIONS = [math.radians(15 * (sector + 0.5)) for sector in range(24)]
_FIRST, _SECOND = np.triu_indices(TURBINES - 1, k=1)
_POWER = Constants(
    squares=np.append(CUT_IN + 0.3 * np.arange(36), CUT_OUT) ** 2,
    curve=RATED_POWER * _power_curve_weights(),
)


@problem(
    "RC44",
    bounds=[(40, 1960)] * 30,
    best=-6273.1715,
    counts=(91, 0),
    source="Kumar et al. 2020, power systems",
    variables=tuple(f"{axis} of turbine {i} (m)" for i in range(1, 16) for axis in "xy"),
    constraint_names=tuple(f"turbines {i + 1} and {j + 1} apart" for i, j in zip(_FIRST, _SECOND)),
)
def wind_farm(x: Array) -> Values:
    """Mean power of fifteen turbines in each other's wakes, with the sign turned.

    The last turbine has no distance constraint in the suite, and a rotor that touches a wake is
    wholly in it.
    """
    xp = namespace(x)
    power = _POWER.on(x)
    px, py = x[..., 0::2], x[..., 1::2]
    dx, dy = px[..., :, None] - px[..., None, :], py[..., :, None] - py[..., None, :]  # from j to i
    square = dx**2 + dy**2
    f = xp.zeros_like(x[..., 0])
    for direction, scale, frequency in zip(_DIRECTIONS, SCALES, FREQUENCIES):  # one at a time stays in the cache
        speed = (scale * (1 - _wake_deficit(dx, dy, square, direction))) ** 2
        f = f - frequency * xp.sum(xp.exp(-power["squares"] / speed[..., None]) @ power["curve"], axis=-1)
    pairs = xp.reshape(square, (*square.shape[:-2], TURBINES * TURBINES))
    chosen = xp.asarray(_FIRST * TURBINES + _SECOND, device=x.device)
    return f, 5 * ROTOR - xp.sqrt(xp.take(pairs, chosen, axis=-1)), []


def _wake_deficit(dx: Array, dy: Array, square: Array, direction: float) -> Array:
    """Share of the wind speed that each turbine loses to the wakes: differences [..., 15, 15] -> [..., 15]."""
    xp = namespace(dx)
    along = dx * math.cos(direction) + dy * math.sin(direction)
    across = xp.sqrt(xp.clip(square - along**2, min=0.0))
    in_wake = (along > 0) & (SPREAD * along + ROTOR > across - ROTOR)
    lost = xp.where(in_wake, THRUST / (1 + SPREAD * along / ROTOR) ** 2, 0 * along)
    return xp.sqrt(xp.sum(lost**2, axis=-1))
