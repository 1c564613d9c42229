"""How fast UAV missions are evaluated, beside the same evaluation with shapely: python benchmarks/uav.py

Both evaluate the same populations in one process and one thread. The shapely evaluation is vectorised
too: all segments go through shapely in one call, against the prepared union of the obstacles (circles as
polygons of 128 sides), and the rest of the model is the same NumPy code. The second column of ratios
lets shapely first drop the segments that its prepared index says are free.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import shapely

from meco.problems.mission import Mission, load_mission
from meco.problems.uav import NAMES, mission_formula

POPULATION = 200
REPEATS = 7


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


def seconds(evaluate: Callable[[np.ndarray], object], x: np.ndarray) -> float:
    """The shortest of some timings of one evaluation."""
    evaluate(x)
    taken = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        evaluate(x)
        taken.append(time.perf_counter() - start)
    return min(taken)


def main() -> None:
    """Print evaluations per second on every mission, and how many times faster than shapely that is."""
    print(f"population {POPULATION}, best of {REPEATS} timings")
    print(f"{'mission':8} {'points/s':>10} {'shapely':>10} {'ratio':>7} {'sifted':>7} {'worst difference (m)':>22}")
    ratios, sifted_ratios = [], []
    for name in NAMES:
        mission = load_mission(name)
        problem = mission.problem()
        x = np.random.default_rng(0).random((POPULATION, problem.dim)) * problem.upper
        ours = seconds(problem.raw, x)
        times, formulas = [], []
        for sift in (False, True):
            obstacles = ShapelyObstacles(mission, sift)
            formula = mission_formula(mission.start, mission.end, mission.sensors, obstacles, mission.parameters)
            times.append(seconds(formula, x))
            formulas.append(formula)
        worst = np.max(np.abs(formulas[0](x)[2] - problem.raw(x)[2]))  # shapely's circles are polygons
        ratios.append(times[0] / ours)
        sifted_ratios.append(times[1] / ours)
        rate, other = POPULATION / ours, POPULATION / times[0]
        print(f"{name:8} {rate:10.0f} {other:10.0f} {ratios[-1]:7.1f} {sifted_ratios[-1]:7.1f} {worst:22.2f}")
    geometric = np.exp(np.mean(np.log(ratios))), np.exp(np.mean(np.log(sifted_ratios)))
    print(f"geometric mean ratio {geometric[0]:.1f} (sifted {geometric[1]:.1f}), least {min(ratios):.1f}")


if __name__ == "__main__":
    main()
