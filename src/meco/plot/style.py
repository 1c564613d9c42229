"""One style for all figures: colours for colour-blind readers, text as text, light and dark."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from meco.errors import InvalidInput, load_extra

INK = "#24292f"  # of axes and text; on pages it becomes the colour of the text around it
GRID = "#8c959f"
MUTED = "#9aa3ad"
# Okabe and Ito's palette without black and yellow, and two more: legible on white and on dark grey
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8b6fd1", "#a6761d")
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff\ufffe\uffff]")
LONGEST_LABEL = 40  # characters of a name in a figure
KINDS = ("svg", "png", "pdf")
STYLE = {
    "figure.dpi": 100,
    "figure.facecolor": "none",
    "figure.constrained_layout.use": True,
    "axes.facecolor": "none",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "font.family": "sans-serif",
    "lines.linewidth": 1.8,
    "svg.fonttype": "none",
    "savefig.facecolor": "white",
}


@contextmanager
def styled() -> Iterator[Any]:
    """matplotlib with this style; draws without a window and leaves the caller's settings alone."""
    matplotlib = load_extra("matplotlib", "plot", "a figure")
    with matplotlib.rc_context(STYLE):
        yield matplotlib


def make_figure(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Any, Any]:
    """A figure of so many inches and its axes [rows, columns]; call it inside styled()."""
    figure = load_extra("matplotlib.figure", "plot", "a figure").Figure(figsize=(width, height))
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def to_svg(figure: Any, salt: str = "meco", inline: bool = False) -> str:
    """A figure as SVG text; inline: for a page, in the colour of its text and without the XML head."""
    with styled() as matplotlib:
        matplotlib.rcParams["svg.hashsalt"] = salt  # ids that are unique on a page, and the same every time
        out = io.StringIO()
        figure.savefig(
            out, format="svg", metadata={"Date": None, "Creator": None}, facecolor="none" if inline else "white"
        )
    text = re.sub(r"<metadata>.*?</metadata>", "", out.getvalue(), flags=re.DOTALL)
    if inline:
        used = set(re.findall(r"(?:url\(|href=\")#([^)\"]+)", text))
        text = text[text.index("<svg") :].replace(INK, "currentColor")
        text = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", text)
    return text


def save(figure: Any, path: str | os.PathLike[str], dpi: float = 150) -> None:
    """Write a figure as its name ends: .svg, .png or .pdf, over a file that is there."""
    kind = check_suffix(path)
    if kind == "svg":
        Path(path).write_text(to_svg(figure), encoding="utf-8")
        return
    with styled():
        figure.savefig(path, format=kind, dpi=dpi, facecolor="white")


def check_suffix(path: str | os.PathLike[str]) -> str:
    """The kind of picture that a file name asks for; InvalidInput for another one."""
    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in KINDS:
        raise InvalidInput(
            f"Cannot write a figure to {Path(path).name!r:.60}. Use a name that ends in .svg, .png or .pdf."
        )
    return kind


def printable(text: str) -> str:
    """A text without control characters, which neither HTML nor SVG can hold."""
    return UNPRINTABLE.sub("\ufffd", text)


def one_line(text: Any) -> str:
    """A text in one line, without control characters."""
    return printable(" ".join(str(text).split()))


def label_text(name: str) -> str:
    """A name as text: a dollar sign starts no formula, an underscore does not hide it in a legend."""
    shown = one_line(name)
    escaped = (shown if len(shown) <= LONGEST_LABEL else f"{shown[: LONGEST_LABEL - 1]}…").replace("$", r"\$")
    return f"\u200b{escaped}" if escaped.startswith("_") else escaped
