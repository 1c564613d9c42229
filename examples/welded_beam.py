"""The cheapest welded beam that carries its load: one function, named constraints."""

from math import sqrt

import meco

LOAD, LENGTH, E, G = 6000.0, 14.0, 30e6, 12e6


def beam(x):
    h, l, t, b = x  # weld thickness and length, bar height and thickness, all in inches
    cost = 1.10471 * h**2 * l + 0.04811 * t * b * (LENGTH + l)
    primary = LOAD / (sqrt(2) * h * l)
    radius = sqrt(l**2 / 4 + ((h + t) / 2) ** 2)
    inertia = 2 * sqrt(2) * h * l * (l**2 / 4 + ((h + t) / 2) ** 2)
    secondary = LOAD * (LENGTH + l / 2) * radius / inertia
    shear = sqrt(primary**2 + 2 * primary * secondary * l / (2 * radius) + secondary**2)
    buckling = 4.013 * E * t * b**3 / (6 * LENGTH**2) * (1 - t / (2 * LENGTH) * sqrt(E / (4 * G)))
    return cost, {
        "shear stress": shear - 13600,
        "bending stress": 6 * LOAD * LENGTH / (b * t**2) - 30000,
        "weld within bar": h - b,
        "deflection": 4 * LOAD * LENGTH**3 / (E * t**3 * b) - 0.25,
        "buckling": LOAD - buckling,
    }


result = meco.minimize(beam, bounds=[(0.125, 2), (0.1, 10), (0.1, 10), (0.1, 2)], budget=3000, seed=1)
print(result)
assert result.feasible
