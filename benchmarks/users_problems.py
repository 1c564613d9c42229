"""Nine designs as a user would hand them over: raw units, named constraints, crashes, integers, equalities.

Each is a plain function of x that returns {"f", "g", "h"} or raises. They are written for this benchmark from textbook
mathematics and occur in no suite of the library. best is the least f that is known: from long runs
of several methods (`python benchmarks/users.py --best`) and, where it is smooth, many starts of SLSQP.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

GRAVITY, AIR, WATER = 9.81, 1.2, 998.0  # m/s2, kg/m3, kg/m3


@dataclass(frozen=True)
class Design:
    """A function, its box and what is known of it."""

    name: str
    fun: Callable[[np.ndarray], dict[str, Any]]
    bounds: tuple[tuple[float, float], ...]
    n_ineq: int
    n_eq: int = 0
    integer: tuple[int, ...] = ()  # positions of integer variables
    eq_tol: float = 1e-4
    best: float | None = None

    @property
    def dim(self) -> int:
        return len(self.bounds)

    def variables(self) -> list[Any]:
        """The box for minimize(), integer variables marked."""
        from meco import Variable

        return [Variable(*pair, integer=i in self.integer) for i, pair in enumerate(self.bounds)]


def tank(x: np.ndarray) -> dict[str, Any]:
    """Steel (kg) of an open water tank: radius (m), height (m), wall and floor thickness (mm)."""
    radius, height, wall, floor = x[0], x[1], x[2] / 1e3, x[3] / 1e3
    steel = 7850.0 * (2 * math.pi * radius * height * wall + math.pi * radius**2 * floor)
    pressure = WATER * GRAVITY * height
    return {
        "f": steel,
        "g": {
            "volume (m3)": 60.0 - math.pi * radius**2 * height,
            "hoop stress (Pa)": pressure * radius / wall - 120e6,
            "floor bending (Pa)": 0.3 * pressure * 0.25 / floor**2 - 160e6,
            "wind tipping (N m)": 600.0 * 2 * radius * height**2 / 2 - steel * GRAVITY * radius,
            "footprint (m)": radius - 3.0,
        },
    }


def heat_sink(x: np.ndarray) -> dict[str, Any]:
    """Mass and fan cost of a finned sink: number of fins, fin thickness and height (mm), air speed (m/s)."""
    fins, thick, high, speed = round(x[0]), x[1] / 1e3, x[2] / 1e3, x[3]
    width, length, power = 0.1, 0.12, 90.0
    gap = (width - fins * thick) / (fins - 1)
    if gap <= 0:
        raise ValueError("the fins overlap: no mesh")
    reynolds = AIR * speed * gap / 1.8e-5
    nusselt = 7.54 + 0.03 * reynolds * 0.71 * 2 * gap / length / (
        1 + 0.016 * (reynolds * 0.71 * 2 * gap / length) ** 0.667
    )
    film = nusselt * 0.026 / (2 * gap)
    m = math.sqrt(2 * film / (200.0 * thick))
    area = fins * 2 * high * length * math.tanh(m * high) / (m * high) + (fins - 1) * gap * length
    drop = (24 / max(reynolds, 1.0)) * 4 * length / (2 * gap) * AIR * speed**2 / 2 + 1.2 * AIR * speed**2 / 2
    flow = speed * (fins - 1) * gap * high
    mass = 2700.0 * (fins * thick * high * length + width * length * 0.004)
    return {
        "f": 12.0 * mass + 4.0 * drop * flow / 0.3 + 0.02 * fins,
        "g": {
            "base temperature (K)": 298.0 + power / (film * area) + power * 0.02 - 353.0,
            "pressure drop (Pa)": drop - 25.0,
            "fin gap (mm)": 2.0 - 1e3 * gap,
            "fin slenderness": high / thick - 40.0,
        },
    }


def reactors(x: np.ndarray) -> dict[str, Any]:
    """Yearly cost of two stirred tanks for A -> B -> C: temperatures (K) and volumes (m3) of both."""
    a, b = 4000.0, 0.0  # mol/m3
    flow, cost = 0.002, 0.0
    for kelvin, volume in ((x[0], x[2]), (x[1], x[3])):
        wanted, lost = 3.0e6 * math.exp(-60e3 / 8.314 / kelvin), 3.0e11 * math.exp(-105e3 / 8.314 / kelvin)
        stay = volume / flow
        fresh = a / (1 + wanted * stay)
        b = (b + wanted * stay * fresh) / (1 + lost * stay)
        a = fresh
        cost += 9000.0 * volume**0.6 + 45.0 * (kelvin - 290.0)
    return {
        "f": cost,
        "g": {"purity": 0.92 - b / (4000.0 - a), "unreacted (mol/m3)": a - 900.0},
        "h": {"product (mol/s)": flow * b - 6.0},
    }


def pipeline(x: np.ndarray) -> dict[str, Any]:
    """Yearly cost of a pumped main with two branches: diameters (mm) of three pipes, pump head (m), pumps."""
    flows, lengths, rise = (0.12, 0.07, 0.05), (2400.0, 1500.0, 1800.0), (0.0, 14.0, 8.0)
    head, pumps = x[3], round(x[4])
    losses, speeds, money = [], [], 0.0
    for flow, length, millimetres in zip(flows, lengths, x[:3]):
        diameter = millimetres / 1e3
        speed = 4 * flow / (math.pi * diameter**2)
        friction = _darcy(speed * diameter / 1e-6, 5e-5 / diameter)
        losses.append(friction * length / diameter * speed**2 / (2 * GRAVITY))
        speeds.append(speed)
        money += 14.0 * length * millimetres**1.3 / 1e3
    left = [WATER * GRAVITY * (head + 5.0 - losses[0] - losses[i] - rise[i]) for i in (1, 2)]
    if min(left) < -WATER * GRAVITY * 60.0:
        raise RuntimeError("cavitation: the network does not converge")
    share = flows[0] / pumps / 0.05
    efficiency = 0.82 - 0.35 * (share - 1.0) ** 2
    if efficiency <= 0.05:
        raise RuntimeError("the pump is far off its curve")
    power = WATER * GRAVITY * flows[0] * head / efficiency
    return {
        "f": money + 1.1 * power + 6500.0 * pumps,
        "g": {
            "pressure at mill (Pa)": 2.5e5 - left[0],
            "pressure at village (Pa)": 2.0e5 - left[1],
            "fastest flow (m/s)": max(speeds) - 2.2,
            "slowest flow (m/s)": 0.6 - min(speeds),
            "surge (Pa)": WATER * 1000.0 * speeds[0] * 0.4 - 6.5e5,
        },
    }


def _darcy(reynolds: float, rough: float) -> float:
    """Friction factor by Colebrook's equation."""
    root = 0.02**-0.5
    for _ in range(30):
        root = -2.0 * math.log10(rough / 3.7 + 2.51 * root / reynolds)
    return root**-2


def bracket(x: np.ndarray) -> dict[str, Any]:
    """Mass (kg) of a wall bracket of three tubes: areas (mm2) of tie, strut, brace, drop (m), brace at."""
    reach, load, modulus = 2.5, 40e3, 210e9
    tie, strut, brace, drop, at = x[0] / 1e6, x[1] / 1e6, x[2] / 1e6, x[3], x[4]
    slant = math.hypot(reach, drop)
    pull, push = load * reach / drop, load * slant / drop
    support = 0.02 * push
    radius = math.sqrt(strut / (2 * math.pi * 0.1))  # tubes with walls of a tenth of their radius
    longest = max(at, 1.0 - at) * slant
    buckling = math.pi**2 * modulus * (strut * radius**2 / 2) / longest**2
    sag = load * (reach**3 / (tie * drop**2) + slant**3 / (strut * drop**2)) / modulus
    length = at * drop + 0.2
    thin = math.sqrt(brace / (2 * math.pi * 0.1))
    return {
        "f": 7850.0 * (tie * reach + strut * slant + brace * length),
        "g": {
            "tie stress (Pa)": pull / tie - 160e6,
            "strut stress (Pa)": push / strut - 160e6,
            "strut buckling (N)": 2.0 * push - buckling,
            "brace stress (Pa)": support / brace - 120e6,
            "brace buckling (N)": 3.0 * support - math.pi**2 * modulus * (brace * thin**2 / 2) / length**2,
            "sag (m)": sag - 0.004,
            "door below (m)": drop - 2.0,
        },
    }


def rocket(x: np.ndarray) -> dict[str, Any]:
    """Mass at lift-off (kg) of three stages: propellant (kg) of each, and payload fairing length (m)."""
    impulse, thrust, empty = (282.0, 340.0, 448.0), (7.6e6, 1.0e6, 1.1e5), (0.065, 0.08, 0.12)
    fairing = x[3]
    above, speed, loads = 4200.0 + 90.0 * fairing, 0.0, []
    for stage in (2, 1, 0):
        propellant = x[stage]
        full = above + propellant * (1 + empty[stage])
        speed += impulse[stage] * GRAVITY * math.log(full / (full - propellant))
        loads.append(full * GRAVITY / thrust[stage])
        above = full
    drag = 90.0 * (12.0 / fairing) ** 0.5
    return {
        "f": above,
        "g": {
            "weight over thrust at lift-off": loads[2] - 1 / 1.25,
            "weight over thrust of stage 2": loads[1] - 1 / 0.7,
            "weight over thrust of stage 3": loads[0] - 1 / 0.45,
            "burn of stage 1 (s)": x[0] * impulse[0] * GRAVITY / thrust[0] - 165.0,
        },
        "h": {"speed (m/s)": speed - drag - 9300.0},
    }


def microgrid(x: np.ndarray) -> dict[str, Any]:
    """Yearly cost of an island's supply: panels, batteries (both integer), diesel (kW), tilt (deg), converter (kW)."""
    panels, batteries, diesel, tilt, converter = round(x[0]), round(x[1]), x[2], math.radians(x[3]), x[4]
    stored, unserved, fuel = 6.0 * batteries, 0.0, 0.0
    for hour in range(72):
        sun = max(0.0, math.sin(math.pi * (hour % 24 - 6) / 12)) * (0.9, 0.35, 0.7)[hour // 24]
        made = 0.4 * panels * sun * math.cos(tilt - math.radians(38.0 - 6.0 * math.cos(hour / 9.0)))
        need = 30.0 + 14.0 * math.exp(-(((hour % 24 - 20) / 3.0) ** 2)) - made
        flow = max(-converter, min(converter, need))
        give = max(-(12.0 * batteries - stored) / 0.92, min(flow, stored - 2.4 * batteries))
        stored -= give if give > 0 else 0.92 * give
        engine = min(diesel, max(0.0, need - max(give, 0.0)))
        fuel += 0.08 * diesel * (engine > 0) + 0.25 * engine
        unserved += max(0.0, need - max(give, 0.0) - engine)
    return {
        "f": 38.0 * panels + 210.0 * batteries + 95.0 * diesel + 40.0 * converter + 60.0 * fuel,
        "g": {"unserved (kWh)": unserved - 5.0, "fuel (l)": fuel - 420.0, "roof (m2)": 2.1 * panels - 700.0},
    }


def low_pass(x: np.ndarray) -> dict[str, Any]:
    """Ripple (dB) of a third-order filter: resistors (ohm) and capacitors (F) of an RC stage and a Sallen-Key stage."""
    r1, r2, r3, c1, c2, c3 = x

    def decibel(frequency: float) -> float:
        s = 2j * math.pi * frequency
        stage = 1 / (1 + s * r1 * c1)
        pair = 1 / (1 + s * c3 * (r2 + r3) + s * s * r2 * r3 * c2 * c3)
        return 20 * math.log10(abs(stage * pair))

    band = [decibel(f) for f in np.geomspace(50.0, 900.0, 25)]
    return {
        "f": max(band) - min(band),
        "g": {
            "stop band (dB)": decibel(4000.0) + 32.0,
            "load on source (1/ohm)": 1 / (r1 + r2) - 1 / 8e3,
            "noise (V2/Hz)": 1.66e-20 * (r1 + r2 + r3) - 6e-16,
            "board area (F)": c1 + c2 + c3 - 9e-8,
        },
        "h": {"corner (dB)": decibel(1000.0) + 1.0},
    }


def exchanger(x: np.ndarray) -> dict[str, Any]:
    """Cost of a shell-and-tube exchanger: tubes (integer), length (m), tube bore (mm), coolant (kg/s), outlet (K)."""
    tubes, length, bore, coolant, outlet = round(x[0]), x[1], x[2] / 1e3, x[3], x[4]
    duty = 5.0 * 2100.0 * (390.0 - outlet)
    warm = 293.0 + duty / (coolant * 4180.0)
    difference = math.log((390.0 - warm) / (outlet - 293.0))  # raises where temperatures cross
    mean = ((390.0 - warm) - (outlet - 293.0)) / difference if abs(difference) > 1e-9 else outlet - 293.0
    speed = 4 * coolant / (WATER * math.pi * bore**2 * tubes)
    inside = 0.023 * (speed * bore / 9e-7) ** 0.8 * 6.1**0.4 * 0.61 / bore
    outside = 850.0 * (tubes / 60.0) ** -0.3
    area = math.pi * (bore + 0.003) * length * tubes
    able = area * mean / (1 / inside + 1 / outside + 2e-4)
    drop = (0.3 / (speed * bore / 9e-7) ** 0.25 * length / bore + 2.5) * WATER * speed**2 / 2
    return {
        "f": 900.0 * area**0.7 + 7.0 * tubes + 2.5e3 * drop * coolant / WATER / 600.0 + 160.0 * coolant,
        "g": {
            "outlet (K)": outlet - 330.0,
            "tube drop (Pa)": drop - 3.0e4,
            "speed (m/s)": speed - 2.5,
            "coolant (K)": warm - 318.0,
        },
        "h": {"duty (kW)": (able - duty) / 1e3},
    }


DESIGNS = (
    Design("tank", tank, ((0.5, 5), (0.5, 10), (1, 20), (1, 40)), 5, best=936.4664),
    Design("heat sink", heat_sink, ((4, 40), (0.5, 3), (5, 60), (0.5, 6)), 4, integer=(0,), best=2.482894),
    Design("reactors", reactors, ((300, 380), (300, 380), (0.1, 20), (0.1, 20)), 2, 1, eq_tol=1e-3, best=15905.73),
    Design(
        "pipeline", pipeline, ((100, 600), (100, 600), (100, 600), (5, 120), (1, 6)), 5, integer=(4,), best=215551.8
    ),
    Design("bracket", bracket, ((50, 5000), (50, 8000), (5, 2000), (0.3, 3.0), (0.2, 0.8)), 7, best=25.674636),
    Design("rocket", rocket, ((5e4, 6e5), (1e4, 2e5), (2e3, 6e4), (4, 14)), 4, 1, eq_tol=1.0, best=96518.06),
    Design("microgrid", microgrid, ((0, 400), (0, 60), (0, 60), (0, 70), (0, 60)), 3, integer=(0, 1), best=39720.99),
    Design(
        "low pass",
        low_pass,
        ((500, 5e4), (500, 5e4), (500, 5e4), (1e-9, 1e-7), (1e-9, 1e-7), (1e-9, 1e-7)),
        4,
        1,
        eq_tol=1e-3,
        best=0.2305475,
    ),
    Design(
        "exchanger",
        exchanger,
        ((20, 300), (1, 8), (8, 30), (2, 40), (300, 360)),
        4,
        1,
        integer=(0,),
        eq_tol=0.1,
        best=7727.58,
    ),
)
