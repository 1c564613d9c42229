"""Runs that did not look for noise say where their values look noisy, and are quiet otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from convex_problems import draw_problem

import meco
from meco.answer.noise import NOTE, looks_noisy
from noisy_problems import PRESS, noisy_press

BOX = [(-2.0, 2.0)] * 3


def points_around(at, seed=1):
    """Some points of the unit cube and more that come nearer and nearer to one of them, as those of a search."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(40, len(at))) * 0.8 ** np.arange(40)[:, None]
    return np.clip(at + 0.5 * steps, 0.0, 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_close_points_that_differ_as_far_ones_do_look_noisy(seed):
    at, rng = np.array([0.3, 0.6]), np.random.default_rng(seed)
    u = points_around(at, seed)
    smooth = np.stack([(u * u).sum(axis=1), 1.0 / (0.1 + u[:, 0]), np.abs(u[:, 1] - 0.6)], axis=1)
    assert not looks_noisy(u, smooth, at)
    assert looks_noisy(u, smooth + 0.01 * rng.normal(size=smooth.shape), at)
    assert looks_noisy(u, smooth + [0.0, 0.0, 0.01] * rng.normal(size=smooth.shape), at)  # one of them is enough


def test_few_points_or_points_that_are_all_close_tell_nothing():
    u = points_around(np.array([0.3, 0.6]))
    noise = np.random.default_rng(1).normal(size=(40, 1))
    assert not looks_noisy(u[:6], noise[:6], u[5])
    assert not looks_noisy(u[-12:], noise[-12:], u[-1])


def test_a_small_noisy_run_says_that_nobody_looked():
    result = meco.minimize(noisy_press(1), PRESS, budget=90, seed=1)
    assert result.probability is None
    assert NOTE in result.run.notes
    assert NOTE[1:] in result.message


@pytest.mark.parametrize("noise", [False, True, 0.01])
def test_who_says_something_of_noise_is_not_asked_to(noise):
    assert NOTE not in meco.minimize(noisy_press(1), PRESS, budget=60, seed=1, noise=noise).run.notes


def test_functions_without_noise_are_not_suspected():
    def valley(x):
        return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, [x @ x - 4]

    rough = [valley, lambda x: float(np.abs(x - 0.3).sum()), lambda x: float(np.floor(50 * x @ x) / 50)]
    runs = [meco.minimize(fun, BOX, budget=budget, seed=1) for fun in rough for budget in (60, 90)]
    problems = [draw_problem(seed) for seed in range(4)]
    runs += [meco.minimize(problem.fun, problem.bounds, budget=60, seed=1) for problem in problems]
    assert not any(NOTE in result.run.notes for result in runs)


def test_a_result_on_the_way_suspects_nothing():
    seen = []
    meco.minimize(noisy_press(1), PRESS, budget=90, seed=1, callback=lambda r: seen.append(NOTE in r.run.notes))
    assert seen
    assert not any(seen)
