"""A long search for the best flight of a mission: the reference solutions that ship with the maps.

Many runs of SHADE find feasible flights, moves that know what a route is shorten the best of them,
and an evolution strategy settles the last metres. Hovering times are never searched on their own:
one factor makes them just long enough, and for the final points they are a linear program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.errors import load_extra
from meco.methods import solve
from meco.problems.mission import Mission
from meco.problems.problem import Problem
from meco.problems.uav import HOVER_POINTS, rates

PLACES = 2 * HOVER_POINTS  # the first entries of x are the hover points, the others their times
ENOUGH = 1 + 1e-9  # a little more data than required, so that rounding leaves none missing
Flight = tuple[np.ndarray, float]  # x and its objective


def reference(mission: Mission, seed: int, effort: float = 1.0) -> Flight | None:
    """The best feasible flight found, or None where no run found one; effort scales the evaluations."""
    problem = mission.problem()
    rng = np.random.default_rng([seed, 1])
    runs = solve("SHADE-FR", problem, int(8000 * effort), range(seed, seed + 24))
    starts = sorted((run for run in runs if run.feasible), key=lambda run: run.f)
    flights = [shorten(mission, problem, run.x, rng, int(500 * effort)) for run in starts[:10]]
    found = sorted((flight for flight in flights if flight is not None), key=lambda flight: flight[1])
    settled = [settle(mission, problem, flight, seed + i, int(100 * effort)) for i, flight in enumerate(found[:4], 1)]
    best = min(settled, key=lambda flight: flight[1], default=None)
    return best and settle(mission, problem, best, seed + 9, int(500 * effort))


def judge(problem: Problem, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Objective of flights [..., 18], inf unless they keep every constraint, and objective plus violation.

    Here a feasible flight meets no obstacle at all. In the sum a metre inside one costs far more than it saves.
    """
    f, g, h = problem.raw(x)
    beyond = np.maximum(problem.lower - x, 0) + np.maximum(x - problem.upper, 0)
    violation = np.sum(np.maximum(g, 0), axis=-1) + np.sum(np.abs(h), axis=-1) + np.sum(beyond, axis=-1)
    return np.where(violation == 0, f, np.inf), f + violation


def enough_data(mission: Mission, x: np.ndarray) -> np.ndarray:
    """Stretch all hovering times of a flight by one factor, so that the neediest sensor is just served."""
    model = mission.parameters
    rate = rates(x[:, :PLACES].reshape(len(x), -1, 2), mission.sensors, model)
    least = np.min(np.sum(rate * x[:, PLACES:, None], axis=1), axis=1, keepdims=True)
    times = x[:, PLACES:] * (model.Q_lambda * ENOUGH / np.maximum(least, 1e-9))
    return np.concat([x[:, :PLACES], np.minimum(times, model.T_max)], axis=1)


def least_times(mission: Mission, problem: Problem, flight: Flight) -> Flight:
    """The flight with the hovering times of least sum that collect all data at its points."""
    optimize = load_extra("scipy.optimize", "peers", "the search for reference flights")
    x, model = flight[0], mission.parameters
    rate = rates(x[:PLACES].reshape(-1, 2), mission.sensors, model)  # [I, J]
    needed = np.full(len(mission.sensors), -model.Q_lambda * ENOUGH)
    best = optimize.linprog(np.ones(HOVER_POINTS), A_ub=-rate.T, b_ub=needed, bounds=(0, model.T_max))
    trial = np.concat([x[:PLACES], np.clip(best.x, 0, model.T_max)]) if best.status == 0 else x
    value = float(judge(problem, trial)[0])
    return (trial, value) if value < flight[1] else flight


def shorten(mission: Mission, problem: Problem, x: np.ndarray, rng: np.random.Generator, rounds: int) -> Flight | None:
    """Try moves of the hover points in batches and keep what flies and hovers shorter."""
    f = float(judge(problem, x)[0])
    for _ in range(rounds):
        trials = enough_data(mission, moved(mission, x, rng))
        values, _ = judge(problem, trials)
        k = int(np.argmin(values))
        if values[k] < f:
            x, f = trials[k], float(values[k])
    return least_times(mission, problem, (x, f)) if np.isfinite(f) else None


def moved(mission: Mission, x: np.ndarray, rng: np.random.Generator, each: int = 40) -> np.ndarray:
    """Neighbours of a flight, so many of each kind: [5 each, 18]."""
    points, times = x[:PLACES].reshape(-1, 2), x[PLACES:]
    corners = np.concat([mission.start[None], points, mission.end[None]])
    row, i = np.arange(each), rng.integers(HOVER_POINTS, size=each)
    at = np.tile(points, (5, each, 1, 1))  # [kind, each, I, 2]
    stay = np.tile(times, (5, each, 1))
    step = rng.normal(size=(each, 1, 2)) * 10.0 ** rng.uniform(-2, 3, (each, 1, 1))
    shared = np.all(points[i][:, None] == points, axis=-1, keepdims=True)
    at[0] += step * shared  # shift one place, with all hover points on it
    at[1] += rng.normal(size=at[1].shape) * 10.0 ** rng.uniform(-3, 2, (each, 1, 1)) * rng.integers(0, 2, at[1].shape)
    at[2][row, i] = corners[i + 2 * rng.integers(0, 2, each)]  # join the corner before or after
    order = np.argsort(np.arange(HOVER_POINTS) + rng.normal(size=(each, HOVER_POINTS)), axis=1)
    at[3], stay[3] = points[order], times[order]  # visit the points in another order
    near = mission.sensors[rng.integers(len(mission.sensors), size=each)] + step[:, 0]
    at[4][row, i] = near  # move one hover point to some sensor
    stay *= np.where(rng.random(stay.shape) < 0.15, rng.uniform(0, 2, stay.shape), 1.0)
    at = np.clip(at, 0.0, np.array(mission.area))
    return np.concat([at.reshape(-1, PLACES), stay.reshape(-1, HOVER_POINTS)], axis=1)


def settle(mission: Mission, problem: Problem, flight: Flight, seed: int, generations: int) -> Flight:
    """Move the distinct hover points to the bottom with CMA-ES, first in steps of metres, then of millimetres."""
    cma: Any = load_extra("cma", "peers", "the search for reference flights")
    for sigma in (20.0, 0.5, 0.01):
        distinct, member = np.unique(flight[0][:PLACES].reshape(-1, 2), axis=0, return_inverse=True)
        z = np.concat([distinct.ravel(), 10 * flight[0][PLACES:]])  # a tenth of a second weighs like a metre
        options = {"verbose": -9, "seed": seed, "tolfun": 1e-10, "tolx": 1e-9, "popsize": 20}
        strategy = cma.CMAEvolutionStrategy(z, sigma, options)
        for _ in range(generations):
            if strategy.stop():
                break
            asked = np.array(strategy.ask())
            places, times = asked[:, : distinct.size].reshape(len(asked), -1, 2), np.abs(asked[:, distinct.size :]) / 10
            trials = enough_data(mission, np.concat([places[:, member].reshape(len(asked), -1), times], axis=1))
            values, penalised = judge(problem, trials)
            k = int(np.argmin(values))
            if values[k] < flight[1]:
                flight = trials[k], float(values[k])
            strategy.tell(list(asked), penalised)
        flight = least_times(mission, problem, flight)
    return flight
