"""The generator of the shipped missions, which lives beside the package."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from meco.problems.uav.mission import load_mission

generator = pytest.importorskip("tools.missions.generator", reason="only a checkout has the tools")


@pytest.mark.parametrize("name", generator.MISSION_NAMES)
def test_a_shipped_map_is_a_draw_of_its_recipe(name):
    shipped, number = load_mission(name), generator.MISSION_NAMES.index(name) + 1
    for attempt in range(generator.ATTEMPTS):
        rng = np.random.default_rng([generator.SEED, number, attempt])
        drawn = generator.draw_mission(name, generator.RECIPES[name], rng)
        if drawn is not None and np.array_equal(drawn[0].sensors, shipped.sensors):
            break
    else:
        pytest.fail(f"no draw gives the sensors of {name}")
    mission, route = drawn
    assert generator.is_worth_flying(mission, route)
    for part in ("start", "end", "rectangles", "circles"):
        assert_array_equal(getattr(mission, part), getattr(shipped, part))


def test_the_command_says_what_it_takes(capsys):
    with pytest.raises(SystemExit):
        generator.main(["--help"])
    assert "--again SEED" in capsys.readouterr().out
