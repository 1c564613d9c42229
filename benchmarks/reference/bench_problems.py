"""Two problems in a file, as users of `meco bench` write them."""

import math

bounds = [(0.1, 2.0), (0.1, 10.0), (0.1, 10.0), (0.1, 2.0)]


def beam(x):
    """Cost of a welded beam; half of the box is infeasible."""
    h, l, t, b = x
    load = 6000.0
    return {
        "f": 1.10471 * h**2 * l + 0.04811 * t * b * (14.0 + l),
        "g": {
            "bending": 504000.0 / (b * t**2) - 30000.0,
            "weld": h - b,
            "sag": 2.1952 / (t**3 * b) - 0.25,
            "shear": load / (math.sqrt(2) * h * l) - 13600.0,
        },
    }


def never(x):
    """No point is feasible."""
    return {"f": float(sum(v * v for v in x)), "g": [1.0 + x[0] ** 2]}
