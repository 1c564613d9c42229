"""Categories with more than a thousand million combinations."""

import pytest

import meco

TEETH = [12 + 3 * i for i in range(14)]
GEARBOX = {f"z{i}": [str(teeth) for teeth in TEETH] for i in range(8)} | {"width": (5.0, 40.0), "module": (1.0, 6.0)}


def gearbox(d):
    """Volume of four pairs of gears with a ratio of 12 within 2 %."""
    z, ratio = [int(d[f"z{i}"]) for i in range(8)], 1.0
    for driving, driven in zip(z[::2], z[1::2]):
        ratio *= driven / driving
    volume = sum(z) ** 2 * d["module"] ** 2 * d["width"] * 1e-5
    stress = 3600 / (d["width"] * d["module"] ** 2) - 1
    return volume, {
        "ratio": abs(ratio / 12.0 - 1) - 0.02,
        "stress": stress,
        "undercut": (20 - min(z)) / 20,
        "size": sum(z) * d["module"] - 900,
    }


@pytest.mark.slow
@pytest.mark.xfail(strict=True, reason="until the engine is replaced by one for a single run")
def test_a_gearbox_is_feasible_at_forty_evaluations_a_variable():
    assert sum(meco.minimize(gearbox, GEARBOX, budget=400, seed=seed).success for seed in range(3)) >= 2
