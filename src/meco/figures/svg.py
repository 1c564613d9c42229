"""The renderer: panels as SVG, inside pages and in files.

It draws with words and numbers alone, so that a page needs NumPy and nothing else; classes name
the series, and a style gives them colours in light, dark and print. A plotting library would bring
a dependency for what is here some three hundred lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape

import numpy as np

from meco.figures import panel as fig
from meco.figures.panel import (
    LEGEND_ROW,
    MUTED,
    Axis,
    LegendKey,
    Mark,
    Panel,
    axis_labels,
    axis_limits,
    legend_height,
    legend_rows,
    panel_margins,
)

ToPixels = Callable[[float, float], tuple[float, float]]  # data to pixels
FONT = 12
DRAWN_ON_TOP = (fig.Spot, fig.Badge, fig.Words)  # on a map these stand on top, and are whole at its edge


def draw_panel(panel: Panel, ident: str, figure_title: str = "", corner: tuple[float, float] | None = None) -> str:
    """One panel as an <svg> element; its accessible name is the figure's title and its own.

    ident makes the ids of its elements, so it must be of one panel; corner is where it lies in a larger drawing.
    """
    name = ": ".join(filter(None, (figure_title, panel.title)))
    ident = escape(ident)  # made of the experiment's name, which may be a stranger's
    (width, height), (left, right, top, bottom) = panel_size(panel), panel_margins(panel)
    across = _make_scale(panel.x, axis_limits(panel, "x"), left, width - right)
    up = _make_scale(panel.y, axis_limits(panel, "y"), height - bottom, top)

    def to_pixels(x: float, y: float) -> tuple[float, float]:
        return across(x), up(y)

    spot = "" if corner is None else f' x="{corner[0]:g}" y="{corner[1]:g}" width="{width}" height="{height}"'
    inner = f'x="{left}" y="{top}" width="{width - left - right:.0f}" height="{height - top - bottom:.0f}"'
    parts = [
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-labelledby="{ident}-t" class="panel" font-size="{FONT}"'
        f'{spot}{_axis_attributes(panel)}><title id="{ident}-t">{escape(name)}</title>',
        f'<clipPath id="{ident}-c"><rect {inner}/></clipPath>',
        "" if panel.y.hidden else _draw_y_axis(panel, up),
        "" if panel.x.hidden else _draw_x_axis(panel, across),
        f'<g clip-path="url(#{ident}-c)">' if panel.equal or not panel.x.hidden else "<g>",
        *(
            _DRAW[type(mark)](mark, to_pixels)
            for mark in panel.marks
            if not (panel.equal and isinstance(mark, DRAWN_ON_TOP))
        ),
        "</g>",
        *(_DRAW[type(mark)](mark, to_pixels) for mark in panel.marks if panel.equal and isinstance(mark, DRAWN_ON_TOP)),
        draw_legend(panel.legend, width, height - legend_height(panel.legend, width)),
        "</svg>",
    ]
    return "".join(parts)


def _axis_attributes(panel: Panel) -> str:
    """Where the axes lie in pixels and in data, for a script that reads curves back; nothing where there is no axis."""
    if panel.x.hidden or panel.y.hidden or not any(isinstance(mark, fig.Line) for mark in panel.marks):
        return ""
    (width, height), (left, right, top, bottom) = panel_size(panel), panel_margins(panel)
    ends = ((left, width - right), (height - bottom, top))
    said = []
    for name, (start, stop) in zip("xy", ends):
        axis, (low, high) = getattr(panel, name), axis_limits(panel, name)
        said.append(f' data-{name}="{start:.1f} {stop:.1f} {low:.6g} {high:.6g} {int(axis.log)}"')
    return "".join(said)


def replace_invalid(text: str) -> str:
    """The text with a mark for what XML cannot say: names in a stranger's store may hold any character."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def panel_size(panel: Panel) -> tuple[int, int]:
    """Width and height in pixels; with equal units the height follows from the width."""
    width, height = panel.size
    height += round(legend_height(panel.legend, width))
    if panel.equal:
        (x0, x1), (y0, y1), (left, right, top, bottom) = (
            axis_limits(panel, "x"),
            axis_limits(panel, "y"),
            panel_margins(panel),
        )
        height = round(top + bottom + (width - left - right) * (y1 - y0) / (x1 - x0))
    return width, height


def draw_legend(keys: Sequence[LegendKey], width: float, top: float) -> str:
    """The entries of a legend as SVG, in rows no wider than this, from a height downwards; pixels."""
    parts = []
    for row, entries in enumerate(legend_rows(keys, width)):
        y = top + LEGEND_ROW * (row + 0.5)
        for across, key in entries:
            label = text_element("words", across + 30, y + 4, key.label)
            parts.append(f'<g class="{_series_class(key.series)}">{_legend_sample(key, across, y)}{label}</g>')
    return "".join(parts)


def _legend_sample(key: LegendKey, across: float, y: float) -> str:
    """What stands before the text of a legend's entry: its mark, or a stroke of its series."""
    if key.mark is not None:
        return _DRAW[type(key.mark)](key.mark, lambda a, b: (across + 6 + 18 * a, y + 6 - 12 * b))
    dots = f' stroke-dasharray="{key.dash}"' if key.dash else ""
    return f'<path d="M{across + 6:.1f} {y:.1f}h18" stroke="currentColor" stroke-width="3"{dots}/>'


# -- axes ------------------------------------------------------------------------------------


def _make_scale(axis: Axis, ends: tuple[float, float], start: float, stop: float) -> Callable[[float], float]:
    """A function from a value to its place in pixels, from start to stop of an axis.

    Kept within 1e4 pixels of 0; on a log axis what is not positive lies at an end.
    """
    low, high = (np.log10(v) for v in ends) if axis.log else ends
    span = (high - low) or 1.0

    def pixel(value: float) -> float:
        if axis.log:
            value = np.log10(value) if value > 0 else -np.inf
        return float(np.clip(start + (value - low) / span * (stop - start), -1e4, 1e4))

    return pixel


def _draw_y_axis(panel: Panel, up: Callable[[float], float]) -> str:
    """Grid lines, ticks and label of the vertical axis as SVG; up() gives pixels."""
    (width, height), (left, right, top, bottom) = panel_size(panel), panel_margins(panel)
    out = []
    for value, text in axis_labels(panel, "y"):
        y = up(value)
        out.append("" if panel.y.names else f'<path class="grid" d="M{left:.1f} {y:.1f}H{width - right:.1f}"/>')
        out.append(text_element("tick", left - 6, y + 4, text, "end"))
    if panel.y.label:
        turn = f"translate(12 {(top + height - bottom) / 2:.0f}) rotate(-90)"
        out.append(f'<text class="axis" transform="{turn}" text-anchor="middle">{escape(panel.y.label)}</text>')
    return "".join(out)


def _draw_x_axis(panel: Panel, across: Callable[[float], float]) -> str:
    """Grid lines, ticks and label of the horizontal axis as SVG; across() gives pixels."""
    (width, height), (left, right, top, bottom) = panel_size(panel), panel_margins(panel)
    out = []
    for value, text in axis_labels(panel, "x"):
        x = across(value)
        out.append("" if panel.x.names else f'<path class="grid" d="M{x:.1f} {top}V{height - bottom:.1f}"/>')
        out.append(text_element("tick", x, height - bottom + 16, text, "middle"))
    out.append(f'<path class="rule" d="M{left:.1f} {height - bottom:.1f}H{width - right:.1f}"/>')
    if panel.x.label:
        out.append(text_element("axis", (left + width - right) / 2, height - bottom + 34, panel.x.label, "middle"))
    return "".join(out)


# -- marks -----------------------------------------------------------------------------------


def text_element(kind: str, x: float, y: float, text: str, anchor: str = "start", weight: int = 0) -> str:
    """Text at a place in pixels as SVG, escaped; kind is its class."""
    bold = f' font-weight="{weight}"' if weight else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{bold}>{escape(text)}</text>'


def _series_class(series: int) -> str:
    """The class by which the style sheet colours a series."""
    return "m" if series == MUTED else f"s{series}"


def _label_attribute(label: str) -> str:
    """The label as an attribute that scripts read; nothing without one."""
    return f' data-s="{escape(label)}"' if label else ""


def _title_element(label: str) -> str:
    """The label as a tooltip; nothing without one."""
    return f"<title>{escape(label)}</title>" if label else ""


def _write_point(x: float, y: float) -> str:
    """A point "x y" in pixels, to a tenth of one."""
    return f"{x:.1f} {y:.1f}".replace(".0 ", " ").removesuffix(".0")


def _pixel_points(x: np.ndarray, y: np.ndarray, to_pixels: ToPixels) -> list[str]:
    """Points x, y [n] in data as "x y" in pixels, without those that are not finite."""
    seen = zip(x, y)
    return [_write_point(*to_pixels(float(a), float(b))) for a, b in seen if np.isfinite(a) and np.isfinite(b)]


def _drop_level(points: list[str]) -> list[str]:
    """Points "x y" without those between two of the same height: the line is the same."""
    heights = [point.partition(" ")[2] for point in points]
    last = len(points) - 1
    return [
        point for i, point in enumerate(points) if i in (0, last) or not heights[i - 1] == heights[i] == heights[i + 1]
    ]


def _draw_line(mark: fig.Line, to_pixels: ToPixels) -> str:
    """A curve as SVG; values that are not finite are left out, "" where none is left."""
    points = _drop_level(_pixel_points(mark.x, mark.y, to_pixels))
    if not points:
        return ""
    dash = f' stroke-dasharray="{mark.dash}"' if mark.dash else ""
    way = f'<path d="M{"L".join(points)}" stroke-width="{mark.width:g}"{dash}/>'
    inner = f"{_title_element(mark.label)}{way}"
    return f'<g class="line {_series_class(mark.series)}"{_label_attribute(mark.label)}>{inner}</g>'


def _draw_band(mark: fig.Band, to_pixels: ToPixels) -> str:
    """The room between two curves; "" where no point of them is finite."""
    low, high = mark.y
    points = _pixel_points(mark.x, high, to_pixels) + _pixel_points(mark.x[::-1], low[::-1], to_pixels)
    return (
        f'<path class="band {_series_class(mark.series)}"{_label_attribute(mark.label)} d="M{"L".join(points)}Z"/>'
        if points
        else ""
    )


def _draw_box(mark: fig.BoxPlot, to_pixels: ToPixels) -> str:
    """A horizontal box with whiskers as SVG, and its numbers as a tooltip."""
    low, first, middle, third, high = (to_pixels(v, mark.y)[0] for v in mark.x)
    y = to_pixels(mark.x[2], mark.y)[1]
    beyond = "".join(f'<circle cx="{to_pixels(v, mark.y)[0]:.1f}" cy="{y:.1f}" r="1.8"/>' for v in mark.beyond)
    numbers = ", ".join(f"{v:.3g}" for v in mark.x)
    return (
        f'<g class="box {_series_class(mark.series)}">{_title_element(f"{mark.label}: {numbers}")}'
        f'<path d="M{low:.1f} {y:.1f}H{first:.1f}M{third:.1f} {y:.1f}H{high:.1f}"/>'
        f'<rect x="{first:.1f}" y="{y - 6:.1f}" width="{max(third - first, 0.5):.1f}" height="12"/>'
        f'<path class="median" d="M{middle:.1f} {y - 6:.1f}v12"/>{beyond}</g>'
    )


def _draw_dot(mark: fig.Dot, to_pixels: ToPixels) -> str:
    """A value between the ends of its interval, as SVG, with its numbers as a tooltip."""
    (low, _), (x, y), (high, _) = (to_pixels(v, mark.y) for v in mark.x)
    label = "{}: {:.3g} ({:.3g} to {:.3g})".format(mark.label, *np.array(mark.x)[[1, 0, 2]])
    return (
        f'<g class="dot {_series_class(mark.series)}">{_title_element(label)}<path d="M{low:.1f} {y:.1f}H{high:.1f}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"/></g>'
    )


def _draw_tile(mark: fig.Tile, to_pixels: ToPixels) -> str:
    """A rectangle that is darker the greater its share, clipped to [0, 1]; empty where that is not finite.

    Nothing at all where it would be empty and has no text: a page has thousands of them.
    """
    (x0, y0), (x1, y1) = to_pixels(mark.x[0], mark.y[1]), to_pixels(mark.x[1], mark.y[0])
    kind = "on" if mark.share > 0.55 else "off"
    word = text_element(kind, (x0 + x1) / 2, (y0 + y1) / 2 + 4, mark.text, "middle") if mark.text else ""
    share = min(max(mark.share, 0.0), 1.0) if np.isfinite(mark.share) else 0.0
    if share == 0.0 and not word:
        return ""
    rect = f'x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" height="{y1 - y0:.1f}"'
    shade = "" if share == 1.0 else f' fill-opacity="{share:.2g}"'
    return f'<g class="tile">{_title_element(mark.label)}<rect {rect}{shade}/>{word}</g>'


def _draw_outline(mark: fig.Outline, to_pixels: ToPixels) -> str:
    """A closed line through its corners, as SVG."""
    return f'<path class="{mark.kind}" d="M{"L".join(_pixel_points(mark.x, mark.y, to_pixels))}Z"/>'


def _draw_spot(mark: fig.Spot, to_pixels: ToPixels) -> str:
    """A small mark of its kind; scripts find hover points by their label."""
    x, y = to_pixels(mark.x, mark.y)
    body = {
        "sensor": f'<path d="M{x - 4:.1f} {y:.1f}h8M{x:.1f} {y - 4:.1f}v8"/>',
        "hover": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>',
        "point": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>',
    }.get(mark.kind, f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>')
    data = _label_attribute(mark.label) if mark.kind == "hover" else ""
    return f'<g class="{mark.kind} {_series_class(mark.series)}"{data}>{_title_element(mark.label)}{body}</g>'


def _draw_segment(mark: fig.Segment, to_pixels: ToPixels) -> str:
    """A straight stroke as SVG."""
    way = "M{:.1f} {:.1f}L{:.1f} {:.1f}".format(*to_pixels(mark.x[0], mark.y[0]), *to_pixels(mark.x[1], mark.y[1]))
    return f'<path class="stroke {_series_class(mark.series)}" stroke-width="{mark.width:g}" d="{way}"/>'


def _draw_strokes(mark: fig.Strokes, to_pixels: ToPixels) -> str:
    """Straight strokes as one path of SVG."""
    ends = [(*to_pixels(x[0], y[0]), *to_pixels(x[1], y[1])) for x, y in zip(mark.x, mark.y)]
    way = "".join("M{:.1f} {:.1f}L{:.1f} {:.1f}".format(*end) for end in ends)
    return f'<path class="stroke {_series_class(mark.series)}" stroke-width="{mark.width:g}" d="{way}"/>'


def _draw_arrow(mark: fig.Arrow, to_pixels: ToPixels) -> str:
    """A triangle in the middle of a leg that points along it, as SVG."""
    a, b = (np.array(to_pixels(x, y)) for x, y in zip(mark.x, mark.y))
    along = (b - a) / (np.linalg.norm(b - a) or 1.0) * mark.size
    middle, aside = (a + b) / 2.0, 0.55 * np.array([-along[1], along[0]])
    corners = (middle + along, middle - 0.6 * along + aside, middle - 0.6 * along - aside)
    way = "L".join("{:.1f} {:.1f}".format(*corner) for corner in corners)
    return f'<path class="arrow {_series_class(mark.series)}" d="M{way}Z"/>'


def _draw_badge(mark: fig.Badge, to_pixels: ToPixels) -> str:
    """A circle with a short text in it, as SVG."""
    x, y = to_pixels(mark.x, mark.y)
    word = text_element("number", x, y + 3.6, mark.text, "middle", 700)
    return f'<g class="badge {_series_class(mark.series)}"><circle cx="{x:.1f}" cy="{y:.1f}" r="8"/>{word}</g>'


def _draw_words(mark: fig.Words, to_pixels: ToPixels) -> str:
    """Text as SVG, with a halo below where it stands on other marks."""
    x, y = to_pixels(mark.x, mark.y)
    x, y, weight = x + mark.shift[0], y + mark.shift[1] + 4, 700 if mark.bold else 0
    kind = "words" if mark.series is None else f"words {_series_class(mark.series)}"
    around = text_element("halo", x, y, mark.text, mark.anchor, weight) if mark.halo else ""
    return around + text_element(kind, x, y, mark.text, mark.anchor, weight)


_DRAW: dict[type[Mark], Callable[..., str]] = {  # every kind of mark, and what draws it
    fig.Line: _draw_line,
    fig.Band: _draw_band,
    fig.BoxPlot: _draw_box,
    fig.Dot: _draw_dot,
    fig.Tile: _draw_tile,
    fig.Outline: _draw_outline,
    fig.Spot: _draw_spot,
    fig.Segment: _draw_segment,
    fig.Strokes: _draw_strokes,
    fig.Arrow: _draw_arrow,
    fig.Badge: _draw_badge,
    fig.Words: _draw_words,
}
