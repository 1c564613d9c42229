"""Six more mixed designs in raw units, written after the method's constants were chosen: nothing is chosen on them.

Like those of simulators_mixed_designs.py: textbook mathematics and round numbers of catalogues.
"""

from __future__ import annotations

import math
from typing import Any

from meco import Variable
from simulators_mixed_designs import METALS, PI, MixedDesign, one_of, whole

# heat capacity J/kg K, density kg/m3, viscosity Pa s, price per kg
FLUIDS = {
    "water": (4180, 995, 8e-4, 0.0),
    "glycol": (3400, 1070, 4.5e-3, 1.4),
    "oil": (2000, 860, 1.6e-2, 2.6),
    "brine": (3600, 1150, 1.5e-3, 0.3),
}


def heat_sink(d: dict[str, Any]) -> dict[str, Any]:
    """Price of a cooled plate for power electronics: metal, fins, fan, paste; fins, height, gap, base (mm)."""
    k, rho, price = {
        "copper": (390, 8900, 9.0), "1050": (225, 2705, 3.6), "6063": (200, 2700, 3.2), "die cast": (110, 2650, 2.4),
    }[d["metal"]]  # fmt: skip
    efficiency, work = {"extruded": (1.0, 1.0), "skived": (1.03, 2.2), "bonded": (0.92, 1.6), "pins": (1.12, 3.1)}[
        d["fins"]
    ]
    flow, noise, fan_price = {"none": (0.4, 0, 0.0), "quiet": (1.8, 22, 6.0), "usual": (3.2, 34, 4.5),
                              "strong": (5.5, 47, 8.0)}[d["fan"]]  # fmt: skip
    paste = {"grease": 0.9, "pad": 2.2, "film": 1.4}[d["paste"]] * 1e-5
    n, h, gap, base = d["number"], d["height"] / 1e3, d["gap"] / 1e3, d["base"] / 1e3
    thick, length = 1.2e-3, 0.12
    width = n * (thick + gap)
    through = flow * gap / (gap + 1.5e-3) / (1 + 6 * h / (gap * 1e2))
    film = 5.7 + 7.6 * through**0.78 * (2e-3 / gap) ** 0.2
    m = math.sqrt(2 * film / (k * thick))
    fin = math.tanh(m * h) / (m * h) * efficiency
    area = 2 * n * h * length
    resistance = 1 / (film * fin * area) + base / (k * length * max(width, 0.03)) + paste / (0.05 * 0.06)
    spread = 0.018 * math.exp(-base / 4e-3) * 200 / k * max(width / 0.06, 0.2)
    mass = rho * length * (n * h * thick + width * base)
    return {
        "f": mass * price * work + fan_price + {"grease": 0.3, "pad": 1.1, "film": 1.9}[d["paste"]],
        "g": {
            "chip (K)": 35 + 140 * (resistance + spread) - 105,
            "width (mm)": 1e3 * width - 150,
            "noise (dB)": noise - 40,
            "mass (kg)": mass - 1.4,
            "room (mm)": 1e3 * (h + base) - 70,
        },
    }


def pipeline(d: dict[str, Any]) -> dict[str, Any]:
    """Yearly cost of a pumped line: fluid, pipe, pump, insulation, valves; bore (mm), speed (1/min), stations."""
    capacity, rho, viscosity, fluid_price = FLUIDS[d["fluid"]]
    rough, pipe_price, strongest = {
        "steel": (4.5e-5, 38, 40e5), "ductile": (1.2e-4, 31, 30e5), "PE": (7e-6, 24, 10e5), "GRP": (2e-5, 45, 16e5),
        "copper": (1.5e-6, 160, 40e5),
    }[d["pipe"]]  # fmt: skip
    head, best, pump_price = {"radial": (1.0, 0.78, 1.0), "mixed": (0.55, 0.84, 1.2), "screw": (1.6, 0.66, 1.9)}[
        d["pump"]
    ]
    loss, wrap_price = {"none": (9.0, 0), "foam": (0.9, 16), "wool": (1.2, 11), "aerogel": (0.45, 70)}[d["insulation"]]
    resist, valve_price = {"ball": (0.1, 400), "globe": (6.0, 250), "butterfly": (0.9, 180), "gate": (0.2, 520)}[
        d["valves"]
    ]
    bore, n, speed = d["bore"] / 1e3, d["stations"], d["speed"] / 1450
    duty, drop_t, length = 2.4e6, d["spread"], 3200.0
    flow = duty / (capacity * rho * drop_t)
    v = flow / (PI / 4 * bore**2)
    reynolds = max(rho * v * bore / viscosity, 10.0)
    laminar, turbulent = 64 / reynolds, 0.25 / math.log10(rough / (3.7 * bore) + 5.74 / reynolds**0.9) ** 2
    blend = 1 / (1 + math.exp(-(reynolds - 3000) / 400))
    friction = laminar * (1 - blend) + turbulent * blend
    pressure = (friction * length / bore + 20 * resist) * rho * v * v / 2
    can = n * head * 2.6e5 * speed**2 * (1 - 0.3 * (flow / (0.05 * speed)) ** 2)
    efficiency = best * math.exp(-((math.log(flow / (0.03 * speed))) ** 2) / 1.5)
    power = pressure * flow / max(efficiency, 0.02)
    cold = loss * PI * (bore + 0.06) * length * 55 / 1e3
    capital = length * (pipe_price * (bore / 0.1) ** 1.4 + wrap_price * (bore / 0.1)) + 20 * valve_price * (bore / 0.1)
    return {
        "f": 0.08 * capital + 0.81 * power + 2.8 * cold + 7e3 * n * pump_price * speed
        + 900 * fluid_price * length * PI / 4 * bore**2,
        "g": {
            "pressure (bar)": (pressure - can) / 1e5,
            "pipe (bar)": (can / n * 1.3 - strongest) / 1e5,
            "noise (m/s)": v - 2.6,
            "lost heat (kW)": cold - 180,
            "wear": d["speed"] - (1900 if d["pump"] == "screw" else 3100),
        },
    }  # fmt: skip


def timber_floor(d: dict[str, Any]) -> dict[str, Any]:
    """Price of a floor per m2: wood, board, joints, grade; height, width, distance (mm), screed (mm), layers."""
    modulus, rho, price = {
        "spruce": (11e9, 420, 420), "larch": (12.5e9, 550, 640), "oak": (13e9, 700, 1500), "LVL": (13.8e9, 510, 980),
        "glulam": (12.6e9, 440, 760), "bamboo": (16e9, 690, 1900),
    }[d["wood"]]  # fmt: skip
    strength = {"C18": 0.75, "C24": 1.0, "C30": 1.2}[d["grade"]] * 1.25e7 * modulus / 11e9
    grading = {"C18": 0.9, "C24": 1.0, "C30": 1.35}[d["grade"]]
    stiff, board_price, board_mass = {"OSB": (1.0, 9, 14), "plywood": (1.25, 17, 12), "boards": (0.8, 14, 11)}[
        d["board"]
    ]
    together, joint_price = {"nails": (0.1, 2), "screws": (0.3, 5), "glue": (0.75, 9), "none": (0.0, 0)}[d["joint"]]
    h, b, e, screed, layers = d["height"] / 1e3, d["width"] / 1e3, d["distance"] / 1e3, d["screed"] / 1e3, d["layers"]
    span = 5.2
    inertia = b * h**3 / 12 * (1 + 1.6 * together * stiff * layers**0.5 * 0.022 / h)
    dead = (b * h / e * rho + board_mass * layers + 2000 * screed) * 9.81
    q = dead + 2500
    moment = q * e * span**2 / 8
    deflection = 5 * q * e * span**4 / (384 * modulus * inertia)
    frequency = PI / 2 / span**2 * math.sqrt(modulus * inertia / e / (dead / 9.81 + 30))
    across = stiff * layers**2 * 0.022**3 / 12 * 6e9 * 1.3 + 2.5e10 * screed**3 / 12
    bounce = 1e3 * span**3 / (48 * modulus * inertia) / (0.4 + 0.3 * (across * e / (modulus * inertia)) ** 0.25 * 10)
    sound = 63 - 13 * math.log10(max(dead / 9.81, 1) / 40) - 3 * (layers - 1)
    return {
        "f": price * grading * b * h / e + board_price * layers + joint_price / e + 0.09 * 1e3 * screed + 6 / e,
        "g": {
            "bending (MPa)": (moment * h / 2 / inertia - strength) / 1e6,
            "deflection (mm)": 1e3 * (deflection - span / 300),
            "frequency (Hz)": 7.5 - frequency,
            "bounce (mm/kN)": 1e3 * bounce - 0.9,
            "sound (dB)": sound - 53,
            "room (mm)": 1e3 * (h + screed + 0.022 * layers) - 330,
        },
    }


def solar_water(d: dict[str, Any]) -> dict[str, Any]:
    """Yearly cost of a house's warm water: collector, store, glass, back-up; area (m2), volume (l), tilt, flow."""
    gain, lost, area_price = {"flat": (0.8, 3.9, 230), "tubes": (0.68, 1.3, 390), "unglazed": (0.9, 14.0, 70)}[
        d["collector"]
    ]
    keep, store_price = {"steel": (2.6, 1.1), "enamel": (2.2, 1.4), "layered": (1.5, 2.4), "plastic": (3.0, 0.8)}[
        d["store"]
    ]
    clear, glass_price = {"plain": (0.84, 0), "low iron": (0.91, 18), "coated": (0.95, 42)}[d["glass"]]
    fuel, boiler, burns = {"gas": (0.11, 170, 0.2), "electric": (0.3, 40, 0.35), "pellets": (0.08, 390, 0.03),
                           "heat pump": (0.1, 460, 0.1), "oil": (0.13, 210, 0.3)}[d["back-up"]]  # fmt: skip
    a, volume, tilt, flow = d["area"], d["volume"] / 1e3, math.radians(d["tilt"]), d["flow"]
    need = 3600.0
    sun = 1150 * (0.82 + 0.35 * math.sin(tilt + 0.55)) * (1.0 if d["faces"] == "south" else 0.88)
    winter = 1 + 0.25 * math.sin(tilt)
    exchange = 1 - math.exp(-flow / (12 * a))
    warm = 28 + 22 * a / (a + 14 * volume)
    useful = max(sun * gain * clear * winter - 1.5 * lost * warm, 20.0) * exchange * a
    ratio = useful / need
    share = ratio / (1 + ratio**2.2) ** (1 / 2.2) * (1 - math.exp(-volume / (0.035 * a + 0.02)))
    idle = keep * 90 * volume ** (2 / 3)
    bought = max(need * (1 - share), 0) + idle
    hot = 55 + 38 * ratio / (1 + 8 * volume)
    return {
        "f": 0.09 * ((area_price + glass_price) * a + 900 * store_price * volume**0.7 + 6 * flow) + bought * fuel
        + boiler * 0.35,
        "g": {
            "share": 0.55 - share,
            "boiling (C)": hot - 98,
            "roof (m2)": a * (1 if d["faces"] == "south" else 1.1) - 14,
            "cellar (l)": 1e3 * volume - 900,
            "soot (t)": bought * burns / 1e3 - 0.45,
            "pump (W)": 3 + 0.002 * flow**2 - 22,
        },
    }  # fmt: skip


def clutch(d: dict[str, Any]) -> dict[str, Any]:
    """Price of a disc clutch: lining, metal, spring, cooling; plates, radii (mm), force (kN), thickness (mm)."""
    friction, most, hottest, lining_price = {
        "organic": (0.36, 0.35e6, 520, 14), "sintered": (0.31, 2.2e6, 820, 46), "carbon": (0.27, 3.0e6, 1100, 210),
        "paper": (0.13, 2.6e6, 470, 11), "ceramic": (0.42, 1.3e6, 900, 90),
    }[d["lining"]]  # fmt: skip
    rho, _, strength, price = METALS[d["metal"]]
    spring, spring_price = {"diaphragm": (1.0, 19), "coils": (0.85, 12), "hydraulic": (1.3, 60)}[d["spring"]]
    cooling, cool_price = {"dry": (1.0, 0), "oil bath": (4.5, 35), "pressed oil": (9.0, 85)}[d["cooling"]]
    wet = d["cooling"] != "dry"
    mu = friction * (0.35 if wet and d["lining"] not in ("paper", "sintered", "carbon") else 0.8 if wet else 1.0)
    if d["lining"] == "paper" and not wet:
        mu, hottest = 0.1, 380
    n, r1, r2, force = d["plates"], d["inner"] / 1e3, d["outer"] / 1e3, d["force"] * 1e3 * spring
    ring = max(r2**2 - r1**2, 1e-5)
    mean = 2 / 3 * (r2**3 - r1**3) / ring if r2 > r1 else r1
    torque = 2 * n * mu * force * abs(mean)
    thick = d["thickness"] / 1e3
    mass = rho * PI * ring * thick * (n + 1)
    rise = 9.5e4 / (mass * 480 * (1 + 0.12 * cooling) + 1e-9)
    steady = 40 + 2600 / (cooling * PI * ring * n * 18)
    turning = rho * (2 * PI * 6000 / 60) ** 2 * r2**2 * 0.42
    return {
        "f": mass * price + 2 * n * lining_price * PI * ring * 30 + spring_price * (force / 5e3) ** 0.7 + cool_price
        + 6 * n,
        "g": {
            "torque (N m)": 620 - torque,
            "pressure (MPa)": (force / (PI * ring) - most) / 1e6,
            "hot (K)": 300 + rise + steady - hottest,
            "bursting (MPa)": (turning - strength) / 1e6,
            "length (mm)": 1e3 * (n + 1) * (thick + 5e-3) - 75,
            "ring (mm)": 1e3 * (r1 / 0.8 - r2),
        },
    }  # fmt: skip


def cable(d: dict[str, Any]) -> dict[str, Any]:
    """Cost of a buried line: conductor, insulation, laying, screen, voltage; section (mm2), depth (m), cores."""
    resistivity, rho, price = {"copper": (1.72e-8, 8900, 9.2), "aluminium": (2.83e-8, 2700, 2.9),
                               "alloy": (3.1e-8, 2750, 3.2)}[d["conductor"]]  # fmt: skip
    hottest, field, layer, thermal = {
        "PVC": (70, 3.0e6, 2.2, 5.0), "XLPE": (90, 8.0e6, 4.4, 3.5), "EPR": (90, 6.0e6, 6.8, 4.0),
        "paper": (75, 7.0e6, 5.5, 6.0), "rubber": (60, 3.5e6, 4.0, 5.0),
    }[d["insulation"]]  # fmt: skip
    soil, dig = {"direct": (1.0, 48), "duct": (1.35, 70), "trough": (1.15, 95), "drilled": (1.0, 160)}[d["laying"]]
    shield, shield_price = {"wires": (1.0, 3.5), "tape": (1.04, 2.1), "lead": (0.97, 9.0), "none": (1.0, 0.0)}[
        d["screen"]
    ]
    volts = {"10 kV": 1e4, "20 kV": 2e4, "30 kV": 3e4, "60 kV": 6e4}[d["voltage"]]
    s, depth, wall, n = d["section"] * 1e-6, d["depth"], d["wall"] / 1e3, d["parallel"]
    r = math.sqrt(s / PI)
    current = 2.1e7 / (math.sqrt(3) * volts) / n
    outer = r + wall
    stress = volts / math.sqrt(3) / (r * math.log(outer / r))
    heat = 3 * current**2 * resistivity * 1.25 * shield / s
    rise = heat * (thermal / (2 * PI) * math.log(outer / r) / 3 + soil / (2 * PI) * math.log(4 * depth / (2 * outer)))
    rise *= 1 + 0.35 * (n - 1)
    lost = heat * n * 6e3
    gear = {"10 kV": 14e3, "20 kV": 20e3, "30 kV": 31e3, "60 kV": 120e3}[d["voltage"]]
    metre = 3 * n * (s * rho * price + PI * (outer**2 - r**2) * 950 * layer + shield_price) + dig * (0.5 + depth) * (
        1 + 0.3 * (n - 1)
    )
    return {
        "f": (6e3 * metre + gear * (1 + 0.4 * n)) / 1e3 + lost * 0.09 * 8.76 * 12 * 0.5 / 1e3,
        "g": {
            "hot (K)": 15 + rise - hottest,
            "field (MV/m)": (stress - field) / 1e6,
            "lost (%)": 100 * lost / 2.1e7 - 3.0,
            "bending (mm)": 1e3 * 2 * outer - (46 if d["screen"] == "lead" else 58),
            "plough (m)": 0.8 - depth,
            "safe": 1.0 if d["screen"] == "none" and volts > 1e4 else -1.0,
        },
    }


FRESH_DESIGNS = (
    MixedDesign(
        "heat sink",
        heat_sink,
        {
            "metal": one_of("copper", "1050", "6063", "die cast"),
            "fins": one_of("extruded", "skived", "bonded", "pins"),
            "fan": one_of("none", "quiet", "usual", "strong", ordered=True),
            "paste": one_of("grease", "pad", "film"),
            "number": whole(4, 60),
            "height": Variable(8, 80),
            "gap": Variable(0.8, 9),
            "base": Variable(2, 15),
        },
    ),
    MixedDesign(
        "pipeline",
        pipeline,
        {
            "fluid": one_of(*FLUIDS),
            "pipe": one_of("steel", "ductile", "PE", "GRP", "copper"),
            "pump": one_of("radial", "mixed", "screw"),
            "insulation": one_of("none", "foam", "wool", "aerogel"),
            "valves": one_of("ball", "globe", "butterfly", "gate"),
            "bore": Variable(50, 400),
            "spread": Variable(8, 60),
            "speed": Variable(700, 3600),
            "stations": whole(1, 6),
        },
    ),
    MixedDesign(
        "timber floor",
        timber_floor,
        {
            "wood": one_of("spruce", "larch", "oak", "LVL", "glulam", "bamboo"),
            "grade": one_of("C18", "C24", "C30", ordered=True),
            "board": one_of("OSB", "plywood", "boards"),
            "joint": one_of("nails", "screws", "glue", "none"),
            "height": Variable(120, 320),
            "width": Variable(40, 160),
            "distance": Variable(300, 900),
            "screed": Variable(0, 90),
            "layers": whole(1, 3),
        },
    ),
    MixedDesign(
        "solar water",
        solar_water,
        {
            "collector": one_of("flat", "tubes", "unglazed"),
            "store": one_of("steel", "enamel", "layered", "plastic"),
            "glass": one_of("plain", "low iron", "coated"),
            "back-up": one_of("gas", "electric", "pellets", "heat pump", "oil"),
            "faces": one_of("south", "west"),
            "area": Variable(1, 20),
            "volume": Variable(60, 1500),
            "tilt": Variable(5, 85),
            "flow": Variable(5, 150),
        },
    ),
    MixedDesign(
        "clutch",
        clutch,
        {
            "lining": one_of("organic", "sintered", "carbon", "paper", "ceramic"),
            "metal": one_of(*METALS),
            "spring": one_of("diaphragm", "coils", "hydraulic"),
            "cooling": one_of("dry", "oil bath", "pressed oil"),
            "plates": whole(1, 9),
            "inner": Variable(30, 150),
            "outer": Variable(50, 220),
            "force": Variable(0.5, 25),
            "thickness": Variable(1, 8),
        },
    ),
    MixedDesign(
        "cable",
        cable,
        {
            "conductor": one_of("copper", "aluminium", "alloy"),
            "insulation": one_of("PVC", "XLPE", "EPR", "paper", "rubber"),
            "laying": one_of("direct", "duct", "trough", "drilled"),
            "screen": one_of("wires", "tape", "lead", "none"),
            "voltage": one_of("10 kV", "20 kV", "30 kV", "60 kV", ordered=True),
            "section": Variable(25, 630),
            "depth": Variable(0.5, 2.5),
            "wall": Variable(1.5, 14),
            "parallel": whole(1, 4),
        },
    ),
)
