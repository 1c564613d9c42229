"""Very many constraints: the search sees few of them and forgets none."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from searches import visited

import meco
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.core.evaluator import Evaluator
from meco.core.memory import capture_state, flatten_state, restore_state
from meco.core.streams import Streams
from meco.methods import build_engine
from meco.tr import working_set
from meco.tr.begin import begin_state
from meco.tr.model_fit import model_size
from meco.tr.tr_state import find_capacity
from meco.tr.working_set import MOST_WATCHED, WorkingSet


def planes(count, dim=3, seed=1):
    """Planes around a ball: about as many as dim are active at the least distance from a corner."""
    rng = np.random.default_rng(seed)
    normals = rng.normal(size=(count, dim))
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)

    def formula(x):
        return ((x - 1.0) ** 2).sum(axis=-1), (x - 0.5) @ normals.T - 0.25, []

    return meco.Problem("planes", np.zeros(dim), np.ones(dim), count, 0, formula)


def test_up_to_a_thousand_constraints_the_search_sees_all_of_them():
    assert visited("TR", planes(MOST_WATCHED), 12)[1].state.working is None


def test_the_rest_is_the_worst_of_what_is_outside_in_units_of_its_change():
    """Two inside of thirty, D = 1: three points tell how far each constraint changes."""
    x = np.array([0.0, 0.5, 1.0])
    g = np.stack([k * (x - 2.0) for k in range(1, 31)], axis=-1)[None]
    ev = Evaluation.of(x[None], g, np.zeros((1, 3, 0)))
    made = WorkingSet(1, ev, np.zeros((1, 30)), 8)
    seen = made.reduce(ev)
    assert seen.g.shape == (1, 3, made.index.shape[1] + 1)
    assert_allclose(seen.g[0, :, -1], x - 2.0)  # each of them is that, in its unit
    assert_array_equal(seen.g[..., :-1], g[..., made.index[0]])


def test_what_is_violated_outside_gets_in_and_the_archive_has_its_values():
    problem = planes(3 * MOST_WATCHED)
    points, engine = visited("TR", problem, 40)
    made, archive = engine.state.working, engine.archive
    whole = problem.raw(points[0])[1]  # [n, C]
    assert_allclose(archive.y[0, :, 1:-1], whole[:, made.index[0]], atol=1e-12)
    outside = np.delete(whole, made.index[0], axis=1) / np.delete(made.scale[0], made.index[0])
    assert_allclose(archive.y[0, :, -1], outside.max(axis=-1), atol=1e-12)


def test_the_answer_keeps_every_constraint_and_is_near_the_best():
    """A ball of radius 0.25: nearest to the corner is 0.25 along the diagonal, planes leave a little more."""
    best = 3.0 * (0.5 - 0.25 / np.sqrt(3.0)) ** 2
    found = meco.solve("TR", planes(5 * MOST_WATCHED), 60, [1])[0]
    assert found.nu == 0.0
    assert 0.9 * best < found.f < 1.02 * best


def test_a_run_does_not_notice_its_neighbours():
    problem = planes(MOST_WATCHED + 200)
    together, alone = visited("TR", problem, 16, seeds=(1, 2))[0], visited("TR", problem, 16, seeds=(2,))[0]
    assert_array_equal(together[1], alone[0])


def test_what_is_told_of_noise_is_that_of_the_constraints_that_are_seen():
    """The rest is as noisy as the noisiest outside, in its unit."""
    x = np.array([0.0, 0.5, 1.0])
    g = np.stack([k * (x - 2.0) for k in range(1, 31)], axis=-1)[None]
    ev = Evaluation.of(x[None], g, np.zeros((1, 3, 1)))
    made = WorkingSet(1, ev, np.zeros((1, 31)), 8)
    told = np.arange(32.0)[None]  # f 0, constraint k of slope k has k, the equality 31
    seen = made.deviations_seen(told)[0]
    assert_array_equal(seen[[0, -1]], [0.0, 31.0])
    assert_array_equal(seen[1:-2], 1.0 + made.index[0])
    assert_allclose(seen[-2], 1.0)


def test_a_run_whose_noise_was_told_has_a_working_set(monkeypatch):
    rng, normals = np.random.default_rng(2), np.random.default_rng(1).normal(size=(3, 2 * MOST_WATCHED))
    plain, seen = WorkingSet.deviations_seen, []
    monkeypatch.setattr(WorkingSet, "deviations_seen", lambda made, told: seen.append(plain(made, told)) or seen[-1])
    meco.minimize(
        lambda x: (((x - 1.0) ** 2).sum() + 0.01 * rng.standard_normal(), x @ normals - 2.0),
        [(-5.0, 5.0)] * 3,
        budget=40,
        seed=1,
        noise=0.01,
    )
    assert {each.shape for each in seen} == {(1, 33)}  # f, 31 constraints, and the rest


def test_an_archive_without_a_working_set_is_as_long_as_memory_allows(monkeypatch):
    """As it is with cheap constraints and categories, whose models need matrices."""
    problem = planes(2 * MOST_WATCHED)
    points, search = visited("TR", problem, 40)
    monkeypatch.setattr(working_set, "MOST_NUMBERS", 15 * (2 * MOST_WATCHED + 1))
    x = points[:, :7]
    f, g, _ = problem.raw(x)
    made = begin_state(search.task, x, Evaluation.of(f, g, np.zeros((1, 7, 0))), search.radii, 1, matrices=True)
    assert made.working is None
    assert made.archive.capacity == max(15, 7 + 2 * model_size(3))
    assert made.archive.capacity < find_capacity(search.task.budget, 7, 1)


def test_the_archive_is_as_long_as_memory_allows():
    assert WorkingSet.capacity(100_000, 30, 2000) == 199
    assert WorkingSet.capacity(100_000, 500, 2000) == 500
    assert WorkingSet.capacity(1_001, 30, 2000) == 2000


def test_a_saved_search_goes_on_with_its_working_set():
    """Every array that the search keeps, the working set and values out of sight among them, is put back."""
    problem = planes(2 * MOST_WATCHED)

    def begin(iterations):
        evaluator = Evaluator.on(problem, 40, 1, np)
        engine = build_engine("TR", Task.of(evaluator, Streams((1,), np), None))
        for _ in range(iterations):
            x = engine.ask()
            engine.tell(x, evaluator.evaluate(x))
        return engine

    saved, other = begin(9), begin(1)
    record = flatten_state(capture_state(saved))
    restore_state(other, record)
    assert_array_equal(other.state.working.index, saved.state.working.index)
    assert_array_equal(other.state.working.values, saved.state.working.values)
    assert_array_equal(other.ask(), saved.ask())
