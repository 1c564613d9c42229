"""One step of TR in two variables, and the steps around it: python -m tools.draw_trust_region FILE.png

Left: what is true, and what the models make of it. Middle: the program that the step solves, with the constraint
as it is, linearised, and relaxed by theta. Right: centres, regions and points of the whole search.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from meco.core.engine import Task
from meco.engines.model.quadratic import Quadratic
from meco.engines.model.region import GEOMETRY
from meco.engines.model.step import MARGIN
from meco.engines.model.trust_region import TrustRegion
from meco.core.evaluator import Evaluator
from meco.problems.problem import Problem
from meco.streams import Streams

SHOWN, BUDGET, THETA = 0, 40, 0.5  # the turn that is drawn, evaluations, share of the violation that may stay
BLUE, RED, GREEN, GREY = "#1f5fa8", "#c0392b", "#2e7d32", "#5f6368"
GRID = np.linspace(0.0, 1.0, 301)
PLANE = np.stack(np.meshgrid(GRID, GRID), axis=-1)  # [n, n, 2]


def curved(x: np.ndarray) -> tuple[Any, Any, Any]:
    """A bent valley that ends below a wave; above it is allowed."""
    a, b = x[..., 0], x[..., 1]
    f = (a - 0.78) ** 2 + 2.0 * (b - 0.1 - 0.45 * a**2) ** 2 + 0.05 * np.cos(9.0 * a)
    return f, [0.52 + 0.12 * np.sin(6.0 * a + 0.3) - b], []


PROBLEM = Problem("valley", np.zeros(2), np.ones(2), 1, 0, curved)


class Shot:
    """What is to be seen of a turn: centre, radius, models, points before it, the point asked for and by whom."""

    def __init__(self, engine: TrustRegion, before: np.ndarray, asked: np.ndarray) -> None:
        region = engine.region
        self.centre, self.delta = region.centre[0], float(region.delta[0])
        self.models = Quadratic(region.models.gradient.copy(), region.models.hessian.copy())
        self.before, self.asked = before, asked
        self.looks = bool(engine.expectation.who[0, 0] == GEOMETRY)

    @property
    def limit(self) -> float:
        """What the linearised constraint may come down to: eq. (1) of step.py."""
        (here,) = PROBLEM.raw(self.centre)[1]
        return THETA * max(here, 0.0) - MARGIN * self.delta * float(np.linalg.norm(self.models.gradient[0, 1]))

    def predicted(self, linear: bool = False) -> np.ndarray:
        """Models of f and g over the plane, [n, n, 2]."""
        models = Quadratic(self.models.gradient, 0.0 * self.models.hessian) if linear else self.models
        flat = (PLANE - self.centre).reshape(1, -1, 2)
        f, g, _ = PROBLEM.raw(self.centre)
        return np.concatenate([[f], g]) + models.changes(flat)[0].reshape(*PLANE.shape[:2], 2)


def search() -> list[Shot]:
    """Every turn of one run after its star."""
    evaluator = Evaluator.on(PROBLEM, BUDGET)
    engine = TrustRegion(Task.of(evaluator, Streams([1]), np.array([[0.3, 0.3]])), theta=THETA)
    points, shots = np.zeros((0, 2)), []
    while evaluator.left:
        asked = engine.ask()
        if engine.generation:
            shots.append(Shot(engine, points, asked[0, 0]))
        engine.tell(asked, evaluator.evaluate(asked))
        points = np.concatenate([points, asked[0]])
    return shots


def truth(ax: Any) -> None:
    """The objective in grey lines, what is infeasible veiled in red."""
    f, g, _ = PROBLEM.raw(PLANE)
    ax.contour(GRID, GRID, np.sqrt(f + 0.05), levels=np.linspace(0.0, 1.6, 22), colors="#b9c0c8", linewidths=0.8)
    ax.contourf(GRID, GRID, g[..., 0], levels=[0.0, np.inf], colors=[RED], alpha=0.10)
    ax.contour(GRID, GRID, g[..., 0], levels=[0.0], colors=[RED], linewidths=1.6)


def box(ax: Any, shot: Shot, **style: Any) -> None:
    """The region: a box around the centre, cut by the cube."""
    low, high = np.clip(shot.centre - shot.delta, 0.0, 1.0), np.clip(shot.centre + shot.delta, 0.0, 1.0)
    ax.add_patch(Rectangle(tuple(low), *(high - low), fill=False, **style))


def inside(shot: Shot, values: np.ndarray) -> np.ndarray:
    """Values in the region, nan elsewhere."""
    return np.where(np.max(np.abs(PLANE - shot.centre), axis=-1) <= shot.delta, values, np.nan)


def draw_models(ax: Any, shot: Shot) -> None:
    truth(ax)
    f, g = np.moveaxis(shot.predicted(), -1, 0)
    ax.contour(GRID, GRID, inside(shot, f), levels=12, colors=[BLUE], linewidths=1.1)
    ax.contour(GRID, GRID, inside(shot, g), levels=[0.0], colors=[RED], linewidths=1.8, linestyles="--")
    box(ax, shot, edgecolor="black", linewidth=1.2)
    ax.plot(*shot.before.T, "o", color=GREY, markersize=4.5)
    ax.plot(*shot.centre, "o", color="black", markersize=7)


def draw_program(ax: Any, shot: Shot) -> None:
    truth(ax)
    f, line = shot.predicted()[..., 0], shot.predicted(linear=True)[..., 1]
    ax.contour(GRID, GRID, inside(shot, f), levels=12, colors=[BLUE], linewidths=0.9, alpha=0.6)
    for level, style in ((0.0, "--"), (shot.limit, "-")):
        ax.contour(GRID, GRID, inside(shot, line), levels=[level], colors=[GREEN], linewidths=2.0, linestyles=[style])
    ax.contourf(GRID, GRID, inside(shot, shot.limit - line), levels=[0.0, np.inf], colors=[GREEN], alpha=0.12)
    box(ax, shot, edgecolor="black", linewidth=1.2)
    ax.annotate(
        "",
        shot.asked,
        shot.centre,
        arrowprops={"arrowstyle": "-|>", "color": "black", "lw": 1.8, "shrinkA": 0, "shrinkB": 0},
    )
    ax.plot(*shot.centre, "o", color="black", markersize=7)


def draw_search(ax: Any, shots: list[Shot]) -> None:
    truth(ax)
    for k, shot in enumerate(shots):
        box(ax, shot, edgecolor=plt.get_cmap("viridis")(k / len(shots)), linewidth=0.9, alpha=0.8)
    asked, looks = np.stack([s.asked for s in shots]), np.array([s.looks for s in shots])
    centres = np.stack([s.centre for s in shots])
    ax.plot(*shots[0].before.T, "o", color=GREY, markersize=4.5)
    ax.plot(*asked[~looks].T, "o", color=BLUE, markersize=4)
    ax.plot(*asked[looks].T, "^", color="#e08e0b", markersize=5)
    ax.plot(*centres.T, "-", color="black", linewidth=1.2)
    ax.plot(*centres[-1], "*", color="black", markersize=14)


def legend(fig: Any) -> None:
    line = Line2D
    fig.legend(
        handles=[
            line([], [], color="#b9c0c8", label="f"),
            Patch(facecolor=RED, alpha=0.25, label="infeasible"),
            line([], [], color=BLUE, label="model of f"),
            line([], [], color=RED, ls="--", label="model of g = 0"),
            line([], [], color=GREEN, ls="--", label="g linearised = 0"),
            line([], [], color=GREEN, label="relaxed: = θ g(c) − margin"),
            line([], [], color="black", marker="o", ls="", label="centre c"),
            line([], [], color=GREY, marker="o", ls="", label="evaluated before"),
            line([], [], color=BLUE, marker="o", ls="", label="steps"),
            line([], [], color="#e08e0b", marker="^", ls="", label="geometry points"),
        ],
        loc="lower center", ncols=5, frameon=False, fontsize=9,
    )  # fmt: skip


def main(file: Path) -> None:
    """Draw and save."""
    shots = search()
    fig, axes = plt.subplots(1, 3, figsize=(13.2, 5.2), layout="constrained")
    draw_models(axes[0], shots[SHOWN])
    draw_program(axes[1], shots[SHOWN])
    draw_search(axes[2], shots)
    for ax, title in zip(axes, ("models around the centre", "the relaxed step", f"{len(shots)} turns of the search")):
        ax.set(title=title, xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[], yticks=[])
    fig.get_layout_engine().set(rect=(0, 0.11, 1, 0.87), wspace=0.03)
    legend(fig)
    fig.savefig(file, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
