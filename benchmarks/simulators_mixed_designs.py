"""Twelve mixed designs in raw units: two to six categories of two to eight values beside numbers, under constraints.

Written for this benchmark from textbook mathematics and round numbers of catalogues; they occur in no suite of the
library. Each is a plain function of a dict that returns {"f", "g"}; its variables are meco.Variable records.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meco import Variable

PI = math.pi


@dataclass(frozen=True)
class MixedDesign:
    """A function of a dict, and its variables by name."""

    name: str
    fun: Callable[[dict[str, Any]], dict[str, Any]]
    variables: dict[str, Variable]

    @property
    def dim(self) -> int:
        return len(self.variables)


def one_of(*values: Any, ordered: bool = False) -> Variable:
    return Variable(categories=values, ordered=ordered)


def whole(low: int, high: int) -> Variable:
    return Variable(low, high, integer=True)


# density kg/m3, modulus Pa, strength Pa, price per kg
METALS = {
    "S235": (7850, 210e9, 160e6, 1.1),
    "S355": (7850, 210e9, 240e6, 1.35),
    "6061": (2700, 69e9, 160e6, 4.2),
    "7075": (2810, 72e9, 330e6, 9.5),
    "Ti-6Al": (4430, 114e9, 550e6, 38.0),
    "304": (8000, 193e9, 140e6, 4.0),
    "cast iron": (7200, 110e9, 90e6, 0.9),
    "brass": (8500, 100e9, 120e6, 7.5),
}


def crane_arm(d: dict[str, Any]) -> dict[str, Any]:
    """Price of a 4 m arm with a load at its end: section, metal, joint, and the section's sizes (mm)."""
    rho, modulus, strength, price = METALS[d["metal"]]
    h, b, t = d["height"] / 1e3, d["width"] / 1e3, d["wall"] / 1e3
    inner_h, inner_b = max(h - 2 * t, 0.0), max(b - 2 * t, 0.0)
    if d["section"] == "bar":
        area, inertia, labour = h * b, b * h**3 / 12, 20.0
    elif d["section"] == "box":
        area, inertia, labour = h * b - inner_h * inner_b, (b * h**3 - inner_b * inner_h**3) / 12, 95.0
    elif d["section"] == "I":
        area = 2 * b * t + inner_h * 0.7 * t
        inertia, labour = (b * h**3 - (b - 0.7 * t) * inner_h**3) / 12, 60.0
    else:
        r, s = h / 2, max(h / 2 - t, 0.0)
        area, inertia, labour = PI * (r**2 - s**2), PI * (r**4 - s**4) / 4, 45.0
    factor, work = {"welded": (0.8, 40.0), "bolted": (0.9, 75.0), "forged": (1.0, 190.0)}[d["joint"]]
    length, load = 4.0, 6000.0
    mass = rho * area * length
    moment = load * length + mass * 9.81 * length / 2
    slenderness = max(inner_h, 1e-6) / t
    return {
        "f": mass * price + labour + work,
        "g": {
            "stress (Pa)": moment * h / 2 / inertia - strength * factor,
            "deflection (m)": load * length**3 / (3 * modulus * inertia) - 0.035,
            "local buckling": slenderness - 45.0 * math.sqrt(235e6 / strength),
            "own weight (kg)": mass - 190.0,
        },
    }


def vessel(d: dict[str, Any]) -> dict[str, Any]:
    """Price of a pressure vessel: metal, heads, inspection, seam; radius, length (m), wall of shell and heads (mm)."""
    rho, _, strength, price = METALS[d["metal"]]
    r, length, shell, head = d["radius"], d["length"], d["shell"] / 1e3, d["head"] / 1e3
    quality = {"none": 0.7, "spot": 0.85, "full": 1.0}[d["inspection"]]
    seam, weld_price = {"submerged arc": (1.0, 90.0), "hand": (0.92, 55.0), "friction": (1.05, 170.0)}[d["seam"]]
    shape, area, volume = {
        "flat": (0.62, PI * r**2, 0.0),
        "torispherical": (1.0 / 1.54, 1.08 * PI * r**2, 0.25 * r**3 * PI),
        "elliptical": (1.0, 1.38 * PI * r**2, PI * r**3 / 3),
        "hemispherical": (2.0, 2 * PI * r**2, 2 * PI * r**3 / 3),
    }[d["heads"]]
    p = 2.2e6
    allowed = strength * quality * min(seam, 1.0)
    needed = p * r / max(allowed - 0.6 * p, 1e5)
    if d["heads"] == "flat":
        head_needed = 2 * r * math.sqrt(0.3 * p / strength)
    else:
        head_needed = p * r / max(shape * allowed - 0.1 * p, 1e5)
    mass = rho * (2 * PI * r * length * shell + 2 * area * head)
    inspected = {"none": 0.0, "spot": 260.0, "full": 900.0}[d["inspection"]]
    forming = {"flat": 40.0, "torispherical": 300.0, "elliptical": 420.0, "hemispherical": 800.0}[d["heads"]]
    return {
        "f": mass * price + weld_price * (length + 4 * PI * r) + inspected + forming * r,
        "g": {
            "volume (m3)": 9.0 - PI * r**2 * length - 2 * volume,
            "shell (mm)": 1e3 * (needed - shell),
            "heads (mm)": 1e3 * (head_needed - head),
            "transport (m)": length + 2 * r - 6.5,
            "corrosion": {"304": -1.0, "Ti-6Al": -1.0, "brass": -0.2}.get(d["metal"], 0.6) - d["lining"],
            "lining wear": d["lining"] - 1.0 + 0.05 * r,
        },
    }


def valve_spring(d: dict[str, Any]) -> dict[str, Any]:
    """Mass (g) of a valve spring: wire, ends, surface; wire and coil diameter (mm), active coils."""
    shear, strength, rho = {
        "music wire": (81.7e9, 2150e6, 7850),
        "chrome vanadium": (77.2e9, 1880e6, 7850),
        "chrome silicon": (77.2e9, 1980e6, 7850),
        "302": (69e9, 1700e6, 7920),
        "bronze": (41e9, 1000e6, 8800),
        "titanium": (42e9, 1300e6, 4800),
    }[d["wire"]]
    dead, seat = {"plain": (0.0, 0.9), "squared": (2.0, 0.97), "ground": (2.0, 1.0), "closed": (1.0, 0.94)}[d["ends"]]
    fatigue, layer = {"as drawn": (0.42, 0.0), "peened": (0.55, 0.4), "nitrided": (0.63, 1.5)}[d["surface"]]
    wire, coil, n = d["wire diameter"] / 1e3, d["coil diameter"] / 1e3, d["coils"]
    index = coil / wire
    wahl = (4 * index - 1) / (4 * index - 4) + 0.615 / index if index > 1.05 else 20.0
    rate = shear * wire**4 / (8 * coil**3 * n)
    high, low = 620.0, 240.0
    stress = 8 * high * coil / (PI * wire**3) * wahl
    swing = 8 * (high - low) / 2 * coil / (PI * wire**3) * wahl
    mass = rho * PI**2 * wire**2 * coil * (n + dead) / 4 * 1e3
    travel = (high - low) / rate
    solid = wire * (n + dead)
    frequency = math.sqrt(rate / (mass / 1e3)) / 2
    tensile = strength * (wire / 2e-3) ** -0.14
    return {
        "f": mass + layer * 3.0 + 2.0 * (1.0 - seat) * mass,
        "g": {
            "static stress": stress / (0.5 * tensile * seat) - 1.0,
            "fatigue": swing / (0.5 * fatigue * tensile) - 1.0,
            "travel (mm)": abs(1e3 * travel - 11.0) - 0.5,
            "solid length (mm)": 1e3 * solid - 27.0,
            "surge (Hz)": 380.0 - frequency,
            "outer diameter (mm)": 1e3 * (coil + wire) - 34.0,
            "index": 4.0 - index,
        },
    }


def exchanger(d: dict[str, Any]) -> dict[str, Any]:
    """Yearly cost of a shell-and-tube exchanger: tube metal, layout, baffles, tube size; tubes, length, speed."""
    conduct, tube_price = {"copper": (380, 9.5), "brass": (110, 7.5), "304": (16, 4.6), "titanium": (21, 32.0)}[
        d["tube"]
    ]
    pitch, film, drop_factor = {
        "triangular": (0.87, 1.0, 1.0),
        "square": (1.0, 0.84, 0.72),
        "rotated": (1.0, 0.93, 0.85),
    }[d["layout"]]
    baffle_film, baffle_drop, baffle_price = {
        "single": (1.0, 1.0, 30.0),
        "double": (0.78, 0.42, 42.0),
        "helical": (1.02, 0.55, 110.0),
        "rod": (0.7, 0.25, 70.0),
    }[d["baffles"]]
    outer = d["tube size"] / 1e3
    inner, n, length, speed = outer - 3.2e-3, d["tubes"], d["length"], d["speed"]
    reynolds = 998 * speed * inner / 8e-4
    inside = 0.6 / inner * 0.023 * reynolds**0.8 * 5.4**0.4
    shell = 1.05 * math.sqrt(n * pitch * (1.25 * outer) ** 2 * 4 / PI)
    cross = 0.2 * shell * shell * d["cut"]
    outside_speed = 6.0 / 850 / cross
    outside_re = 850 * outside_speed * outer / 1.2e-3
    outside = 0.13 / outer * 0.36 * outside_re**0.55 * 12**0.33 * film * baffle_film
    fouling = {"copper": 2e-4, "brass": 2.2e-4, "304": 1.2e-4, "titanium": 0.8e-4}[d["tube"]]
    u = 1 / (1 / inside + 1 / outside + fouling + 1.6e-3 / conduct)
    area = n * PI * outer * length
    duty = u * area * 38.0
    flow = 998 * speed * n / d["passes"] * PI * inner**2 / 4
    drop_in = d["passes"] * (0.03 * length / inner + 4) * 998 * speed**2 / 2
    drop_out = 14 * drop_factor * baffle_drop * 850 * outside_speed**2 / 2 * length / 0.25
    mass = n * length * PI * (outer**2 - inner**2) / 4 * 8500
    capital = 0.15 * (mass * tube_price + 1500 * shell**1.2 * length**0.7 + baffle_price * length / 0.25 + 9 * n)
    return {
        "f": capital + 6e3 * 0.1 * (drop_in * flow / 998 + drop_out * 6.0 / 850) / 700,
        "g": {
            "duty (kW)": (620e3 - duty) / 1e3,
            "tube pressure (kPa)": drop_in / 1e3 - 60.0,
            "shell pressure (kPa)": drop_out / 1e3 - 35.0,
            "shell size (m)": shell - 0.75,
            "flow (kg/s)": 9.0 - flow,
            "vibration": outside_speed * (1.4 if d["baffles"] == "single" else 1.0) - 1.1,
        },
    }


def gear_pair(d: dict[str, Any]) -> dict[str, Any]:
    """Price of a gear pair: both steels, their quality, oil, module; teeth of the pinion, width (mm), helix (deg)."""
    steels = {
        "C45": (560, 210, 1.2),
        "42CrMo4": (720, 290, 1.9),
        "16MnCr5": (1450, 430, 3.1),
        "18CrNiMo": (1500, 490, 4.4),
    }
    contact, bending, price = steels[d["pinion steel"]]
    contact2, bending2, price2 = steels[d["wheel steel"]]
    dynamic, grinding = {12: (1.55, 0.0), 10: (1.35, 14.0), 8: (1.2, 32.0), 6: (1.08, 75.0), 5: (1.04, 120.0)}[
        d["quality"]
    ]
    film, oil_price, oil_loss = {"grease": (0.85, 2.0, 1.4), "mineral": (1.0, 9.0, 1.0), "synthetic": (1.1, 28.0, 0.8)}[
        d["oil"]
    ]
    m, z, width, helix = d["module"], d["teeth"], d["width"], math.radians(d["helix"])
    z2 = round(3.55 * z)
    d1, d2 = m * z / math.cos(helix), m * z2 / math.cos(helix)
    force = 2 * 165e3 / d1
    share = 1.0 + 0.5 * math.sin(helix)
    form = 2.0 + 14.0 / z
    load = dynamic * force / (width * share) * (1.0 + 0.0016 * width)
    root = load / m * form
    hertz = 190.0 * math.sqrt(load / d1 * 4.55 / 3.55) * 1.55 / film
    volume = PI / 4 * width * (d1**2 + 0.55 * d2**2) * 1e-9 * 7850
    cost = PI / 4 * width * 1e-9 * 7850 * (d1**2 * price + 0.55 * d2**2 * price2)
    machining = (grinding + 6.0) * (1 + width / 120) + 0.05 * (z + z2) * (
        2.2 if d["pinion steel"] in ("16MnCr5", "18CrNiMo") else 1
    )
    return {
        "f": 2.4 * cost + machining + oil_price + 3.0 * oil_loss * (1 + 0.3 * math.tan(helix)),
        "g": {
            "pinion root (MPa)": root - bending,
            "wheel root (MPa)": 0.93 * root - bending2,
            "pinion flank (MPa)": hertz - contact,
            "wheel flank (MPa)": hertz - contact2 * 1.04,
            "centre distance (mm)": (d1 + d2) / 2 - 260.0,
            "mass (kg)": volume - 36.0,
            "axial force (kN)": force * math.tan(helix) / 1e3 - 1.3,
            "noise": dynamic - 1.22 + 0.12 * math.sin(helix) * -1,
        },
    }


def wall(d: dict[str, Any]) -> dict[str, Any]:
    """Price per m2 of an outer wall: bearing and insulating material, facing, fastening; both thicknesses (mm)."""
    bearing = {  # conductivity, density, price per m3, sound
        "brick": (0.45, 1400, 210, 1.0),
        "concrete": (2.1, 2400, 190, 1.25),
        "aerated": (0.11, 500, 170, 0.7),
        "timber": (0.13, 480, 620, 0.6),
        "clay": (0.6, 1600, 150, 1.05),
        "limestone": (1.0, 1900, 230, 1.15),
    }
    insulation = {
        "EPS": (0.035, 18, 85, 0.2),
        "XPS": (0.032, 32, 190, 0.25),
        "mineral wool": (0.036, 60, 120, 0.9),
        "PUR": (0.024, 35, 260, 0.3),
        "wood fibre": (0.042, 160, 155, 0.95),
        "foam glass": (0.04, 120, 420, 0.5),
    }
    a, b = bearing[d["bearing"]], insulation[d["insulation"]]
    face_mass, face_price, vapour = {
        "plaster": (25, 38, 0.3),
        "clinker": (110, 96, 0.7),
        "timber": (14, 74, 0.15),
        "metal": (9, 88, 1.3),
    }[d["facing"]]
    bridge, fix_price = {"glued": (0.0, 11), "dowels": (0.018, 8), "rails": (0.035, 24)}[d["fastening"]]
    t1, t2 = d["bearing thickness"] / 1e3, d["insulation thickness"] / 1e3
    u = 1 / (0.17 + t1 / a[0] + t2 / b[0]) + bridge
    mass = t1 * a[1] + t2 * b[1] + face_mass
    sound = 20 * math.log10(mass) + 12 + 6 * b[3] * math.log(1 + 10 * t2) + 3 * a[3]
    strength = {"brick": 7.0, "concrete": 20.0, "aerated": 2.6, "timber": 5.0, "clay": 3.4, "limestone": 12.0}[
        d["bearing"]
    ]
    fire = (
        30
        + 60 * t1 * a[3] * 4
        - (25 if d["insulation"] in ("EPS", "XPS", "PUR") else 0)
        - (15 if d["facing"] == "timber" else 0)
    )
    grip = {"glued": 1.8, "dowels": 3.5, "rails": 9.0}[d["fastening"]]
    return {
        "f": t1 * a[2] + t2 * b[2] + face_price + fix_price + 55 * (t1 + t2),
        "g": {
            "U value": 100 * (u - 0.17),
            "sound (dB)": 52.5 - sound,
            "bearing (kN/m)": 190.0 - 1e3 * strength * t1 * 0.35,
            "slenderness": 2.7 / t1 - 25.0,
            "fire (min)": 60.0 - fire,
            "facing on its fixing": (face_mass + t2 * b[1]) / 10 - grip,
            "vapour": vapour
            - 0.9
            - (0.4 if d["insulation"] in ("mineral wool", "wood fibre") else 0.0)
            + 0.5 * (d["facing"] == "metal"),
        },
    }


def motor(d: dict[str, Any]) -> dict[str, Any]:
    """Price of a 15 kW drive: rotor, magnets, cooling, wire gauge, sheet; bore, stack (mm), current density, poles."""
    torque_factor, copper_factor, base = {
        "induction": (0.62, 1.35, 60),
        "reluctance": (0.7, 1.0, 75),
        "surface": (1.0, 0.85, 80),
        "interior": (1.12, 0.85, 105),
        "wound": (0.85, 1.25, 120),
    }[d["rotor"]]
    field, magnet_price, limit = {"ferrite": (0.55, 6, 250), "SmCo": (0.95, 130, 300), "NdFeB": (1.12, 75, 150)}[
        d["magnets"]
    ]
    uses = d["rotor"] in ("surface", "interior")
    field = field if uses else 0.72
    heat, cool_price = {"air": (9.0, 15), "fan": (22.0, 48), "water": (60.0, 160)}[d["cooling"]]
    sheet_loss, sheet_price = {"M800": (7.0, 1.3), "M400": (3.9, 1.9), "M250": (2.4, 3.0), "cobalt": (1.9, 22.0)}[
        d["sheet"]
    ]
    fill = {0.5: 0.36, 0.63: 0.39, 0.8: 0.42, 1.0: 0.44, 1.25: 0.45, 1.6: 0.44, 2.0: 0.41, 2.5: 0.37}[d["wire"]]
    eddy = (d["wire"] / 1.0) ** 2
    bore, stack, density, poles = d["bore"] / 1e3, d["stack"] / 1e3, d["current density"], 2 * d["pole pairs"]
    loading = density * 1e6 * fill * 0.02
    torque = PI / 2 * bore**2 * stack * field * loading * torque_factor * 0.9
    speed = 15e3 / max(torque, 1.0)
    hertz = speed / (2 * PI) * poles / 2
    copper = (
        2.1e-8
        * (density * 1e6) ** 2
        * PI
        * bore
        * 0.02
        * fill
        * (stack + 3.0 * bore / poles * 2)
        * copper_factor
        * (1 + 0.02 * eddy * (hertz / 50) ** 2)
    )
    outer = bore + 0.04 + 1.8 * bore / poles
    iron_mass = 7650 * PI / 4 * (outer**2 - bore**2) * stack * 0.7
    iron = sheet_loss * iron_mass * (hertz / 50) ** 1.5 * field**2 / 2.2
    surface = PI * outer * stack * 1.6
    rise = (copper + iron) / (heat * surface + 1e-9)
    magnet_mass = 7500 * PI * bore * stack * 0.004 * (1 + 0.05 * poles) if uses else 0.0
    return {
        "f": base
        + cool_price
        + iron_mass * sheet_price * 1.7
        + magnet_mass * magnet_price
        + 9.5 * 8900 * PI * bore * 0.02 * fill * stack
        + 0.02 * 15 * (copper + iron) / 10
        + 8 / d["wire"],
        "g": {
            "torque (N m)": 95.0 - torque,
            "temperature": rise - min(110.0, limit - 60.0 if uses else 110.0),
            "efficiency": (copper + iron) / 15e3 - 0.085,
            "rim speed (m/s)": speed * bore / 2 - (70.0 if d["rotor"] == "surface" else 95.0),
            "tooth field (T)": field * (1.45 + 0.04 * poles) - (2.3 if d["sheet"] == "cobalt" else 1.85),
            "outer size (mm)": 1e3 * outer - 260.0,
            "length (mm)": 1e3 * (stack + 3.0 * bore / poles) - 270.0,
        },
    }


def battery(d: dict[str, Any]) -> dict[str, Any]:
    """Price of a battery pack: chemistry, cell, cooling, case; cells in a row and side by side, flow, wall."""
    volt, energy, price, resistance, life, limit = {
        "NMC": (3.65, 245, 0.115, 1.0, 1500, 45),
        "NCA": (3.6, 265, 0.125, 1.1, 1100, 42),
        "LFP": (3.2, 165, 0.08, 1.3, 3800, 55),
        "LTO": (2.3, 85, 0.28, 0.45, 12000, 60),
        "Na-ion": (3.1, 145, 0.07, 1.6, 3000, 55),
    }[d["chemistry"]]
    capacity, share, joint = {"round": (5.0, 0.72, 0.35), "pouch": (55.0, 0.82, 0.6), "prismatic": (110.0, 0.86, 0.8)}[
        d["cell"]
    ]
    transfer, cool_price, cool_mass = {
        "air": (14, 40, 3),
        "plate": (75, 190, 11),
        "immersion": (160, 420, 26),
        "none": (4, 0, 0),
    }[d["cooling"]]
    rho, stiffness, metal_price = {
        "steel": (7850, 1.0, 1.3),
        "aluminium": (2700, 0.36, 4.5),
        "composite": (1750, 0.45, 26.0),
        "plastic": (1150, 0.03, 2.8),
    }[d["case"]]
    series, parallel, flow, sheet = d["series"], d["parallel"], d["flow"], d["wall"] / 1e3
    cells = series * parallel
    amp_hours = capacity * parallel
    stored = volt * series * amp_hours / 1e3
    cell_mass = 1e3 * stored / energy
    size = (cell_mass / (2400 * share)) ** (1 / 3)
    skin = 6 * (1.25 * size) ** 2
    mass = cell_mass / share * 0.9 + rho * skin * sheet + cool_mass + 2 * flow
    current = 70e3 / (volt * series)
    heat = current**2 * 0.022 * resistance / amp_hours * series
    rise = heat / (transfer * skin * (0.4 + flow**0.6) + 1e-9)
    return {
        "f": 1e3 * stored * price
        + cool_price
        + 90 * flow**1.3
        + rho * skin * sheet * metal_price
        + joint * cells * 0.4,
        "g": {
            "energy (kWh)": 42.0 - stored,
            "voltage (V)": abs(volt * series - 380.0) - 25.0,
            "mass (kg)": mass - 420.0,
            "temperature (K)": rise - (limit - 25.0),
            "cycles": 2200.0 - life * math.exp(-rise / 60),
            "crash (mm)": 1e3 * (2.6e-3 - sheet * stiffness**0.5),
            "pump (W)": 60 * flow**2.8 - 260.0 if d["cooling"] != "none" else -1.0,
        },
    }


def drone(d: dict[str, Any]) -> dict[str, Any]:
    """Take-off mass (kg) of a survey drone: propeller, motor, cells, frame; battery (Wh), arm (mm), rotors, speed."""
    inch = {8: 1, 10: 1, 12: 1, 13: 1, 15: 1, 18: 1, 22: 1}[d["propeller"]] * d["propeller"]
    kv, motor_mass, most, efficiency = {
        "2212-980": (980, 0.056, 210, 0.78),
        "2216-880": (880, 0.075, 320, 0.8),
        "2814-700": (700, 0.108, 520, 0.83),
        "3508-580": (580, 0.098, 480, 0.85),
        "4006-380": (380, 0.082, 360, 0.86),
        "5008-340": (340, 0.135, 800, 0.87),
    }[d["motor"]]
    specific, burst = {"LiPo": (165, 25), "Li-ion": (235, 6), "LiHV": (182, 18)}[d["cells"]]
    rho, frame_modulus, frame_strength = {
        "carbon": (1600, 70e9, 400e6),
        "glass": (1900, 24e9, 250e6),
        "6061": (2700, 69e9, 160e6),
        "nylon": (1150, 3e9, 55e6),
    }[d["frame"]]
    n, arm, capacity, tube = d["rotors"], d["arm"] / 1e3, d["battery"], d["tube"] / 1e3
    prop = inch * 0.0254
    section = PI * tube * 1.5e-3
    frame = n * rho * section * arm + 0.22 + 900 * 0.004 * (0.12 + 0.04 * n)
    mass = 0.75 + frame + capacity / specific + n * (motor_mass + 0.012 + 6e-5 * inch**2.2)
    thrust = mass * 9.81 / n
    area = PI * prop**2 / 4
    hover = n * thrust**1.5 / math.sqrt(2 * 1.2 * area) / 0.62 / efficiency
    rpm = 60 * math.sqrt(thrust / (1.2 * 0.11 * prop**4))
    voltage = rpm * 1.35 / kv + 2.0
    minutes = 60 * 0.85 * capacity / (hover + 18)
    inertia = PI * (tube / 2) ** 3 * 1.5e-3
    return {
        "f": mass,
        "g": {
            "flight (min)": 36.0 - minutes,
            "motor power (W)": 1.9 * hover / n - most,
            "voltage (V)": voltage - 25.2,
            "battery power": 2.2 * hover / max(capacity * burst, 1.0) - 1.0,
            "rotors overlap (m)": prop * 1.08 - 2 * arm * math.sin(PI / n),
            "arm stress (Pa)": 4 * thrust * arm * tube / 2 / inertia - frame_strength,
            "arm stiffness (m)": 2 * thrust * arm**3 / (3 * frame_modulus * inertia) - 0.012,
            "size (m)": 2 * arm + prop - 1.25,
        },
    }


def active_filter(d: dict[str, Any]) -> dict[str, Any]:
    """Noise (uV) and price of an active low pass: amplifier, capacitor, topology, resistors, supply; values (log)."""
    gbw, noise, price, supply = {
        "LM358": (1e6, 40, 0.2, 0.5),
        "TL072": (3e6, 18, 0.4, 1.4),
        "NE5532": (10e6, 5, 0.7, 4.0),
        "OPA1612": (40e6, 1.1, 4.5, 3.6),
        "LT1028": (75e6, 0.9, 7.0, 7.6),
        "MCP6002": (1e6, 28, 0.3, 0.1),
    }[d["amplifier"]]
    c = {1e-9: 1, 2.2e-9: 1, 4.7e-9: 1, 1e-8: 1, 2.2e-8: 1, 4.7e-8: 1, 1e-7: 1, 2.2e-7: 1}[d["capacitor"]] * d[
        "capacitor"
    ]
    spread, parts, sensitive = {
        "Sallen-Key": (1.0, 4, 1.0),
        "multiple feedback": (1.25, 5, 0.7),
        "biquad": (1.6, 9, 0.3),
    }[d["topology"]]
    tolerance, resistor_price = {"5 %": (0.05, 0.01), "1 %": (0.01, 0.03), "0.1 %": (0.001, 0.35)}[d["resistors"]]
    r1, r2, ratio = 10 ** d["log R1"], 10 ** d["log R2"], d["ratio"]
    c2 = c * ratio
    cut = 1 / (2 * PI * math.sqrt(r1 * r2 * c * c2))
    q = math.sqrt(r1 * r2 * c * c2) / (c * (r1 + r2))
    thermal = 0.13 * math.sqrt(r1 + r2) * spread
    total = math.sqrt((noise**2 + thermal**2) * cut * 1.57) / 1e3
    drift = sensitive * tolerance * (1 + 2 * abs(q)) + 3 * cut / gbw * 40
    return {
        "f": 6.0 * total
        + price * (3 if d["topology"] == "biquad" else 1)
        + parts * resistor_price
        + 4e6 * (c + c2) * 0.5,
        "g": {
            "corner (Hz)": 100 * (abs(math.log(cut / 3400.0)) - 0.01),
            "quality": 100 * (abs(q - 0.7071) - 0.01),
            "drift": 100 * (drift - 0.03),
            "supply (mA)": supply * (3 if d["topology"] == "biquad" else 1) - d["budget (mA)"],
            "battery": d["budget (mA)"] - 4.5,
            "loading": 1.0 - min(r1, r2) / 600.0,
        },
    }


def flange(d: dict[str, Any]) -> dict[str, Any]:
    """Price of a bolted flange joint: bolt class and size, gasket, coating; bolts, preload share, thickness (mm)."""
    proof, bolt_price = {
        "4.6": (225e6, 0.5),
        "5.8": (380e6, 0.6),
        "8.8": (600e6, 0.8),
        "10.9": (830e6, 1.15),
        "12.9": (970e6, 1.8),
        "A4-70": (450e6, 2.6),
    }[d["class"]]
    size = d["size"] / 1e3
    factor, seating, gasket_price = {
        "fibre": (2.0, 11e6, 6.0),
        "PTFE": (2.5, 14e6, 15.0),
        "spiral": (3.0, 69e6, 28.0),
        "rubber": (1.0, 1.4e6, 4.0),
    }[d["gasket"]]
    friction, coat = {"plain": (0.2, 0.0), "zinc": (0.15, 0.15), "PTFE coat": (0.1, 0.6)}[d["coating"]]
    rho, _, strength, price = METALS[d["metal"]]
    n, share, thick, radius = d["bolts"], d["preload"], d["thickness"] / 1e3, d["circle"] / 2e3
    stress_area = 0.74 * PI * size**2 / 4
    clamp = n * share * proof * stress_area
    p, bore, wide = 1.6e6, 0.15, 0.014
    seal = PI * (bore + wide) * wide
    end = p * PI * (bore + wide) ** 2 / 4
    lever = radius - (bore + wide) / 2
    bend = 6 * clamp * lever / (2 * PI * radius * thick**2)
    spacing = 2 * PI * radius / n
    outer = radius + 1.1 * size
    mass = rho * PI * (outer**2 - bore**2 / 4) * thick
    return {
        "f": mass * price + n * (bolt_price * (size / 0.012) ** 2 + coat + 0.4) + gasket_price + 0.3 * n,
        "g": {
            "seating (kN)": (seating * seal - clamp) / 1e3,
            "tightness (kN)": (end + 2 * factor * p * seal - clamp) / 1e3,
            "gasket crushed": clamp / seal / 1e6 - {"fibre": 90, "PTFE": 60, "spiral": 220, "rubber": 8}[d["gasket"]],
            "flange (MPa)": (bend - strength) / 1e6,
            "wrench room (mm)": 1e3 * (2.3 * size - spacing),
            "gap (mm)": 1e3 * (spacing - 2 * size - 6 * thick / (factor + 0.5)),
            "bolt circle (mm)": 1e3 * ((bore / 2 + wide + 0.8 * size) - radius),
            "torque (N m)": 1.2 * friction * share * proof * stress_area * size - 120.0,
            "heat": {"rubber": 0.4, "PTFE": -0.1}.get(d["gasket"], -1.0),
        },
    }


def reactor(d: dict[str, Any]) -> dict[str, Any]:
    """Cost per kg of a reactor's product: catalyst, packing, type, coolant, solvent, feed; heat, pressure, time."""
    pre, act, catalyst_price, selective = {
        "Pt": (2.2e6, 62e3, 9.0, 0.93),
        "Pd": (1.5e6, 60e3, 6.5, 0.95),
        "Ni": (0.4e6, 58e3, 0.6, 0.86),
        "Ru": (3.1e6, 65e3, 4.2, 0.91),
        "Cu": (0.2e6, 57e3, 0.4, 0.9),
        "zeolite": (0.9e6, 61e3, 1.1, 0.92),
        "enzyme": (6e4, 48e3, 14.0, 0.99),
    }[d["catalyst"]]
    area, drop, pack_price = {
        "spheres": (1.0, 1.0, 1.0),
        "rings": (1.15, 0.6, 1.6),
        "honeycomb": (1.3, 0.25, 3.4),
        "foam": (1.45, 0.4, 4.2),
        "powder": (2.2, 4.5, 0.8),
    }[d["packing"]]
    mixing, type_price = {"tubular": (1.0, 1.0), "stirred": (0.72, 0.7)}[d["type"]]
    transfer, cool_price, coldest = {
        "air": (0.15, 0.05, 310),
        "water": (1.0, 0.2, 300),
        "oil": (0.55, 0.35, 330),
        "steam": (0.8, 0.3, 390),
    }[d["coolant"]]
    solubility, solvent_price, boiling, toxic = {
        "water": (0.35, 0.02, 373, 0.0),
        "ethanol": (0.8, 0.5, 351, 0.1),
        "toluene": (1.1, 0.6, 384, 0.6),
        "DMSO": (1.3, 1.6, 462, 0.3),
        "hexane": (0.6, 0.55, 342, 0.5),
        "none": (0.5, 0.0, 480, 0.0),
    }[d["solvent"]]
    pure, feed_price = {"crude": (0.82, 0.9), "technical": (0.93, 1.3), "pure": (0.99, 2.1)}[d["feed"]]
    t, p, tau = d["temperature"], d["pressure"] * 1e5, d["time"]
    rate = pre * math.exp(-act / (8.314 * t)) * area * solubility * (p / 1e6) ** 0.5
    if d["catalyst"] == "enzyme":
        rate *= 1.0 / (1.0 + math.exp((t - 330) / 4.0))
    x = 1 - math.exp(-mixing * rate * tau)
    good = selective * pure * (1 - 0.002 * max(t - 400, 0) / 10 - 0.05 * x**4)
    yielded = max(x * good, 1e-6)
    heat = 90e3 * x / tau / 60
    removed = transfer * 0.9 * (t - coldest)
    pressure_drop = drop * 0.04 * 60 / tau
    boil = boiling + 28 * math.log(d["pressure"])
    capital = (0.02 * d["pressure"] ** 0.6 * tau + 0.05 * pack_price) * type_price
    return {
        "f": (feed_price + solvent_price * 0.3 + cool_price * 0.2 + capital + 0.02 * catalyst_price * area) / yielded
        + 0.0008 * (t - 300),
        "g": {
            "conversion": 0.9 - x,
            "purity": 0.86 - good,
            "heat (kW)": (heat - removed) / 10,
            "boiling (K)": t - boil,
            "pressure drop (bar)": pressure_drop - 0.6,
            "exposure": toxic + 0.01 * d["pressure"] - 0.55,
            "wall (K)": t - 480 + 2 * d["pressure"],
        },
    }


METAL_NAMES = tuple(METALS)

DESIGNS = (
    MixedDesign(
        "crane arm",
        crane_arm,
        {
            "metal": one_of(*METAL_NAMES[:5]),
            "section": one_of("bar", "box", "I", "tube"),
            "joint": one_of("welded", "bolted", "forged"),
            "height": Variable(60, 400),
            "width": Variable(40, 250),
            "wall": Variable(2, 25),
        },
    ),
    MixedDesign(
        "vessel",
        vessel,
        {
            "metal": one_of("S235", "S355", "6061", "Ti-6Al", "304", "brass"),
            "heads": one_of("flat", "torispherical", "elliptical", "hemispherical"),
            "inspection": one_of("none", "spot", "full", ordered=True),
            "seam": one_of("submerged arc", "hand", "friction"),
            "radius": Variable(0.3, 1.6),
            "length": Variable(0.5, 6.0),
            "shell": Variable(3, 60),
            "head": Variable(3, 90),
            "lining": Variable(0, 1),
        },
    ),
    MixedDesign(
        "valve spring",
        valve_spring,
        {
            "wire": one_of("music wire", "chrome vanadium", "chrome silicon", "302", "bronze", "titanium"),
            "ends": one_of("plain", "squared", "ground", "closed"),
            "surface": one_of("as drawn", "peened", "nitrided"),
            "wire diameter": Variable(1.5, 8),
            "coil diameter": Variable(12, 60),
            "coils": whole(2, 14),
        },
    ),
    MixedDesign(
        "exchanger",
        exchanger,
        {
            "tube": one_of("copper", "brass", "304", "titanium"),
            "layout": one_of("triangular", "square", "rotated"),
            "baffles": one_of("single", "double", "helical", "rod"),
            "tube size": one_of(10, 12, 16, 20, 25, 32, ordered=True),
            "passes": one_of(1, 2, 4, ordered=True),
            "tubes": whole(20, 400),
            "length": Variable(0.8, 6),
            "speed": Variable(0.3, 3),
            "cut": Variable(0.2, 0.6),
        },
    ),
    MixedDesign(
        "gear pair",
        gear_pair,
        {
            "pinion steel": one_of("C45", "42CrMo4", "16MnCr5", "18CrNiMo"),
            "wheel steel": one_of("C45", "42CrMo4", "16MnCr5", "18CrNiMo"),
            "quality": one_of(12, 10, 8, 6, 5, ordered=True),
            "oil": one_of("grease", "mineral", "synthetic"),
            "module": one_of(1.5, 2, 2.5, 3, 4, 5, 6, 8, ordered=True),
            "teeth": whole(15, 40),
            "width": Variable(15, 120),
            "helix": Variable(0, 30),
        },
    ),
    MixedDesign(
        "outer wall",
        wall,
        {
            "bearing": one_of("brick", "concrete", "aerated", "timber", "clay", "limestone"),
            "insulation": one_of("EPS", "XPS", "mineral wool", "PUR", "wood fibre", "foam glass"),
            "facing": one_of("plaster", "clinker", "timber", "metal"),
            "fastening": one_of("glued", "dowels", "rails"),
            "bearing thickness": Variable(80, 500),
            "insulation thickness": Variable(20, 350),
        },
    ),
    MixedDesign(
        "motor",
        motor,
        {
            "rotor": one_of("induction", "reluctance", "surface", "interior", "wound"),
            "magnets": one_of("ferrite", "SmCo", "NdFeB"),
            "cooling": one_of("air", "fan", "water"),
            "sheet": one_of("M800", "M400", "M250", "cobalt"),
            "wire": one_of(0.5, 0.63, 0.8, 1.0, 1.25, 1.6, 2.0, 2.5, ordered=True),
            "bore": Variable(60, 220),
            "stack": Variable(40, 240),
            "current density": Variable(2, 14),
            "pole pairs": whole(1, 6),
        },
    ),
    MixedDesign(
        "battery",
        battery,
        {
            "chemistry": one_of("NMC", "NCA", "LFP", "LTO", "Na-ion"),
            "cell": one_of("round", "pouch", "prismatic"),
            "cooling": one_of("air", "plate", "immersion", "none"),
            "case": one_of("steel", "aluminium", "composite", "plastic"),
            "series": whole(60, 200),
            "parallel": whole(1, 40),
            "flow": Variable(0, 2),
            "wall": Variable(1, 15),
        },
    ),
    MixedDesign(
        "drone",
        drone,
        {
            "propeller": one_of(8, 10, 12, 13, 15, 18, 22, ordered=True),
            "motor": one_of("2212-980", "2216-880", "2814-700", "3508-580", "4006-380", "5008-340"),
            "cells": one_of("LiPo", "Li-ion", "LiHV"),
            "frame": one_of("carbon", "glass", "6061", "nylon"),
            "rotors": one_of(3, 4, 6, 8, ordered=True),
            "arm": Variable(120, 600),
            "battery": Variable(30, 600),
            "tube": Variable(8, 40),
        },
    ),
    MixedDesign(
        "active filter",
        active_filter,
        {
            "amplifier": one_of("LM358", "TL072", "NE5532", "OPA1612", "LT1028", "MCP6002"),
            "capacitor": one_of(1e-9, 2.2e-9, 4.7e-9, 1e-8, 2.2e-8, 4.7e-8, 1e-7, 2.2e-7, ordered=True),
            "topology": one_of("Sallen-Key", "multiple feedback", "biquad"),
            "resistors": one_of("5 %", "1 %", "0.1 %", ordered=True),
            "log R1": Variable(2, 6),
            "log R2": Variable(2, 6),
            "ratio": Variable(0.2, 10),
            "budget (mA)": Variable(0.1, 12),
        },
    ),
    MixedDesign(
        "flange",
        flange,
        {
            "class": one_of("4.6", "5.8", "8.8", "10.9", "12.9", "A4-70"),
            "size": one_of(6, 8, 10, 12, 14, 16, 20, 24, ordered=True),
            "gasket": one_of("fibre", "PTFE", "spiral", "rubber"),
            "coating": one_of("plain", "zinc", "PTFE coat"),
            "metal": one_of("S235", "S355", "6061", "304"),
            "bolts": whole(4, 24),
            "preload": Variable(0.2, 0.8),
            "thickness": Variable(6, 50),
            "circle": Variable(190, 320),
        },
    ),
    MixedDesign(
        "reactor",
        reactor,
        {
            "catalyst": one_of("Pt", "Pd", "Ni", "Ru", "Cu", "zeolite", "enzyme"),
            "packing": one_of("spheres", "rings", "honeycomb", "foam", "powder"),
            "type": one_of("tubular", "stirred"),
            "coolant": one_of("air", "water", "oil", "steam"),
            "solvent": one_of("water", "ethanol", "toluene", "DMSO", "hexane", "none"),
            "feed": one_of("crude", "technical", "pure", ordered=True),
            "temperature": Variable(300, 520),
            "pressure": Variable(1, 60),
            "time": Variable(1, 120),
        },
    ),
)
