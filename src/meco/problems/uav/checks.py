"""The checks a mission has to pass; each one names the field, what was wanted and what came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from meco.errors import InvalidInput, UnknownName
from meco.problems.uav.collision import signed_area
from meco.problems.uav.flight_model import Parameters

if TYPE_CHECKING:
    from meco.problems.uav.mission import Mission

ROWS = {  # what one row of a field holds
    "area": "[width, height]",
    "start": "[x, y]",
    "end": "[x, y]",
    "sensors": "[x, y]",
    "rectangles": "[x_min, y_min, x_max, y_max]",
    "circles": "[x, y, radius]",
    "polygons": "[x, y]",
}


def read_number(value: Any, label: str) -> float:
    """One finite number; an error, which calls it `label`, for anything else, True too."""
    if not (_is_number(value) and np.isfinite(value)):
        raise InvalidInput(f"{label} must be a finite number; got {_shorten(value)}")
    return float(value)


def read_vector(value: Any, size: int, label: str, form: str = "") -> np.ndarray:
    """So many finite numbers [size]; an error, which calls them `label`, for anything else."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not (isinstance(value, (list, tuple)) and len(value) == size and all(map(_is_number, value))):
        raise InvalidInput(f"{label} must be {size} numbers{form}; got {_shorten(value)}")
    return np.array([read_number(number, f"{label}[{i}]") for i, number in enumerate(value)])


def read_row(value: Any, field: str, label: str) -> np.ndarray:
    """Numbers as the field wants them, such as a point [x, y] in metres.

    InvalidInput, which calls them `label`, else.
    """
    form = ROWS[field]
    return read_vector(value, form.count(",") + 1, label, f" {form} in metres")


def read_table(value: Any, field: str, label: str) -> np.ndarray:
    """A list of rows as an array [n, width]; an empty list gives [0, width], other things are refused."""
    width = ROWS[field].count(",") + 1
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise InvalidInput(f"{label} must be a list of rows {ROWS[field]} in metres; got {_shorten(value)}")
    lines = [read_row(line, field, f"{label}[{i}]") for i, line in enumerate(value)]
    return np.array(lines, dtype=np.float64).reshape(-1, width)


def read_polygons(value: Any, label: str) -> tuple[np.ndarray, ...]:
    """Polygons [V, 2]; a first vertex that is repeated at the end to close the ring is dropped.

    InvalidInput for others.
    """
    if not isinstance(value, (list, tuple)):
        raise InvalidInput(f"{label} must be a list of polygons, each a list of vertices; got {_shorten(value)}")
    rings = [read_table(ring, "polygons", f"{label}[{i}]") for i, ring in enumerate(value)]
    return tuple(ring[:-1] if len(ring) > 1 and np.all(ring[0] == ring[-1]) else ring for ring in rings)


def read_parameters(value: Any, label: str) -> Parameters:
    """The table of the paper with the given numbers replaced; unknown names and numbers out of range are refused."""
    if isinstance(value, Parameters):
        return value
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{label} must map parameter names to numbers; got {_shorten(value)}")
    known = [field.name for field in fields(Parameters)]
    for key, number in value.items():
        if key not in known:
            raise InvalidInput(f"{label}: {UnknownName('mission parameter', key, known)}")
        wanted, fits = _describe_allowed_range(key)
        if not (_is_number(number) and np.isfinite(number) and fits(number)):
            raise InvalidInput(f"{label}.{key} must be {wanted}; got {_shorten(number)}")
    return Parameters(**{key: float(number) for key, number in value.items()})


def check_geometry(mission: Mission) -> None:
    """InvalidInput unless shapes are proper, sensors and both ends are in the area, and both ends are in free air."""
    for label, fault in _find_faults(mission):
        raise InvalidInput(f"mission {mission.name}: {label} {fault}")


def _find_faults(mission: Mission) -> Iterator[tuple[str, str]]:
    """What is wrong with a mission: a field's label and a complaint, one by one."""
    width, height = mission.area
    if not (width > 0 and height > 0):
        yield "area", f"must have a positive width and height; got {width:g} x {height:g} m"
    for i, (x0, y0, x1, y1) in enumerate(mission.rectangles):
        if not (x0 < x1 and y0 < y1):
            yield f"rectangles[{i}]", f"must have x_min < x_max and y_min < y_max; got {[x0, y0, x1, y1]}"
    for i, (_, _, radius) in enumerate(mission.circles):
        if not radius > 0:
            yield f"circles[{i}]", f"must have a positive radius; got {radius:g}"
    for i, ring in enumerate(mission.polygons):
        for fault in _find_polygon_faults(ring):
            yield f"polygons[{i}]", fault
    if len(mission.sensors) == 0:
        yield "sensors", "must name at least one sensor; got none"
    places = [(f"sensors[{j}]", s) for j, s in enumerate(mission.sensors)]
    for label, (x, y) in [*places, ("start", mission.start), ("end", mission.end)]:
        if not (0 <= x <= width and 0 <= y <= height):
            yield label, f"is outside the area of {width:g} x {height:g} m; got ({x:g}, {y:g})"
    for label, point in (("start", mission.start), ("end", mission.end)):
        for obstacle in find_obstacles_around(mission, point):
            yield label, f"({point[0]:g}, {point[1]:g}) is inside {obstacle}; it must lie in free air"


def _find_polygon_faults(ring: np.ndarray) -> Iterator[str]:
    """What is wrong with a polygon [V, 2]: too few or repeated vertices, edges that cross, no area."""
    count = len(ring)
    if count < 3:
        yield f"must have at least 3 vertices; got {count}"
        return
    edge = np.roll(ring, -1, axis=0) - ring
    turn, onward = _cross_product(edge, np.roll(edge, -1, axis=0)), np.sum(edge * np.roll(edge, -1, axis=0), axis=1)
    for i in range(count):
        following = (i + 1) % count
        if not np.any(edge[i]):
            yield f"repeats vertex {i} as vertex {following}; name each vertex once"
        if turn[i] == 0 and onward[i] < 0:
            yield f"crosses itself: it turns straight back at vertex {following}"
    for i in range(count):
        for j in range(i + 2, count if i else count - 1):
            if _segments_meet(ring[i], edge[i], ring[j], edge[j]):
                yield f"crosses itself: the edge from vertex {i} meets the edge from vertex {j}"
    if signed_area(ring) == 0:
        yield "has no area"


def find_obstacles_around(mission: Mission, point: np.ndarray) -> Iterator[str]:
    """The obstacles, by name, that have the point [2] in their interior."""
    x, y = point
    for i, (x0, y0, x1, y1) in enumerate(mission.rectangles):
        if x0 < x < x1 and y0 < y < y1:
            yield f"rectangles[{i}]"
    for i, (cx, cy, radius) in enumerate(mission.circles):
        if np.hypot(x - cx, y - cy) < radius:
            yield f"circles[{i}]"
    for i, ring in enumerate(mission.polygons):
        if _is_inside(ring, point):
            yield f"polygons[{i}]"


def _is_inside(ring: np.ndarray, point: np.ndarray) -> bool:
    """Whether a point [2] is strictly inside a simple polygon [V, 2], by counting the edges that a ray crosses."""
    a, b = ring - point, np.roll(ring, -1, axis=0) - point
    side = _cross_product(a, b)
    if np.any((side == 0) & (np.sum(a * b, axis=1) <= 0)):  # on an edge
        return False
    up = b[:, 1] > a[:, 1]
    crossed = ((a[:, 1] > 0) != (b[:, 1] > 0)) & ((side > 0) == up)
    return bool(np.sum(crossed) % 2)


def _segments_meet(a: np.ndarray, u: np.ndarray, c: np.ndarray, v: np.ndarray) -> bool:
    """Whether the closed segments from a along u and from c along v, [2] each, share a point."""
    ends = np.sign(
        [_cross_product(u, c - a), _cross_product(u, c + v - a), _cross_product(v, a - c), _cross_product(v, a + u - c)]
    )
    if np.any(ends):
        return bool(ends[0] * ends[1] <= 0 and ends[2] * ends[3] <= 0)
    reach = np.sort([u @ (c - a), u @ (c + v - a)])  # on one line
    return bool(reach[0] <= u @ u and reach[1] >= 0)


def _cross_product(u: np.ndarray, v: np.ndarray) -> Any:
    """z of the cross product of vectors [..., 2]: positive where v is to the left of u."""
    return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]


def _describe_allowed_range(key: str) -> tuple[str, Any]:
    """What the parameter `key` may be, in words and as a test of a number."""
    if key == "alpha":
        return "a number from 0 to 1", lambda v: 0 <= v <= 1
    if key == "H":
        return "a number of at least 0", lambda v: v >= 0
    return "a positive number", lambda v: v > 0


def _is_number(value: Any) -> bool:
    """Whether a value is a number that fits a float; True is none."""
    if isinstance(value, int) and abs(value) > 1e300:
        return False  # no float is as large
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _shorten(value: Any) -> str:
    """A value as an error shows it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
