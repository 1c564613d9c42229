"""A contact sheet of generated problems in two variables: python -m tools.draw_generated FILE.png

Contours of the objective from dark (low) to light. The feasible set is clear and outlined, the rest is
veiled; equalities are red lines. A star is the known point, yellow where it is the optimum.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Patch
from PIL import Image

from meco.core.problem import Problem
from meco.problems.generated import GENERATED, Family, make_batch

COLUMNS, SIDE = 8, 1.5  # tiles in a row, inches of a tile
GRID = 241
TINTS = {"train": "#1f5fa8", "choose": "#a06a00", "confirm": "#a02c4a"}  # of the titles, by set
VISIBLE = (0.12, 0.5)  # share of the box that is feasible in a member that shows well
TRIED = 60  # seeds among which one is chosen for its picture
CHOSEN = {  # seeds with more than one island or well, and with roughness that can be seen
    "bowl-islands": 1, "wells-free": 50, "terrain-linear": 28, "terrain-ring": 43, "switching-tube": 34,
    "contact-contact": 35,
}  # fmt: skip


def find_member(name: str) -> Problem:
    """The first member whose feasible share is easy to see, else the one with the largest."""
    batch = make_batch(name, [CHOSEN[name]] if name in CHOSEN else range(1, TRIED + 1), 2)
    u = np.random.default_rng(0).random((500, 2))
    g = batch.raw(batch.lower[:, None] + u * (batch.upper - batch.lower)[:, None])[1]
    shares = np.mean(np.all(g <= 0, axis=-1), axis=1)
    shows = (shares >= VISIBLE[0]) & (shares <= VISIBLE[1])
    return batch[int(np.argmax(shows) if np.any(shows) else np.argmax(shares))]


def draw_formula(ax: Any, problem: Problem, family: Family) -> None:
    """Contours, the feasible set and the known point, over the box."""
    a, b = (np.linspace(lo, hi, GRID) for lo, hi in zip(problem.lower, problem.upper))
    if family.whole:
        a = np.round(a)
    x = np.stack(np.meshgrid(a, b), axis=-1)
    f, g, h = problem.raw(x)
    place = np.linspace(0, 1, GRID)
    rank = np.searchsorted(np.sort(f.ravel()), f) / f.size  # levels of equal area show valleys and ripples
    ax.contourf(place, place, rank, levels=np.linspace(0, 1, 15), cmap="viridis")
    if g.shape[-1]:
        worst = np.max(g / np.nanmax(np.abs(g), axis=(0, 1)), axis=-1)
        ax.contourf(place, place, worst, levels=[0, np.inf], colors=["white"], alpha=0.62)
        if np.any(worst <= 0):
            ax.contour(place, place, worst, levels=[0], colors=["#202020"], linewidths=0.9)
    for k in range(h.shape[-1]):
        ax.contour(place, place, h[..., k], levels=[0], colors=["#d7263d"], linewidths=1.3)
    if problem.known_x is not None:
        u = (problem.known_x - problem.lower) / (problem.upper - problem.lower)
        fill = "#ffd23f" if problem.best_known is not None else "white"
        ax.plot(*u, "*", ms=10, mfc=fill, mec="black", mew=0.8)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")


def draw_contact_sheet() -> Any:
    """One tile for every family, in the order of the sets."""
    rows = -(-len(GENERATED) // COLUMNS)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(COLUMNS * SIDE, rows * (SIDE + 0.22)), layout="constrained")
    for ax, (name, family) in zip(axes.flat, GENERATED.items()):
        draw_formula(ax, find_member(name), family)
        ax.set_title(name, fontsize=7.5, color=TINTS[family.set], pad=3)
        ax.set(xticks=[], yticks=[])
    for ax in axes.flat[len(GENERATED) :]:
        ax.axis("off")
    marks = [Patch(color=tint, label=each) for each, tint in TINTS.items()]
    figure.legend(handles=marks, loc="outside lower center", ncols=len(marks), frameon=False, fontsize=8)
    return figure


def main(path: str) -> None:
    """Write the sheet, in 256 colours: a third of the size, and nobody sees it."""
    draw_contact_sheet().savefig(Path(path), dpi=85)
    with Image.open(path) as sheet:
        few = sheet.convert("RGB").quantize(256)
    few.save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
