"""One step of TR in two variables, and the steps around it: python -m tools.draw_trust_region FILE.svg

Left: what is true, and what the models make of it. Middle: the program that the step solves, with the constraint
as it is, linearised, and relaxed by theta. Right: centres, regions and points of the whole search.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.problem import Problem
from meco.core.streams import Streams
from meco.figures.contours import find_contour_segments
from meco.figures.figure import Figure
from meco.figures.panel import MUTED, Arrow, Axis, Band, LegendKey, Line, Mark, Outline, Panel, Segment, Spot, Strokes
from meco.tr.engine import TrustRegion
from meco.tr.quadratic import Quadratic
from meco.tr.region import PointSource

SHOWN, BUDGET, THETA = 0, 40, 0.5  # the iteration that is drawn, evaluations, share of the violation that may stay
WALL, MODEL, RELAXED, REGION, GEOMETRIC = 0, 1, 2, 3, 4  # series
DASH = "6 4"
SIDE = 360  # of a panel
GRID = np.linspace(0.0, 1.0, 61)
PLANE = np.stack(np.meshgrid(GRID, GRID), axis=-1)  # [n, n, 2]


def curved(x: np.ndarray) -> tuple[Any, Any, Any]:
    """A bent valley that ends below a wave; above it is allowed."""
    a, b = x[..., 0], x[..., 1]
    f = (a - 0.78) ** 2 + 2.0 * (b - 0.1 - 0.45 * a**2) ** 2 + 0.05 * np.cos(9.0 * a)
    return f, [0.52 + 0.12 * np.sin(6.0 * a + 0.3) - b], []


PROBLEM = Problem("valley", np.zeros(2), np.ones(2), 1, 0, curved)


class Shot:
    """What to draw of an iteration: centre, radius, models, points before it, the point asked for and its source."""

    def __init__(self, engine: TrustRegion, before: np.ndarray, asked: np.ndarray) -> None:
        region = engine.region
        self.centre, self.delta = region.centre[0], float(region.delta[0])
        self.models = Quadratic(region.models.gradient.copy(), region.models.hessian.copy())
        change = self.delta * float(np.linalg.norm(self.models.gradient[0, 1]))
        wrong = float(region.error[0, 0]) * self.delta**2  # as wide as the model has just been wrong
        self.margin = min(float(engine.settings["margin"][0]) * change, wrong)
        self.before, self.asked = before, asked
        self.looks = bool(engine.asked.expectation.source[0, 0] == PointSource.GEOMETRY)

    @property
    def limit(self) -> float:
        """What the linearised constraint may come down to: eq. (1) of step.py."""
        (here,) = PROBLEM.raw(self.centre)[1]
        return THETA * max(here, 0.0) - self.margin

    @property
    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Grids of both variables over the region: a box around the centre, cut by the cube."""
        low, high = np.clip(self.centre - self.delta, 0.0, 1.0), np.clip(self.centre + self.delta, 0.0, 1.0)
        return np.linspace(low[0], high[0], 41), np.linspace(low[1], high[1], 41)

    def predicted(self, linear: bool = False) -> np.ndarray:
        """Models of f and g over the region, [n, n, 2]."""
        models = Quadratic(self.models.gradient, 0.0 * self.models.hessian) if linear else self.models
        plane = np.stack(np.meshgrid(*self.axes), axis=-1)
        f, g, _ = PROBLEM.raw(self.centre)
        return np.concatenate([[f], g]) + models.changes((plane - self.centre).reshape(1, -1, 2))[0].reshape(
            plane.shape
        )


def search() -> list[Shot]:
    """Every iteration of one run after its star."""
    evaluator = Evaluator.on(PROBLEM, BUDGET)
    engine = TrustRegion(Task.of(evaluator, Streams([1]), np.array([[0.3, 0.3]])), theta=THETA)
    loop, points, shots = Loop(engine, evaluator), np.zeros((0, 2)), []
    while evaluator.left:
        asked = loop.ask()
        if engine.generation:
            shots.append(Shot(engine, points, asked[0, 0]))
        loop.evaluate_and_tell(asked)
        points = np.concatenate([points, asked[0]])
    return shots


Axes = tuple[np.ndarray, np.ndarray]  # grids of both variables


def lines(axes: Axes, values: np.ndarray, levels: Iterable[float], series: int, width: float) -> list[Mark]:
    """Level lines."""
    return [Strokes(*find_contour_segments(*axes, values, float(level)), series, width) for level in levels]


def curve(axes: Axes, values: np.ndarray, level: float, series: int, dash: str = "", width: float = 2.2) -> Line:
    """The one level line of values that fall or rise along it, from left to right."""
    x, y = (ends.ravel() for ends in find_contour_segments(*axes, values, level))
    order = np.argsort(x)
    return Line(x[order], y[order], series, width=width, dash=dash)


def truth() -> list[Mark]:
    """The objective in grey lines, what is infeasible below the wave in red."""
    f, g, _ = PROBLEM.raw(PLANE)
    wave = curve((GRID, GRID), g[..., 0], 0.0, WALL, width=2.0)
    square = Outline(np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0, 1.0]), "area")
    objective = lines((GRID, GRID), np.sqrt(f + 0.05), np.linspace(0.1, 1.6, 16), MUTED, 0.35)
    return [square, Band(wave.x, (np.zeros_like(wave.x), wave.y), WALL), *objective, wave]


def box(shot: Shot, width: float) -> Line:
    """The region."""
    (x0, x1), (y0, y1) = (axis[[0, -1]] for axis in shot.axes)
    return Line(np.array([x0, x1, x1, x0, x0]), np.array([y0, y0, y1, y1, y0]), REGION, width=width)


def model_of_f(shot: Shot, width: float) -> list[Mark]:
    f = shot.predicted()[..., 0]
    return lines(shot.axes, f, np.linspace(f.min(), f.max(), 14)[1:-1], MODEL, width)


def spots(points: np.ndarray, kind: str, series: int) -> list[Mark]:
    return [Spot(float(a), float(b), kind, series) for a, b in points]


def draw_models(shot: Shot) -> list[Mark]:
    g = shot.predicted()[..., 1]
    points = [*spots(shot.before, "hover", MUTED), *spots(shot.centre[None], "start", MUTED)]
    return [*truth(), *model_of_f(shot, 1.0), curve(shot.axes, g, 0.0, WALL, DASH), box(shot, 1.6), *points]


def draw_program(shot: Shot) -> list[Mark]:
    line = shot.predicted(linear=True)[..., 1]
    walls = [curve(shot.axes, line, 0.0, RELAXED, DASH), curve(shot.axes, line, shot.limit, RELAXED)]
    (a, b), (c, d) = shot.centre, shot.asked
    step = [Segment((a, c), (b, d), REGION, 2.2), Arrow((a, c), (b, d), REGION, 9.0)]
    points = [*spots(shot.centre[None], "start", MUTED), *spots(shot.asked[None], "end", MUTED)]
    return [*truth(), *model_of_f(shot, 0.6), *walls, box(shot, 1.6), *step, *points]


def draw_search(shots: list[Shot]) -> list[Mark]:
    asked, looks = np.stack([s.asked for s in shots]), np.array([s.looks for s in shots])
    centres = np.stack([s.centre for s in shots])
    points = [
        *spots(shots[0].before, "hover", MUTED), *spots(asked[~looks], "hover", MODEL),
        *spots(asked[looks], "hover", GEOMETRIC), *spots(centres[-1:], "end", MUTED),
    ]  # fmt: skip
    return [*truth(), *(box(shot, 0.7) for shot in shots), Line(*centres.T, MODEL, width=1.6), *points]


def legend() -> list[LegendKey]:
    """What is drawn."""
    red = Band(np.array([0.0, 1.0]), (np.zeros(2), np.ones(2)), WALL)
    marks = {
        "centre c": Spot(0.5, 0.5, "start"), "the step, the end": Spot(0.5, 0.5, "end"),
        "evaluated before": Spot(0.5, 0.5, "hover", MUTED), "steps": Spot(0.5, 0.5, "hover", MODEL),
        "geometry points": Spot(0.5, 0.5, "hover", GEOMETRIC),
    }  # fmt: skip
    return [
        LegendKey("f", MUTED, mark=Segment((0.0, 1.0), (0.5, 0.5), MUTED, 0.6)),
        LegendKey("infeasible", WALL, mark=red),
        LegendKey("model of f", MODEL),
        LegendKey("model of g = 0", WALL, DASH),
        LegendKey("g linearised = 0", RELAXED, DASH),
        LegendKey("relaxed: = θ g(c) − margin", RELAXED),
        LegendKey("region", REGION),
        *(LegendKey(label, MUTED, mark=mark) for label, mark in marks.items()),
    ]


def step_figure() -> Figure:
    """The three panels."""
    shots = search()
    drawn = {
        "Models around the centre": draw_models(shots[SHOWN]), "The relaxed step": draw_program(shots[SHOWN]),
        f"{len(shots)} iterations of the search": draw_search(shots),
    }  # fmt: skip
    axis = Axis(limits=(0.0, 1.0), hidden=True)
    panels = [Panel(title, marks, axis, axis, (SIDE, 0), equal=True) for title, marks in drawn.items()]
    return Figure("step", "A step of TR", panels, legend=legend(), small=True)


if __name__ == "__main__":
    step_figure().save(sys.argv[1])
