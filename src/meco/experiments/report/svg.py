"""Panels as inline SVG: colours come from the page, so that light, dark and print each have theirs."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import numpy as np

from meco.experiments.report.figure import (
    MUTED,
    Axis,
    Band,
    Box,
    Dot,
    Line,
    Mark,
    Panel,
    Segment,
    Shape,
    Spot,
    Tile,
    Words,
    axis_labels,
    limits,
    margins,
)

Place = Callable[[float, float], tuple[float, float]]
FONT = 12


def draw(panel: Panel, ident: str, figure_title: str = "") -> str:
    """One panel as an <svg> element; its accessible name is the figure's title and its own."""
    name = ": ".join(filter(None, (figure_title, panel.title)))
    width, height = panel.size
    left, right, top, bottom = margins(panel)
    xs, ys = limits(panel, "x"), limits(panel, "y")
    if panel.equal:
        height = round(top + bottom + (width - left - right) * (ys[1] - ys[0]) / (xs[1] - xs[0]))
    across = _scale(panel.x, xs, left, width - right)
    up = _scale(panel.y, ys, height - bottom, top)

    def place(x: float, y: float) -> tuple[float, float]:
        return across(x), up(y)

    inner = f'x="{left}" y="{top}" width="{width - left - right:.0f}" height="{height - top - bottom:.0f}"'
    parts = [
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-labelledby="{ident}-t" class="panel" font-size="{FONT}">',
        f'<title id="{ident}-t">{escape(name)}</title>',
        f'<clipPath id="{ident}-c"><rect {inner}/></clipPath>',
        _grid(panel, xs, ys, place, (left, right, top, bottom), (width, height)),
        f'<g clip-path="url(#{ident}-c)">' if not panel.x.hidden else "<g>",
        *(_mark(mark, place) for mark in panel.marks),
        "</g></svg>",
    ]
    return "".join(parts)


def _scale(axis: Axis, ends: tuple[float, float], start: float, stop: float) -> Callable[[float], float]:
    low, high = (np.log10(v) for v in ends) if axis.log else ends
    span = (high - low) or 1.0

    def at(value: float) -> float:
        if axis.log:
            value = np.log10(value) if value > 0 else -np.inf
        return float(np.clip(start + (value - low) / span * (stop - start), -1e4, 1e4))

    return at


def _grid(panel: Panel, xs, ys, place: Place, margins, size) -> str:
    left, right, top, bottom = margins
    width, height = size
    out = []
    if not panel.y.hidden:
        for value, text in axis_labels(panel, "y"):
            y = place(xs[0], value)[1]
            if not panel.y.names:
                out.append(f'<path class="grid" d="M{left:.1f} {y:.1f}H{width - right:.1f}"/>')
            out.append(f'<text class="tick" x="{left - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>')
        if panel.y.label:
            middle = (top + height - bottom) / 2
            out.append(
                f'<text class="axis" transform="translate(12 {middle:.0f}) rotate(-90)" text-anchor="middle">'
                f"{escape(panel.y.label)}</text>"
            )
    if not panel.x.hidden:
        for value, text in axis_labels(panel, "x"):
            x = place(value, ys[0])[0]
            out.append(f'<path class="grid" d="M{x:.1f} {top}V{height - bottom:.1f}"/>' if not panel.x.names else "")
            spot = f'x="{x:.1f}" y="{height - bottom + 16:.1f}"'
            out.append(f'<text class="tick" {spot} text-anchor="middle">{escape(text)}</text>')
        out.append(f'<path class="rule" d="M{left:.1f} {height - bottom:.1f}H{width - right:.1f}"/>')
        if panel.x.label:
            spot = f'x="{(left + width - right) / 2:.0f}" y="{height - 6}"'
            out.append(f'<text class="axis" {spot} text-anchor="middle">{escape(panel.x.label)}</text>')
    return "".join(out)


# -- marks -----------------------------------------------------------------------------------


def _mark(mark: Mark, place: Place) -> str:
    return _DRAW[type(mark)](mark, place)


def _tint(series: int) -> str:
    return "m" if series == MUTED else f"s{series}"


def _titled(label: str) -> str:
    return f"<title>{escape(label)}</title>" if label else ""


def _points(x: np.ndarray, y: np.ndarray, place: Place) -> list[str]:
    return [
        "{:.1f} {:.1f}".format(*place(float(a), float(b))) for a, b in zip(x, y) if np.isfinite(a) and np.isfinite(b)
    ]


def _line(mark: Line, place: Place) -> str:
    points = _points(mark.x, mark.y, place)
    if not points:
        return ""
    dash = ' stroke-dasharray="5 4"' if mark.dashed else ""
    data = f' data-s="{escape(mark.label)}"' if mark.label else ""
    return (
        f'<g class="line {_tint(mark.series)}"{data}>{_titled(mark.label)}'
        f'<path d="M{"L".join(points)}" stroke-width="{mark.width:g}"{dash}/></g>'
    )


def _band(mark: Band, place: Place) -> str:
    points = _points(mark.x, mark.high, place) + _points(mark.x[::-1], mark.low[::-1], place)
    data = f' data-s="{escape(mark.label)}"' if mark.label else ""
    return f'<path class="band {_tint(mark.series)}"{data} d="M{"L".join(points)}Z"/>' if points else ""


def _box(mark: Box, place: Place) -> str:
    low, first, middle, third, high = (place(v, mark.y)[0] for v in mark.values)
    y = place(mark.values[2], mark.y)[1]
    beyond = "".join(f'<circle cx="{place(v, mark.y)[0]:.1f}" cy="{y:.1f}" r="1.8"/>' for v in mark.beyond)
    numbers = ", ".join(f"{v:.3g}" for v in mark.values)
    return (
        f'<g class="box {_tint(mark.series)}">{_titled(f"{mark.label}: {numbers}")}'
        f'<path d="M{low:.1f} {y:.1f}H{first:.1f}M{third:.1f} {y:.1f}H{high:.1f}"/>'
        f'<rect x="{first:.1f}" y="{y - 6:.1f}" width="{max(third - first, 0.5):.1f}" height="12"/>'
        f'<path class="median" d="M{middle:.1f} {y - 6:.1f}v12"/>{beyond}</g>'
    )


def _dot(mark: Dot, place: Place) -> str:
    (x, y), low, high = place(mark.x, mark.y), place(mark.low, mark.y)[0], place(mark.high, mark.y)[0]
    label = f"{mark.label}: {mark.x:.3g} ({mark.low:.3g} to {mark.high:.3g})"
    return (
        f'<g class="dot {_tint(mark.series)}">{_titled(label)}<path d="M{low:.1f} {y:.1f}H{high:.1f}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"/></g>'
    )


def _tile(mark: Tile, place: Place) -> str:
    x0, y0 = place(mark.x, mark.y + mark.height)
    x1, y1 = place(mark.x + mark.width, mark.y)
    word = ""
    if mark.text:
        kind = "on" if mark.share > 0.55 else "off"
        word = (
            f'<text class="{kind}" x="{(x0 + x1) / 2:.1f}" y="{(y0 + y1) / 2 + 4:.1f}" text-anchor="middle">'
            f"{escape(mark.text)}</text>"
        )
    share = min(max(mark.share, 0.0), 1.0) if np.isfinite(mark.share) else 0.0
    rect = f'x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" height="{y1 - y0:.1f}"'
    return f'<g class="tile">{_titled(mark.label)}<rect {rect} fill-opacity="{share:.3f}"/>{word}</g>'


def _shape(mark: Shape, place: Place) -> str:
    return f'<path class="{mark.kind}" d="M{"L".join(_points(mark.points[:, 0], mark.points[:, 1], place))}Z"/>'


def _spot(mark: Spot, place: Place) -> str:
    x, y = place(mark.x, mark.y)
    if mark.kind == "sensor":
        body = f'<path d="M{x - 4:.1f} {y:.1f}h8M{x:.1f} {y - 4:.1f}v8"/>'
    elif mark.kind == "hover":
        body = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>'
    else:
        body = f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>'
    data = f' data-s="{escape(mark.label)}"' if mark.kind == "hover" and mark.label else ""
    return f'<g class="{mark.kind} {_tint(mark.series)}"{data}>{_titled(mark.label)}{body}</g>'


def _segment(mark: Segment, place: Place) -> str:
    (x0, y0), (x1, y1) = place(mark.x[0], mark.y[0]), place(mark.x[1], mark.y[1])
    way = f"M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}"
    return f'<path class="stroke {_tint(mark.series)}" stroke-width="{mark.width:g}" d="{way}"/>'


def _words(mark: Words, place: Place) -> str:
    x, y = place(mark.x, mark.y)
    weight = ' font-weight="700"' if mark.bold else ""
    tint = "" if mark.series is None else f" {_tint(mark.series)}"
    return (
        f'<text class="words{tint}" x="{x:.1f}" y="{y + 4:.1f}" text-anchor="{mark.anchor}"{weight}>'
        f"{escape(mark.text)}</text>"
    )


_DRAW: dict[type, Callable] = {
    Line: _line, Band: _band, Box: _box, Dot: _dot, Tile: _tile, Shape: _shape, Spot: _spot, Segment: _segment,
    Words: _words,
}  # fmt: skip
