"""Pictures of missions: the map, and on it a flight with its route, reach and hovering times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meco.figures.contours import find_stretches, make_hatch_strokes
from meco.figures.figure import Figure
from meco.figures.panel import (
    MUTED,
    Arrow,
    Axis,
    Badge,
    LegendKey,
    Line,
    Mark,
    Outline,
    Panel,
    Segment,
    Spot,
    Strokes,
    Words,
)

if TYPE_CHECKING:
    from meco.problems.uav.mission import Mission

KM = 1000.0
WIDTH, SMALL = 760, 270  # of a map by itself, and of one among many
ROUTE, COLLISION, LINK, LOUD = 1, 0, 2, 3  # series
CIRCLE = np.linspace(0.0, 2.0 * np.pi, 49)
SQUARE = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0, 1.0])
HATCH = 48  # diagonals across the longer side of a map
PIECES = 400  # of a leg that are looked at for collisions


class HoverStop(NamedTuple):
    """Hover points that follow each other on one place."""

    point: np.ndarray
    time: float
    numbers: list[str]


def make_mission_figure(mission: Mission, x: np.ndarray | None = None) -> Figure:
    """The map of a mission, with the flight x [18] where given."""
    flight = [] if x is None else make_flight_marks(mission, x)
    note = "" if x is None else _describe_flight(mission, x)
    marks = [*make_ground_marks(mission), *make_bandwidth_marks(mission), *flight]
    panel = Panel(
        f"{mission.name}  {mission.description}", marks,
        *_map_axes(mission, "km"), (WIDTH, 0), equal=True, note=note,
    )  # fmt: skip
    return Figure(mission.name, "Mission", [panel], legend=_legend_keys([mission], panel.marks))


def make_missions_figure(missions: Sequence[Mission]) -> Figure:
    """Many maps in one figure, with their known flights where they have one; a mission at least."""
    panels = []
    for mission in missions:
        marks = [*make_ground_marks(mission), *make_bandwidth_marks(mission)]
        if mission.known_x is not None:
            marks += make_route_marks(mission, mission.known_x, 0.7)
        width, height = mission.area
        note = f"{width / KM:g} × {height / KM:g} km, {len(mission.sensors)} sensors"
        panels.append(Panel(mission.name, marks, *_map_axes(mission), (SMALL, 0), equal=True, note=note))
    every = [mark for panel in panels for mark in panel.marks]
    return Figure("missions", "Missions", panels, legend=_legend_keys(missions, every), small=True)


def _map_axes(mission: Mission, label: str = "") -> tuple[Axis, Axis]:
    """Both axes of a mission's map, in kilometres; hidden without a label."""
    width, height = np.array(mission.area) / KM
    return Axis(label, (0.0, float(width)), hidden=not label), Axis(label, (0.0, float(height)), hidden=not label)


# -- the map ---------------------------------------------------------------------------------


def make_ground_marks(mission: Mission) -> list[Mark]:
    """Marks of the area, obstacles, zones, sensors, start and end, in kilometres."""
    width, height = np.array(mission.area) / KM
    marks: list[Mark] = [_rectangle_outline(0, 0, width, height, "area")]
    marks += [_rectangle_outline(x0, y0, x1, y1, "block") for x0, y0, x1, y1 in mission.rectangles / KM]
    marks += [_disc_outline(x, y, r, "round") for x, y, r in mission.circles / KM]
    marks += [Outline(ring[:, 0] / KM, ring[:, 1] / KM, "zone") for ring in mission.polygons]
    marks += [Spot(x, y, "sensor", MUTED, "sensor") for x, y in mission.sensors / KM]
    marks.append(Spot(float(mission.start[0]) / KM, float(mission.start[1]) / KM, "start", MUTED, "start"))
    if not mission.returns:
        marks.append(Spot(float(mission.end[0]) / KM, float(mission.end[1]) / KM, "end", MUTED, "end"))
    return marks


def _rectangle_outline(x0: float, y0: float, x1: float, y1: float, kind: str) -> Outline:
    """A rectangle by two of its corners."""
    return Outline(np.array([x0, x1, x1, x0]), np.array([y0, y0, y1, y1]), kind)


def _disc_outline(x: float, y: float, radius: float, kind: str) -> Outline:
    """A circle as a closed line."""
    return Outline(x + radius * np.cos(CIRCLE), y + radius * np.sin(CIRCLE), kind)


def make_bandwidth_marks(mission: Mission) -> list[Mark]:
    """A hatch where more data would come in at once than the vehicle can receive; [] where that is nowhere."""

    def loud(points: np.ndarray) -> np.ndarray:
        return np.sum(mission.rates(points), axis=-1) > mission.parameters.R_lambda

    x, y = make_hatch_strokes(loud, *mission.area, HATCH)
    return [Strokes(x / KM, y / KM, LOUD)] if len(x) else []


# -- a flight --------------------------------------------------------------------------------


def make_flight_marks(mission: Mission, x: np.ndarray) -> list[Mark]:
    """The route of a flight x [18] with the hover points, their times, and the sensors that they hear."""
    stops = merge_stops(x)
    radius = mission.parameters.hearing_distance / KM
    hovering = [stop for stop in stops if stop.time > 0.0]
    marks: list[Mark] = [_disc_outline(stop.point[0] / KM, stop.point[1] / KM, radius, "reach") for stop in hovering]
    for stop in hovering:
        marks += _make_data_links(mission, stop)
    marks += make_route_marks(mission, x)
    for stop in stops:
        (a, b), (right, up) = stop.point / KM, stop.point < 0.85 * np.array(mission.area)
        marks.append(Badge(a, b, stop.numbers[0], ROUTE))
        if stop.time > 0.0:
            numbers = "" if len(stop.numbers) == 1 else f"{stop.numbers[0]}–{stop.numbers[-1]}: "
            shift, anchor = (11.0 if right else -11.0, -10.0 if up else 12.0), "start" if right else "end"
            marks.append(Words(a, b, f"{numbers}{stop.time:.1f} s", anchor, shift=shift, halo=True))
    return marks


def _make_data_links(mission: Mission, stop: HoverStop) -> list[Mark]:
    """Strokes to the sensors that send data to a stop, thicker the more of their data it is."""
    share = np.minimum(mission.rates(stop.point[None])[0] * stop.time / mission.parameters.Q_lambda, 1.0)
    (x, y), ends = stop.point / KM, mission.sensors / KM
    return [Segment((x, a), (y, b), LINK, 0.3 + 1.1 * part) for (a, b), part in zip(ends, share) if part > 0.02]


def make_route_marks(mission: Mission, x: np.ndarray, size: float = 1.0) -> list[Mark]:
    """The legs of a flight x [18] with their direction; what lies inside an obstacle is brought out."""
    corners = mission.route(x)
    marks: list[Mark] = [Line(corners[:, 0] / KM, corners[:, 1] / KM, ROUTE, "route", 2.2 * size)]
    marks += [Spot(a, b, "hover", ROUTE, "hover point") for a, b in corners[1:-1] / KM]
    for a, b in pairwise(corners):
        if np.linalg.norm(b - a) > 0.06 * max(mission.area):
            marks.append(
                Arrow(
                    (a[0] / KM, b[0] / KM),
                    (a[1] / KM, b[1] / KM),
                    ROUTE,
                    7.0 * size,
                )
            )
        cuts = a + np.linspace(0.0, 1.0, PIECES + 1)[:, None] * (b - a)
        inside = mission.obstacles.length(cuts[:-1], cuts[1:]) > 0.0
        for first, last in find_stretches(inside):
            ends = cuts[[first, last + 1]] / KM
            marks.append(Line(ends[:, 0], ends[:, 1], COLLISION, "collision", 4.0 * size))
    return marks


def merge_stops(x: np.ndarray) -> list[HoverStop]:
    """The stops of a flight x [3 I], all points before all times.

    Hover points that follow on one place are one stop.
    """
    points, times = x[: 2 * len(x) // 3].reshape(-1, 2), x[2 * len(x) // 3 :]
    stops: list[HoverStop] = []
    for i, (point, time) in enumerate(zip(points, times)):
        if stops and np.linalg.norm(stops[-1].point - point) < 1.0:
            before = stops.pop()
            stops.append(HoverStop(point, before.time + float(time), [*before.numbers, str(i + 1)]))
        else:
            stops.append(HoverStop(point, float(time), [str(i + 1)]))
    return stops


def _describe_flight(mission: Mission, x: np.ndarray) -> str:
    """A line: what the flight x [18] takes, and whether it keeps the constraints."""
    problem = mission.problem()
    f, g, h = problem.raw(x)
    alpha, hover = mission.parameters.alpha, float(np.sum(x[2 * len(x) // 3 :]))
    fly = (float(f) - (1.0 - alpha) * hover) / alpha if alpha > 0.0 else 0.0
    broken = int(np.sum(g > 0.0) + np.sum(np.abs(h) > problem.eq_tol))
    state = "feasible" if broken == 0 else f"infeasible: {broken} constraints, {float(h[0]):.0f} m inside obstacles"
    return f"{float(f):.2f} s = {alpha:g} × {fly:.1f} s flying + {1.0 - alpha:g} × {hover:.1f} s hovering, {state}"


# -- the legend ------------------------------------------------------------------------------


def _legend_keys(missions: Sequence[Mission], marks: Sequence[Mark]) -> list[LegendKey]:
    """Entries of a legend for the kinds of marks that are drawn, each once."""
    drawn: set[Any] = {getattr(mark, "kind", None) or getattr(mark, "label", None) or type(mark) for mark in marks}
    hatch = np.array([[0.0, 0.5], [0.2, 1.0], [0.6, 1.0]]), np.array([[0.2, 1.0], [0.0, 1.0], [0.0, 0.6]])
    back = all(mission.returns for mission in missions)
    keys: dict[Any, LegendKey] = {
        "start": LegendKey("start and end" if back else "start", MUTED, mark=Spot(0.5, 0.5, "start")),
        "end": LegendKey("end", MUTED, mark=Spot(0.5, 0.5, "end")),
        "sensor": LegendKey("sensor", MUTED, mark=Spot(0.5, 0.5, "sensor")),
        "route": LegendKey("route", ROUTE),
        "collision": LegendKey("collision", COLLISION),
        Badge: LegendKey("hover point", ROUTE, mark=Badge(0.5, 0.5, "1", ROUTE)),
        "reach": LegendKey("sensors heard from here", ROUTE, mark=Outline(*SQUARE, "reach")),
        Segment: LegendKey("data sent", LINK, mark=Segment((0.0, 1.0), (0.5, 0.5), LINK, 1.4)),
        "block": LegendKey("rectangular obstacle", MUTED, mark=Outline(*SQUARE, "block")),
        "round": LegendKey("circular obstacle", MUTED, mark=Outline(*SQUARE, "round")),
        "zone": LegendKey("no-fly zone", MUTED, mark=Outline(*SQUARE, "zone")),
        Strokes: LegendKey("bandwidth exceeded", LOUD, mark=Strokes(*hatch, LOUD)),
    }
    return [key for kind, key in keys.items() if kind in drawn]
