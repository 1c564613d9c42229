"""A long search for the best flight of a mission: the reference solutions that ship with the maps.

For every number of stops, runs of SHADE find feasible flights. Moves that know what a route is shorten the
best of them, and a smooth program settles the last metres; then each stop is left out in turn, as
long as that helps. Hovering times are not searched on their own: one factor makes them just long enough,
and for given points they are a linear program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from meco.batch_solve import solve
from meco.core.problem import Problem
from meco.errors import load_extra
from meco.problems.uav.flight_model import HOVER_POINTS, data_rates
from meco.problems.uav.mission import Mission
from tools.missions.polish import ENOUGH, PLACES, polish_flight

Draw = np.random.Generator
Flight = tuple[np.ndarray, float]  # x and its objective


def search_reference(mission: Mission, seed: int, effort: float = 1.0) -> Flight | None:
    """The best feasible flight found, or None where no run found one; effort scales the evaluations."""
    problem = mission.problem()
    rng = np.random.default_rng([seed, 1])
    starts = [x for plan in PLANS for x in planned_flights(mission, problem, plan, seed, int(5000 * effort))]
    flights = [(x, float(flight_objectives(problem, x))) for x in starts]
    for kept, rounds in ((24, 150), (8, 300)):
        flights = [
            improve_flight(mission, problem, flight, rng, int(rounds * effort)) for flight in select_best(flights, kept)
        ]
    found = [drop_stops(mission, problem, flight, rng, int(80 * effort)) for flight in select_best(flights, 3)]
    return min(found, key=lambda flight: flight[1], default=None)


def select_best(flights: Sequence[Flight], count: int) -> list[Flight]:
    """The best feasible flights, those of equal objective only once."""
    ordered = sorted((flight for flight in flights if np.isfinite(flight[1])), key=lambda flight: flight[1])
    kept = {round(f, 4): (x, f) for x, f in reversed(ordered)}
    return sorted(kept.values(), key=lambda flight: flight[1])[:count]


def improve_flight(mission: Mission, problem: Problem, flight: Flight, rng: Draw, rounds: int) -> Flight:
    """The flight shortened by so many rounds of moves, and settled."""
    return settle_flight(mission, problem, shorten_flight(mission, problem, flight, rng, rounds))


def drop_stops(mission: Mission, problem: Problem, flight: Flight, rng: Draw, rounds: int) -> Flight:
    """The flight with stops left out, or passed without waiting, as long as that makes it better."""
    while True:
        others = [(x, float(flight_objectives(problem, x))) for x in flights_with_one_stop_less(mission, flight[0])]
        tried = [improve_flight(mission, problem, other, rng, rounds) for other in select_best(others, len(others))]
        best = min(tried, key=lambda other: other[1], default=flight)
        if best[1] > flight[1] - 1e-6:
            return flight
        flight = best


class Plan(NamedTuple):
    """A flight with so many free stops, and with hovering at the start or the end, which costs no flying."""

    stops: int
    at_start: int  # 1 or 0
    at_end: int

    def flights(self, mission: Mission, z: np.ndarray) -> np.ndarray:
        """Flights from their free stops and their times in seconds: z [..., 3 stops + ends] -> x [..., 18]."""
        leading, ends = z.shape[:-1], [self.at_start, self.at_end]
        free = z[..., : 2 * self.stops].reshape(*leading, -1, 2)
        spare = HOVER_POINTS - self.stops - sum(ends)  # left over: they stay with the first free stop
        first, last = (np.broadcast_to(end, (*leading, n, 2)) for end, n in zip((mission.start, mission.end), ends))
        points = np.concat([first, np.repeat(free[..., :1, :], spare, axis=-2), free, last], axis=-2)
        times, idle = z[..., 2 * self.stops :], np.zeros((*leading, spare))
        times = np.concat([times[..., : ends[0]], idle, times[..., ends[0] :]], axis=-1)
        x = np.concat([points.reshape(*leading, -1), times], axis=-1)
        return stretch_hover_times(mission, x.reshape(-1, x.shape[-1])).reshape(x.shape)


PLANS = (*(Plan(n, 1, 1) for n in (1, 2, 3, 4)), Plan(5, 1, 0), Plan(5, 0, 1), Plan(6, 0, 0))


def planned_flights(mission: Mission, problem: Problem, plan: Plan, seed: int, budget: int) -> list[np.ndarray]:
    """The best feasible flights after one plan, from twelve runs of SHADE over its free stops alone."""
    width, height = mission.area
    times = plan.stops + plan.at_start + plan.at_end
    upper = np.array([width, height] * plan.stops + [mission.parameters.T_max] * times)

    def formula(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return problem.raw(plan.flights(mission, z))

    smaller = Problem(mission.name, np.zeros(len(upper)), upper, problem.n_ineq, problem.n_eq, formula)
    runs = sorted(solve("SHADE-FR", smaller, budget, range(seed, seed + 12)), key=lambda run: run.f)
    return [plan.flights(mission, run.x) for run in runs if run.feasible][:6]


def flights_with_one_stop_less(mission: Mission, x: np.ndarray) -> np.ndarray:
    """Flights without one of the stops: no waiting there, or its hover points moved to the stop before or after."""
    points, times = x[:PLACES].reshape(-1, 2), x[PLACES:]
    corners = np.concat([mission.start[None], points, mission.end[None]])
    found = []
    for place in np.unique(points, axis=0):
        there = np.all(points == place, axis=1)
        first, last = np.flatnonzero(there)[[0, -1]]
        found.append(np.concat([points.ravel(), np.where(there, 0.0, times)]))
        for neighbour in (corners[first], corners[last + 2]):
            found.append(np.concat([np.where(there[:, None], neighbour, points).ravel(), times]))
    return stretch_hover_times(mission, np.array(found))


def flight_objectives(problem: Problem, x: np.ndarray) -> np.ndarray:
    """Objective of flights [..., 18] that keep every constraint and meet no obstacle at all; inf for the others."""
    f, g, h = problem.raw(x)
    inside = np.all((x >= problem.lower) & (x <= problem.upper), axis=-1)
    return np.where(inside & np.all(g <= 0, axis=-1) & np.all(h == 0, axis=-1), f, np.inf)


def stretch_hover_times(mission: Mission, x: np.ndarray) -> np.ndarray:
    """Stretch all hovering times of a flight by one factor, so that the neediest sensor is just served."""
    model = mission.parameters
    rate = data_rates(x[:, :PLACES].reshape(len(x), -1, 2), mission.sensors, model)
    least = np.min(np.sum(rate * x[:, PLACES:, None], axis=1), axis=1, keepdims=True)
    times = x[:, PLACES:] * (model.Q_lambda * ENOUGH / np.maximum(least, 1e-9))
    return np.concat([x[:, :PLACES], np.minimum(times, model.T_max)], axis=1)


def minimise_hover_times(mission: Mission, problem: Problem, flight: Flight) -> Flight:
    """The flight with the hovering times of least sum that collect all data at its points."""
    optimize = load_extra("scipy.optimize", "peers", "the search for reference flights")
    x, model = flight[0], mission.parameters
    rate = data_rates(x[:PLACES].reshape(-1, 2), mission.sensors, model)  # [I, J]
    needed = np.full(len(mission.sensors), -model.Q_lambda * ENOUGH)
    best = optimize.linprog(np.ones(HOVER_POINTS), A_ub=-rate.T, b_ub=needed, bounds=(0, model.T_max))
    trial = np.concat([x[:PLACES], np.clip(best.x, 0, model.T_max)]) if best.status == 0 else x
    value = float(flight_objectives(problem, trial))
    return (trial, value) if value < flight[1] else flight


def shorten_flight(mission: Mission, problem: Problem, flight: Flight, rng: Draw, rounds: int) -> Flight:
    """Try moves of the hover points in batches and keep what flies and hovers shorter."""
    x, f = flight
    for _ in range(rounds):
        trials = stretch_hover_times(mission, draw_neighbours(mission, x, rng))
        values = flight_objectives(problem, trials)
        k = int(np.argmin(values))
        if values[k] < f:
            x, f = trials[k], float(values[k])
    return minimise_hover_times(mission, problem, (x, f))


def draw_neighbours(mission: Mission, x: np.ndarray, rng: Draw, each: int = 40) -> np.ndarray:
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


def settle_flight(mission: Mission, problem: Problem, flight: Flight) -> Flight:
    """The flight moved towards the bottom of the smooth program around it, as far as it stays feasible."""
    while True:
        x, f = flight
        target = polish_flight(mission, x)
        trials = np.array([x + share * (target - x) for share in (1.0, 0.6, 0.3, 0.1, 0.03, 0.01)])
        trials = np.concat([trials[:1], stretch_hover_times(mission, trials)])
        values = flight_objectives(problem, trials)
        k = int(np.argmin(values))
        if not values[k] < f - 1e-7:
            return minimise_hover_times(mission, problem, flight)
        flight = trials[k], float(values[k])
