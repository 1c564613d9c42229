"""One step of TR in two variables, and the steps around it: python -m tools.draw_trust_region FILE.svg

Left: what is true, and what the models make of it. Middle: the program that the step solves, with the constraint
as it is, linearised, and relaxed by theta. Right: centres, regions and points of the whole search.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.problem import Problem
from meco.core.streams import Streams
from meco.plot.style import COLOURS, INK, MUTED, make_figure, save, styled
from meco.tr.engine import TrustRegion
from meco.tr.quadratic import Quadratic
from meco.tr.region import PointSource

SHOWN, BUDGET, THETA = 0, 40, 0.5  # the iteration that is drawn, evaluations, share of the violation that may stay
INFEASIBLE, MODEL, RELAXED, REGION, GEOMETRIC = COLOURS[1], COLOURS[0], COLOURS[3], COLOURS[2], COLOURS[4]
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


def draw_truth(ax: Any) -> None:
    """Level lines of f, and the infeasible part of the square."""
    f, g, _ = PROBLEM.raw(PLANE)
    ax.contour(GRID, GRID, np.sqrt(f + 0.05), np.linspace(0.1, 1.6, 16), colors=MUTED, linewidths=0.5)
    ax.contourf(GRID, GRID, g[..., 0], [0.0, np.inf], colors=[INFEASIBLE], alpha=0.15)
    ax.contour(GRID, GRID, g[..., 0], [0.0], colors=INFEASIBLE, linewidths=1.8)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[], yticks=[])
    ax.grid(visible=False)


def draw_box(ax: Any, shot: Shot, width: float = 1.6) -> None:
    """The trust region."""
    (x0, x1), (y0, y1) = (axis[[0, -1]] for axis in shot.axes)
    ax.plot([x0, x1, x1, x0, x0], [y0, y0, y1, y1, y0], color=REGION, lw=width)


def draw_model(ax: Any, shot: Shot, width: float) -> None:
    """Level lines of the model of f over the region."""
    f = shot.predicted()[..., 0]
    ax.contour(*shot.axes, f, np.linspace(f.min(), f.max(), 14)[1:-1], colors=MODEL, linewidths=width)


def draw_models(ax: Any, shot: Shot) -> None:
    """Models of f and g around the centre, and the points that they are fitted to."""
    draw_model(ax, shot, 1.0)
    ax.contour(*shot.axes, shot.predicted()[..., 1], [0.0], colors=INFEASIBLE, linestyles="--")
    draw_box(ax, shot)
    ax.plot(*shot.before.T, "o", color=INK, ms=4)
    ax.plot(*shot.centre, "s", color=INK, ms=7)


def draw_program(ax: Any, shot: Shot) -> None:
    """The linearised constraint, what is left of it after relaxation, and the step."""
    draw_model(ax, shot, 0.6)
    line = shot.predicted(linear=True)[..., 1]
    ax.contour(*shot.axes, line, [0.0], colors=RELAXED, linestyles="--")
    ax.contour(*shot.axes, line, [shot.limit], colors=RELAXED)
    draw_box(ax, shot)
    ax.annotate("", shot.asked, shot.centre, arrowprops={"arrowstyle": "-|>", "color": REGION, "lw": 2.2})
    ax.plot(*shot.centre, "s", color=INK, ms=7)
    ax.plot(*shot.asked, "D", color=INK, ms=6)


def draw_search(ax: Any, shots: list[Shot]) -> None:
    """Regions, centres and points of the whole search."""
    asked, looks = np.stack([s.asked for s in shots]), np.array([s.looks for s in shots])
    centres = np.stack([s.centre for s in shots])
    for shot in shots:
        draw_box(ax, shot, 0.7)
    ax.plot(*centres.T, color=MODEL, lw=1.6)
    ax.plot(*shots[0].before.T, "o", color=INK, ms=4)
    ax.plot(*asked[~looks].T, "o", color=MODEL, ms=4)
    ax.plot(*asked[looks].T, "o", color=GEOMETRIC, ms=4)
    ax.plot(*centres[-1], "D", color=INK, ms=6)


LEGEND = {
    "f": {"color": MUTED, "lw": 0.8},
    "g = 0, infeasible side shaded": {"color": INFEASIBLE},
    "model of f": {"color": MODEL, "lw": 1.0},
    "model of g = 0": {"color": INFEASIBLE, "ls": "--"},
    "g linearised = 0": {"color": RELAXED, "ls": "--"},
    "relaxed: = θ g(c) − margin": {"color": RELAXED},
    "trust region": {"color": REGION},
    "centre c": {"marker": "s", "color": INK, "ls": ""},
    "step, end": {"marker": "D", "color": INK, "ls": ""},
    "first design": {"marker": "o", "color": INK, "ls": "", "ms": 4},
    "steps": {"marker": "o", "color": MODEL, "ls": "", "ms": 4},
    "geometry points": {"marker": "o", "color": GEOMETRIC, "ls": "", "ms": 4},
}


def step_figure() -> Any:
    """Three panels: models, relaxed step, whole search."""
    shots = search()
    with styled():
        from matplotlib.lines import Line2D

        figure, axes = make_figure(10, 4.4, 1, 3)
        for ax in axes[0]:
            draw_truth(ax)
        draw_models(axes[0, 0], shots[SHOWN])
        draw_program(axes[0, 1], shots[SHOWN])
        draw_search(axes[0, 2], shots)
        titles = ("Models around the centre", "The relaxed step", f"{len(shots)} iterations")
        for ax, title in zip(axes[0], titles):
            ax.set_title(title)
        handles = [Line2D([], [], **look) for look in LEGEND.values()]
        figure.legend(handles, list(LEGEND), loc="outside lower center", ncols=4)
    return figure


if __name__ == "__main__":
    save(step_figure(), sys.argv[1])
