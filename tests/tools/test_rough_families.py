"""Rough, noisy and failing families of benchmarks/rough_families: their facts, and how the library meets chance."""

from __future__ import annotations

from functools import cache

import array_api_strict
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from for_every import for_every
from meco import solve
from meco.core.batching import ProblemBatch
from meco.core.evaluator import Evaluator
from meco.core.streams import DeviceStreams, Streams
from meco.problems import generated
from rough_families import FAILURES, NOISES, ROUGH, SIMULATORS, make_batch

SEEDS = range(24)
BY_CHANCE = [name for name in ROUGH if getattr(FAILURES.get(ROUGH[name].failing), "by_chance", False)]
FAILING_PLACES = [name for name in ROUGH if ROUGH[name].failing and name not in BY_CHANCE]
NOISY = [name for name in ROUGH if ROUGH[name].noise]


def points(batch, count=50, seed=0):
    """Points in the boxes [B, count, D], whole where they must be."""
    u = np.random.default_rng(seed).random((len(batch), count, batch.dim))
    x = batch.lower[:, None] + u * (batch.upper - batch.lower)[:, None]
    masks = np.array([np.zeros(batch.dim, bool) if p.integrality is None else p.integrality for p in batch])
    return np.where(masks[:, None], np.round(x), x)


def known(batch):
    return np.array([p.known_x for p in batch])[:, None]


def feasible(f, g, h, tol=1e-4):
    return np.isfinite(f) & np.all(g <= 0, axis=-1) & np.all(np.abs(h) <= tol, axis=-1)


@cache
def batch_of(name):
    return make_batch(name, SEEDS, dim=6)


@for_every(ROUGH)
def test_the_known_point_is_feasible_or_there_is_none(name):
    batch = batch_of(name)
    if batch[0].infeasible:
        assert all(p.infeasible and p.known_x is None and p.best_known is None for p in batch)
        return
    x = known(batch)
    f, g, h = batch.raw(x)
    assert np.all(feasible(f, g, h, tol=0.0))  # equalities hold exactly
    assert np.all((x[:, 0] >= batch.lower) & (x[:, 0] <= batch.upper))
    assert all(f[b, 0] == p.best_known for b, p in enumerate(batch) if p.best_known is not None)


@pytest.mark.parametrize("dim", [2, pytest.param(5, marks=pytest.mark.slow), 20])
@for_every([name for name in ROUGH if not ROUGH[name].empty])
def test_no_feasible_point_is_better_than_a_best_known_one(name, dim):
    batch = make_batch(name, range(8), dim)
    rng, half = np.random.default_rng(1), (batch.upper - batch.lower)[:, None] / 2
    reach = 10.0 ** rng.uniform(-7, 0, (len(batch), 1_500, 1))  # from right beside the known point to far away
    x = np.clip(
        known(batch) + reach * half * rng.uniform(-1, 1, (len(batch), 1_500, dim)),
        *(bound[:, None] for bound in (batch.lower, batch.upper)),
    )
    f, g, h = batch.raw(x)
    fits = feasible(f, g, h)
    if dim == 2 and not batch.n_eq:  # even where many constraints meet, there is room to move
        assert np.all(np.any(fits, axis=1))
    for b, problem in enumerate(batch):
        if problem.best_known is not None and np.any(fits[b]):
            assert np.min(f[b, fits[b]]) >= problem.best_known - 1e-12 * abs(problem.best_known)


@for_every(FAILING_PLACES)
@pytest.mark.parametrize("dim", [2, 20])
def test_a_share_of_the_box_fails_always_at_the_same_points(name, dim):
    batch = make_batch(name, range(60), dim)
    x = points(batch, 300)
    f, g, _ = batch.raw(x)
    failed = np.isnan(f)
    wanted = {"pocket": 0.6, "beside": 0.48}.get(ROUGH[name].failing, 0.2)
    assert abs(np.mean(failed) - wanted) < (0.08 if wanted == 0.48 else 0.03)
    assert_array_equal(np.all(np.isnan(g), axis=-1), failed)
    some = x[:, 49::-1]  # in another order and another company
    assert_array_equal(np.isnan(batch.raw(some)[0])[:, ::-1], failed[:, :50])


@for_every(SIMULATORS)
def test_a_simulator_is_exact_at_the_known_point_and_rough_beside_it(name):
    rng, dim, kind = np.random.default_rng(4), 3, SIMULATORS[name]
    numbers = {key: array[None] for key, array in kind.draw(rng, dim, 2).items()}
    here, along = np.zeros((1, 1, dim)), np.linspace(-1, 1, 4001)[None, :, None] * np.ones(dim)
    model = np.full((dim, 2), 0.5)

    def answer(v):
        return kind.report(kind.see(v, numbers) @ model, v, numbers)

    assert_array_equal(answer(here), np.zeros((1, 1, 2)))
    bends = np.abs(np.diff(answer(along)[0, :, 0], n=2))
    assert np.sum(bends > 1e-5) >= 4  # a smooth model of its inputs would have none


@for_every([name for name, kind in SIMULATORS.items() if kind.report is not SIMULATORS["table"].report])
def test_what_a_program_reports_is_never_below_the_model(name):
    rng, dim, kind = np.random.default_rng(4), 3, SIMULATORS[name]
    numbers = {key: array[None] for key, array in kind.draw(rng, dim, 4).items()}
    model, v = rng.normal(size=(1, 500, 4)), rng.uniform(-1, 1, (1, 500, dim))
    assert np.all(kind.report(model, v, numbers) >= model)


@for_every(NOISY)
def test_calls_of_one_point_differ_and_agree_in_the_middle_with_the_truth(name):
    batch = batch_of(name)[:8]
    x, rng = points(batch, 1).repeat(4001, axis=1), np.random.default_rng(5)
    for seen, true in zip(batch.disturbed(x, rng.standard_normal((*x.shape[:2], batch.draws))), batch.raw(x[:, :1])):
        if true.size:
            spread = np.std(seen, axis=1)
            assert np.all(spread > 0)
            off = np.abs(np.median(seen, axis=1) - true[:, 0])
            assert np.all(off < (0.5 if NOISES[ROUGH[name].noise].of_point else 0.1) * spread)


@for_every(BY_CHANCE)
def test_calls_fail_by_chance_at_any_point_and_never_in_truth(name):
    batch = batch_of(name)
    x, rng = points(batch, 1).repeat(2000, axis=1), np.random.default_rng(5)
    f, g, _ = batch.disturbed(x, rng.standard_normal((*x.shape[:2], batch.draws)))
    rate = np.mean(np.isnan(f), axis=1)
    assert np.all(np.isnan(f) == np.any(np.isnan(g), axis=-1))
    assert 0.1 < np.mean(rate) < 0.5
    assert (np.ptp(rate) < 0.35) == (ROUGH[name].failing == "chance")  # the others depend on the place
    assert not np.any(np.isnan(batch.raw(x)[0]))


@for_every([*NOISY, *BY_CHANCE])
def test_the_same_chance_gives_the_same_answer_in_any_company_and_library(name):
    batch = batch_of(name)
    x = points(batch, 20)
    z = np.random.default_rng(6).standard_normal((*x.shape[:2], batch.draws))
    together = batch.disturbed(x, z)
    for row, alone in zip(together, batch[7].disturbed(x[7], z[7])):
        assert_array_equal(row[7], alone)
    size = [np.max(np.abs(np.nan_to_num(values)), initial=1.0) for values in together]
    for asarray in (torch.asarray, array_api_strict.asarray):
        for values, ours, scale in zip(batch.disturbed(asarray(x), asarray(z)), together, size):
            assert_allclose(np.asarray(values), ours, rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.parametrize("name", ["bowl-even", "valley-chance"])
def test_chance_belongs_to_the_seed_of_a_run_and_results_tell_the_truth(name):
    batch = make_batch(name, range(3), 4)
    together = solve("SHADE", [*batch, *generated.make_batch("bowl-linear", [1], 4)], budget=120, seeds=[1, 2, 3, 4])
    alone, other = solve("SHADE", batch[1], budget=120, seeds=[2, 3])
    assert_array_equal(together[1].x, alone.x)
    assert not np.array_equal(alone.x, other.x)
    assert alone.f == batch[1].raw(alone.x)[0]
    assert (alone.run.nfail > 0) == (name == "valley-chance")


def test_an_engine_sees_the_noise_and_its_run_is_judged_without():
    problem = make_batch("bowl-even", [1], 3)[0]
    evaluator = Evaluator.on(problem, 100, 2)
    unit = np.full((2, 3, 3), 0.4)
    ev, true = evaluator.evaluate(unit), problem.raw(evaluator.box.to_box(unit)[0, 0])
    assert len(np.unique(ev.f[0])) == 3
    assert_array_equal(ev.f[0], ev.f[1])  # both runs have seed 0 unless streams are given
    assert_array_equal(evaluator.history.feasible_best.point_in_numpy().f[:, 0], np.repeat(true[0], 2))


def test_runs_that_pause_meet_the_noise_that_they_meet_alone():
    batch = make_batch("valley-even", range(2), 3)
    unit = np.random.default_rng(7).random((2, 4, 3))
    streams = Streams([5, 6])
    together = Evaluator.on(batch, 100, 2, streams=streams)
    first = together.evaluate(unit, np.array([[True, False, True, False], [True] * 4]))
    second = together.evaluate(unit)
    alone = Evaluator.on(batch[0], 100, streams=Streams([5]))
    once, again = alone.evaluate(unit[:1, [0, 2]]), alone.evaluate(unit[:1])
    assert_array_equal(first.f[0, [0, 2]], once.f[0])
    assert_array_equal(second.f[0], again.f[0])
    assert_array_equal(streams.uniform(3), Streams([5, 6]).uniform(3))  # the search draws what it always drew


def test_one_generator_on_a_device_serves_runs_on_different_families():
    problems = [*make_batch("bowl-even", [1], 3), *make_batch("valley-chance", [1, 2], 3)]
    found = []
    for _ in range(2):
        rng = DeviceStreams(1, 3, "cpu")
        evaluator = Evaluator.on(problems, 100, 3, rng.xp, "cpu", rng)
        found.append(evaluator.evaluate(rng.xp.asarray(np.full((3, 40, 3), 0.4))))
    assert_array_equal(found[0].f, found[1].f)
    assert len(np.unique(found[0].f[0])) == 40
    assert found[0].failed.any(dim=-1).tolist() == [False, True, True]


def test_the_evaluator_evaluates_a_batch_in_one_call_each():
    problems = [*make_batch("bowl-fails", range(3), 5), *generated.make_batch("edges-wave", range(3), 5)]
    mixed = [problems[i] for i in (0, 3, 1, 4, 2, 5)]
    evaluator = Evaluator.on(mixed, budget=100, runs=6)
    assert len(evaluator.source._groups) == 2
    unit = np.random.default_rng(0).random((6, 9, 5))
    ev = evaluator.evaluate(unit)
    for b, problem in enumerate(mixed):
        alone = Evaluator.on(problem, budget=100).evaluate(unit[b : b + 1])
        assert_array_equal(ev.f[b], alone.f[0])
        assert_array_equal(ev.h[b, :, : problem.n_eq], alone.h[0])


@for_every(ROUGH)
def test_a_batch_is_its_problems_bit_for_bit(name):
    batch = batch_of(name)
    x = points(batch)
    together = batch.raw(x)
    for b in (0, 7, len(batch) - 1):
        for row, alone in zip(together, batch[b].raw(x[b])):
            assert_array_equal(row[b], alone)
    half = batch[10:20].raw(x[10:20])
    for row, part in zip(together, half):
        assert_array_equal(row[10:20], part)


def test_chance_makes_no_generators_while_problems_are_called(monkeypatch):
    problems = [make_batch(family, [1], 2)[0] for family in ("bowl-even", "valley-even")]
    batch, x = ProblemBatch(problems, 2), np.full((2, 3, 2), 0.5)
    again = ProblemBatch(problems, 2)
    monkeypatch.setattr(np.random, "default_rng", None)
    first, second = batch.values(x), batch.values(x)
    assert (first[0] != second[0]).all()  # the streams moved
    for b in (0, 1):  # each run on its own stream, whether it is called with others or alone
        assert_array_equal(again.values_of(b, x[b : b + 1])[0][0], first[0][b])
        assert_array_equal(again.values_of(b, x[b : b + 1])[0][0], second[0][b])
