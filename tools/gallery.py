"""The pictures of the docs, each from the library as it is and the numbers that the repository keeps.

The docs build draws them anew (docs_build.py), so that a picture never shows what no longer happens.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import numpy as np

import meco
from meco.experiments.report import curves, figures, heatmaps, svg
from meco.experiments.report.figure import Axis, Figure, Panel, Tile
from meco.experiments.report.headline import headline
from meco.experiments.report.report import known_experiments
from meco.experiments.report.run_arrays import RunArrays
from meco.experiments.run.store import read_results
from meco.problems.mission import load_mission
from meco.problems.mission_plot import plot_mission

ROOT = Path(__file__).parent.parent
BEST, WORST = -5.0, 0.5  # decades of the distance from the best known that colours tell apart


def _saved(figure: Any, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    stable = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(out, format=kind, metadata=stable, **options)
    return out.getvalue()


# -- runs ------------------------------------------------------------------------------------


def vessel(x: np.ndarray) -> Any:
    """The pressure vessel of the first tutorial."""
    page = (ROOT / "docs" / "tutorials" / "first-problem.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)[0], names)
    return names["vessel"](x)


def run() -> bytes:
    """One run of the default on the vessel."""
    result = meco.minimize(vessel, [(0.1, 10), (0.1, 10), (10, 100), (10, 240)], budget=200, seed=1)
    return _saved(result.plot(), "svg")


def mission() -> bytes:
    """A UAV mission and the best known flight through it."""
    return _saved(plot_mission(load_mission("UAV-07")).figure, "png", dpi=80)


def trust_region() -> bytes:
    """A step of the default's models, drawn in two variables."""
    from tools import draw_trust_region

    out = io.BytesIO()
    draw_trust_region.main(out)  # type: ignore[arg-type]
    return out.getvalue()


# -- numbers that are kept -------------------------------------------------------------------


@cache
def _paper(name: str) -> RunArrays:
    """The runs of one of the paper's experiments, with the colours of the report."""
    results, palette = read_results(ROOT / "results"), figures.Palette()
    found = {e.name: e for e in known_experiments(results)}[name]
    sets = [RunArrays.of(results, found, dim) for dim in found.dims]
    object.__setattr__(sets[0], "slots", palette.slots(sets))
    return sets[0]


def ranks() -> bytes:
    """Who stands where on the paper's functions."""
    top = headline([_paper("table1")])
    assert top is not None
    return svg.to_file(top.figure).encode()


def convergence() -> bytes:
    """Gap and violation left over the evaluations."""
    return svg.to_file(curves.progress_figure(_paper("table1"))).encode()


def feasible() -> bytes:
    """Feasible runs of every method on every function."""
    return svg.to_file(heatmaps.feasibility_figure(_paper("table1"))).encode()


def compared() -> bytes:
    """The default beside other libraries on designs as users have them."""
    text = (ROOT / "benchmarks" / "results" / "users.txt").read_text(encoding="utf-8")
    rows = read_comparison(text)
    solvers, designs = list(next(iter(rows.values()))), list(rows)[::-1]
    marks = []
    for i, design in enumerate(designs):
        for k, solver in enumerate(solvers):
            share, word = _closeness(rows[design][solver])
            marks.append(Tile((k, k + 1), (i, i + 1), share, word, f"{solver} on {design}: {word}"))
    x = Axis(limits=(0, len(solvers)), names=tuple((k + 0.5, s) for k, s in enumerate(solvers)))
    y = Axis(limits=(0, len(designs)), names=tuple((i + 0.5, d) for i, d in enumerate(designs)))
    panel = Panel("how far the median of five runs is above the best known (–: infeasible)", marks, x, y, (760, 320))
    return svg.to_file(Figure("compared", "Designs as users have them", [panel])).encode()


def read_comparison(text: str) -> dict[str, dict[str, float]]:
    """Median gaps by design and solver, from what benchmarks/users.py prints."""
    rows: dict[str, dict[str, float]] = {}
    for line in text.splitlines():
        head = re.match(r"(\w[\w ]*): D = ", line)
        row = re.match(r"  (\S.*?) {2,}\d+% +(\S+) +\S+ +[\d.]+ {3}", line)
        if head:
            rows[head[1]] = {}
        elif row and rows:
            rows[list(rows)[-1]][row[1]] = float(row[2])
    return rows


def _closeness(gap: float) -> tuple[float, str]:
    """A share that darkens as the gap closes, and the gap in words."""
    if not np.isfinite(gap):
        return 0.0, "–"
    share = (WORST - np.log10(max(gap, 1e-9))) / (WORST - BEST)
    word = f"{100 * gap:.0f} %" if gap >= 0.0995 else f"{100 * gap:.1f} %" if gap >= 5e-4 else "< 0.1 %"
    return float(np.clip(share, 0.04, 1.0)), word


PICTURES: dict[str, Callable[[], bytes]] = {
    "run.svg": run,
    "mission.png": mission,
    "trust-region.png": trust_region,
    "ranks.svg": ranks,
    "convergence.svg": convergence,
    "feasible.svg": feasible,
    "compared.svg": compared,
}
