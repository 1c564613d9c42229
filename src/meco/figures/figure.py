"""A figure: panels that belong together, as SVG text and as a file.

SVG needs nothing but NumPy. A file carries its style: light, and dark where the reader's screen is. CairoSVG, where it
is installed, makes PNG, PDF and arrays of the light one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from types import ModuleType

from meco.errors import InvalidInput, MissingExtra, load_extra
from meco.figures import svg
from meco.figures.panel import LegendKey, Panel, legend_height
from meco.figures.table import Table

KINDS = ("svg", "png", "pdf")  # of files
PAD, GAP = 10, 20  # around a file, and between its panels
TITLE, NOTE = 20, 18  # heights of a panel's title and of the line below it
FACES = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
COLOURS, MARKS = (
    resources.files(__package__).joinpath(name).read_text(encoding="utf-8") for name in ("colours.css", "figure.css")
)


@dataclass(frozen=True)
class Figure:
    """Panels that belong together, their legend, and the numbers behind them; a notebook shows it."""

    name: str
    title: str
    panels: Sequence[Panel]
    caption: str = ""
    legend: Sequence[LegendKey] = ()
    table: Table | None = None
    small: bool = False  # many little panels

    def to_svg(self) -> str:
        """One SVG document as text: panels in rows, their titles above, the legend below; a panel at least."""
        parts, width, y = self._draw_panels()
        y += PAD if self.legend else 0
        parts.append(f'<g transform="translate({PAD} 0)">{svg.draw_legend(self.legend, width - 2 * PAD, y)}</g>')
        height = round(y + legend_height(self.legend, width - 2 * PAD) + PAD)
        return svg.replace_invalid(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-size="{svg.FONT}" font-family="{FACES}" class="panel"><style>{_style_with_colours()}</style>'
            f'<rect class="sheet" width="{width}" height="{height}"/>{"".join(parts)}</svg>\n'
        )

    _repr_svg_ = to_svg

    def _draw_panels(self) -> tuple[list[str], int, float]:
        """The panels as drawn, and the width and height that they take in pixels."""
        columns = min(len(self.panels), 4 if self.small else 2)
        rows = [self.panels[i : i + columns] for i in range(0, len(self.panels), columns)]
        width = max(sum(svg.panel_size(p)[0] + GAP for p in row) for row in rows) - GAP + 2 * PAD
        parts, y = [], float(PAD)
        for k, row in enumerate(rows):
            x, head = PAD, (TITLE if any(p.title for p in row) else 0) + (NOTE if any(p.note for p in row) else 0)
            for i, panel in enumerate(row):
                parts.append(svg.text_element("words", x + 6, y + 13, panel.title, weight=700))
                parts.append(svg.text_element("note", x + 6, y + 13 + NOTE, panel.note) if panel.note else "")
                parts.append(svg.draw_panel(panel, f"{self.name}-{k}-{i}", self.title, (x, y + head)))
                x += svg.panel_size(panel)[0] + GAP
            y += max(svg.panel_size(p)[1] for p in row) + head + (GAP if k < len(rows) - 1 else 0)
        return parts, width, y

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure as its name ends, .svg, .png or .pdf, over a file that is there; another end is an error."""
        kind = check_picture_suffix(path)
        text = self.to_svg()
        if kind == "svg":
            Path(path).write_text(text, encoding="utf-8")
        elif kind == "png":
            Path(path).write_bytes(self.to_png())
        else:
            Path(path).write_bytes(load_converter().svg2pdf(bytestring=text.encode()))

    def to_png(self, scale: float = 2.0) -> bytes:
        """The picture as the bytes of a PNG file; scale counts pixels for each unit of the drawing.

        MissingExtra without CairoSVG.
        """
        return load_converter().svg2png(bytestring=self.to_svg().encode(), scale=scale)


def check_picture_suffix(path: str | os.PathLike[str]) -> str:
    """How a picture's name ends, where that is a kind of file that can be written here; an error otherwise."""
    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in KINDS:
        raise InvalidInput(f"a picture is a file that ends in .svg, .png or .pdf; got {Path(path).name!r:.60}")
    if kind != "svg":
        load_converter()
    return kind


def load_converter() -> ModuleType:
    """CairoSVG; MissingExtra, which says how to get it, where it or the cairo library is not installed."""
    try:
        return load_extra("cairosvg", "plot", "a picture as PNG or PDF")
    except OSError as error:  # CairoSVG is there, and the cairo library is not
        raise MissingExtra(f"a picture as PNG or PDF needs the cairo library: {error}") from error


@cache
def _style_with_colours() -> str:
    """The style of marks with colours put in, since not every program knows variables: light, and dark on a screen."""
    light, dark = (_fill_colours(theme) for theme in _read_themes()[:2])
    return f"{light}@media screen and (prefers-color-scheme: dark) {{{dark}}}"


def _fill_colours(theme: dict[str, str]) -> str:
    """The style of marks with the colours of a theme in place of variables."""
    return re.sub(r"var\(--([\w-]+)\)", lambda found: theme[found[1]], MARKS)


def _read_themes() -> list[dict[str, str]]:
    """Colours by name: light, then dark."""
    blocks = re.findall(r"\{([^{}]*--paper: [^{}]*)\}", COLOURS)
    return [dict(re.findall(r"--([\w-]+): ([^;]+);", block)) for block in blocks]
