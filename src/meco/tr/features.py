"""What a policy sees of TR-ES: bounded numbers, free of units, from what TR-ES knows of itself (knowledge.py).

Every function is pure and works on B runs at once. Counts are those since the last decision; what improved is
remembered a little longer. The last two numbers are what the engine's own rule would set now.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from meco.core.arrays import Array, bounded, namespace

IMPROVEMENT_DECAY = 0.7  # what a decision leaves of the improvements before it
DIMENSIONS, PER_VARIABLE = (2.0, 20.0), (20.0, 100.0)  # beyond these, policies see the border
SMALLEST_SHARE = 1e-6  # least share of a range that counts

TR_FEATURE_NAMES = (
    "r2 of f", "r2 of the worst constraint",
    "steps accepted", "steps refused", "geometry points", "feasible points", "failed points",
    "models improve", "strategy improves", "balance of improvements",
    "radius", "radius over sigma", "restarts", "restart distance", "restart loss", "strategy behind",
    "progress of f", "progress of the violation", "violation",
    "active constraints", "flat constraints",
    "variables", "inequalities", "equalities", "integer variables", "evaluations per variable", "budget spent",
    "theta by the rule", "share by the rule",
)  # fmt: skip
TR_FEATURE_NEEDS = (  # of an engine's knowledge
    "counts", "f", "f_range", "violation", "radius", "restarts", "restart_distance", "restart_loss", "es_lead",
    "active", "flat", "dim", "inequalities", "equalities", "budget", "spent", "integers", "default_theta",
    "default_share", "r2_f", "r2_c", "sigma",
)  # fmt: skip


class TrFeatureMemory(NamedTuple):
    """What the next observation is compared with. Saved searches hold it, `lately` by position (core/memory.py)."""

    counts: Any
    f: Array
    violation: Array
    lately: tuple[Array, Array, Array, Array]  # points and improvements of the models, then of the strategy


def log_scale_share(share: Array) -> Array:
    """A share's size and sign on a logarithmic scale, any shape: 0 below 1e-6 or so, +-1 at +-1."""
    xp = namespace(share)
    size = xp.log10(1.0 + xp.abs(share) / SMALLEST_SHARE) / 6.0
    return xp.where(share < 0.0, -size, size)


def share_of_range(value: Array, span: Array) -> Array:
    """A difference [B] in shares of a range [B], 0 where there is none yet."""
    xp = namespace(value)
    return xp.where(span > 0.0, value / xp.where(span > 0.0, span, 1.0), 0.0)


def count_nines(r2: Array) -> Array:
    """How many nines an R^2 has, in sixths, any shape: 0 explains nothing, 1 all but a millionth; less below 0."""
    xp = namespace(r2)
    return -xp.log10(bounded(1.0 - r2, SMALLEST_SHARE, 1e6)) / 6.0


def counts_since(counts: Any, before: Any) -> tuple[Array, ...]:
    """Nine numbers [B] from ProposalCounts and earlier ones, None: from the beginning.

    Accepted, refused, geometry, feasible and failed as shares of the points told since; then numbers of points and
    improvements of the models, and of the strategy.
    """
    xp = namespace(counts.told)
    told, accepted, refused, geometry, offspring, fruitful, feasible, failed = (
        counts if before is None else (now - then for now, then in zip(counts, before))
    )
    per = xp.where(told > 0.0, told, 1.0)
    shares = (accepted / per, refused / per, geometry / per, feasible / per, failed / per)
    return (*shares, told - offspring, accepted, offspring, fruitful)


def tr_features(known: Mapping[str, Any], memory: TrFeatureMemory | None) -> tuple[Array, TrFeatureMemory]:
    """The features [B, 29] in [-1, 1], in the order of TR_FEATURE_NAMES, and what to remember for the next ones.

    known has the names of TR_FEATURE_NEEDS. memory None: nothing was seen before, and progress is 0; nan becomes 0.
    Policies rely on the order.
    """
    xp, counts, span = namespace(known["f"]), known["counts"], known["f_range"]
    *shares, tried, won, born, fruitful = counts_since(counts, None if memory is None else memory.counts)
    lately = (tried, won, born, fruitful)
    if memory is None:
        fell = eased = xp.zeros_like(span)
    else:
        lately = tuple(IMPROVEMENT_DECAY * old + new for old, new in zip(memory.lately, lately))
        fell = share_of_range(memory.f - known["f"], span)
        eased = memory.violation - known["violation"]
    tried, won, born, fruitful = lately
    models, strategy = won / (tried + 1.0), fruitful / (born + 1.0)
    balance = (fruitful - won) / (won + fruitful + 1.0)
    dim = known["dim"]
    columns = [
        count_nines(known["r2_f"]), count_nines(known["r2_c"]),
        *shares, models, strategy, balance,
        1.0 + xp.log10(known["radius"]) / 6.0, xp.log10(known["radius"] / known["sigma"]) / 6.0,
        xp.log2(1.0 + known["restarts"]) / 5.0, known["restart_distance"],
        log_scale_share(share_of_range(known["restart_loss"], span)),
        -log_scale_share(share_of_range(known["es_lead"], span)), log_scale_share(fell), log_scale_share(eased),
        log_scale_share(known["violation"]),
        known["active"], known["flat"],
        xp.log10(bounded(dim, *DIMENSIONS)) / 2.0, known["inequalities"] / (known["inequalities"] + dim),
        known["equalities"] / dim, known["integers"], xp.log10(bounded(known["budget"] / dim, *PER_VARIABLE)) / 3.0,
        known["spent"],
        known["default_theta"], known["default_share"],
    ]  # fmt: skip
    s = xp.stack(columns, axis=-1)
    s = bounded(xp.where(xp.isnan(s), 0.0, s), -1.0, 1.0)
    kept = type(counts)(*(count + 0.0 for count in counts))  # a copy: on a device the engine counts on in place
    return s, TrFeatureMemory(kept, known["f"], known["violation"], lately)
