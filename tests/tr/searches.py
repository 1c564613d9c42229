"""What the tests of whole searches share: every point that a search asks for."""

from __future__ import annotations

import numpy as np

from meco.core.arrays import to_numpy
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.streams import Streams
from meco.methods import build_engine

METHODS = ("TR", "TR-ES")


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
