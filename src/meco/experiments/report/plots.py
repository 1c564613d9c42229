"""Figures drawn by matplotlib, for papers: PDF and SVG files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from meco.errors import load_extra
from meco.experiments.report.figure import (
    MUTED,
    Band,
    Box,
    Dot,
    Figure,
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

COLOURS = ("#c2410c", "#1d4ed8", "#0f766e", "#7c3aed", "#a16207", "#be185d", "#15803d", "#0b7aaa")
GREY, INK = "#9aa3ad", "#1f2933"
GROUND = {"block": "#c9ced4", "round": "#efd6a4", "zone": "#efc0ba", "area": "#fbfaf7"}
PIXELS = 100.0  # of a panel, to the inch
LEGEND_COLUMNS = 6
LEGEND_LINE = 0.2  # inches


def save(figure: Figure, folder: str | os.PathLike[str]) -> list[Path]:
    """Write a figure as PDF and SVG; the same figure gives the same bytes."""
    matplotlib = load_extra("matplotlib", "plot", "a figure file")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    settings = {"svg.hashsalt": figure.name, "svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 8}
    with matplotlib.rc_context(settings):
        columns = min(len(figure.panels), 4 if figure.small else 2)
        lines = -(-len(figure.panels) // columns)
        width = figure.panels[0].size[0] / PIXELS
        height = max(_height(panel) for panel in figure.panels)
        foot = LEGEND_LINE * (1 + -(-len(figure.legend) // LEGEND_COLUMNS)) if figure.legend else 0.0
        canvas = Canvas(figsize=(columns * width, lines * height + foot))
        FigureCanvasAgg(canvas)
        for i, panel in enumerate(figure.panels):
            line, column = divmod(i, columns)
            corner = column * width, foot + (lines - 1 - line) * height
            _draw(panel, canvas.add_axes(_inside(panel, corner, (width, height), canvas.get_size_inches())))
        if figure.legend:
            _legend(figure, canvas)
        made = []
        for kind, facts in (("pdf", {"CreationDate": None}), ("svg", {"Date": None})):
            path = Path(folder) / f"{figure.name}.{kind}"
            half = path.with_suffix(f".part.{kind}")
            canvas.savefig(half, metadata=facts)
            half.replace(path)
            made.append(path)
    return made


def _height(panel: Panel) -> float:
    """Inches that a panel needs; with equal units its height follows from its width."""
    if not panel.equal:
        return panel.size[1] / PIXELS
    left, right, top, bottom = margins(panel)
    (x0, x1), (y0, y1) = limits(panel, "x"), limits(panel, "y")
    return (top + bottom + (panel.size[0] - left - right) * (y1 - y0) / (x1 - x0)) / PIXELS


def _inside(panel: Panel, corner: tuple[float, float], room: tuple[float, float], whole: Any) -> Any:
    """The axes of a panel within its room, in shares of the whole figure; margins as on the page."""
    left, right, top, bottom = (0.9 * margin / PIXELS for margin in margins(panel))
    left += 0.06 if panel.y.label else 0.0
    sides = corner[0] + left, corner[1] + bottom, room[0] - left - right, room[1] - bottom - top - 0.22
    return tuple(np.array(sides) / [*whole, *whole])


def _legend(figure: Figure, canvas: Any) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=colour(series), linewidth=2, label=label) for label, series in figure.legend]
    canvas.legend(handles=handles, loc="lower center", ncols=min(len(handles), LEGEND_COLUMNS), frameon=False)


def colour(series: int | None) -> str:
    """The colour of a series on paper."""
    return INK if series is None else GREY if series == MUTED else COLOURS[series % len(COLOURS)]


def _draw(panel: Panel, ax: Any) -> None:
    ax.set_title(panel.title, loc="left", fontsize=8, color=INK)
    for axis, name in ((panel.x, "x"), (panel.y, "y")):
        if axis.log:
            getattr(ax, f"set_{name}scale")("log")
        getattr(ax, f"set_{name}lim")(*limits(panel, name))
        getattr(ax, f"set_{name}label")(axis.label)
        where = axis_labels(panel, name)
        getattr(ax, f"set_{name}ticks")([v for v, _ in where], [text for _, text in where])
        getattr(ax, f"{name}axis").minorticks_off()
    if not any(isinstance(mark, Tile) for mark in panel.marks):
        ax.grid(color="#e5e7eb", linewidth=0.6)
    ax.tick_params(length=2, color=GREY)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if panel.x.hidden:
        ax.set_axis_off()
    if panel.equal:
        ax.set_aspect("equal", anchor="NW")  # panels of a row begin at the same height
    for mark in panel.marks:
        _mark(mark, ax)


def _mark(mark: Mark, ax: Any) -> None:
    match mark:
        case Line():
            style = "--" if mark.dashed else "-"
            ax.plot(mark.x, mark.y, style, color=colour(mark.series), linewidth=0.6 * mark.width)
        case Band():
            ax.fill_between(mark.x, mark.low, mark.high, color=colour(mark.series), alpha=0.18, linewidth=0)
        case Box():
            _box(mark, ax)
        case Dot():
            ax.plot([mark.low, mark.high], [mark.y, mark.y], color=colour(mark.series), linewidth=1.2)
            ax.plot([mark.x], [mark.y], "o", color=colour(mark.series), markersize=4)
        case Tile():
            _tile(mark, ax)
        case Shape():
            ax.fill(
                mark.points[:, 0], mark.points[:, 1], facecolor=GROUND[mark.kind], edgecolor="#8f99a3", linewidth=0.5
            )
        case Spot():
            sign = {"sensor": "+", "hover": "o", "start": "s", "end": "s"}[mark.kind]
            tint = INK if mark.series == MUTED else colour(mark.series)
            inside = "white" if mark.kind == "end" else tint
            ax.plot([mark.x], [mark.y], sign, color=tint, markerfacecolor=inside, markersize=3.5)
        case Segment():
            tint = INK if mark.series == MUTED else colour(mark.series)
            ax.plot(mark.x, mark.y, color=tint, linewidth=0.7 * mark.width, solid_capstyle="butt")
        case Words():
            weight = "bold" if mark.bold else "normal"
            side = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
            ax.text(mark.x, mark.y, mark.text, ha=side, va="center", color=colour(mark.series), fontweight=weight)


def _box(mark: Box, ax: Any) -> None:
    low, first, middle, third, high = mark.values
    tint = colour(mark.series)
    ax.plot([low, first], [mark.y, mark.y], color=tint, linewidth=1)
    ax.plot([third, high], [mark.y, mark.y], color=tint, linewidth=1)
    ax.barh(mark.y, third - first, left=first, height=0.6, facecolor=tint, alpha=0.35, edgecolor=tint)
    ax.plot([middle, middle], [mark.y - 0.3, mark.y + 0.3], color=tint, linewidth=1.8)
    ax.plot(mark.beyond, [mark.y] * len(mark.beyond), ".", color=tint, markersize=2)


def _tile(mark: Tile, ax: Any) -> None:
    from matplotlib.patches import Rectangle

    share = float(np.clip(np.nan_to_num(mark.share), 0.0, 1.0))
    tint = tuple(1 - share * (1 - c) for c in (0.04, 0.29, 0.43))
    ax.add_patch(Rectangle((mark.x, mark.y), mark.width, mark.height, facecolor=tint, edgecolor="white", linewidth=0.4))
    if mark.text:
        ink = "white" if share > 0.55 else INK
        ax.text(mark.x + mark.width / 2, mark.y + mark.height / 2, mark.text, ha="center", va="center", color=ink)
