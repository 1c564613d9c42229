"""Pictures of a run."""

from __future__ import annotations

import numpy as np

from meco import minimize
from meco.figures.panel import Segment
from meco.figures.run_figure import controls_figure


def test_a_stroke_marks_every_restart():
    result = minimize(lambda x: float(np.sum(np.abs(x))), [(-1.0, 1.0)] * 2, budget=150, seed=1)
    restarts = int(result.trace["restarts"][-1])
    assert restarts > 0
    figure = controls_figure(result)
    strokes = [mark for mark in figure.panels[0].marks if isinstance(mark, Segment)]
    assert len(strokes) == len(np.flatnonzero(np.diff(result.trace["restarts"])))
    assert figure.caption == "Strokes: the search began again."
    assert result.run.starts == restarts + 1
