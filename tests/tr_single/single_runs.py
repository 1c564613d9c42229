"""Runs of the single-run engine on problems of the library."""

from __future__ import annotations

import numpy as np

from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.streams import Streams
from meco.tr_single import Answers, Options, make_search
from meco.tr_single.engine import task_of_run


def run(problem, budget, seed=1, batch=1, x0=None, options=None, prepare=lambda search: None, evaluations=None):
    """The first points [n, D] in the order of evaluation, answers [n, F], and the search at the end."""
    evaluator = Evaluator.on(problem, budget, 1, np)
    task = task_of_run(Task.of(evaluator, Streams([seed]), x0), 0, batch)
    search = make_search(task, np.random.default_rng(seed), options or Options())
    prepare(search)
    points, values = [], []
    while len(points) < (evaluations or budget):
        x = search.ask()
        ev = evaluator.evaluate(x[None])
        answers = Answers.of(ev.f[0], ev.g[0], ev.h[0], task.tolerances(ev.g.shape[-1], ev.h.shape[-1]))
        search.tell(x, answers)
        points += list(x)
        values += list(answers.y)
    return np.array(points)[:budget], np.array(values)[:budget], search
