"""Numbers of every size, whole, fixed, flat and missing, drawn together: every point that is proposed is a point.

Points are looked at where the engine hands them out, before Box.keep_inside repairs what is no number or outside.
"""

from __future__ import annotations

import numpy as np
import pytest

import meco
from meco.core.box import Box
from meco.core.problem import round_half_away

SHAPES = [(2, 1, 0), (3, 2, 1), (4, 0, 0), (5, 3, 2), (1, 1, 0), (3, 0, 2), (6, 4, 0), (2, 0, 1)]  # D, g, h
RUNS = 25  # in lockstep
BUDGET, FEW = 40, 20  # evaluations of a run, and where there is little time
EXPONENTS = (-300.0, -155.0, -20.0, 0.0, 0.0, 20.0, 155.0, 300.0)  # of values
FAULTS = (
    "none",
    "none",
    "flat",
    "constant",
    "one huge value",
    "steps",
    "fails in a region",
    "fails by chance",
    "grows",
)
SIDES = ("usual", "usual", "tiny", "huge", "fixed", "whole", "few whole", "one whole", "very many whole")


def draw_sides(rng, dim):
    """Bounds and which variables are whole: [D] each."""
    sides = [SIDES[k] for k in rng.integers(len(SIDES), size=dim)]
    middle, whole = 10.0 ** rng.uniform(-3, 3, dim) * rng.choice([-1.0, 0.0, 1.0], dim), np.zeros(dim, bool)
    half = 10.0 ** rng.uniform(-1, 1, dim)
    for i, side in enumerate(sides):
        if side == "tiny":
            half[i] = max(abs(middle[i]), 1.0) * 10.0 ** rng.uniform(-15, -9)
        elif side == "huge":
            half[i] = 10.0 ** rng.uniform(12, 300)
        elif side == "fixed":
            half[i] = 0.0
        elif side != "usual":
            whole[i], middle[i] = True, np.round(middle[i])
            half[i] = {"whole": rng.uniform(2, 30), "few whole": 0.6, "one whole": 0.3, "very many whole": 1e12}[side]
    if rng.random() < 0.2:  # all of them whole
        whole, middle = np.full(dim, True), np.round(middle)
    return middle - half, middle + half, whole


def draw_formula(rng, lower, upper, n_ineq, n_eq):
    """Values of every size over the box, with a fault in each function."""
    dim, count = len(lower), 1 + n_ineq + n_eq
    size = 10.0 ** rng.choice(EXPONENTS, count)
    faults = [FAULTS[k] for k in rng.integers(len(FAULTS), size=count)]
    place, tilt, salt = rng.uniform(-0.2, 1.2, dim), rng.normal(size=(dim, count)), rng.normal(size=dim)
    level, width = rng.choice([-1.0, 0.0, 1.0], count), np.where(upper > lower, upper - lower, 1.0)

    def formula(x):
        u = np.clip((x - lower) / width, -1e3, 1e3)
        chance = np.mod(np.abs(1e3 * (u @ salt)), 1.0)
        y = u @ tilt - 0.5
        y[..., 0] += ((u - place) ** 2).sum(axis=-1)
        for k, fault in enumerate(faults):
            column = y[..., k]
            if fault == "flat":
                column = np.where(column > 1.0, column, 1.0)
            elif fault == "constant":
                column = 0.0 * column + level[k]
            elif fault == "one huge value":
                column = np.where(chance < 0.05, 1e305 / size[k], column)
            elif fault == "steps":
                column = np.floor(3.0 * column)
            elif fault == "fails in a region":
                column = np.where((u - place) @ salt > 0.4, np.nan, column)
            elif fault == "fails by chance":
                column = np.where(chance > 0.8, np.nan, column)
            elif fault == "grows":
                column = np.exp(30.0 * column)
            y[..., k] = column * size[k]
        return y[..., 0], y[..., 1 : 1 + n_ineq], y[..., 1 + n_ineq :]

    return formula


def draw_problem(seed, dim, n_ineq, n_eq):
    """A combination of sides, sizes and faults."""
    rng = np.random.default_rng([29, seed, dim])
    lower, upper, whole = draw_sides(rng, dim)
    formula = draw_formula(rng, lower, upper, n_ineq, n_eq)
    integrality = whole if whole.any() else None
    return meco.Problem(f"extreme {seed}", lower, upper, n_ineq, n_eq, formula, integrality=integrality)


@pytest.fixture
def handed_out(monkeypatch):
    """Every box and the coordinates [B, n, D] that an engine hands out for it, as they come."""
    seen, keep_inside = [], Box.keep_inside

    def watch(box, unit):
        seen.append((box, np.array(unit)))
        return keep_inside(box, unit)

    monkeypatch.setattr(Box, "keep_inside", watch)
    return seen


def count_bad(box, unit):
    """How many of these are no point of the box: no number, outside, or between whole numbers."""
    low, high = (0.0, 1.0) if box.range is None else (box.range.low, box.range.high)
    good = np.isfinite(unit) & (unit >= low) & (unit <= high)
    if box.integer is not None:
        with np.errstate(all="ignore"):
            x = box.lower + unit * (box.upper - box.lower) if box.range is None else box.origin + unit * box.lengths
            off = np.abs(x - np.clip(round_half_away(x), np.ceil(box.lower), np.floor(box.upper)))
            between = off > 1e-9 + 1e-15 * np.maximum(np.abs(x), box.upper - box.lower)  # coordinates are rounded, too
        good &= ~box.integer | ~between
    return int((~good).any(axis=-1).sum())


def few_often(count, few):
    """The first of many cases in every run, all of them where there is time."""
    return [pytest.param(k, marks=() if k < few else pytest.mark.slow) for k in range(count)]


@pytest.mark.parametrize("group", few_often(72, 2))
def test_points_in_a_box_are_points_whatever_the_numbers(group, handed_out):
    shape = SHAPES[group % len(SHAPES)]
    problems = [draw_problem(RUNS * group + k, *shape) for k in range(RUNS)]
    budget = FEW if group < 2 else BUDGET
    meco.solve("TR", problems, budget, seeds=range(RUNS))
    assert sum(unit.shape[0] * unit.shape[1] for _, unit in handed_out) >= RUNS * budget
    assert [count_bad(box, unit) for box, unit in handed_out] == [0] * len(handed_out)


@pytest.mark.parametrize("seed", few_often(200, 10))
def test_points_without_a_box_are_points_whatever_the_numbers(seed, handed_out):
    dim, n_ineq, n_eq = SHAPES[seed % len(SHAPES)]
    problem = draw_problem(seed, dim, n_ineq, n_eq)
    rng = np.random.default_rng([30, seed])
    open_below, open_above = rng.random((2, dim)) < 0.6
    whole = np.zeros(dim, bool) if problem.integrality is None else problem.integrality
    lower, upper = np.where(open_below, -np.inf, problem.lower), np.where(open_above, np.inf, problem.upper)
    x0 = problem.lower + rng.random(dim) * (problem.upper - problem.lower)
    x0 = np.where(whole, np.clip(np.round(x0), np.ceil(problem.lower), np.floor(problem.upper)), x0)
    bounds = meco.Variables.of(lower, upper, integer=whole)

    def fun(x):
        f, g, h = problem.raw(x)
        return float(f), list(g), list(h)

    meco.minimize(fun, bounds, x0=x0, budget=FEW if seed < 10 else BUDGET, seed=seed, on_error="penalize")
    assert [count_bad(box, unit) for box, unit in handed_out] == [0] * len(handed_out)
