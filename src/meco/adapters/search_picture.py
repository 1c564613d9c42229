"""A picture of a search by models: its points and region in two variables, its controls and violation over the run."""

from __future__ import annotations

import numpy as np

from meco.arrays import to_numpy
from meco.errors import load_extra
from meco.mdp.search_episode import SearchEpisode


def picture(episode: SearchEpisode, run: int = 0) -> np.ndarray:
    """RGB [height, width, 3]: left the first two variables in the unit cube, right what was set and where it stands."""
    figures = load_extra("matplotlib.figure", "plot", "drawing a search")
    agg = load_extra("matplotlib.backends.backend_agg", "plot", "drawing a search")
    figure = figures.Figure(figsize=(8, 4), dpi=80, layout="constrained")
    canvas = agg.FigureCanvasAgg(figure)
    points, course = figure.subplots(1, 2)
    _draw_points(points, episode, run)
    _draw_course(course, episode, run)
    figure.suptitle(f"{episode.keys[run]}: {episode.nfev[run]} of {episode.budget} evaluations")
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _draw_points(axes, episode: SearchEpisode, run: int) -> None:
    """Evaluated points, the later the darker, and the box that the next step stays in."""
    x = to_numpy(episode.engine.seen.x)[run]
    second = min(1, x.shape[1] - 1)
    axes.scatter(x[:, 0], x[:, second], c=np.arange(len(x)), cmap="Blues", s=12, edgecolors="0.6", linewidths=0.3)
    centre, delta = to_numpy(episode.engine.region.centre)[run], float(to_numpy(episode.engine.region.delta)[run])
    low, high = np.clip(centre - delta, 0, 1), np.clip(centre + delta, 0, 1)
    axes.plot(*_box(low, high, second), "C3-")
    axes.plot(centre[0], centre[second], "C3+")
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="first variable", ylabel="second variable")


def _box(low: np.ndarray, high: np.ndarray, second: int) -> tuple[list[float], list[float]]:
    x = [low[0], high[0], high[0], low[0], low[0]]
    y = [low[second], low[second], high[second], high[second], low[second]]
    return x, y


def _draw_course(axes, episode: SearchEpisode, run: int) -> None:
    """Theta and share over the budget, and the violation of the best point in shares of its first."""
    trace = episode.results()[run].trace
    spent, nu = trace["nfev"] / episode.budget, trace["nu"]
    for name in ("theta", "share"):
        axes.step(spent, trace[name], where="post", label=name)
    if nu[0] > 0:
        axes.plot(spent, np.clip(nu / nu[0], 0, 1), "0.5", label="violation")
    axes.set(xlim=(0, 1), ylim=(-0.02, 1.02), xlabel="share of the budget")
    axes.legend(loc="upper right")
