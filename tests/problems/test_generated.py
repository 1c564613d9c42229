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
from meco.errors import InvalidInput, UnknownName
from meco.problems.generated import GENERATED, SETS, make_batch
from meco.problems.generated.constraint_kinds import CONSTRAINTS, outward_normals
from meco.problems.generated.objective_kinds import OBJECTIVES

SEEDS = range(24)


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
@for_every([name for name in GENERATED if not GENERATED[name].empty])
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


@for_every([name for name in GENERATED if GENERATED[name].empty])
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
    if not batch[0].infeasible:
        f, g, h = (np.asarray(values) for values in batch.raw(torch.asarray(known(batch))))
        assert np.all(feasible(f, g, h, tol=0.0))


def test_runs_on_a_batch_do_not_notice_each_other():
    batch = make_batch("ripples-wavy", range(3), 4)
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
    with pytest.raises(UnknownName, match="use UAV-01 to UAV-16"):
        get_problem("G-mission-rows-0001")
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
        kinds[family.set] |= {*family.objective, *(kind for kind, _ in family.inequalities + family.equalities)}
    assert len(kinds["confirm"] - kinds["train"]) >= 4
    assert set(OBJECTIVES) | set(CONSTRAINTS) == set.union(*kinds.values())


def test_every_set_has_rough_objectives_of_its_own():
    rough = {"terrain": "train", "contact": "choose", "switching": "confirm"}
    for name in GENERATED:
        for kind in set(GENERATED[name].objective) & set(rough):
            assert GENERATED[name].set == rough[kind]


def test_confirm_shares_no_objective_with_train_and_choose():
    used = {part: {k for n in GENERATED if GENERATED[n].set == part for k in GENERATED[n].objective} for part in SETS}
    assert not used["confirm"] & (used["train"] | used["choose"])


def test_few_shapes_keep_lockstep_wide():
    for dim in (2, 10, 40):
        shapes = [GENERATED[name].counts(dim) for name in GENERATED]
        assert len(set(shapes)) <= 7
        assert max(p for p, _ in shapes) == 20
        assert max(q for _, q in shapes) == max(1, dim // 3)
