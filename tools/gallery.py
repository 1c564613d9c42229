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
from meco.bench.run.result_store import read_results
from meco.plot.mission import plot_missions
from meco.plot.style import make_figure, styled, to_svg
from meco.problems.uav.flight_model import MISSION_NAMES
from meco.problems.uav.mission import load_mission
from meco.report import figures
from meco.report.frame import ExperimentRuns, read_runs
from meco.report.page import list_known_experiments
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
    return to_svg(result.plot()).encode()


def draw_mission() -> bytes:
    """A UAV mission and the best known flight through it."""
    shown = load_mission("UAV-07")
    return to_svg(shown.plot(shown.known_x)).encode()


def draw_missions() -> bytes:
    """The sixteen missions with their best known flights."""
    return to_svg(plot_missions([load_mission(name) for name in MISSION_NAMES])).encode()


def draw_trust_region() -> bytes:
    """A step of the default's models, drawn in two variables."""
    return to_svg(step_figure()).encode()


# -- numbers that are kept -------------------------------------------------------------------


@cache
def _read_table1() -> tuple[ExperimentRuns, figures.Colours]:
    """The runs of the paper's main table, with the colours of the report."""
    contents = read_results(ROOT / "results")
    experiment = {e.name: e for e in list_known_experiments(contents)}["table1"]
    runs = read_runs(contents, experiment, 50)
    assert runs is not None
    return runs, figures.Palette().choose([runs])


def draw_ranks() -> bytes:
    """Average ranks on the paper's functions."""
    runs, colours = _read_table1()
    return to_svg(figures.draw_suite_ranks({"CEC2017, 50 variables": runs}, runs.labels, colours).figure).encode()


def draw_convergence() -> bytes:
    """Gap and violation left over the evaluations."""
    return to_svg(figures.draw_progress(*_read_table1()).figure).encode()


def draw_feasible_shares() -> bytes:
    """Feasible runs of every method on every function."""
    return to_svg(figures.draw_feasible_share(_read_table1()[0]).figure).encode()


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
    """The default beside other libraries on designs as users have them: gap to the best known value."""
    rows = read_gaps()
    gaps = np.array([list(row.values()) for row in rows.values()])
    share = np.clip((WORST - np.log10(np.maximum(gaps, 1e-9))) / (WORST - BEST), 0.04, 1.0)
    share = np.where(np.isfinite(gaps), share, 0.0)
    with styled():
        figure, axes = make_figure(9, 0.8 + 0.4 * len(rows))
        ax = axes[0, 0]
        ax.pcolormesh(share, cmap="Blues", vmin=0, vmax=1.8, edgecolors="white")
        for (i, j), gap in np.ndenumerate(gaps):
            ax.text(j + 0.5, i + 0.5, _format_gap(gap), ha="center", va="center", fontsize=9, color="#101418")
        ax.set_xticks(np.arange(gaps.shape[1]) + 0.5, list(next(iter(rows.values()))))
        ax.set_yticks(np.arange(gaps.shape[0]) + 0.5, list(rows))
        ax.set_title("Gap of the median of five runs to the best known value (–: infeasible)")
        ax.tick_params(length=0)
        ax.invert_yaxis()
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
    return to_svg(figure).encode()


def _format_gap(gap: float) -> str:
    """A gap in per cent."""
    if not np.isfinite(gap):
        return "–"
    return f"{100 * gap:.0f} %" if gap >= 0.0995 else f"{100 * gap:.1f} %" if gap >= 5e-4 else "< 0.1 %"


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
