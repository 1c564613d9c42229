"""The search as a run uses it: its points are a function of the events."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from meco.tr_single import Task, make_search
from meco.tr_single.single_run import SingleRun


class Answer(NamedTuple):
    f: float
    g: np.ndarray = np.zeros(0)
    h: np.ndarray = np.zeros(0)
    good: bool = True


def single_run(batch=1, budget=60, seed=1):
    return SingleRun(
        lambda: make_search(Task(3, budget, batch), np.random.default_rng(seed)),
        lambda u: 6.0 * u - 3.0,
        lambda x: (x + 3.0) / 6.0,
    )


def fun(x):
    return Answer(float((x - 0.7) @ (x - 0.7)), np.array([1.0 - x.sum()]))


def driven(run, calls, fun=fun, order=lambda numbers: numbers):
    """The events of a run: number, x and answer, in the order in which they were told."""
    events, number = [], 0
    while number < calls:
        pending = {}
        while (x := run.ask()) is not None and number < calls:
            run.note(number, x)
            pending[number] = x
            number += 1
            if len(pending) == len(run._points):
                break
        for k in order(list(pending)):
            answer = fun(pending[k])
            run.tell(k, pending[k], answer)
            events.append((k, pending[k], answer))
    return events


def replayed(run, events):
    """The points that a run proposes while it is told these events."""
    points, told = [], iter(sorted(events, key=lambda event: event[0]))
    for number, x, answer in told:
        points.append(run.ask())
        run.note(number, x)
        run.tell(number, x, answer)
    return np.array(points)


def test_a_new_run_that_is_told_the_same_events_proposes_the_same_points():
    events = driven(single_run(), 60)
    assert_array_equal(replayed(single_run(), events), [x for _, x, _ in events])


@pytest.mark.parametrize("batch", [2, 4])
def test_the_order_of_answers_within_an_iteration_does_not_matter(batch):
    forwards = driven(single_run(batch), 50)
    backwards = driven(single_run(batch), 50, order=lambda numbers: numbers[::-1])
    points = [{k: tuple(x) for k, x, _ in events} for events in (forwards, backwards)]
    assert points[0] == points[1]


def test_no_point_is_proposed_before_the_answers_of_an_iteration():
    run = single_run()
    first = [run.ask() for _ in range(7)]
    assert run.ask() is None
    for k, x in enumerate(first):
        run.tell(k, x, fun(x))
    assert run.ask() is not None


def test_a_recorded_point_takes_the_place_of_the_proposed_one():
    events = driven(single_run(), 30)
    moved = [(k, x + 1e-9 * (k == 12), answer) for k, x, answer in events]
    run = single_run()
    replayed(run, moved)
    assert np.abs(run.search.archive.x - (moved[12][1] + 3.0) / 6.0).max(axis=1).min() < 1e-15


def test_a_raised_budget_at_the_same_event_gives_the_same_points():
    def raised():
        run = single_run(budget=30)
        first = driven(run, 30)
        run.set_budget(60)
        return [x for _, x, _ in first] + [run.ask()]

    assert_array_equal(raised(), raised())


def test_points_of_another_search_are_used():
    run = single_run()
    run.know(np.full(3, 0.7), fun(np.full(3, 0.7)))
    driven(run, 12)
    assert_array_equal(np.round(run.search.region.centre, 12), np.round(np.full(3, 3.7 / 6.0), 12))


def test_failed_calls_and_constraints_that_appear_later_do_not_end_a_run():
    def late(x):
        if x[0] > 0.5:
            return Answer(np.nan, good=False)
        g = [1.0 - x.sum()] if x[1] < 0.0 else [1.0 - x.sum(), x[2] - 0.5]
        return Answer(float(x @ x), np.array(g))

    run = single_run()
    events = driven(run, 60, late)
    feasible = [a.f for _, x, a in events if a.good and (a.g <= 0.0).all()]
    assert min(feasible) < 0.35
    assert_array_equal(replayed(single_run(), events), [x for _, x, _ in events])


def test_a_run_whose_first_calls_fail_learns_its_constraints_later():
    def fails_first(x):
        return Answer(np.nan, good=False) if np.abs(x).max() < 2.5 and x.sum() < 1.0 else fun(x)

    run = single_run()
    driven(run, 60, fails_first)
    assert run.facts()["radius"] > 0.0
