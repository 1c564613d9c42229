"""The picture of a run."""

from __future__ import annotations

import pytest

import meco
from small_runs import BOX, named


def test_the_picture_shows_constraints_theta_and_share():
    pytest.importorskip("matplotlib")
    figure = meco.minimize(named, BOX, budget=60, seed=1).plot()
    legends = [axes.get_legend() for axes in figure.axes if axes.get_legend() is not None]
    words = [text.get_text() for legend in legends for text in legend.get_texts()]
    assert {"reach", "level", "theta", "share"} <= set(words)


def test_the_picture_shows_convergence_violation_and_trace(tmp_path):
    pytest.importorskip("matplotlib")
    feasible = meco.minimize(lambda x: (x @ x, [1.0 - x[0]]), BOX, method="MeCO-rand", budget=60, seed=1)
    nothing = meco.minimize(lambda x: (x @ x, [1.0 + x[0] ** 2]), BOX, method="SHADE-FR", budget=60, seed=1)
    broken = meco.minimize(lambda x: None, BOX, method="SHADE-FR", budget=20, seed=1)
    for i, result in enumerate((feasible, nothing, broken)):
        figure = result.plot(tmp_path / f"{i}.png")
        assert len(figure.axes) == 4
        assert (tmp_path / f"{i}.png").stat().st_size > 5000
