"""RC34-RC39: sizing of generators and optimal power flow, power systems.

The variables are the voltages of all buses but the slack, the powers fed into them, and what the
generators give; the equalities tie them together. Tables come from the official files.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meco.core.arrays import Array, namespace
from meco.core.problem import problem
from meco_rwco.official import Tables, look_up_tables
from meco_rwco.parts import Values, number_names
from meco_rwco.power_flow import (
    DG_BUSES,
    admittance_matrix,
    bus_powers,
    current_mismatch,
    join_voltages,
    placement_matrix,
    voltage_dependent_load,
)

POWER_SOURCE = "Kumar et al. 2020, power systems"
PHASE_BUSES = (9, 16, 21, 24, 30)  # generators of the three-phase feeder
OPF_BUSES = (2, 13, 22, 23, 27)  # generators of the 30-bus grid beside bus 1


def bus_names(*buses: int) -> tuple[str, ...]:
    """Names of voltages and powers of the buses from the first to the last, in the order of the variables."""
    quantities = ("Re V", "Im V", "P", "Q")
    return tuple(name for quantity in quantities for name in number_names(quantity + " of bus {} (p.u.)", *buses))


def generator_names(*quantities: str, buses: tuple[int, ...]) -> tuple[str, ...]:
    """Names of outputs of the generators at these buses, quantity by quantity."""
    return tuple(f"{quantity} of the generator at bus {bus} (p.u.)" for quantity in quantities for bus in buses)


def split_bus_variables(x: Array, buses: int) -> tuple[Array, Array, Array, Array, Array]:
    """Real and imaginary voltages, active and reactive powers [..., buses] each, and the rest of x [..., D]."""
    re, im, p, q = (x[..., k * buses : (k + 1) * buses] for k in range(4))
    return re, im, p, q, x[..., 4 * buses :]


def unit_slack_voltage(like: Array) -> tuple[Array, Array]:
    """Real and imaginary voltage, 1 and 0, [..., 1] each, of a slack bus beside like [..., n]."""
    one = namespace(like).ones_like(like[..., :1])
    return one, 0 * one


@look_up_tables
def tabulate_three_phase_feeder(tables: Tables) -> Tables:
    """The three-phase feeder; its first three buses are the phases of the slack, and loads are negative."""
    turns = np.exp([0, 4j * math.pi / 3, 2j * math.pi / 3])
    sequence = np.zeros((60, 4))  # currents -> zero and negative sequence at the slack, both parts
    for column, factors in enumerate((np.ones(3), turns)):
        sequence[:3, 2 * column], sequence[:3, 2 * column + 1] = factors.real, factors.imag
        sequence[30:33, 2 * column], sequence[30:33, 2 * column + 1] = -factors.imag, factors.real
    return {
        "admittance": admittance_matrix(tables["FunctionPS1_G"], tables["FunctionPS1_B"]),
        "p": tables["FunctionPS1_P"][3:],
        "q": tables["FunctionPS1_Q"][3:],
        "slack_re": turns.real,
        "slack_im": turns.imag,
        "generators": placement_matrix(PHASE_BUSES, 30)[:, 3:],
        "sequence": sequence,
    }


@look_up_tables
def tabulate_feeder(tables: Tables) -> Tables:
    """The 38-bus feeder with loads that depend on the voltage."""
    return {
        "admittance": admittance_matrix(tables["FunctionPS2_G"], tables["FunctionPS2_B"]),
        "p": tables["FunctionPS2_P"],
        "q": tables["FunctionPS2_Q"],
        "generators": placement_matrix(DG_BUSES, 38),
    }


@look_up_tables
def tabulate_grid(tables: Tables) -> Tables:
    """The 30-bus grid of the optimal power flow problems."""
    return {
        "admittance": admittance_matrix(tables["FunctionPS11_G"], tables["FunctionPS11_B"]),
        "p": tables["FunctionPS11_P"],
        "q": tables["FunctionPS11_Q"],
        "generators": placement_matrix(OPF_BUSES, 30)[:, 1:],
        "linear": np.array([1.75, 1, 3.25, 3, 3]),
        "quadratic": np.array([0.0175, 0.0625, 0.00834, 0.025, 0.0025]),
    }


@problem(
    "RC34",
    bounds=[(-1, 1)] * 118,
    best=0.0,
    counts=(0, 108),
    source=POWER_SOURCE,
    variables=(*bus_names(4, 30), *generator_names("P", "Q", buses=PHASE_BUSES)),
)
def phase_balancing(x: Array) -> Values:
    """Unbalance at the transformer of a feeder with single-phase generators."""
    xp = namespace(x)
    t = tabulate_three_phase_feeder(x)
    re, im, p, q, given = split_bus_variables(x, 27)
    here = xp.zeros_like(re[..., :3])
    v = join_voltages((here + t["slack_re"], here + t["slack_im"]), re, im)
    current = v @ t["admittance"]
    zero_re, zero_im, negative_re, negative_im = xp.unstack(current @ t["sequence"], axis=-1)
    f = xp.sqrt(zero_re**2 + zero_im**2) + xp.sqrt(negative_re**2 + negative_im**2)
    dp = p - given[..., :5] @ t["generators"] - t["p"]
    dq = q - given[..., 5:] @ t["generators"] - t["q"]
    return f, [], xp.concat([*current_mismatch(v, current, p, q), dp, dq], axis=-1)


def _feeder_losses(x: Array) -> tuple[Array, Array, Array]:
    """RC35 and RC36: active loss [...], reactive loss [...] and the equalities [..., 148]."""
    xp = namespace(x)
    t = tabulate_feeder(x)
    re, im, p, q, given = split_bus_variables(x, 37)
    v = join_voltages(unit_slack_voltage(re), re, im)
    current = v @ t["admittance"]
    fed_p, fed_q = (part[..., 0] for part in bus_powers(v, current))
    dp = p - (given[..., :5] @ t["generators"])[..., 1:] + voltage_dependent_load(t["p"], v)[..., 1:]
    dq = q + voltage_dependent_load(t["q"], v)[..., 1:]
    if given.shape[-1] == 10:
        dq = dq - (given[..., 5:] @ t["generators"])[..., 1:]
    h = xp.concat([*current_mismatch(v, current, p, q), dp, dq], axis=-1)
    return fed_p + xp.sum(p, axis=-1), fed_q + xp.sum(q, axis=-1), h


@problem(
    "RC35",
    bounds=[(-1, 1)] * 153,
    best=0.079963854,
    counts=(0, 148),
    source=POWER_SOURCE,
    variables=(*bus_names(2, 38), *generator_names("P", buses=DG_BUSES)),
)
def generator_sizing(x: Array) -> Values:
    """Active loss of a feeder with distributed generators to be sized."""
    active, _, h = _feeder_losses(x)
    return active, [], h


@problem(
    "RC36",
    bounds=[(-1, 1)] * 158,
    best=0.047733529,
    counts=(0, 148),
    source=POWER_SOURCE,
    variables=(*bus_names(2, 38), *generator_names("P", "Q", buses=DG_BUSES)),
)
def generator_and_capacitor_sizing(x: Array) -> Values:
    """Mean of active and reactive loss of a feeder with generators and capacitors to be sized."""
    active, reactive, h = _feeder_losses(x)
    return 0.5 * active + 0.5 * reactive, [], h


OPF: dict[str, Any] = {
    "bounds": [(-1, 1)] * 116 + [(0, 1)] * 10,
    "counts": (0, 116),
    "source": POWER_SOURCE,
    "variables": (*bus_names(2, 30), *generator_names("P", "Q", buses=OPF_BUSES)),
}


def _power_flow(x: Array) -> tuple[Array, Array, Array, Array]:
    """RC37-RC39: power fed in at bus 1 [...] and at the others [..., 29], fuel cost, and the equalities."""
    xp = namespace(x)
    t = tabulate_grid(x)
    re, im, p, q, given = split_bus_variables(x, 29)
    v = join_voltages(unit_slack_voltage(re), re, im)
    current = v @ t["admittance"]
    slack = bus_powers(v, current)[0][..., 0]
    made = given[..., :5]
    dp = p - made @ t["generators"] + t["p"][1:]
    dq = q - given[..., 5:] @ t["generators"] + t["q"][1:]
    cost = 2 * slack + 0.02 * slack**2 + xp.sum(t["linear"] * made + t["quadratic"] * made**2, axis=-1)
    return slack, p, cost, xp.concat([*current_mismatch(v, current, p, q), dp, dq], axis=-1)


@problem("RC37", best=0.018593563, **OPF)
def flow_active_loss(x: Array) -> Values:
    """Optimal power flow, active loss."""
    slack, p, _, h = _power_flow(x)
    return slack + namespace(x).sum(p, axis=-1), [], h


@problem("RC38", best=2.7139366, **OPF)
def flow_fuel_cost(x: Array) -> Values:
    """Optimal power flow, fuel cost."""
    _, _, cost, h = _power_flow(x)
    return cost, [], h


@problem("RC39", best=2.7515909, **OPF)
def flow_loss_and_fuel_cost(x: Array) -> Values:
    """Optimal power flow, active loss and fuel cost."""
    xp = namespace(x)
    slack, _, cost, h = _power_flow(x)
    made = slack + xp.sum(x[..., 116:121], axis=-1)
    return cost + 0.75 * (made - xp.sum(tabulate_grid(x)["p"])), [], h
