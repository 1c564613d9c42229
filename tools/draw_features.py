"""Pictures of the pages on cheap constraints, categories, partial answers, vectorised functions, failures and noise.

python tools/draw_features.py [NAME ..]    # all, or some of them: docs/images/features/*.png; needs the extra "plot"
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import meco
import meco.tr.categories as categories_module

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
PLACE = ROOT / "docs" / "images" / "features"
GOOD, BAD, GREY = "#3f51b5", "#c0392b", "#9e9e9e"


def save(figure: plt.Figure, name: str) -> None:
    """Write a figure where the pages expect it."""
    PLACE.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(PLACE / f"{name}.png", dpi=110)
    plt.close(figure)


def draw_cheap() -> None:
    """Points that were called on a thin ring, with and without cheap=."""

    def fun(x: np.ndarray) -> float:
        return float((x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2)

    def ring(x: np.ndarray) -> float:
        return abs(x @ x - 4.0) - 0.15

    figure, panels = plt.subplots(1, 2, figsize=(8, 4), sharey=True)
    turn = np.linspace(0, 2 * np.pi, 400)
    runs = (("as a constraint", {"constraints": ring}), ("as cheap=", {"cheap": ring}))
    for panel, (name, given) in zip(panels, runs):
        result = meco.minimize(fun, [(-4, 4)] * 2, budget=40, seed=1, **given)
        x = result.evaluations.x
        inside = np.array([ring(row) <= 0 for row in x])
        for radius in (np.sqrt(3.85), np.sqrt(4.15)):
            panel.plot(radius * np.cos(turn), radius * np.sin(turn), color=GREY, lw=1)
        panel.scatter(*x[inside].T, s=14, color=GOOD, label="inside")
        panel.scatter(*x[~inside].T, s=14, color=BAD, marker="x", label="outside")
        panel.set_title(f"{name}: {int((~inside).sum())} of 40 calls outside", fontsize=10)
        panel.set_aspect("equal")
    panels[0].legend(fontsize=8)
    save(figure, "cheap")


def draw_categories() -> None:
    """The likeness of metals that a search of the crane arm has learnt."""
    from simulators_mixed_designs import DESIGNS

    design, seen = DESIGNS[0], []
    learn = categories_module.CategoryMoves.learn_likeness

    def watched(self: categories_module.CategoryMoves, archive: object) -> list[np.ndarray]:
        seen.append(learn(self, archive))  # type: ignore[arg-type]
        return seen[-1]

    categories_module.CategoryMoves.learn_likeness = watched  # type: ignore[method-assign]
    meco.minimize(design.fun, design.variables, budget=120, seed=1)
    categories_module.CategoryMoves.learn_likeness = learn  # type: ignore[method-assign]
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.6))
    for panel, name, table in zip(panels, ("metal", "section"), seen[-1]):
        labels = design.variables[name].categories
        image = panel.imshow(table, vmin=0, vmax=1, cmap="Blues")
        panel.set_xticks(range(len(labels)), labels, rotation=45, ha="right", fontsize=8)
        panel.set_yticks(range(len(labels)), labels, fontsize=8)
        panel.set_title(f"likeness of {name} after 120 calls", fontsize=10)
        figure.colorbar(image, ax=panel, shrink=0.8)
    save(figure, "categories")


def draw_partial() -> None:
    """What three staged simulators cost until the answer was found."""
    from simulators_partial import SIMULATORS, price_to_reach

    figure, panel = plt.subplots(figsize=(6.5, 3.2))
    for i, simulator in enumerate(SIMULATORS):
        for stop, colour in ((False, GREY), (True, GOOD)):
            budget = 60 * len(simulator.bounds)
            prices = [price_to_reach(simulator, stop, seed, "TR", budget)[0] for seed in range(5)]
            panel.barh(i + 0.2 - 0.4 * stop, np.median(prices), height=0.36, color=colour)
            panel.scatter(prices, [i + 0.2 - 0.4 * stop] * 5, s=10, color="black", zorder=3)
    panel.set_yticks(range(len(SIMULATORS)), [s.name for s in SIMULATORS])
    panel.set_xlabel("price until within 1 % of the best (stages cost 1, 10, 100)")
    panel.legend(
        handles=[
            mpl.patches.Patch(color=GREY, label="whole answers"),
            mpl.patches.Patch(color=GOOD, label="partial answers"),
        ],
        fontsize=8,
    )
    save(figure, "partial")


def draw_vectorised(evaluations: int = 4000) -> None:
    """CPU time of a run on a quick function, by how it is called."""
    from simulators_vectorised import valley

    ways = {"one by one": ("TR", 1), "batches (default)": ("TR", None), "SHADE-FR": ("SHADE-FR", None)}
    spent = {}
    for name, (method, batch) in ways.items():
        begun = time.process_time()
        workers = meco.Workers(vectorized=True, batch=batch)
        meco.minimize(valley, [(-3, 3)] * 10, budget=evaluations, seed=1, method=method, workers=workers)
        spent[name] = time.process_time() - begun
    figure, panel = plt.subplots(figsize=(6.5, 2.2))
    panel.barh(list(spent), list(spent.values()), color=[GREY, GOOD, GOOD])
    panel.set_xlabel(f"CPU seconds of {evaluations} evaluations, D = 10")
    save(figure, "vectorised")


def draw_failures() -> None:
    """Calls of a simulator that fails beyond a curve, on which its optimum lies."""

    def fails(x: np.ndarray) -> bool:
        return bool(x[0] + 0.5 * x[1] ** 2 > 0.0)

    def fun(x: np.ndarray) -> float:
        return float("nan") if fails(x) else float((x[0] - 1.0) ** 2 + (x[1] - 0.8) ** 2)

    result = meco.minimize(fun, [(-2, 2)] * 2, budget=60, seed=1)
    x, failed = result.evaluations.x, result.evaluations.failed
    figure, panel = plt.subplots(figsize=(5, 4.2))
    y = np.linspace(-2, 2, 200)
    panel.fill_betweenx(y, -0.5 * y**2, 2.0, color=BAD, alpha=0.12, label="fails here")
    panel.scatter(*x[~failed].T, s=16, color=GOOD, label=f"{int((~failed).sum())} calls that did not")
    panel.scatter(*x[failed].T, s=20, color=BAD, marker="x", label=f"{int(failed.sum())} calls that failed")
    panel.set(xlim=(-2, 2), ylim=(-2, 2), xlabel="x1", ylabel="x2")
    panel.set_aspect("equal")
    panel.legend(fontsize=8, loc="lower left")
    save(figure, "failures")


def draw_noise() -> None:
    """A constraint at the answers of twenty noisy runs: what noise says, and what is true."""
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True)
    for panel, (name, given) in zip(panels, (("noise=False", False), ("noise=True", True))):
        for seed in range(20):
            rng = np.random.default_rng(seed)

            def fun(x: np.ndarray, rng: np.random.Generator = rng) -> tuple[float, list[float]]:
                return float(x @ x) + 0.05 * rng.standard_normal(), [1.0 - x[0] + 0.05 * rng.standard_normal()]

            result = meco.minimize(fun, [(-2, 3)] * 2, budget=100, seed=seed, noise=given)
            colour = GREY if not result.success else GOOD if result.x[0] >= 1.0 else BAD
            panel.scatter(seed, 1.0 - result.x[0], color=colour, s=20)
        panel.axhline(0.0, color=GREY, lw=1)
        panel.set_title(name, fontsize=10)
        panel.set_xlabel("run")
    panels[0].set_ylabel("true value of g, to be 0 or less")
    words = ((GOOD, "success, and it is"), (GREY, "not sure enough"), (BAD, "success, and it is not"))
    handles = [plt.Line2D([], [], color=colour, marker="o", ls="", label=text) for colour, text in words]
    panels[1].legend(handles=handles, fontsize=8)
    save(figure, "noise")


DRAWINGS = {
    "cheap": draw_cheap,
    "categories": draw_categories,
    "partial": draw_partial,
    "vectorised": draw_vectorised,
    "failures": draw_failures,
    "noise": draw_noise,
}

if __name__ == "__main__":
    for drawing in sys.argv[1:] or DRAWINGS:
        DRAWINGS[drawing]()
