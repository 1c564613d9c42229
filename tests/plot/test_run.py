"""Figures of a run."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import meco
from meco.errors import InvalidInput
from meco.plot.style import to_svg
from small_runs import BOX, named, run_command_without


def titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes if ax.axison]


def test_a_run_shows_f_violation_constraints_and_radius():
    figure = meco.minimize(named, BOX, budget=60, seed=1).plot()
    shown = ["Best feasible f", "Distance from the final f", "Least violation", "Each constraint"]
    assert titles(figure)[:5] == [*shown, "Radius of the trust region"]
    words = {text.get_text() for ax in figure.axes if ax.get_legend() for text in ax.get_legend().get_texts()}
    assert {"reach", "level"} <= words


def test_runs_without_a_feasible_point_or_any_answer_have_a_figure(tmp_path):
    nothing = meco.minimize(lambda x: (x @ x, [1.0 + x[0] ** 2]), BOX, method="SHADE-FR", budget=60, seed=1)
    broken = meco.minimize(lambda x: None, BOX, method="SHADE-FR", budget=20, seed=1, on_error="penalize")
    assert titles(nothing.plot())[:3] == ["Best feasible f", "Least violation", "Each constraint"]
    assert titles(broken.plot(tmp_path / "run.svg"))[:1] == ["Best feasible f"]
    assert "No feasible point found" in (tmp_path / "run.svg").read_text(encoding="utf-8")


def test_the_curve_of_the_violation_says_where_it_becomes_zero():
    result = meco.minimize(lambda x: (x @ x, [1.0 - x[0]]), BOX, method="SHADE-FR", budget=60, seed=1)
    (ax,) = (ax for ax in result.plot().axes if ax.get_title(loc="left") == "Least violation")
    met = 1 + int(np.argmax(result.evaluations.feasible))
    assert [text.get_text() for text in ax.texts] == [f"0 from evaluation {met}"]


def test_names_are_texts_and_no_formulas():
    result = meco.minimize(lambda x: (x @ x, {"a $x_1$ <b>": 1.0 - x[0], "_b": x[0] - 1.5}), BOX, budget=30, seed=1)
    text = to_svg(result.plot())
    assert "a $x_1$ &lt;b&gt;" in text
    assert "_b" in text


def test_the_same_run_gives_the_same_picture():
    one, other = (to_svg(meco.minimize(named, BOX, budget=30, seed=1).plot()) for _ in range(2))
    assert one == other


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_a_picture_is_written_as_its_name_ends(tmp_path, kind):
    meco.minimize(named, BOX, budget=20, seed=1).plot(tmp_path / f"run.{kind}")
    assert (tmp_path / f"run.{kind}").stat().st_size > 0


def test_another_kind_of_picture_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"run.gif.*ends in .svg, .png or .pdf"):
        meco.minimize(named, BOX, budget=20, seed=1).plot(tmp_path / "run.gif")


def test_a_result_of_solve_has_no_evaluations_to_draw():
    with pytest.raises(InvalidInput):
        meco.solve("SHADE", "C01", 100, seeds=[1])[0].plot()


def test_a_notebook_shows_a_result_as_a_table():
    text = meco.minimize(lambda x: (x @ x, {"a<b": x[0] - 1}), BOX, budget=20, seed=1)._repr_html_()
    assert text.startswith("<table>")
    assert "a<b" not in text
    assert "message" in text


def test_without_matplotlib_a_picture_names_the_extra(tmp_path):
    words = ("solve", "tilted", "--budget", "20", "--quiet", "--plot", str(tmp_path / "a.png"))
    said = run_command_without(("matplotlib",), *words, code=2)
    assert "matplotlib" in said
    assert "plot]" in said
    assert "feasible" not in said  # before the run
