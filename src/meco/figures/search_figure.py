"""A search by models as a picture: points and region in two variables, controls and violation over the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meco.core.arrays import to_numpy
from meco.figures.figure import Figure
from meco.figures.panel import MUTED, Axis, LegendKey, Line, Mark, Outline, Panel, Spot

if TYPE_CHECKING:
    from meco.learn.tr.episode import TrustRegionEpisode

SIZE = (310, 310)
EDGES = (-0.03, 1.03)  # of an axis from 0 to 1
CONTROLS = (("theta", "θ", 1), ("share", "share", 2))  # in the trace, in the legend, and their series


def make_search_figure(episode: TrustRegionEpisode, run: int = 0) -> Figure:
    """Left the first two variables in the unit cube, right what was set and where the run stands; of one run."""
    about = f"{episode.nfev[run]} of {episode.budget} evaluations"
    return Figure(
        "search", episode.keys[run], [_make_points_panel(episode, run, about), _make_progress_panel(episode, run)]
    )


def _make_points_panel(episode: TrustRegionEpisode, run: int, about: str) -> Panel:
    """Evaluated points of a run in its first two variables, and the box that the next step stays in."""
    x = to_numpy(episode.engine.archive.x)[run]
    centre, delta = to_numpy(episode.engine.region.centre)[run], float(to_numpy(episode.engine.region.delta)[run])
    first, second = 0, min(1, x.shape[1] - 1)
    low, high = np.clip(centre - delta, 0.0, 1.0), np.clip(centre + delta, 0.0, 1.0)
    corners = low[first], high[first], high[first], low[first]
    marks: list[Mark] = [Spot(float(a), float(b), "point", 1) for a, b in x[:, [first, second]]]
    marks.append(Outline(np.array(corners), np.repeat([low[second], high[second]], 2), "region"))
    marks.append(Spot(float(centre[first]), float(centre[second]), "hover", 0, "centre"))
    square = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0, 1.0])
    legend = [
        LegendKey("points", 1, mark=Spot(0.5, 0.5, "point", 1)),
        LegendKey("region", 0, mark=Outline(*square, "region")),
        LegendKey("centre", 0, mark=Spot(0.5, 0.5, "hover", 0)),
    ]
    axes = Axis("first variable", EDGES), Axis("second variable", EDGES)
    return Panel(episode.keys[run], marks, *axes, SIZE, legend=legend, note=about)


def _make_progress_panel(episode: TrustRegionEpisode, run: int) -> Panel:
    """Theta and share over the budget, and the violation of the best point in shares of its first; of one run."""
    trace = episode.results()[run].trace
    spent, nu = trace["nfev"] / episode.budget, trace["nu"]
    lines = [Line(np.repeat(spent, 2)[1:], np.repeat(trace[name], 2)[:-1], s, label) for name, label, s in CONTROLS]
    if nu[0] > 0.0:
        lines.append(Line(spent, np.clip(nu / nu[0], 0.0, 1.0), MUTED, "violation"))
    legend = [LegendKey(line.label, line.series) for line in lines]
    return Panel("Controls", lines, Axis("share of the budget", (0.0, 1.0)), Axis("", EDGES), SIZE, legend=legend)
