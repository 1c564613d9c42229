"""What each limit costs at the answer: Lagrange multipliers by name and in the user's units, or the reason why not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np

from meco.answer.multipliers import (
    CLOSE,
    NOT_KNOWN_WELL,
    NOT_STATIONARY,
    NOT_UNIQUE,
    LimitMultipliers,
    find_multipliers,
)
from meco.evaluations import BestPoint, Evaluations
from meco.result import LimitPrice
from meco.run.request import Request
from meco.space import make_box

ONE_PERCENT = 0.01
AT_BOUND = 1e-6  # of the range: a variable that is this close to its bound is at it
NO_ANSWER = "there is no feasible answer"
NOISY = "the values are noisy"
SLACK_DEVIATIONS = 10.0  # of one noisy call by which a limit is surely not met
SLACK_SHARE = 0.02  # of the values that a constraint had in the run, which it must be off its limit by, too
DIRECTIONS = ("lower bound", "upper bound")


class PricedLimits(NamedTuple):
    """A price for each limit, and whether the Karush-Kuhn-Tucker conditions were found to hold at the answer."""

    prices: tuple[LimitPrice, ...]
    stationary: bool


def price_limits(
    request: Request,
    every: Evaluations,
    best: BestPoint,
    names: Sequence[str],
    *,
    feasible: bool,
    deviations: np.ndarray | None = None,
) -> PricedLimits:
    """A price for each constraint, and for each bound that the answer lies at; each without one says why.

    Integer variables stay as they are: only points with the same integers are looked at. feasible: whether the answer
    is, of noisy values in the mean. deviations [1 + C] are those of one noisy call of f and constraints, None without
    noise: where these explain why no price can be told, they are the reason, and limits far from the answer have 0.
    """
    n_ineq = best.g.size
    kinds = ["inequality"] * n_ineq + ["equality"] * best.h.size
    if not feasible:
        return PricedLimits(_leave_untold(names, kinds, NO_ANSWER), False)
    free = request.variables.upper > request.variables.lower
    taken = ~every.failed
    if request.integer is not None:
        free &= ~request.integer
        taken &= (every.x[:, request.integer] == best.x[request.integer]).all(axis=1)
    if not free.any():
        return PricedLimits(_leave_untold(names, kinds, "no variable can move"), False)
    box, rows = make_box(request), np.flatnonzero(taken)
    at, u = box.to_unit(best.x), box.to_unit(every.x[rows])[:, free]
    room = box.wall_distances(at)
    near, far = find_near_limits(every.g, rows, u - at[free], best.g)
    y = np.concatenate([every.f[rows, None], every.g[np.ix_(rows, near)], every.h[rows]], axis=1)
    value = np.concatenate([[best.f], best.g[near], best.h])
    with np.errstate(all="ignore"):
        found = _find_scaled_multipliers(u, y, at[free], value, len(near), room[:, free])
    stationary = free.all() and all(reason == NOT_UNIQUE for reason in found.reasons.values())
    if deviations is not None:
        few = deviations[np.concatenate([[0], 1 + near, np.arange(1 + n_ineq, len(deviations))])]
        with np.errstate(all="ignore"):
            found = _blame_noise(found, u, y, at[free], best.g[near], few)
    limits = _find_limits(request, names, n_ineq)
    unseen = (None, None, found.reasons[0]) if _tells_no_constraint(found) else (0.0, 0.0, "")
    prices = [*map(LimitPrice, names, kinds, *map(repeat, unseen))]
    for i in np.flatnonzero(~far).tolist():
        prices[i] = LimitPrice(names[i], kinds[i], reason=MANY_NEAR)
    for k, i in enumerate([*near.tolist(), *range(n_ineq, len(names))]):
        price, step = float(found.constraints[k]), ONE_PERCENT * abs(limits.get(names[i], 0.0))
        prices[i] = LimitPrice(names[i], kinds[i], *_read_price(found, k, price, step))
    bounds = _price_bounds(request, found, room, box.slopes(best.x), np.flatnonzero(free))
    return PricedLimits((*prices, *bounds), bool(stationary))


def _leave_untold(names: Sequence[str], kinds: Sequence[str], reason: str) -> tuple[LimitPrice, ...]:
    """No price for any constraint, and one reason for all of them."""
    return tuple(LimitPrice(name, kind, None, None, reason) for name, kind in zip(names, kinds))


def _tells_no_constraint(found: LimitMultipliers) -> bool:
    """Whether there are constraints, and none has a multiplier that is told."""
    count = len(found.constraints)
    return count > 0 and all(k in found.reasons for k in range(count))


def _find_limits(request: Request, names: Sequence[str], n_ineq: int) -> dict[str, float]:
    """The limits of constraints by name, as far as constraints beside the function and cheap ones tell them."""
    given = (*request.separate, *(() if request.cheap is None else request.cheap.values.cheap))
    if not given:
        return {}
    from meco.run.constraints import find_limits

    return find_limits(given, names, n_ineq)


def _blame_noise(
    found: LimitMultipliers, u: np.ndarray, y: np.ndarray, at: np.ndarray, g: np.ndarray, deviations: np.ndarray
) -> LimitMultipliers:
    """The same with noise as the reason where noise explains why, and 0 for inequalities that are surely not met.

    0 needs a point that is stationary as far as values tell: never where the search has not converged. u [n, D] and
    y [n, 1 + C] are all points and values, `at` [D] and g [p] those of the answer, deviations [1 + C] of a single call.
    """
    p, noise = len(g), deviations[1 : 1 + len(g)]
    values = y[:, 1 : 1 + p]
    width = np.max(values, axis=0, initial=-np.inf) - np.min(values, axis=0, initial=np.inf)
    slack = -g > np.maximum(SLACK_DEVIATIONS * noise, SLACK_SHARE * width)
    hidden = [k for k, reason in found.reasons.items() if reason in (NOT_STATIONARY, NOT_KNOWN_WELL)]
    explained = False
    if hidden:
        from meco.answer.multipliers import noise_explains

        active = np.flatnonzero(np.concatenate([~slack, np.ones(len(found.constraints) - p, dtype=bool)]))
        explained = noise_explains(u, y, at, deviations, active, active >= p)
    free_of_price = {
        k
        for k, reason in found.reasons.items()
        if k < p and slack[k] and (reason == NOT_UNIQUE or (k in hidden and explained))
    }
    prices = found.constraints.copy()
    prices[sorted(free_of_price)] = 0.0
    blamed = dict.fromkeys(hidden, NOISY) if explained else {}
    reasons = {k: blamed.get(k, reason) for k, reason in found.reasons.items() if k not in free_of_price}
    return found._replace(constraints=prices, reasons=reasons)


def _find_scaled_multipliers(
    u: np.ndarray, y: np.ndarray, at: np.ndarray, value: np.ndarray, n_ineq: int, room: np.ndarray
) -> LimitMultipliers:
    """find_multipliers() with f and each constraint in units of its spread; no multiplier where numbers overflow."""
    scale = np.max(np.abs(y - value), axis=0, initial=0.0)
    scale = np.where(np.isfinite(scale) & (scale > 0.0), scale, 1.0)
    try:
        found = find_multipliers(u, y / scale, at, value / scale, n_ineq, room)
    except np.linalg.LinAlgError:
        found = None
    if found is None:
        every = dict.fromkeys(range(len(value) - 1 + 2 * len(at)), "its values are too far apart")
        return LimitMultipliers(np.full(len(value) - 1, np.nan), np.full((2, len(at)), np.nan), np.inf, every)
    return found._replace(constraints=found.constraints * scale[0] / scale[1:], bounds=found.bounds * scale[0])


def _price_bounds(
    request: Request, found: LimitMultipliers, room: np.ndarray, slopes: np.ndarray, free: np.ndarray
) -> list[LimitPrice]:
    """Prices of the bounds that the answer lies at; slopes [D] are dx / du there."""
    labels, prices = request.variables.labels(), []
    lower, upper = request.variables.lower, request.variables.upper
    for place, j in enumerate(free):
        for side, (end, apart) in enumerate(((lower[j], room[0, j]), (upper[j], room[1, j]))):
            index = len(found.constraints) + side * len(free) + place
            if not np.isfinite(end) or (apart > AT_BOUND and (apart > CLOSE or found.bounds[side, place] == 0.0)):
                continue
            step = ONE_PERCENT * float(abs(end) if end else slopes[j])
            price = float(found.bounds[side, place] / slopes[j])
            prices.append(LimitPrice(labels[j], DIRECTIONS[side], *_read_price(found, index, price, step)))
    return prices


def _read_price(
    found: LimitMultipliers, index: int, price: float, step: float
) -> tuple[float | None, float | None, str]:
    """Multiplier, what one percent brings, and ""; or None, None and the reason why there is none.

    step is one percent of the limit, 0 where the limit is not known or 0: what a percent of it brings cannot be told.
    """
    if index in found.reasons or not math.isfinite(price):
        return None, None, found.reasons.get(index, "its values are too far apart")
    return price, price * step if step or price == 0.0 else None, ""


# -- candidate active constraints: with very many, estimate multipliers only for the nearest

MOST_PRICED = 1000  # inequalities whose multipliers are looked for: those nearest to their limits
SPREAD_POINTS = 30  # nearest to the answer, that tell how near
SURELY_FAR = 0.02  # of what a constraint changes by among these, by which it is not at its limit
MANY_NEAR = f"it is one of more than {MOST_PRICED} limits that are as near"


class NearLimits(NamedTuple):
    """Numbers of the inequalities that are looked at [K], and which of all others are surely not met [p]."""

    numbers: np.ndarray
    far: np.ndarray


def find_near_limits(g: np.ndarray, rows: np.ndarray, offset: np.ndarray, at: np.ndarray) -> NearLimits:
    """The MOST_PRICED inequalities that are nearest to their limits where their values are at [p]; all, if no more.

    A constraint is as near as its value is small beside what it changes by among the nearest points: rows [m] of g
    [n, p], at offsets [m, D]. One that is the same at all of these has no slope, and cannot hold f back.
    """
    if at.size <= MOST_PRICED:
        return NearLimits(np.arange(at.size), np.zeros(at.size, dtype=bool))
    nearest = np.argsort((offset * offset).sum(axis=1), kind="stable")[:SPREAD_POINTS]
    values = g[rows[nearest]]
    width = np.max(values, axis=0, initial=-np.inf) - np.min(values, axis=0, initial=np.inf)
    slack = np.where(width > 0.0, -at / np.where(width > 0.0, width, 1.0), np.inf)
    order = np.lexsort((-width, slack))
    far = slack > max(float(slack[order[MOST_PRICED - 1]]), SURELY_FAR)
    return NearLimits(np.sort(order[:MOST_PRICED]), far | np.isinf(slack))
