"""A simulation in stages that stops at the first violated one: what is known by then is learnt from."""

from meco import minimize

spent = 0


def simulate(d):
    """A bracket: the drawing (1 minute), the stress (1 hour), the crash (1 day)."""
    global spent
    spent += 1
    known = {"room": d["width"] + 2 * d["wall"] - 60, "weld": 4 - d["wall"]}
    if max(known.values()) > 0:
        return {"g": known}  # no f, and nothing of the later stages
    spent += 60
    known["stress"] = 9e5 / (d["width"] * d["wall"] ** 2) - 160
    if known["stress"] > 0:
        return {"g": known}
    spent += 1440
    known["crash"] = 8 - 0.02 * d["width"] * d["wall"]
    return {"f": d["width"] * d["wall"] * 0.0078, "g": known}


result = minimize(simulate, {"width": (5, 100, "mm"), "wall": (1, 40, "mm")}, budget=60, seed=1)
print(result)
print(f"{spent} minutes; whole answers would have taken {60 * 1501}")
assert result.feasible
assert list(result.constraints) == ["room", "weld", "stress", "crash"]
