"""Pictures of a run."""

from __future__ import annotations

import numpy as np

from meco import Method, minimize
from meco.figures.panel import Segment
from meco.figures.run_figure import make_controls_figure


def test_a_stroke_marks_every_restart():
    result = minimize(lambda x: float(np.sum(np.abs(x))), [(-1.0, 1.0)] * 2, budget=100, seed=1)
    restarts = int(result.trace["restarts"][-1])
    assert restarts > 0
    figure = make_controls_figure(result)
    strokes = [mark for mark in figure.panels[0].marks if isinstance(mark, Segment)]
    assert len(strokes) == len(np.flatnonzero(np.diff(result.trace["restarts"])))
    assert figure.caption == "Strokes: the search began again."
    assert result.run.starts == restarts + 1


def test_what_says_nothing_is_not_drawn():
    """The first point is feasible and theta stays 0: neither has a panel."""
    result = minimize(lambda x: (float(x @ x), {"reach": -x[0] - 0.5}), [(-1.0, 1.0)] * 2, budget=60, seed=1)
    titles = [panel.title for panel in result.plot().panels]
    assert titles[0] == "Best feasible f"
    assert "Radius of the trust region" in titles
    assert not [title for title in titles if "constraint" in title or "What was set" in title]
    steered = minimize(lambda x: float(x @ x), [(-1.0, 1.0)] * 2, budget=60, seed=1, method=Method("TR", theta=0.5))
    assert "What was set while it ran" in [panel.title for panel in steered.plot().panels]
