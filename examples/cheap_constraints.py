"""Constraints that cost nothing: no simulation is started for a tank that could not be built."""

from meco import minimize

started = []


def simulate(d):
    """Price of a stirred tank, and its mixing time: a night on the cluster."""
    started.append(d)
    mixing = 6.5 * (d["radius"] / d["stirrer"]) ** 2 / d["speed"]
    price = 900 * d["radius"] * d["height"] + 400 * d["speed"] ** 3 * d["stirrer"] ** 5
    return price, {"mixing time (s)": mixing - 25.0}


def fits(d):
    """What a drawing tells: the volume of 6 m3, proportions, and a stirrer that turns."""
    volume = 3.14159 * d["radius"] ** 2 * d["height"]
    return [abs(volume - 6.0) - 0.05, abs(d["height"] / d["radius"] - 2.4) - 0.1, d["stirrer"] - 0.8 * d["radius"]]


bounds = {"radius": (0.3, 2, "m"), "height": (0.5, 5, "m"), "stirrer": (0.1, 1.5, "m"), "speed": (0.1, 4, "1/s")}
result = minimize(simulate, bounds, budget=80, seed=1, cheap=fits)
print(result)
print(f"{len(started)} simulations, of which {sum(max(fits(d)) > 0 for d in started)} outside")
assert result.feasible
assert all(max(fits(d)) <= 0 for d in started)
