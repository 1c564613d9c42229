"""Categories beside numbers: a beam of some metal, with a tube of a catalogue."""

from meco import Variable, minimize

METALS = {"steel": (7850, 210e9, 160e6), "aluminium": (2700, 69e9, 90e6), "titanium": (4430, 114e9, 330e6)}  # SI


def beam(d):
    """Mass of a tube, 2 m long, that carries 1200 N at its end."""
    density, modulus, strength = METALS[d["metal"]]
    outer, wall = d["tube"] / 1000, d["wall"] / 1000
    inertia = 3.14159 / 64 * (outer**4 - (outer - 2 * wall) ** 4)
    mass = density * 3.14159 * (outer - wall) * wall * 2.0
    return mass, {
        "stress": 1200 * 2.0 * outer / 2 / inertia / strength - 1,
        "deflection": 1200 * 2.0**3 / (3 * modulus * inertia) / 0.03 - 1,
    }


bounds = {
    "metal": list(METALS),  # without an order
    "tube": Variable(categories=[40, 50, 60, 76, 89, 102], ordered=True),  # mm
    "wall": (1.0, 10.0, "mm"),
}
result = minimize(beam, bounds, budget=60, seed=1)
print(result)
assert result.feasible
assert result.design["metal"] in METALS
