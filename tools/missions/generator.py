"""The sixteen shipped missions: seeded maps that grow harder, each with a reference flight.

    python -m tools.missions.generator FOLDER [UAV-01 ...]

writes one JSON file per mission. A recipe fixes the area, the groups of sensors and the number of
obstacles; its seed draws the rest. A draw is rejected when one hover point could hear every sensor, when
the straight route is free, when plain SHADE runs find it easier or harder than the recipe wants, or
when the long search finds no feasible flight; then the next draw takes its place. With --again SEED, missions
that are there already are searched once more, and a better flight replaces the known one.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from meco.batch_solve import solve
from meco.errors import InvalidInput
from meco.problems.uav.flight_model import MISSION_NAMES
from meco.problems.uav.mission import Mission, load_mission
from tools.missions.layouts import LAYOUTS, draw_sensor_group
from tools.missions.obstacles import draw_obstacles
from tools.missions.search import search_reference

SEED = 2026
GRID = 10.0  # maps are drawn on a grid of ten metres
ATTEMPTS = 200
PLAIN_RUNS = 20


@dataclass(frozen=True)
class Recipe:
    """What a mission is made of; lengths in metres."""

    about: str
    area: tuple[float, float]
    layout: str  # where the groups of sensors lie, a key of LAYOUTS
    groups: tuple[int, ...]  # sensors in each group
    spread: float  # radius of a group
    obstacles: tuple[int, int, int]  # rectangles, circles, polygons
    size: tuple[float, float]  # least and greatest radius of an obstacle
    overlaps: int  # obstacles pushed into another one
    solved: tuple[float, float]  # share of plain runs of 2500 evaluations that may end feasible


def _make_recipe(about: str, km: tuple[float, float], layout: str, groups: tuple[int, ...], *rest: Any) -> Recipe:
    return Recipe(about, (1000 * km[0], 1000 * km[1]), layout, groups, *rest)


RECIPES = dict(
    zip(
        MISSION_NAMES,
        [  # about, km, layout, groups, spread, (rectangles, circles, polygons), size, overlaps, solved
            _make_recipe("Two fields", (5, 4), "line", (3, 3), 350, (2, 1, 1), (300, 520), 0, (0.95, 1.0)),
            _make_recipe("Three farms", (5, 5), "line", (3, 2, 3), 350, (2, 2, 1), (300, 560), 0, (0.95, 1.0)),
            _make_recipe("Up and down", (6, 4), "zigzag", (5, 3, 4), 400, (2, 2, 2), (300, 560), 1, (0.95, 1.0)),
            _make_recipe("Around the bay", (5.5, 5.5), "arc", (3, 4, 3), 420, (2, 2, 4), (320, 600), 1, (0.9, 1.0)),
            _make_recipe("Four valleys", (6.5, 5), "zigzag", (3, 3, 3, 3), 420, (3, 3, 3), (320, 600), 1, (0.85, 0.95)),
            _make_recipe("Lone posts", (6.5, 5.5), "scatter", (1,) * 11, 100, (4, 3, 4), (320, 620), 1, (0.75, 0.8)),
            _make_recipe("Four corners", (6, 6), "corners", (3, 4, 3, 4), 450, (4, 3, 4), (320, 640), 2, (0.6, 0.7)),
            _make_recipe("Crowded ends", (7, 5), "zigzag", (6, 4, 6), 520, (4, 4, 4), (340, 640), 2, (0.5, 0.55)),
            _make_recipe(
                "The long valley", (8.5, 4.5), "zigzag", (3, 3, 3, 3, 3), 450, (5, 4, 5), (340, 620), 2, (0.4, 0.45)
            ),
            _make_recipe(
                "Scattered posts", (6.5, 6.5), "scatter", (1,) * 14, 100, (4, 5, 5), (320, 640), 2, (0.3, 0.35)
            ),
            _make_recipe("The great arc", (7.5, 6), "arc", (4, 5, 4, 5), 520, (5, 5, 6), (340, 660), 3, (0.2, 0.25)),
            _make_recipe("The maze", (8, 7), "zigzag", (4, 5, 4, 5), 550, (7, 6, 7), (340, 680), 4, (0.05, 0.15)),
            _make_recipe("Round trip", (5.5, 5.5), "ring", (3, 4, 3), 420, (3, 3, 3), (320, 620), 1, (0.85, 1.0)),
            _make_recipe("From the hub", (7.5, 7), "hub", (3, 4, 3, 3, 3), 450, (4, 4, 5), (320, 640), 2, (0.55, 0.7)),
            _make_recipe("The wide ring", (7, 7), "ring", (4, 5, 4, 5), 520, (5, 5, 5), (340, 660), 3, (0.3, 0.4)),
            _make_recipe("Every post", (7, 6.5), "loop", (1,) * 16, 100, (6, 5, 6), (340, 660), 3, (0.05, 0.15)),
        ],
    )
)


def draw_mission(name: str, recipe: Recipe, rng: np.random.Generator) -> tuple[Mission, np.ndarray] | None:
    """One draw of a recipe with the straight route over its groups [G + 2, 2], or None where no map came out."""
    area = np.array(recipe.area, dtype=np.float64)
    start, middles, end = LAYOUTS[recipe.layout](rng, area, len(recipe.groups))
    groups = [draw_sensor_group(rng, middle, n, recipe.spread) for middle, n in zip(middles, recipe.groups)]
    sensors = np.clip(np.concat(groups), 100, area - 100)
    route = np.concat([start[None], middles, end[None]])
    shapes = draw_obstacles(recipe.obstacles, recipe.size, recipe.overlaps, route, area, rng)
    if shapes is None:
        return None
    obstacles: Any = [[snap_to_grid(shape) for shape in kind] for kind in shapes]
    try:
        mission = Mission(name, recipe.area, snap_to_grid(start), snap_to_grid(end), snap_to_grid(sensors), *obstacles)
    except InvalidInput:  # rounding to the grid may push a start into an obstacle
        return None
    return replace(mission, description=recipe.about), route


def snap_to_grid(points: Any) -> np.ndarray:
    """To the grid."""
    return np.round(np.asarray(points, dtype=np.float64) / GRID) * GRID


def is_worth_flying(mission: Mission, route: np.ndarray) -> bool:
    """No hover point hears every sensor; the straight flights to the end and over the groups collide."""
    apart = np.linalg.norm(mission.sensors[:, None] - mission.sensors, axis=-1)
    legs = mission.obstacles.length(route[:-1], route[1:])
    direct = mission.returns or mission.obstacles.length(mission.start, mission.end) > 0
    return bool(np.max(apart) > 2 * mission.parameters.hearing_distance and np.sum(legs > 0) > 1 and direct)


def solved_share(mission: Mission) -> float:
    """The share of plain SHADE runs, feasibility first, that are feasible after the paper's 2500 evaluations."""
    return float(np.mean([run.feasible for run in solve("SHADE-FR", mission.problem(), 2500, range(PLAIN_RUNS))]))


def make_mission(name: str) -> Mission:
    """The first draw of a mission's recipe that passes every test, with its reference flight."""
    recipe, number = RECIPES[name], MISSION_NAMES.index(name) + 1
    for attempt in range(ATTEMPTS):
        drawn = draw_mission(name, recipe, np.random.default_rng([SEED, number, attempt]))
        if drawn is None or not is_worth_flying(*drawn):
            continue
        mission, share = drawn[0], solved_share(drawn[0])
        print(f"{name}, draw {attempt}: {share:.0%} of the plain runs end feasible", flush=True)
        if not recipe.solved[0] <= share <= recipe.solved[1]:
            continue
        found = search_reference(mission, seed=1000 * number)
        if found is not None:
            print(f"{name}: reference {found[1]:.6f} s", flush=True)
            return replace(mission, known_x=found[0], best_known=found[1])
    raise InvalidInput(f"no draw of {name} passed within {ATTEMPTS}; widen its recipe")


def improve_mission(mission: Mission, seed: int) -> Mission:
    """The mission with the better of its known flight and that of another search."""
    found = search_reference(mission, seed)
    if found is None or (mission.best_known is not None and found[1] >= mission.best_known):
        return mission
    print(f"{mission.name}: {mission.best_known} -> {found[1]:.6f} s", flush=True)
    return replace(mission, known_x=found[0], best_known=found[1])


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the named missions, or all of them, into a folder; with --again, improve the flights of those in it."""
    parser = argparse.ArgumentParser(prog="python -m tools.missions.generator")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="UAV-01")
    parser.add_argument("--again", type=int, metavar="SEED", help="search again for better flights of existing files")
    wanted = parser.parse_intermixed_args(arguments)
    wanted.folder.mkdir(parents=True, exist_ok=True)
    for name in wanted.names or MISSION_NAMES:
        file = wanted.folder / f"{name}.json"
        mission = make_mission(name) if wanted.again is None else improve_mission(load_mission(file), wanted.again)
        file.write_text(mission.to_json(), encoding="utf-8")


if __name__ == "__main__":
    main()
