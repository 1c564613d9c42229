"""The pictures of the docs, each from the library as it is and the numbers that the repository keeps.

The docs build draws them anew (docs_build.py), so that a picture never shows what no longer happens.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import meco
from meco.bench.report import curves, heatmaps, result_figures
from meco.bench.report.campaign_report import list_known_experiments
from meco.bench.report.headline import compose_headline
from meco.bench.report.run_arrays import RunArrays
from meco.bench.run.result_store import read_results
from meco.figures.figure import Figure
from meco.figures.mission_figure import make_missions_figure
from meco.figures.panel import Axis, Panel, Tile
from meco.problems.uav.flight_model import MISSION_NAMES
from meco.problems.uav.mission import load_mission
from tools.draw_trust_region import step_figure

ROOT = Path(__file__).parent.parent
BEST, WORST = -5.0, 0.5  # decades of the distance from the best known that colours tell apart


# -- runs ------------------------------------------------------------------------------------


def vessel(x: np.ndarray) -> Any:
    """The pressure vessel of the first tutorial."""
    page = (ROOT / "docs" / "tutorials" / "first-problem.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)[0], names)
    return names["vessel"](x)


def draw_run() -> bytes:
    """One run of the default on the vessel."""
    result = meco.minimize(vessel, [(0.1, 10), (0.1, 10), (10, 100), (10, 240)], budget=200, seed=1)
    return result.plot().to_svg().encode()


def draw_mission() -> bytes:
    """A UAV mission and the best known flight through it."""
    shown = load_mission("UAV-07")
    return shown.plot(shown.known_x).to_svg().encode()


def draw_missions() -> bytes:
    """The sixteen missions with their best known flights."""
    return make_missions_figure([load_mission(name) for name in MISSION_NAMES]).to_svg().encode()


def draw_trust_region() -> bytes:
    """A step of the default's models, drawn in two variables."""
    return step_figure().to_svg().encode()


# -- numbers that are kept -------------------------------------------------------------------


@cache
def _paper_results(name: str) -> RunArrays:
    """The runs of one of the paper's experiments, with the colours of the report."""
    results, palette = read_results(ROOT / "results"), result_figures.Palette()
    found = {e.name: e for e in list_known_experiments(results)}[name]
    sets = [RunArrays.from_store(results, found, dim) for dim in found.dims]
    object.__setattr__(sets[0], "slots", palette.assign_slots(sets))
    return sets[0]


def draw_ranks() -> bytes:
    """Who stands where on the paper's functions."""
    top = compose_headline([_paper_results("table1")])
    assert top is not None
    return top.figure.to_svg().encode()


def draw_convergence() -> bytes:
    """Gap and violation left over the evaluations."""
    return curves.make_progress_figure(_paper_results("table1")).to_svg().encode()


def draw_feasible_shares() -> bytes:
    """Feasible runs of every method on every function."""
    return heatmaps.make_feasibility_figure(_paper_results("table1")).to_svg().encode()


def read_gaps() -> dict[str, dict[str, float]]:
    """Median gap of each solver on each design, as `python benchmarks/users.py` printed them."""
    found: dict[str, dict[str, float]] = {}
    for line in (ROOT / "benchmarks" / "results" / "users.txt").read_text(encoding="utf-8").splitlines():
        head = re.match(r"(\w[\w ]*): D = \d+", line)
        row = re.match(r"  (\S.*?) {2,}\d+% +(\S+) +\S+ +[\d.]+ {3}", line)
        if head:
            found[head[1]] = {}
        elif row and found:
            found[[*found][-1]][row[1]] = float(row[2])
    return found


def draw_comparison() -> bytes:
    """The default beside other libraries on designs as users have them."""
    rows = read_gaps()
    solvers, designs = list(next(iter(rows.values()))), list(rows)[::-1]
    marks = []
    for i, design in enumerate(designs):
        for k, solver in enumerate(solvers):
            share, word = _closeness(rows[design][solver])
            marks.append(Tile((k, k + 1), (i, i + 1), share, word, f"{solver} on {design}: {word}"))
    x = Axis(limits=(0, len(solvers)), names=tuple((k + 0.5, s) for k, s in enumerate(solvers)))
    y = Axis(limits=(0, len(designs)), names=tuple((i + 0.5, d) for i, d in enumerate(designs)))
    panel = Panel("how far the median of five runs is above the best known (–: infeasible)", marks, x, y, (760, 320))
    return Figure("compared", "Designs as users have them", [panel]).to_svg().encode()


def _closeness(gap: float) -> tuple[float, str]:
    """A share that darkens as the gap closes, and the gap in words."""
    if not np.isfinite(gap):
        return 0.0, "–"
    share = (WORST - np.log10(max(gap, 1e-9))) / (WORST - BEST)
    word = f"{100 * gap:.0f} %" if gap >= 0.0995 else f"{100 * gap:.1f} %" if gap >= 5e-4 else "< 0.1 %"
    return float(np.clip(share, 0.04, 1.0)), word


PICTURES: dict[str, Callable[[], bytes]] = {
    "run.svg": draw_run,
    "mission.svg": draw_mission,
    "missions.svg": draw_missions,
    "trust-region.svg": draw_trust_region,
    "ranks.svg": draw_ranks,
    "convergence.svg": draw_convergence,
    "feasible.svg": draw_feasible_shares,
    "compared.svg": draw_comparison,
}
