"""Random problems with numbers of every size, steps, constants and failures: every proposed point is a point."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from meco.tr_single import Answers, IntegerTask, Task, make_search

SHAPES = [(2, 1, 0), (3, 2, 1), (4, 0, 0), (5, 3, 2), (1, 1, 0), (3, 0, 2), (6, 4, 0), (2, 0, 1), (10, 3, 1)]
EXPONENTS = (-300.0, -155.0, -20.0, 0.0, 0.0, 20.0, 155.0, 300.0)


def random_functions(rng, dim, count):
    """Values [k, count] of points [k, D]: quadratics of any size, and one of eight faults in each."""
    size, faults = 10.0 ** rng.choice(EXPONENTS, count), rng.integers(9, size=count)
    place, tilt, salt = rng.uniform(-0.2, 1.2, dim), rng.normal(size=(dim, count)), rng.normal(size=dim)

    def values(x):
        y, way = (((x - place) ** 2).sum(axis=1)[:, None] + x @ tilt - 0.3) * size, x @ salt / abs(salt).sum()
        for k, fault in enumerate(faults):
            if fault == 2:
                y[:, k] = size[k]
            elif fault == 3:
                y[:, k] = 0.0
            elif fault == 4:
                y[way > 0.1, k] = 1e308
            elif fault == 5:
                y[:, k] = np.floor(5.0 * x @ tilt[:, k]) * size[k]
            elif fault == 6:
                y[way > 0.05, k] = np.nan
            elif fault == 7:
                y[(1e4 * way) % 1.0 < 0.2, k] = np.inf
            elif fault == 8:
                y[:, k] *= np.exp(np.minimum(500.0 * way**2, 700.0))
        return y

    return values


def random_task(rng, dim):
    """A task of 1 to 60 evaluations in batches, with integers, x0 or infinite bounds."""
    budget, batch = int(rng.integers(1, 61)), int(rng.choice([1, 1, 2, 4, 7]))
    integer = rng.random(dim) < 0.5
    if rng.random() < 0.3 and integer.any():
        low = np.round(rng.uniform(-5, 5, dim))
        length = rng.integers(0, 6, dim).astype(float)
        return Task(dim, budget, batch, integers=IntegerTask(integer, low, length, low, low + length))
    low, high = np.zeros(dim), np.ones(dim)
    if rng.random() < 0.2:
        low[rng.random(dim) < 0.5], high[rng.random(dim) < 0.3] = -np.inf, np.inf
    if rng.random() < 0.3:
        x0, lengths = rng.random((int(rng.integers(1, 4)), dim)), np.full(dim, 10.0 ** rng.uniform(-6, 0))
        return Task(dim, budget, batch, low, high, x0, lengths)
    return Task(dim, budget, batch, low, high)


@pytest.mark.parametrize("block", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 5))])
def test_a_hundred_random_problems_give_no_exception_no_warning_and_no_point_outside(block):
    for seed in range(100 * block, 100 * (block + 1)):
        rng = np.random.default_rng(seed)
        dim, p, q = SHAPES[seed % len(SHAPES)]
        task, fun = random_task(rng, dim), random_functions(rng, dim, 1 + p + q)
        search, left = make_search(task, rng), task.budget
        while left > 0:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                x = search.ask()
                assert np.isfinite(x).all(), seed
                assert ((x >= task.low) & (x <= task.high)).all(), seed
                with np.errstate(all="ignore"):
                    y = fun(x)
                search.tell(x, Answers.of(y[:, 0], y[:, 1 : 1 + p], y[:, 1 + p :], task.tolerances(p, q)))
            left -= len(x)
