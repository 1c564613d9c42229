"""How fast UAV missions are evaluated, beside the same evaluation with shapely: python benchmarks/uav.py

Both evaluate the same populations in one process and one thread. The shapely evaluation is vectorised
too: all segments go through shapely in one call, against the prepared union of the obstacles (circles as
polygons of 128 sides), and the rest of the model is the same NumPy code. The second column of ratios
lets shapely first drop the segments that its prepared index says are free.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import shapely

from _side_by_side import medians
from meco.problems.uav.flight_model import MISSION_DIM, MISSION_NAMES, make_mission_formula
from meco.problems.uav.mission import Mission, load_mission

POPULATION = 200


class ShapelyObstacles:
    """The same lengths from shapely."""

    def __init__(self, mission: Mission, sift: bool) -> None:
        shapes = [shapely.box(*row) for row in mission.rectangles]
        shapes += [shapely.Point(x, y).buffer(r, quad_segs=32) for x, y, r in mission.circles]
        shapes += [shapely.Polygon(ring) for ring in mission.polygons]
        self.union, self.sift = shapely.union_all(shapes), sift
        shapely.prepare(self.union)

    def length(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Length of each segment inside the union: [..., 2], [..., 2] -> [...]."""
        lines = shapely.linestrings(np.stack([p, q], axis=-2))
        if not self.sift:
            return shapely.length(shapely.intersection(lines, self.union))
        hit = shapely.intersects(self.union, lines)
        found = np.zeros(hit.shape)
        found[hit] = shapely.length(shapely.intersection(lines[hit], self.union))
        return found


def main() -> None:
    """Print evaluations per second on every mission, and how many times faster than shapely that is."""
    print(f"population {POPULATION}, medians of CPU time in turns")
    print(f"{'mission':8} {'points/s':>10} {'shapely':>10} {'ratio':>7} {'sifted':>7} {'worst difference (m)':>22}")
    ratios, sifted = [], []
    for name in MISSION_NAMES:
        mission = load_mission(name)
        x = np.random.default_rng(0).random((POPULATION, MISSION_DIM)) * mission.problem().upper
        formulas = {
            kind: make_mission_formula(mission.start, mission.end, mission.sensors, obstacles, mission.parameters)
            for kind, obstacles in {
                "ours": mission.obstacles,
                "shapely": ShapelyObstacles(mission, sift=False),
                "sifted": ShapelyObstacles(mission, sift=True),
            }.items()
        }
        taken = medians({kind: partial(formula, x) for kind, formula in formulas.items()})
        worst = np.max(np.abs(formulas["shapely"](x)[2] - formulas["ours"](x)[2]))  # shapely's circles are polygons
        ratios.append(taken["shapely"] / taken["ours"])
        sifted.append(taken["sifted"] / taken["ours"])
        rate, other = POPULATION / taken["ours"], POPULATION / taken["shapely"]
        print(f"{name:8} {rate:10.0f} {other:10.0f} {ratios[-1]:7.1f} {sifted[-1]:7.1f} {worst:22.2f}", flush=True)
    means = [np.exp(np.mean(np.log(values))) for values in (ratios, sifted)]
    print(
        f"geometric mean ratio {means[0]:.1f}, least {min(ratios):.1f}; sifted {means[1]:.1f}, least {min(sifted):.1f}"
    )


if __name__ == "__main__":
    main()
