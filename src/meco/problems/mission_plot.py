"""Pictures of missions: the map, and on it a flight with its route, coverage and hovering times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from meco.errors import InvalidInput, load_extra
from meco.problems.uav import DIM, HOVER_POINTS, flight_time, path, rates

if TYPE_CHECKING:
    from meco.problems.mission import Mission

KM = 1000.0
INK, PALE, GROUND = "#22303c", "#8795a1", "#fcfbf8"
AIR = (0.11, 0.39, 0.66)  # the colour of the route, for light tones of it
ROUTE, HIT, SENSOR, LOUD = "#1c64a8", "#d2332a", "#12805f", "#7a5ea8"
SHAPES = {  # field: what it is called, fill, edge
    "rectangles": ("rectangular obstacle", "#c9ced4", "#8f99a3"),
    "circles": ("circular obstacle", "#efd6a4", "#c89f4f"),
    "polygons": ("no-fly zone", "#efc0ba", "#c9746b"),
}
LEGEND = (
    *("start", "end", "start and end", "sensor", "route", "collision", "hover point", "coverage"),
    *(name for name, _, _ in SHAPES.values()),
    "bandwidth exceeded",
)
TAG = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}


def plot_mission(mission: Mission, x: Any = None, ax: Any = None) -> Any:
    """Draw a mission, and the flight x [18] where given, into ax or a figure of its own; returns the axes."""
    flight = None if x is None else _flight(mission, x)
    own = ax is None
    if own:
        pyplot = load_extra("matplotlib.pyplot", "plot", "drawing a mission")
        width, height = mission.area
        _, ax = pyplot.subplots(figsize=(8.8, 0.9 + 6.0 * height / width), layout="constrained", dpi=120)
    draw_map(mission, ax)
    if flight is not None:
        draw_flight(mission, flight, ax)
    _write_title(mission, flight, ax)
    if own:
        ax.set_xlabel("km", color=PALE, fontsize=9)
        ax.set_ylabel("km", color=PALE, fontsize=9)
        style = {"frameon": False, "fontsize": 9, "labelcolor": INK, "labelspacing": 1.0, "markerscale": 0.75}
        ax.legend(*_legend(ax), loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, **style)
    return ax


def plot_all(missions: Sequence[Mission], flights: bool = True, columns: int = 4) -> Any:
    """Draw many missions in one figure, with their known flights where they have one; returns the figure."""
    pyplot = load_extra("matplotlib.pyplot", "plot", "drawing missions")
    lines = -(-len(missions) // columns)
    figure, axes = pyplot.subplots(lines, columns, figsize=(3.1 * columns, 3.05 * lines + 0.4), squeeze=False, dpi=120)
    entries: dict[str, Any] = {}
    for mission, ax in zip(missions, axes.flat):
        draw_map(mission, ax, size=0.55)
        if flights and mission.known_x is not None:
            draw_route(mission, mission.known_x, ax, size=0.55)
        ax.set_title(mission.name, loc="left", fontsize=9.5, fontweight="bold", color=INK, pad=4)
        width, height = mission.area
        facts = f"{width / KM:g} × {height / KM:g} km, {len(mission.sensors)} sensors"
        ax.set_title(facts, loc="right", fontsize=7.5, color=PALE, pad=4)
        ax.set(xticks=[], yticks=[])
        entries |= {label: handle for handle, label in zip(*_legend(ax)) if label not in entries}
    for ax in list(axes.flat)[len(missions) :]:
        ax.set_axis_off()
    style = {"frameon": False, "fontsize": 9, "labelcolor": INK, "columnspacing": 1.8, "handletextpad": 0.5}
    figure.legend(list(entries.values()), list(entries), loc="lower center", ncols=len(entries), **style)
    figure.subplots_adjust(left=0.01, right=0.99, top=0.965, bottom=0.05, wspace=0.06, hspace=0.16)
    return figure


def draw_map(mission: Mission, ax: Any, size: float = 1.0) -> None:
    """The area with its obstacles, sensors, start and end; size scales the marks."""
    patches = load_extra("matplotlib.patches", "plot", "drawing a mission")
    width, height = np.array(mission.area) / KM
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal", facecolor=GROUND)
    ax.tick_params(color=PALE, labelcolor=PALE, labelsize=8)
    ax.spines[:].set(color=PALE, linewidth=0.8)
    drawn = {
        "rectangles": [patches.Rectangle(r[:2] / KM, *(r[2:] - r[:2]) / KM) for r in mission.rectangles],
        "circles": [patches.Circle(c[:2] / KM, c[2] / KM) for c in mission.circles],
        "polygons": [patches.Polygon(ring / KM) for ring in mission.polygons],
    }
    for kind, shapes in drawn.items():
        label, fill, edge = SHAPES[kind]
        for shape in shapes:
            shape.set(facecolor=fill, edgecolor=edge, linewidth=0.9 * size, zorder=2, label=label)
            ax.add_patch(shape)
    draw_bandwidth(mission, ax, size)
    dots = {"s": 30 * size, "edgecolors": "white", "linewidths": 0.8 * size, "zorder": 6}
    ax.scatter(*mission.sensors.T / KM, c=SENSOR, label="sensor", **dots)
    ends = {"start": (mission.start, "o"), "end": (mission.end, "s")}
    for label, (at, marker) in ({"start and end": (mission.start, "D")} if mission.returns else ends).items():
        style = {"s": 250 * size**2, "zorder": 8, "clip_on": False, "edgecolors": "white", "linewidths": size}
        ax.scatter(*at / KM, c=INK, marker=marker, label=label, **style)


def draw_bandwidth(mission: Mission, ax: Any, size: float = 1.0) -> None:
    """Hatch the places where more data would come in at once than the vehicle can receive."""
    width, height = mission.area
    x, y = np.linspace(0, width, 241), np.linspace(0, height, 241)
    total = np.sum(rates(np.stack(np.meshgrid(x, y), axis=-1), mission.sensors, mission.parameters), axis=-1)
    limit = mission.parameters.R_lambda
    if np.max(total) > limit:
        levels = [limit, float(np.max(total)) + 1.0]
        area = ax.contourf(x / KM, y / KM, total, levels, hatches=["/////"], colors=[(0, 0, 0, 0)], zorder=3)
        area.set(edgecolor=LOUD, linewidth=0.0)
        ax.contour(x / KM, y / KM, total, levels[:1], colors=LOUD, linewidths=0.9 * size, zorder=3)
        ax.fill([], [], facecolor="none", edgecolor=LOUD, hatch="/////", label="bandwidth exceeded")


def draw_flight(mission: Mission, x: np.ndarray, ax: Any) -> None:
    """The route with the hover points, their times, and the sensors that they hear."""
    patches = load_extra("matplotlib.patches", "plot", "drawing a mission")
    draw_route(mission, x, ax)
    stops = merged_stops(x)
    reach = mission.parameters.hearing_distance / KM
    disc = {"facecolor": (*AIR, 0.06), "edgecolor": (*AIR, 0.4), "linestyle": (0, (4, 3)), "linewidth": 0.8}
    for point, time, _ in stops:
        if time > 0:
            ax.add_patch(patches.Circle(point / KM, reach, label="coverage", zorder=1, **disc))
            draw_links(mission, point, time, ax)
    for point, time, numbers in stops:
        at, (right, up) = point / KM, point < 0.85 * np.array(mission.area)
        ax.scatter(*at, s=105, c="white", edgecolors=ROUTE, linewidths=1.5, zorder=9, label="hover point")
        mark = {"ha": "center", "va": "center_baseline", "fontsize": 7, "weight": "bold", "zorder": 10}
        ax.annotate(numbers[0], at, color=ROUTE, **mark)
        if time > 0:
            label = f"{time:.1f} s" if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}: {time:.1f} s"
            offset, side = (9 if right else -9, 8 if up else -13), "left" if right else "right"
            tag = {"fontsize": 8, "color": INK, "zorder": 10, "bbox": TAG, "ha": side}
            ax.annotate(label, at, offset, textcoords="offset points", **tag)


def draw_links(mission: Mission, point: np.ndarray, time: float, ax: Any) -> None:
    """Thin lines to the sensors that send data to a hover point, stronger the more of their data it is."""
    rate = rates(point[None], mission.sensors, mission.parameters)[0]
    share = np.minimum(rate * time / mission.parameters.Q_lambda, 1.0)
    for sensor, part in zip(mission.sensors / KM, share):
        if part > 0.02:
            ax.plot(*np.stack([point / KM, sensor], axis=-1), color=SENSOR, alpha=0.15 + 0.6 * part, lw=0.8, zorder=4)


def draw_route(mission: Mission, x: np.ndarray, ax: Any, size: float = 1.0) -> None:
    """The legs of the flight with their direction; what lies inside an obstacle is red."""
    corners = path(x, mission.start, mission.end)
    marks = {"marker": "o", "markersize": 6 * size, "markerfacecolor": "white", "markevery": slice(1, -1)}
    ax.plot(*corners.T / KM, color=ROUTE, lw=1.8 * size, zorder=7, label="route", **marks)
    for a, b in pairwise(corners):
        if np.linalg.norm(b - a) > 0.06 * max(mission.area):
            middle, tip = (a + b) / 2 / KM, (0.44 * a + 0.56 * b) / KM
            head = {"arrowstyle": "-|>,head_width=0.28,head_length=0.55", "mutation_scale": 14 * size}
            ax.annotate(
                "", tip, middle, arrowprops={**head, "color": ROUTE, "lw": 0, "shrinkA": 0, "shrinkB": 0}, zorder=7
            )
        cuts = a + np.linspace(0, 1, 501)[:, None] * (b - a)
        inside = mission.obstacles.length(cuts[:-1], cuts[1:]) > 0
        if np.any(inside):
            pieces = np.where(np.concat([inside, inside[-1:]])[:, None], cuts, np.nan)
            ax.plot(*pieces.T / KM, color=HIT, lw=3.0 * size, zorder=7, label="collision", solid_capstyle="butt")


def merged_stops(x: np.ndarray) -> list[tuple[np.ndarray, float, list[str]]]:
    """Place, hovering time and numbers of each stop; hover points that follow each other on one place are one stop."""
    stops: list[tuple[np.ndarray, float, list[str]]] = []
    for i in range(HOVER_POINTS):
        point, time = x[2 * i : 2 * i + 2], float(x[2 * HOVER_POINTS + i])
        if stops and np.linalg.norm(stops[-1][0] - point) < 1.0:
            _, before, numbers = stops.pop()
            stops.append((point, before + time, [*numbers, str(i + 1)]))
        else:
            stops.append((point, time, [str(i + 1)]))
    return stops


def _flight(mission: Mission, x: Any) -> np.ndarray:
    flight = np.asarray(x, dtype=np.float64)
    if flight.shape != (DIM,):
        raise InvalidInput(f"{mission.name}: a flight to draw has {DIM} numbers; got shape {flight.shape}")
    return flight


def _write_title(mission: Mission, flight: np.ndarray | None, ax: Any) -> None:
    head = f"{mission.name}  {mission.description}"
    ax.set_title(head, loc="left", fontsize=12, weight="bold", color=INK, pad=8 if flight is None else 22)
    if flight is None:
        return
    f, g, h = mission.problem().raw(flight)
    alpha, hover = mission.parameters.alpha, float(np.sum(flight[2 * HOVER_POINTS :]))
    steps = np.linalg.norm(np.diff(path(flight, mission.start, mission.end), axis=0), axis=1)
    fly = float(np.sum(flight_time(steps, mission.parameters.v_max, mission.parameters.a)))
    broken = int(np.sum(g > 0) + np.sum(np.abs(h) > 1e-4))
    state = "feasible" if broken == 0 else f"infeasible: {broken} constraints, {float(h[0]):.0f} m inside obstacles"
    facts = f"{float(f):.2f} s = {alpha:g} × {fly:.1f} s flying + {1 - alpha:g} × {hover:.1f} s hovering, {state}"
    ax.annotate(
        facts, (0, 1), (0, 8), "axes fraction", "offset points", fontsize=9.5, color=INK if broken == 0 else HIT
    )


def _legend(ax: Any) -> tuple[list, list]:
    """Handles and labels, each label once, in the order of LEGEND."""
    handles, labels = ax.get_legend_handles_labels()
    found = dict(zip(labels, handles))
    shown = [label for label in LEGEND if label in found]
    return [found[label] for label in shown], shown
