"""The picture of a run."""

from __future__ import annotations

import numpy as np

import meco
from meco.figures.panel import Line, Words
from small_runs import BOX, named


def test_the_picture_shows_constraints_and_theta():
    figure = meco.minimize(named, BOX, budget=60, seed=1, method=meco.Method("TR", theta=0.5)).plot()
    words = {key.label for panel in figure.panels for key in panel.legend}
    assert {"reach", "level", "θ, violation that a step may leave"} <= words


def test_the_picture_shows_convergence_violation_and_trace(tmp_path):
    feasible = meco.minimize(lambda x: (x @ x, [1.0 - x[0]]), BOX, method="MeCO-rand", budget=60, seed=1)
    nothing = meco.minimize(lambda x: (x @ x, [1.0 + x[0] ** 2]), BOX, method="SHADE-FR", budget=60, seed=1)
    broken = meco.minimize(lambda x: None, BOX, method="SHADE-FR", budget=20, seed=1, on_error="penalize")
    figures = [result.plot(tmp_path / "run.svg") for result in (feasible, nothing, broken)]
    titles = [[panel.title for panel in figure.panels] for figure in figures]
    violation = ["Least violation of any point", "Each constraint by itself"]
    assert titles[0] == ["Best feasible f", "Distance from the final f", *violation, "What was set while it ran"]
    assert titles[1] == ["Best feasible f", *violation]
    assert titles[2] == ["Best feasible f"]
    assert "no feasible point was found" in (tmp_path / "run.svg").read_text(encoding="utf-8")


def test_the_curve_of_the_violation_ends_where_it_is_zero_and_says_so():
    result = meco.minimize(lambda x: (x @ x, [1.0 - x[0]]), BOX, method="SHADE-FR", budget=60, seed=1)
    panel = next(panel for panel in result.plot().panels if panel.title == "Least violation of any point")
    (line,), (words,) = ([mark for mark in panel.marks if isinstance(mark, kind)] for kind in (Line, Words))
    met = 1 + int(np.argmax(result.evaluations.feasible))
    assert 1 < met < 60
    assert line.x[-1] == met
    assert line.y[-1] == panel.y.limits[0]  # the end of the axis stands for 0
    assert min(line.y[:-1]) == np.maximum(result.evaluations.g, 0.0)[: met - 1].min()
    assert words.text == f"0 from evaluation {met} on"
    never = meco.minimize(lambda x: (x @ x, [1.0 + x[0] ** 2]), BOX, method="SHADE-FR", budget=60, seed=1)
    panel = next(panel for panel in never.plot().panels if panel.title == "Least violation of any point")
    assert not [mark for mark in panel.marks if isinstance(mark, Words)]
    assert panel.y.label == "sum over constraints"
