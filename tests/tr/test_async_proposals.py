"""Answers that come late: each belongs to the start that asked for it, and holds nothing of a later one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco.core.capabilities import Asynchronous, find_capability
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.streams import Streams
from meco.tr.engine import TrustRegion
from meco.tr.region import PointSource


def bowl(dim=2):
    """A bowl beside a plane: it converges within some thirty steps."""

    def formula(x):
        return (x**2).sum(axis=-1), 1.0 - x.sum(axis=-1, keepdims=True), np.zeros((*x.shape[:-1], 0))

    return meco.Problem("bowl", np.full(dim, -2.0), np.full(dim, 2.0), 1, 0, formula)


def told(budget, held_back):
    """Tickets and the region after each answer; a step in so many is answered only after the next new start."""
    evaluator = Evaluator.on(bowl(), budget, 1)
    engine = TrustRegion(Task.of(evaluator, Streams([1])))
    loop = Loop(engine, evaluator)
    loop.step()
    search, late, answers = find_capability(engine, Asynchronous).start(4, loop.tell), [], 0

    def answer(ticket):
        x = ticket.x[None, None, :]
        search.answer(ticket, x, evaluator.evaluate(x))
        return ticket, engine.region, engine.asked.expectation, int(engine.archive.restart_index[0, -1])

    while evaluator.left > 10:
        ticket = search.ask()
        answers += 1
        if ticket.source == PointSource.STEP and answers % held_back == 0 and len(late) < 3:
            late.append(ticket)
            continue
        yield answer(ticket)
        if ticket.source == PointSource.RESTART:
            while late:
                yield answer(late.pop())


def test_a_new_start_has_no_floors_whatever_comes_late():
    restarts = strays = 0
    for ticket, region, made, start in told(250, held_back=2):
        assert start == int(ticket.restart_index[0])
        if ticket.source == PointSource.RESTART:
            restarts += 1
            assert_array_equal(region.weights.floor, 0.0)
            assert_array_equal(region.weights.w, made.restart_weights)
        elif start < int(region.restart_index[0]):
            strays += 1
    assert restarts > 2
    assert strays > 2


@pytest.mark.parametrize("held_back", [1, 3])
def test_a_search_whose_steps_come_late_still_ends_at_the_optimum(held_back):
    best = min(float(made.merit[0]) for _, _, made, _ in told(150, held_back))
    assert best < 0.5 + 1e-3
