"""The state of a model search: bounded numbers, free of units, from what TR-ES knows of itself (knowledge.py).

Every function is pure and works on B runs at once. Counts are those since the last decision; what improved is
remembered a little longer. The last two numbers are what the engine's own rule would set now.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from meco.core.arrays import Array, bounded, namespace

FORGET = 0.7  # what a decision leaves of the improvements before it
DIMENSIONS, PER_VARIABLE = (2.0, 20.0), (20.0, 100.0)  # beyond these, policies see the border
FINEST = 1e-6  # least share of a range that counts

SEARCH_FEATURES = (
    "r2 of f", "r2 of the worst constraint",
    "steps accepted", "steps refused", "geometry points", "feasible points", "failed points",
    "models improve", "strategy improves", "who improved last",
    "radius", "radius over sigma", "starts", "ends apart", "ends behind", "strategy behind",
    "progress of f", "progress of the violation", "violation",
    "active constraints", "flat constraints",
    "variables", "inequalities", "equalities", "whole variables", "evaluations per variable", "budget spent",
    "theta by the rule", "share by the rule",
)  # fmt: skip
SEARCH_NEEDS = (
    "tally", "f", "f_range", "violation", "radius", "starts", "ends_apart", "ends_behind", "rivalry", "active", "flat",
    "dim", "inequalities", "equalities", "budget", "spent", "whole", "own_theta", "own_share", "r2_f", "r2_c", "sigma",
)  # fmt: skip


class Remembered(NamedTuple):
    """What the next observation is compared with."""

    tally: Any
    f: Array
    violation: Array
    lately: tuple[Array, Array, Array, Array]  # points and improvements of the models, then of the strategy


def logarithm(share: Array) -> Array:
    """A share's size and sign on a logarithmic scale: 0 below 1e-6 or so, 1 at 1."""
    xp = namespace(share)
    size = xp.log10(1.0 + xp.abs(share) / FINEST) / 6.0
    return xp.where(share < 0.0, -size, size)


def in_shares(value: Array, span: Array) -> Array:
    """A difference in shares of a range, 0 where there is none yet."""
    xp = namespace(value)
    return xp.where(span > 0.0, value / xp.where(span > 0.0, span, 1.0), 0.0)


def nines(r2: Array) -> Array:
    """How many nines an R^2 has, in sixths: 0 explains nothing, 1 all but a millionth."""
    xp = namespace(r2)
    return -xp.log10(bounded(1.0 - r2, FINEST, 1e6)) / 6.0


def since(tally: Any, before: Any) -> tuple[Array, ...]:
    """Counts [B] since another tally, as shares of the points told; then points and improvements of each proposer."""
    xp = namespace(tally.told)
    told, accepted, refused, geometry, offspring, fruitful, feasible, failed = (
        tally if before is None else (now - then for now, then in zip(tally, before))
    )
    per = xp.where(told > 0.0, told, 1.0)
    shares = (accepted / per, refused / per, geometry / per, feasible / per, failed / per)
    return (*shares, told - offspring, accepted, offspring, fruitful)


def search_state(known: Mapping[str, Any], memory: Remembered | None) -> tuple[Array, Remembered]:
    """The features [B, 29] in the order of SEARCH_FEATURES, and what to remember."""
    xp, tally, span = namespace(known["f"]), known["tally"], known["f_range"]
    *shares, tried, won, born, fruitful = since(tally, None if memory is None else memory.tally)
    lately = (tried, won, born, fruitful)
    if memory is None:
        fell = eased = xp.zeros_like(span)
    else:
        lately = tuple(FORGET * old + new for old, new in zip(memory.lately, lately))
        fell = in_shares(memory.f - known["f"], span)
        eased = memory.violation - known["violation"]
    models, strategy = lately[1] / (lately[0] + 1.0), lately[3] / (lately[2] + 1.0)
    whose = (lately[3] - lately[1]) / (lately[1] + lately[3] + 1.0)
    dim = known["dim"]
    columns = [
        nines(known["r2_f"]), nines(known["r2_c"]),
        *shares, models, strategy, whose,
        1.0 + xp.log10(known["radius"]) / 6.0, xp.log10(known["radius"] / known["sigma"]) / 6.0,
        xp.log2(1.0 + known["starts"]) / 5.0, known["ends_apart"], logarithm(in_shares(known["ends_behind"], span)),
        -logarithm(in_shares(known["rivalry"], span)), logarithm(fell), logarithm(eased), logarithm(known["violation"]),
        known["active"], known["flat"],
        xp.log10(bounded(dim, *DIMENSIONS)) / 2.0, known["inequalities"] / (known["inequalities"] + dim),
        known["equalities"] / dim, known["whole"], xp.log10(bounded(known["budget"] / dim, *PER_VARIABLE)) / 3.0,
        known["spent"],
        known["own_theta"], known["own_share"],
    ]  # fmt: skip
    s = xp.stack(columns, axis=-1)
    s = bounded(xp.where(xp.isnan(s), 0.0, s), -1.0, 1.0)
    kept = type(tally)(*(count + 0.0 for count in tally))  # a copy: on a device the engine counts on in place
    return s, Remembered(kept, known["f"], known["violation"], lately)
