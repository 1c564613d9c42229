"""Maps of UAV missions, and a flight with its route, range of reception and hovering times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from meco.plot.style import COLOURS, GRID, INK, make_figure, styled

if TYPE_CHECKING:
    from meco.problems.uav.mission import Mission

KM = 1000.0
ROUTE, COLLISION, LINK = COLOURS[0], COLOURS[1], COLOURS[2]
PIECES = 400  # of a leg that are looked at for collisions
GRID_SIZE = 120  # points along each side of a map where the data rate is looked at


def plot_mission(mission: Mission, x: np.ndarray | None = None) -> Any:
    """The map of a mission, with the flight x [18] where given, as a matplotlib figure."""
    width, height = mission.area
    with styled():
        figure, axes = make_figure(7.4, 1.2 + 6.2 * height / width)
        ax = axes[0, 0]
        draw_ground(ax, mission)
        _draw_bandwidth(ax, mission)
        title = f"{mission.name}  {mission.description}".replace("$", r"\$")
        if x is not None:
            _draw_flight(ax, mission, x)
            title += f"\n{describe_flight(mission, x)}"
        ax.set_title(title, fontsize=9)
        ax.set(xlabel="km", ylabel="km")
        figure.legend(*_unique_handles(ax), loc="outside lower center", ncols=4, fontsize=8.5)
    return figure


def plot_missions(missions: Sequence[Mission]) -> Any:
    """Many maps in one figure, with their known flights where they have one."""
    rows = -(-len(missions) // 4)
    with styled():
        figure, axes = make_figure(10, 2.6 * rows + 0.5, rows, 4)
        for ax in list(axes.flat)[len(missions) :]:
            ax.set_axis_off()
        for ax, mission in zip(axes.flat, missions):
            draw_ground(ax, mission, small=True)
            _draw_bandwidth(ax, mission)
            if mission.known_x is not None:
                _draw_route(ax, mission, mission.known_x, 1.4)
            width, height = mission.area
            ax.set_title(
                f"{mission.name}\n{width / KM:g} × {height / KM:g} km, {len(mission.sensors)} sensors", fontsize=8
            )
            ax.set(xticks=[], yticks=[])
        drawn: dict[str, Any] = {}
        for ax in axes.flat:
            drawn |= dict(zip(*_unique_handles(ax)[::-1]))
        figure.legend(list(drawn.values()), list(drawn), loc="outside lower center", ncols=4)
    return figure


def draw_ground(ax: Any, mission: Mission, small: bool = False) -> None:
    """Obstacles, no-fly zones, sensors, start and end, in kilometres."""
    from matplotlib.patches import Circle, Polygon, Rectangle

    width, height = np.array(mission.area) / KM
    block: dict[str, Any] = {"facecolor": GRID, "edgecolor": INK, "alpha": 0.55, "lw": 0.6}
    for x0, y0, x1, y1 in mission.rectangles / KM:
        ax.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, label="rectangular obstacle", **block))
    for x, y, r in mission.circles / KM:
        ax.add_patch(
            Circle((x, y), r, label="circular obstacle", facecolor="#e0b13a", edgecolor=INK, alpha=0.55, lw=0.6)
        )
    for ring in mission.polygons:
        ax.add_patch(Polygon(ring / KM, label="no-fly zone", facecolor=COLLISION, edgecolor=COLLISION, alpha=0.3))
    size = 12 if small else 30
    ax.scatter(*(mission.sensors / KM).T, marker="x", color=INK, s=size, lw=1.0, label="sensor", zorder=3)
    start = "start and end" if mission.returns else "start"
    ax.scatter(*(mission.start / KM), marker="s", color=INK, s=1.6 * size, label=start, zorder=4)
    if not mission.returns:
        ax.scatter(*(mission.end / KM), marker="D", color=INK, s=1.6 * size, label="end", zorder=4)
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.spines[:].set_visible(True)
    ax.grid(visible=False)


def _draw_bandwidth(ax: Any, mission: Mission) -> None:
    """A hatch where more data would arrive at once than the vehicle can receive."""
    from matplotlib.patches import Rectangle

    x, y = (np.linspace(0.0, side, GRID_SIZE) for side in mission.area)
    points = np.stack(np.meshgrid(x, y), axis=-1)
    rate = np.sum(mission.rates(points), axis=-1)
    if not np.any(rate > mission.parameters.R_lambda):
        return
    limits = [mission.parameters.R_lambda, np.inf]
    ax.contourf(x / KM, y / KM, rate, limits, colors="none", hatches=["////"], zorder=1)
    patch = Rectangle((0, 0), 0, 0, facecolor="none", edgecolor=INK, hatch="////", lw=0, label="bandwidth exceeded")
    ax.add_patch(patch)


def _draw_flight(ax: Any, mission: Mission, x: np.ndarray) -> None:
    """Route, range of reception and hovering time at each stop, and the sensors that send data there."""
    from matplotlib.patches import Circle

    radius = mission.parameters.hearing_distance / KM
    for point, time, numbers in merge_stops(x):
        centre = point / KM
        if time > 0.0:
            ax.add_patch(
                Circle(
                    tuple(centre), radius, fill=False, edgecolor=ROUTE, alpha=0.5, lw=0.8, label="range of reception"
                )
            )
            rates = mission.rates(point[None])[0]
            share = np.minimum(rates * time / mission.parameters.Q_lambda, 1.0)
            for sensor, part in zip(mission.sensors / KM, share):
                if part > 0.02:
                    width = 0.4 + 1.4 * part
                    ax.plot(*np.array([centre, sensor]).T, color=LINK, lw=width, alpha=0.8, label="data sent")
            ax.annotate(f"{time:.1f} s", centre, xytext=(8, 6), textcoords="offset points", fontsize=8)
        name = numbers[0] if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"
        ax.plot(*centre, "o", ms=11, color=ROUTE, zorder=5, label="hover point")
        ax.annotate(name, centre, ha="center", va="center", color="white", fontsize=6.5, zorder=6)
    _draw_route(ax, mission, x, 1.8)


def _draw_route(ax: Any, mission: Mission, x: np.ndarray, width: float) -> None:
    """The legs of a flight; parts inside an obstacle stand out."""
    corners = mission.route(x)
    ax.plot(*(corners / KM).T, color=ROUTE, lw=width, label="route", zorder=2.5)
    for a, b in pairwise(corners):
        cuts = a + np.linspace(0.0, 1.0, PIECES + 1)[:, None] * (b - a)
        inside = mission.obstacles.length(cuts[:-1], cuts[1:]) > 0.0
        line = np.where(np.append(inside, False)[:, None] | np.append(False, inside)[:, None], cuts / KM, np.nan)
        if inside.any():
            ax.plot(*line.T, color=COLLISION, lw=2.2 * width, label="collision", zorder=2.6)
        if np.linalg.norm(b - a) > 0.06 * max(mission.area):
            middle, ahead = 0.5 * (a + b) / KM, (0.5 * (a + b) + 0.01 * (b - a)) / KM
            ax.annotate("", ahead, middle, arrowprops={"arrowstyle": "->", "color": ROUTE, "lw": width})


def merge_stops(x: np.ndarray) -> list[tuple[np.ndarray, float, list[str]]]:
    """Stops of a flight x [3 I], all points before all times: (point, time, numbers of its hover points).

    Consecutive hover points at one place are one stop.
    """
    points, times = x[: 2 * len(x) // 3].reshape(-1, 2), x[2 * len(x) // 3 :]
    stops: list[tuple[np.ndarray, float, list[str]]] = []
    for i, (point, time) in enumerate(zip(points, times)):
        if stops and np.linalg.norm(stops[-1][0] - point) < 1.0:
            _, before, numbers = stops.pop()
            stops.append((point, before + float(time), [*numbers, str(i + 1)]))
        else:
            stops.append((point, float(time), [str(i + 1)]))
    return stops


def describe_flight(mission: Mission, x: np.ndarray) -> str:
    """One line: the objective of the flight x [18] in its parts, and whether it is feasible."""
    problem = mission.problem()
    f, g, h = problem.raw(x)
    alpha, hover = mission.parameters.alpha, float(np.sum(x[2 * len(x) // 3 :]))
    fly = (float(f) - (1.0 - alpha) * hover) / alpha if alpha > 0.0 else 0.0
    violated = int(np.sum(g > 0.0) + np.sum(np.abs(h) > problem.eq_tol))
    state = "feasible"
    if violated:
        state = f"infeasible: {violated} constraints violated, {float(h[0]):.0f} m inside obstacles"
    return f"{float(f):.2f} s = {alpha:g} × {fly:.1f} s flying + {1.0 - alpha:g} × {hover:.1f} s hovering, {state}"


def _unique_handles(ax: Any) -> tuple[list[Any], list[str]]:
    """Entries of a legend, each once."""
    handles = dict(zip(*ax.get_legend_handles_labels()[::-1]))
    return list(handles.values()), list(handles)
