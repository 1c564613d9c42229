"""Figures as files: SVG by NumPy alone, PNG, PDF and arrays by CairoSVG, legible in the light and in the dark."""

import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from meco.errors import InvalidInput, MissingExtra
from meco.figures.figure import Figure
from meco.figures.panel import (
    Arrow,
    Axis,
    Badge,
    LegendKey,
    Line,
    Outline,
    Panel,
    Segment,
    Spot,
    Strokes,
    Words,
    legend_rows,
)
from meco.figures.svg import draw_panel, panel_size

RAMP = np.array([0.0, 1.0])
SIMPLE = Figure("simple", "A line", [Panel("up", [Line(RAMP, RAMP, 0, "line")])], legend=[LegendKey("line", 0)])
SQUARE = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0, 1.0])
MARKS = [
    Strokes(np.array([[0, 1], [0, 1]]), np.array([[0, 1], [1, 0]]), 3), Arrow((1, 1), (0, 0), 1),
    Badge(0.5, 0.5, "<&>", 2), Words(0.5, 0.5, "a < b", halo=True, shift=(3, 4)), Outline(*SQUARE, "reach"),
]  # fmt: skip


def test_a_figure_is_written_as_its_name_ends(tmp_path):
    pytest.importorskip("cairosvg")
    for kind, first in (("svg", b"<svg"), ("png", b"\x89PNG"), ("PDF", b"%PDF")):
        SIMPLE.save(tmp_path / f"a.{kind}")
        assert (tmp_path / f"a.{kind}").read_bytes().startswith(first)
    with pytest.raises(InvalidInput, match=r"ends in .svg, .png or .pdf; got 'a.jpeg'"):
        SIMPLE.save(tmp_path / "a.jpeg")


def test_svg_needs_no_extra_and_others_say_which(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    SIMPLE.save(tmp_path / "a.svg")
    with pytest.raises(MissingExtra, match=r'cairosvg, which is not installed: pip install "meco-opt\[plot\]"'):
        SIMPLE.save(tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()


def test_a_file_knows_light_and_dark_and_has_no_variables_left():
    style = ET.fromstring(SIMPLE.to_svg()).find("{http://www.w3.org/2000/svg}style").text
    light, dark = style.split("@media screen and (prefers-color-scheme: dark)")
    assert "var(" not in style
    assert ".sheet { fill: #ffffff; }" in light
    assert ".sheet { fill: #14191f; }" in dark


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: type(mark).__name__)
def test_every_mark_is_well_formed_on_a_panel_and_in_a_legend(mark):
    drawn = draw_panel(
        Panel("p", [mark], Axis("x", (0, 1)), Axis("y", (0, 1)), legend=[LegendKey("k", 1, mark=mark)]), "id"
    )
    assert ET.fromstring(drawn).tag == "svg"


def test_a_legend_breaks_where_the_width_ends_and_its_panel_grows():
    keys = [LegendKey("twelve signs", k) for k in range(5)]
    assert [len(row) for row in legend_rows(keys, 300)] == [2, 2, 1]
    plain, named = Panel("p", [], size=(300, 200)), Panel("p", [], size=(300, 200), legend=keys)
    assert panel_size(named)[1] - panel_size(plain)[1] == 64


def test_on_a_map_small_marks_are_not_cut_at_the_edge():
    axis = Axis(limits=(0.0, 1.0), hidden=True)
    text = draw_panel(
        Panel("map", [Spot(0, 0, "start"), Segment((0, 1), (0, 1)), Outline(*SQUARE, "area")], axis, axis, equal=True),
        "id",
    )
    cut = next(g for g in ET.fromstring(text).iter("g") if g.get("clip-path"))
    assert [part.get("class") for part in cut] == ["stroke m", "area"]
    assert 'class="start m"' in text
