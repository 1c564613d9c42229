"""A panel as data: marks in data coordinates between two axes, which svg.py draws for pages and for files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from meco.figures.table import Table

MUTED = -1  # the series of everything that is not brought out
COLOUR_SLOTS = 8  # distinct colours
CHARACTER = 7.5  # width of a character, near enough for margins
LEGEND_ROW = 20  # height of a row of entries


@dataclass(frozen=True)
class Line:
    """A curve of a series."""

    x: np.ndarray
    y: np.ndarray
    series: int
    label: str = ""
    width: float = 2.0
    dash: str = ""  # lengths of strokes and gaps


@dataclass(frozen=True)
class Band:
    """The room between two curves of a series."""

    x: np.ndarray
    y: tuple[np.ndarray, np.ndarray]  # below and above
    series: int
    label: str = ""


@dataclass(frozen=True)
class BoxPlot:
    """A horizontal box at height y: least, quartiles and greatest, and points beyond the whiskers."""

    x: tuple[float, ...]
    y: float
    series: int
    label: str = ""
    beyond: tuple[float, ...] = ()


@dataclass(frozen=True)
class Dot:
    """A value at height y between the ends of its interval."""

    x: tuple[float, float, float]  # low, value, high
    y: float
    series: int
    label: str = ""


@dataclass(frozen=True)
class Tile:
    """A rectangle filled by a share from 0 to 1, with a text on it."""

    x: tuple[float, float]
    y: tuple[float, float]
    share: float
    text: str = ""
    label: str = ""


@dataclass(frozen=True)
class Outline:
    """A closed line on the ground: an obstacle, a zone, an area."""

    x: np.ndarray
    y: np.ndarray
    kind: str  # block, round, zone, area, reach, region


@dataclass(frozen=True)
class Spot:
    """A small mark: a sensor, a start, an end, an evaluated point."""

    x: float
    y: float
    kind: str  # sensor, start, end, hover, point
    series: int = MUTED
    label: str = ""


@dataclass(frozen=True)
class Segment:
    """A straight stroke."""

    x: tuple[float, float]
    y: tuple[float, float]
    series: int = MUTED
    width: float = 1.0


@dataclass(frozen=True)
class Strokes:
    """Many straight strokes as one mark: a hatch, an outline in pieces."""

    x: np.ndarray  # [K, 2]
    y: np.ndarray
    series: int = MUTED
    width: float = 1.0


@dataclass(frozen=True)
class Arrow:
    """The head of an arrow in the middle of a straight leg."""

    x: tuple[float, float]
    y: tuple[float, float]
    series: int
    size: float = 6.0


@dataclass(frozen=True)
class Badge:
    """A short text in a circle."""

    x: float
    y: float
    text: str
    series: int


@dataclass(frozen=True)
class Words:
    """Text at a point; anchor is start, middle or end."""

    x: float
    y: float
    text: str
    anchor: str = "middle"
    bold: bool = False
    series: int | None = None
    shift: tuple[float, float] = (0.0, 0.0)  # in pixels, right and down
    halo: bool = False  # paper around the letters, so that they can be read on anything


Mark = Line | Band | BoxPlot | Dot | Tile | Outline | Spot | Segment | Strokes | Arrow | Badge | Words


class LegendKey(NamedTuple):
    """An entry of a legend: a stroke of the series, or a mark drawn where x and y go from 0 to 1."""

    label: str
    series: int
    dash: str = ""
    mark: Mark | None = None


@dataclass(frozen=True)
class Axis:
    """Label, limits and ticks of one direction; names puts words in place of numbers."""

    label: str = ""
    limits: tuple[float, float] | None = None
    log: bool = False
    names: tuple[tuple[float, str], ...] = ()
    hidden: bool = False


@dataclass(frozen=True)
class Panel:
    """One picture: marks between two axes."""

    title: str
    marks: Sequence[Mark]
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    size: tuple[int, int] = (460, 300)
    equal: bool = False  # one unit is as long in x as in y
    table: Table | None = None  # the numbers behind it, where it stands by itself
    legend: Sequence[LegendKey] = ()  # below the axis, where the panels of a figure have legends of their own
    note: str = ""  # a second line of the title, in files


def axis_limits(panel: Panel, direction: str) -> tuple[float, float]:
    """Least and largest value of the axis x or y: its own limits, or those of its marks with a little room.

    Values that are not finite, or not positive on a log axis, are left out; without any it is 0 or 0.1 to 1.
    """
    axis = panel.x if direction == "x" else panel.y
    if axis.limits is not None:
        return axis.limits
    values = [np.ravel(getattr(mark, direction)) for mark in panel.marks]
    if direction == "x":
        values += [np.ravel(mark.beyond) for mark in panel.marks if isinstance(mark, BoxPlot)]
    kept = [v for v in np.concatenate([np.empty(0), *values]) if np.isfinite(v) and (not axis.log or v > 0)]
    if not kept:
        return (0.1, 1.0) if axis.log else (0.0, 1.0)
    low, high = min(kept), max(kept)
    if axis.log:
        low, high = np.log10(low), np.log10(high)
    room = 0.04 * (high - low) or 0.5
    low, high = low - room, high + room
    return (float(10**low), float(10**high)) if axis.log else (float(low), float(high))


def tick_values(low: float, high: float, log: bool, most: int = 6) -> list[float]:
    """Round values between two finite limits, about `most`: decades on a log axis, else steps of 1, 2 or 5."""
    if log:
        first, last = int(np.ceil(np.log10(low) - 1e-9)), int(np.floor(np.log10(high) + 1e-9))
        step = max(1, -(-(last - first) // (most - 1)))
        found = [float(10.0**k) for k in range(first, last + 1, step)]
        if len(found) > 2:
            return found
        fine = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5)]
        inside = [float(v) for v in fine if low * 0.999 <= v <= high * 1.001]
        return inside if len(inside) > 1 else tick_values(low, high, False, 4)
    raw = (high - low) / max(most - 1, 1)
    unit = 10.0 ** float(np.floor(np.log10(raw))) if raw > 0 else 1.0
    width = next(unit * k for k in (1, 2, 5, 10) if unit * k >= 0.75 * raw)
    return [float(v) for v in np.arange(np.ceil(low / width - 1e-9), np.floor(high / width + 1e-9) + 1) * width + 0.0]


def tick_text(value: float, *, log: bool) -> str:
    """A tick as text: 1e5 where it is large or small, else as short as it can be."""
    if value and not 1e-3 <= abs(value) < (1e4 if log else 1e5):
        mantissa, _, exponent = f"{value:.3e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{value:.5g}"


def axis_labels(panel: Panel, direction: str) -> list[tuple[float, str]]:
    """Where the axis x or y is labelled, in its units, and with what."""
    axis = panel.x if direction == "x" else panel.y
    if axis.names:
        return list(axis.names)
    most = 5 if direction == "y" else max(3, panel.size[0] // 90)
    return [(v, tick_text(v, log=axis.log)) for v in tick_values(*axis_limits(panel, direction), axis.log, most)]


def panel_margins(panel: Panel) -> tuple[float, float, float, float]:
    """Room for the labels and the legend, in pixels: left, right, top, bottom."""
    below = legend_height(panel.legend, panel.size[0])
    if panel.x.hidden and panel.y.hidden:
        return 4, 4, 4, 4 + below
    widest = max((len(text) for _, text in axis_labels(panel, "y")), default=0) * CHARACTER
    last = max((len(text) for _, text in axis_labels(panel, "x")[-1:]), default=0) * CHARACTER
    right = 14 if panel.x.names else max(14, 4 + last / 2)  # a number may stand at the very end of the axis
    return 12 + widest + (16 if panel.y.label else 0), right, 8, 24 + (16 if panel.x.label else 0) + below


def legend_rows(legend: Sequence[LegendKey], width: float) -> list[list[tuple[float, LegendKey]]]:
    """The entries of a legend with their places from the left in pixels, as many in a row as fit this width."""
    rows: list[list[tuple[float, LegendKey]]] = []
    across = 0.0
    for key in legend:
        wide = 40 + CHARACTER * len(key.label)
        if not rows or across + wide > width:
            rows.append([])
            across = 0.0
        rows[-1].append((across, key))
        across += wide
    return rows


def legend_height(legend: Sequence[LegendKey], width: float) -> float:
    """Pixels that a legend of this width takes below a panel or a figure; 0 of an empty one."""
    return LEGEND_ROW * len(legend_rows(legend, width)) + (4 if legend else 0)
