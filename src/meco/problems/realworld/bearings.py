"""RC25: a hydrostatic thrust bearing, mechanical engineering."""

from __future__ import annotations

import math

from meco.core.arrays import Array, namespace
from meco.core.problem import problem
from meco.problems.realworld.mechanical import MECHANICAL_SOURCE
from meco.problems.realworld.parts import Values, read_only_point


@problem(
    "RC25",
    bounds=[(1, 16), (1, 16), (1e-6, 16e-6), (1, 16)],
    best=1616.1197651,
    known_x=read_only_point(5.95551138000642, 5.388715919528653, 5.3586972663040815e-06, 2.2566379878978484),
    counts=(7, 0),
    source=f"{MECHANICAL_SOURCE}; the MeCO paper's table prints 1625.44 as best known",
    variables=("bearing radius (in)", "recess radius (in)", "oil viscosity (reyn)", "flow rate (in3/s)"),
    constraint_names=(
        "load capacity",
        "inlet pressure",
        "temperature rise",
        "film thickness",
        "recess within the bearing",
        "exit loss",
        "mean pressure",
    ),
)
def thrust_bearing(x: Array) -> Values:
    """Power loss of a hydrostatic thrust bearing; the 1e-5 terms keep the suite's denominators off zero."""
    xp = namespace(x)
    outer, inner, mu, flow = xp.unstack(x, axis=-1)
    gamma, heat, n, c1, speed = 0.0307, 0.5, -3.55, 10.04, 750.0
    p = (xp.log10(xp.log10(8.122e6 * mu + 0.8)) - c1) / n
    rise = 2 * (10.0**p - 560)
    friction = 9336 * flow * gamma * heat * rise
    film = (2 * math.pi * speed / 60) ** 2 * (2 * math.pi * mu / friction) * (outer**4 / 4 - inner**4 / 4) - 1e-5
    pressure = 6 * mu * flow / (math.pi * film**3) * xp.log(outer / inner)
    load = (math.pi * pressure / 2) * (outer**2 - inner**2) / (xp.log(outer / inner) - 1e-5)
    f = (flow * pressure / 0.7 + friction) / 12
    g = [
        101000 - load,
        pressure - 1000,
        rise - 50,
        0.001 - film,
        inner - outer,
        gamma / (386.4 * pressure) * flow / (2 * math.pi * outer * film) - 0.001,
        load / (math.pi * (outer**2 - inner**2) + 1e-5) - 5000,
    ]
    return f, g, []
