"""Generated problems: what their facts say holds, for every family; a batch is its problems, on any array library."""

from __future__ import annotations

from functools import cache

import array_api_strict
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from for_every import for_every
from meco import get_problem, get_suite, solve
from meco.bench.plan.comparison import make_comparison
from meco.core.evaluator import Evaluator
from meco.core.streams import DeviceStreams, Streams
from meco.errors import InvalidInput, UnknownName
from meco.problems.generated import GENERATED, SETS, SIZES, Family, make_batch
from meco.problems.generated.constraint_kinds import CONSTRAINTS, outward_normals
from meco.problems.generated.failure_kinds import FAILURES
from meco.problems.generated.mission_layouts import LAYOUTS
from meco.problems.generated.noise_kinds import NOISES
from meco.problems.generated.objective_kinds import OBJECTIVES
from meco.problems.generated.simulator_kinds import SIMULATORS
from meco.problems.uav import layouts as suite_layouts
from meco.problems.uav.collision import Obstacles
from meco.problems.uav.flight_model import MISSION_NAMES
from meco.problems.uav.mission import load_mission

SEEDS = range(24)
SCALABLE = [name for name, family in GENERATED.items() if isinstance(family, Family)]
MISSIONS = [name for name in GENERATED if name not in SCALABLE]
BY_CHANCE = [name for name in SCALABLE if getattr(FAILURES.get(GENERATED[name].failing), "by_chance", False)]
FAILING_PLACES = [name for name in SCALABLE if GENERATED[name].failing and name not in BY_CHANCE]
NOISY = [name for name in SCALABLE if GENERATED[name].noise]


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
    return make_batch(name, SEEDS, dim=6 if name in SCALABLE else None)


# Facts


@for_every(GENERATED)
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
@for_every([name for name in SCALABLE if not GENERATED[name].empty])
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


@for_every([name for name in SCALABLE if GENERATED[name].empty])
def test_two_constraints_of_an_empty_family_exclude_each_other(name):
    batch = make_batch(name, SEEDS, 4)
    place = [kind for kind, _ in GENERATED[name].inequalities].index("opposed")
    numbers = [p.formula.numbers[f"g{place}"] for p in batch]
    g = batch.raw(points(batch, 500))[1][..., -2:] / np.stack([n["scale"] for n in numbers])
    gap = np.array([-n["room"].sum() for n in numbers])
    assert np.all(gap >= 0.1)
    assert_allclose(g[..., 0] + g[..., 1], np.repeat(gap[:, None], 500, axis=1))  # so one of the two is positive


@for_every(GENERATED)
def test_a_seed_gives_the_same_problem_again(name):
    batch = batch_of(name)
    again = get_problem(batch[3].name, batch.dim)
    x = points(batch)
    for one, other in zip(batch[3].raw(x[3]), again.raw(x[3])):
        assert_array_equal(one, other)
    assert not np.array_equal(batch[3].raw(x[3])[0], batch[4].raw(x[4])[0])


def test_optima_lie_inside_on_the_border_and_beyond():
    batch = make_batch("bowl-linear", range(200), 6)
    on_border = np.array([np.any(p.raw(p.known_x)[1] == 0) for p in batch])
    exact = np.array([p.best_known is not None for p in batch])
    assert 0.4 < np.mean(on_border) < 0.6
    assert np.all(exact[on_border])
    assert 0.15 < np.mean(exact & ~on_border) < 0.35


def test_raw_scales_span_seven_decades():
    for name in ("bowl-linear", "bowl-planes", "valley-cliff"):
        numbers = [p.formula.numbers for p in make_batch(name, range(300), 6)]
        part = "h0" if name == "bowl-planes" else "g0"
        for scale in (np.array([n["f"]["scale"] for n in numbers]), np.array([n[part]["scale"] for n in numbers])):
            assert 1e-3 <= scale.min() < 3e-3
            assert 3e3 < scale.max() <= 1e4


@for_every(FAILING_PLACES)
@pytest.mark.parametrize("dim", [2, 20])
def test_a_share_of_the_box_fails_always_at_the_same_points(name, dim):
    batch = make_batch(name, range(60), dim)
    x = points(batch, 300)
    f, g, _ = batch.raw(x)
    failed = np.isnan(f)
    wanted = {"pocket": 0.6, "beside": 0.48}.get(GENERATED[name].failing, 0.2)
    assert abs(np.mean(failed) - wanted) < (0.08 if wanted == 0.48 else 0.03)
    assert_array_equal(np.all(np.isnan(g), axis=-1), failed)
    some = x[:, 49::-1]  # in another order and another company
    assert_array_equal(np.isnan(batch.raw(some)[0])[:, ::-1], failed[:, :50])


def test_conditioning_reaches_a_million():
    weights = np.array([p.formula.numbers["f0"]["weight"] for p in make_batch("bowl-free", range(200), 10)])
    spread = weights.max(axis=(1, 2)) / weights.min(axis=(1, 2))
    assert spread.min() < 3
    assert 3e5 < spread.max() <= 1e6 * (1 + 1e-9)


# The kinds


@for_every(OBJECTIVES)
def test_every_objective_is_zero_at_its_centre_and_nowhere_less(name):
    rng, (draw, value) = np.random.default_rng(2), OBJECTIVES[name]
    for dim in (2, 7):
        numbers = {key: array[None] for key, array in draw(rng, dim).items()}
        assert value(np.zeros((1, 1, dim)), numbers)[0, 0] == 0
        assert np.all(value(rng.normal(size=(1, 5000, dim)), numbers) >= 0)


@for_every([kind for kind, entry in CONSTRAINTS.items() if entry.convex])
def test_without_room_a_convex_kind_lies_on_one_side_of_its_plane(name):
    rng, entry, dim = np.random.default_rng(3), CONSTRAINTS[name], 3
    drawn = {**entry.draw(rng, dim, 4), "room": np.zeros((1, 4))}
    v = rng.normal(size=(1, 20_000, dim)) * 10.0 ** rng.uniform(-3, 0, (1, 20_000, 1))
    turned = v @ np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    inside = entry.value(v, turned, {key: array[None] for key, array in drawn.items()}) <= 0
    assert np.any(inside)
    assert np.all((v @ outward_normals(drawn).T)[inside] <= 1e-12)


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


# Chance


@for_every(NOISY)
def test_calls_of_one_point_differ_and_agree_in_the_middle_with_the_truth(name):
    batch = batch_of(name)[:8]
    x, rng = points(batch, 1).repeat(4001, axis=1), np.random.default_rng(5)
    for seen, true in zip(batch.disturbed(x, rng.standard_normal((*x.shape[:2], batch.draws))), batch.raw(x[:, :1])):
        if true.size:
            spread = np.std(seen, axis=1)
            assert np.all(spread > 0)
            off = np.abs(np.median(seen, axis=1) - true[:, 0])
            assert np.all(off < (0.5 if NOISES[GENERATED[name].noise].of_point else 0.1) * spread)


@for_every(BY_CHANCE)
def test_calls_fail_by_chance_at_any_point_and_never_in_truth(name):
    batch = batch_of(name)
    x, rng = points(batch, 1).repeat(2000, axis=1), np.random.default_rng(5)
    f, g, _ = batch.disturbed(x, rng.standard_normal((*x.shape[:2], batch.draws)))
    rate = np.mean(np.isnan(f), axis=1)
    assert np.all(np.isnan(f) == np.any(np.isnan(g), axis=-1))
    assert 0.1 < np.mean(rate) < 0.5
    assert (np.ptp(rate) < 0.35) == (GENERATED[name].failing == "chance")  # the others depend on the place
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
    together = solve("SHADE", [*batch, *make_batch("bowl-linear", [1], 4)], budget=120, seeds=[1, 2, 3, 4])
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


def test_what_takes_nothing_from_chance_says_so():
    problem = make_batch("bowl-linear", [1], 3)[0]
    assert problem.draws == 0
    with pytest.raises(InvalidInput, match="takes nothing from chance"):
        problem.disturbed(problem.known_x, np.zeros(1))


# Lockstep and libraries


@for_every(GENERATED)
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


@for_every(GENERATED)
def test_one_point_a_population_and_runs_agree(name):
    batch = batch_of(name)
    problem, x = batch[5], points(batch)[:3]
    runs = problem.raw(x)
    for row, alone in zip(runs, problem.raw(x[1])):
        assert_array_equal(row[1], alone)
    for row, point in zip(runs, problem.raw(x[1, 4])):
        assert_allclose(row[1, 4], point, rtol=1e-9, atol=1e-9)


@for_every(GENERATED)
def test_torch_and_the_strict_library_agree_with_numpy(name):
    batch = batch_of(name)
    x = points(batch, 20)
    wanted = batch.raw(x)
    size = [np.max(np.abs(np.nan_to_num(values)), initial=1.0) for values in wanted]
    for asarray in (torch.asarray, array_api_strict.asarray):
        for values, ours, scale in zip(batch.raw(asarray(x)), wanted, size):
            assert_allclose(np.asarray(values), ours, rtol=1e-9, atol=1e-12 * scale)


@for_every(GENERATED)
def test_the_known_point_stays_feasible_in_other_libraries(name):
    batch = batch_of(name)
    if not batch[0].infeasible and batch[0].name[2:-5] in SCALABLE:
        f, g, h = (np.asarray(values) for values in batch.raw(torch.asarray(known(batch))))
        assert np.all(feasible(f, g, h, tol=0.0))


def test_the_evaluator_evaluates_a_batch_in_one_call_each():
    problems = [*make_batch("bowl-fails", range(3), 5), *make_batch("edges-wave", range(3), 5)]
    mixed = [problems[i] for i in (0, 3, 1, 4, 2, 5)]
    evaluator = Evaluator.on(mixed, budget=100, runs=6)
    assert len(evaluator.source._groups) == 2
    unit = np.random.default_rng(0).random((6, 9, 5))
    ev = evaluator.evaluate(unit)
    for b, problem in enumerate(mixed):
        alone = Evaluator.on(problem, budget=100).evaluate(unit[b : b + 1])
        assert_array_equal(ev.f[b], alone.f[0])
        assert_array_equal(ev.h[b, :, : problem.n_eq], alone.h[0])


def test_runs_on_a_batch_do_not_notice_each_other():
    batch = make_batch("ripples-many", range(3), 4)
    together = solve("SHADE", batch, budget=300, seeds=[1, 2, 3])
    alone = solve("SHADE", batch[1], budget=300, seeds=[2])[0]
    assert_array_equal(together[1].x, alone.x)
    assert together[1].run.problem == batch[1].name


# Names and sets


def test_names_carry_the_family_and_the_seed():
    problem = get_problem("g-bowl-linear-7", dim=5)
    assert (problem.name, problem.dim) == ("G-bowl-linear-0007", 5)
    assert_array_equal(problem.known_x, make_batch("bowl-linear", [7], 5)[0].known_x)
    with pytest.raises(UnknownName, match="did you mean 'bowl-linear'"):
        get_problem("G-bowl-lineer-0001")
    with pytest.raises(InvalidInput, match="D >= 2"):
        get_problem("G-bowl-linear-0001", dim=1)
    with pytest.raises(InvalidInput, match="has 9 variables"):
        get_problem("G-mission-rows-0001", dim=10)
    with pytest.raises(InvalidInput, match="one family and D"):
        type(make_batch("bowl-free", [1]))([get_problem("G-bowl-free-0001", 2), get_problem("G-bowl-free-0001", 3)])


def test_a_comparison_takes_any_seed():
    assert make_comparison(problems=["g-bowl-linear-7"], dims=[4]).problems == ("G-bowl-linear-0007",)


def test_sets_share_no_family_and_confirm_has_kinds_that_train_has_not():
    suites = {each: {p.name for p in get_suite(f"generated-{each}", dim=4)} for each in SETS}
    assert list(suites) == ["train", "choose", "confirm"]
    assert set.union(*suites.values()) == {p.name for p in get_suite("generated", dim=4)}
    assert sum(map(len, suites.values())) == len(GENERATED)
    kinds = {each: set() for each in SETS}
    for family in GENERATED.values():
        if isinstance(family, Family):
            kinds[family.set] |= {*family.objective, *(kind for kind, _ in family.inequalities + family.equalities)}
    assert len(kinds["confirm"] - kinds["train"]) >= 4
    assert set(OBJECTIVES) | set(CONSTRAINTS) == set.union(*kinds.values())


@pytest.mark.parametrize(("field", "kinds"), [("simulator", SIMULATORS), ("noise", NOISES), ("failing", FAILURES)])
def test_every_set_has_kinds_of_its_own(field, kinds):
    each = {
        part: {getattr(GENERATED[name], field) for name in SCALABLE if GENERATED[name].set == part} - {None}
        for part in SETS
    }
    assert all(each.values())
    assert sum(map(len, each.values())) == len(set.union(*each.values()))
    assert set.union(*each.values()) == set(kinds)


def test_every_set_has_rough_objectives_of_its_own():
    rough = {"terrain": "train", "contact": "choose", "switching": "confirm"}
    for name in SCALABLE:
        for kind in set(GENERATED[name].objective) & set(rough):
            assert GENERATED[name].set == rough[kind]


def test_confirm_shares_no_objective_with_train_and_choose():
    used = {part: {k for n in SCALABLE if GENERATED[n].set == part for k in GENERATED[n].objective} for part in SETS}
    assert not used["confirm"] & (used["train"] | used["choose"])


def test_hundreds_of_problems_to_confirm_on_span_sizes_and_budgets():
    dims, per_variable = zip(*SIZES)
    assert (min(dims), max(dims), min(per_variable), max(per_variable)) == (2, 30, 10, 200)
    assert 2 * len(SIZES) * sum(family.set == "confirm" for family in GENERATED.values()) >= 300


def test_missions_share_no_layout_with_the_suite_or_another_set():
    used = {part: {GENERATED[name].layout for name in MISSIONS if GENERATED[name].set == part} for part in SETS}
    assert set.union(*used.values()) == set(LAYOUTS)
    assert sum(map(len, used.values())) == len(LAYOUTS)
    assert not set(LAYOUTS) & set(suite_layouts.LAYOUTS)


@cache
def ends_of_the_suite():
    """Starts and ends [n, 2, 2] of the sixteen, in shares of the area, mirrored and turned over in every way."""
    found = []
    for mission in map(load_mission, MISSION_NAMES):
        ends = np.stack([mission.start, mission.end]) / mission.area
        mirrored = [np.where(flip, 1 - ends, ends) for flip in np.ndindex(2, 2)]
        found += [way[::order, ::axes] for way in mirrored for order in (1, -1) for axes in (1, -1)]
    return np.array(found)


@for_every(MISSIONS)
def test_flights_begin_and_end_at_other_places_than_those_of_the_suite(name):
    theirs = ends_of_the_suite()
    for problem in batch_of(name)[:5]:
        chart = problem.formula.numbers["map"]
        ours = np.concat([chart["start"], chart["end"]]) / problem.upper[:2]
        assert np.min(np.max(np.abs(theirs - ours), axis=(1, 2))) > 0.05


def test_few_shapes_keep_lockstep_wide():
    for dim in (2, 10, 40):
        shapes = [GENERATED[name].counts(dim) for name in SCALABLE]
        assert len(set(shapes)) <= 7
        assert max(p for p, _ in shapes) == 20
        assert max(q for _, q in shapes) == max(1, dim // 3)


@for_every(MISSIONS)
def test_drawn_missions_give_what_a_mission_file_would(name):
    batch = make_batch(name, range(5))
    x = points(batch, 60)
    h = batch.raw(x)[2]
    stops = batch.dim // 3
    for b, problem in enumerate(batch):
        chart = problem.formula.numbers["map"]
        obstacles = Obstacles(chart["boxes"].T, chart["discs"].T)
        ends = [np.broadcast_to(chart[key], (60, 1, 2)) for key in ("start", "end")]
        corners = np.concat([ends[0], x[b, :, : 2 * stops].reshape(60, stops, 2), ends[1]], axis=1)
        assert_allclose(h[b, :, 0], obstacles.length(corners[:, :-1], corners[:, 1:]).sum(axis=-1), atol=1e-8)
    assert np.mean(h > 0) > 0.3  # obstacles are in the way


@for_every([name for name in MISSIONS if GENERATED[name].detours])
def test_the_known_flight_over_a_dense_map_goes_around_what_blocks_the_straight_one(name):
    family, blocked = GENERATED[name], []
    for problem in make_batch(name, range(8)):
        stops, times = problem.known_x[: 2 * family.stops].reshape(-1, 2), problem.known_x[2 * family.stops :]
        chart, over = problem.formula.numbers["map"], times > 0
        assert np.sum(~over) == family.detours
        straight = np.concat([chart["start"], stops[over], chart["end"]])
        obstacles = Obstacles(chart["boxes"].T, chart["discs"].T)
        blocked.append(obstacles.length(straight[:-1], straight[1:]).sum() > 0)
    assert np.mean(blocked) >= 0.75
