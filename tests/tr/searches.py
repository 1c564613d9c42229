"""What the tests share: every point that a search asks for, and the controls in force where none is given."""

from __future__ import annotations

import numpy as np

from meco.core.arrays import to_numpy
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.streams import Streams
from meco.methods import build_engine
from meco.tr.controls import TR_CONTROLS, ControlValues


def default_values(**others):
    """The controls in force, [1] each: their defaults, and others by name."""
    return ControlValues(**{c.name: np.array([others.get(c.name, c.default)]) for c in TR_CONTROLS})


def visited(method, problem, budget, seeds=(1,), xp=np, x0=None, **options):
    """Points of the unit cube that runs ask for, in order [B, n, D], and the engine at the end."""
    evaluator = Evaluator.on(problem, budget, len(seeds), xp)
    engine = build_engine(method, Task.of(evaluator, Streams(seeds, xp), x0), **options)
    asked = []
    while evaluator.nfev.min() < budget:
        x = engine.ask()
        asked.append(to_numpy(x))
        engine.tell(x, evaluator.evaluate(x))
    return np.concatenate(asked, axis=1), engine
