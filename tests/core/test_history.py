"""What a search has found so far: the best points under both metrics, and a row per generation."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from recording_problem import recording

import meco
from meco.core.evaluation import Evaluation
from meco.core.history import History
from meco.core.metrics import feasibility_first, objective_plus_violation
from meco.core.rule import Population, order


@pytest.mark.parametrize("fail_every", [0, 3])
def test_incumbents_are_the_best_of_all_evaluated_points(fail_every):
    problem, asked = recording(fail_every=fail_every)
    result = meco.solve("SHADE-eps", problem, budget=333, seeds=[2], pop_size=20)[0]
    parts = [Evaluation.of(*problem.raw(x[None])) for x in list(asked)]
    ev = Evaluation.of(*(np.concatenate([getattr(p, k) for p in parts], axis=1) for k in "fgh"))
    points = np.concatenate(asked[: len(parts)])
    first = order(feasibility_first(ev))[0, 0]
    least = order(objective_plus_violation(ev))[0, 0]
    assert_array_equal(result.x, points[first])
    assert (result.f, result.nu, result.feasible) == (ev.f[0, first], ev.nu[0, first], ev.feasible[0, first])
    assert_array_equal(result.paper.x_score, points[least])
    assert result.score == ev.f[0, least] + ev.nu[0, least]
    assert result.run.nfail == ev.failed.sum()


def test_a_feasible_point_beats_any_violation_however_good_its_objective():
    ev = Evaluation.of(np.array([[5.0, -9.0, 3.0]]), np.array([[[0.0], [1e-9], [-1.0]]]), np.zeros((1, 3, 0)))
    assert order(feasibility_first(ev))[0].tolist() == [2, 0, 1]
    assert order(objective_plus_violation(ev))[0].tolist() == [1, 2, 0]


def test_the_trace_never_gets_worse_and_counts_evaluations():
    result = meco.solve("SHADE-BOC", meco.get_problem("C04", 10), budget=420, seeds=[1])[0]
    trace = result.trace
    assert_array_equal(trace["nfev"], [50, 100, 150, 200, 250, 300, 350, 400, 420])
    assert (np.diff(trace["score"]) <= 0).all()
    assert trace["score"][-1] == result.score
    assert {"f", "nu", "feasible", "feasible_share", "weight"} <= set(trace)


def seen(f, nu=0.0):
    """Points [1, n, 1] at their objective, and their evaluation."""
    f = np.array(f, dtype=float)[None]
    return f[..., None], Evaluation.of(f, np.zeros_like(f)[..., None] + nu, np.zeros((*f.shape, 0)))


def noted(history, nfev, population, **extras):
    history.record_generation(np.array([nfev]), population, {k: np.array([v]) for k, v in extras.items()})


def test_survivors_are_held_apart_from_all_points():
    history = History()
    history.update_best(*seen([1.0, 2.0, 3.0]))
    noted(history, 3, Population(*seen([2.0, 3.0])))
    history.update_best(*seen([0.5, 4.0]))
    noted(history, 5, Population(*seen([2.5, 4.0])))
    found, score, snapshot, final = history.best_points(lambda unit: 10.0 * unit)
    assert found.f == score.f == 0.5
    assert found.x == 0.5  # evaluated points are in the box
    assert snapshot.f == 2.0
    assert snapshot.x == 20.0  # survivors in the unit cube
    assert final.f == 2.5  # of the last population alone


def test_without_a_population_the_best_points_stand_for_survivors():
    history = History()
    history.update_best(*seen([2.0, 1.0]))
    noted(history, 2, None)
    found, score, snapshot, final = history.best_points(lambda unit: unit)
    assert snapshot is found
    assert final is score
    assert "feasible_share" not in history.collect_trace()


@pytest.mark.parametrize("together", [1, 3, 512])
def test_the_trace_has_a_row_for_each_generation_however_they_are_stacked(together, monkeypatch):
    monkeypatch.setattr("meco.core.history.STACKED_TOGETHER", together)
    history = History()
    for k in range(7):
        history.update_best(*seen([5.0 - k]))
        noted(history, k + 1, None, sigma=0.5**k)
        if k == 4:
            history.collect_trace()
    trace = history.collect_trace()
    assert_array_equal(trace["nfev"], np.arange(1, 8)[:, None])
    assert_array_equal(trace["score"][:, 0], 5.0 - np.arange(7))
    assert_array_equal(trace["sigma"][:, 0], 0.5 ** np.arange(7))


def test_what_only_some_generations_say_is_not_in_the_trace():
    history = History()
    for k in range(4):
        history.update_best(*seen([1.0]))
        noted(history, k + 1, None, **({"late": 1.0} if k > 1 else {"early": 1.0}), always=k)
    assert history.collect_trace().keys() & {"late", "early", "always"} == {"always"}


def test_a_trace_that_is_put_back_goes_on():
    first, second = History(), History()
    for history in (first, second):
        history.update_best(*seen([1.0]))
        noted(history, 1, None)
    second.replace_trace({name: np.repeat(rows, 3, axis=0) for name, rows in first.collect_trace().items()})
    noted(second, 9, None)
    assert_array_equal(second.collect_trace()["nfev"][:, 0], [1, 1, 1, 9])
