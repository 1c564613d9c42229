"""RC40-RC43: power flow and droop settings of microgrids on the 38-bus feeder, power systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.core.arrays import Array, asarray_like, namespace
from meco.core.problem import problem
from meco_rwco.official import Tables, look_up_tables
from meco_rwco.parts import Values, expand_bounds, number_names
from meco_rwco.power_flow import (
    DG_BUSES,
    bus_powers,
    current_mismatch,
    join_voltages,
    placement_matrix,
    split_complex,
    voltage_dependent_load,
)
from meco_rwco.power_systems import POWER_SOURCE, tabulate_feeder, unit_slack_voltage

P_DROOP = 1 / np.array([5.102e-3, 1.502e-3, 4.506e-3, 2.253e-3, 2.253e-3])
Q_DROOP = 1 / np.array([0.05, 0.03, 0.05, 0.01, 0.1])
VOLTAGES = (*number_names("Re V of bus {} (p.u.)", 2, 38), *number_names("Im V of bus {} (p.u.)", 2, 38))
ISLAND = (*VOLTAGES, "frequency (p.u.)", "V of bus 1 (p.u.)")


@look_up_tables
def tabulate_lines(tables: Tables) -> Tables:
    """Lines of the islanded grid; every tap is 1 and no line has a shunt, so two columns and the ends suffice."""
    lines = tables["FunctionPS14_linedata"]
    start, end = (placement_matrix(tuple(lines[:, k].astype(int)), 38) for k in (0, 1))
    return {
        "r": lines[:, 2],
        "x": lines[:, 3],
        "ends": start - end,  # [37, 38]
        "p": tables["FunctionPS2_P"],
        "q": tables["FunctionPS2_Q"],
        "generators": placement_matrix(DG_BUSES, 38),
    }


def _line_currents(v: Array, frequency: Array, t: dict[str, Array]) -> Array:
    """Currents into every bus when reactances grow with the frequency: [..., 76] -> [..., 76]."""
    xp = namespace(v)
    reactance = frequency[..., None] * t["x"]
    square = t["r"] ** 2 + reactance**2
    g, b = t["r"] / square, -reactance / square  # 1 / (r + i w x)
    re, im = (part @ xp.matrix_transpose(t["ends"]) for part in split_complex(v))
    return xp.concat([(g * re - b * im) @ t["ends"], (g * im + b * re) @ t["ends"]], axis=-1)


def _island_powers(x: Array, p_droop: Array, q_droop: Array) -> tuple[Array, Array, Array, Array]:
    """Voltages, currents and the powers [..., 38] that droop control and loads feed into an islanded grid."""
    xp = namespace(x)
    t = tabulate_lines(x)
    frequency, slack = x[..., 74], x[..., 75:76] + 1e-5
    v = join_voltages((slack, 0 * slack), x[..., :37], x[..., 37:74])
    re, im = split_complex(v)
    p = (p_droop @ t["generators"]) * (1 - frequency)[..., None] - voltage_dependent_load(t["p"], v)
    q = (q_droop @ t["generators"]) * (1 - xp.sqrt(re**2 + im**2)) - voltage_dependent_load(t["q"], v)
    return v, _line_currents(v, frequency, t), p, q


def _squared_mismatch(v: Array, current: Array, p: Array, q: Array) -> Array:
    """Sum of squared power mismatches over the last buses, as many as p has."""
    fed_p, fed_q = (part[..., -p.shape[-1] :] for part in bus_powers(v, current))
    return namespace(v).sum((p - fed_p) ** 2 + (q - fed_q) ** 2, axis=-1)


@problem(
    "RC40",
    bounds=expand_bounds({"1-74": (-1, 1), "75-76": (0, 2)}),
    best=0.0,
    counts=(0, 76),
    source=POWER_SOURCE,
    variables=ISLAND,
)
def islanded_flow(x: Array) -> Values:
    """Power flow of an islanded microgrid; f vanishes wherever the equalities hold."""
    v, current, p, q = _island_powers(x, asarray_like(P_DROOP, x), asarray_like(Q_DROOP, x))
    return _squared_mismatch(v, current, p, q), [], namespace(x).concat(current_mismatch(v, current, p, q), axis=-1)


@problem("RC41", bounds=[(-1, 1)] * 74, best=0.0, counts=(0, 74), source=POWER_SOURCE, variables=VOLTAGES)
def connected_flow(x: Array) -> Values:
    """Power flow of a grid-connected microgrid; f vanishes wherever the equalities hold."""
    xp = namespace(x)
    t = tabulate_feeder(x)
    v = join_voltages(unit_slack_voltage(x), x[..., :37], x[..., 37:])
    current = v @ t["admittance"]
    running = xp.sum(t["generators"], axis=0)  # 1 at the buses with a generator
    p = (0.2 * running - voltage_dependent_load(t["p"], v))[..., 1:]
    q = (0.18 * running - voltage_dependent_load(t["q"], v))[..., 1:]
    return _squared_mismatch(v, current, p, q), [], xp.concat(current_mismatch(v, current, p, q), axis=-1)


DROOP: dict[str, Any] = {
    "bounds": expand_bounds({"1-74": (-1, 1), "75-76": (0, 2), "77-86": (0, 500)}),
    "counts": (0, 76),
    "source": POWER_SOURCE,
    "variables": (*ISLAND, *(f"{power} droop setting at bus {bus}" for power in "PQ" for bus in DG_BUSES)),
}


@problem("RC42", best=0.077027102, **DROOP)
def droop_active_loss(x: Array) -> Values:
    """Droop settings of an islanded microgrid, active loss."""
    xp = namespace(x)
    v, current, p, q = _island_powers(x, x[..., 76:81], x[..., 81:])
    return xp.sum(p, axis=-1), [], xp.concat(current_mismatch(v, current, p, q), axis=-1)


@problem("RC43", best=0.07983597, **DROOP)
def droop_reactive_loss(x: Array) -> Values:
    """Droop settings of an islanded microgrid, mean of active and reactive loss."""
    xp = namespace(x)
    v, current, p, q = _island_powers(x, x[..., 76:81], x[..., 81:])
    f = 0.5 * (xp.sum(q, axis=-1) + xp.sum(p, axis=-1))
    return f, [], xp.concat(current_mismatch(v, current, p, q), axis=-1)
