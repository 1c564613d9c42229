"""Drawings that can be read whatever their texts say."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from meco.figures import svg
from meco.figures.panel import Line, Panel


def test_names_that_xml_cannot_say_leave_figures_that_can_be_read():
    text = svg.replace_invalid("<text>a\x00b \x1b \ud800 \uffff \u202e\t\n</text>")
    assert ElementTree.fromstring(text).text == "a\ufffdb \ufffd \ufffd \ufffd \u202e\t\n"


def test_an_experiment_whose_name_is_markup_leaves_a_drawing_that_can_be_read():
    drawn = svg.draw_panel(Panel("t", [Line(np.arange(3.0), np.arange(3.0), 0)]), '"><script>&', "title")
    assert "<script>" not in drawn
    assert ElementTree.fromstring(drawn).tag == "svg"
