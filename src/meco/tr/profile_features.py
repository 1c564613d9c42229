"""What a policy over profiles sees of TR: bounded numbers, free of units, that tell early what matters.

Before the first answers only the task is known, and everything else is 0. Counts and progress are those since the
last decision of a run, trends compare with what was seen lately. Every function is pure and works on B runs at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import (
    Array,
    Constants,
    asarray_like,
    bounded,
    masked_max,
    masked_min,
    maybe_any,
    namespace,
    rows,
    total,
)
from meco.core.engine import Task
from meco.tr.features import count_nines, log_scale_share
from meco.tr.knowledge import ACTIVE_PULL, best_among, share_of
from meco.tr.merit import MERIT, beyond_tolerance
from meco.tr.proposal_counts import COUNT_CASES, sum_counts
from meco.tr.tr_state import TrState

FEATURE_GROUPS = {
    "task": (
        "variables", "evaluations per variable", "inequalities", "equalities", "integer variables", "point given",
        "budget spent",
    ),
    "models": (
        "r2 of f", "r2 of the worst constraint", "trend of r2 of f", "trend of r2 of the worst constraint",
        "roughness of f", "roughness of the roughest constraint", "f found rough lately",
    ),
    "points": (
        "steps accepted", "steps refused", "refused although r2 is high", "geometry points", "feasible points",
        "failed points", "progress of f", "progress of the violation", "violation", "active constraints",
    ),
    "starts": ("radius", "restarts", "starts left", "distance of the last two ends", "loss of the last end"),
}  # fmt: skip
PROFILE_FEATURE_NAMES = tuple(name for names in FEATURE_GROUPS.values() for name in names)
PROFILE_FEATURE_NEEDS = ("task", "models", "search")  # of an engine's knowledge
LATELY = 0.7  # what a decision leaves of the R^2 seen before it
DIMENSIONS, PER_VARIABLE = (2.0, 50.0), (10.0, 200.0)  # beyond these, policies see the border
LEAST_ROUGHNESS, ROUGH_DECADES = 1e-6, 4.0  # eta from what a profile may take for smooth to rough


class ProfileFeatureMemory(NamedTuple):
    """What the next observation is compared with: [B, ...] each. Saved searches hold it (core/memory.py)."""

    counts: Array  # [B, 6] points told, accepted, refused, geometry, feasible, failed
    f: Array
    violation: Array
    nines: Array  # [B, 2] of R^2 lately


def _counted_cases() -> np.ndarray:
    """What each counted case adds to told, accepted, refused, geometry, feasible and failed: [32, 6], 0 or 1."""
    found = sum_counts(np.eye(COUNT_CASES))
    return np.stack([found.told, found.accepted, found.refused, found.geometry, found.feasible, found.failed], axis=-1)


_CASES = Constants(sums=_counted_cases())


def describe_task(task: Task, like: Array, told: int) -> Array:
    """Columns of the group "task" for the runs of like [B], after `told` evaluations: [B, 7].

    Before the first answers no constraints are counted: a user's function tells by them.
    """
    inequalities, equalities = task.counts() if told else (0, 0)  # a user's function tells by its first answers
    same = [
        _place_in_range(task.dim, *DIMENSIONS), _place_in_range(task.budget / task.dim, *PER_VARIABLE),
        inequalities / (inequalities + task.dim), min(1.0, equalities / task.dim),
        0.0, 0.0 if task.x0 is None else 1.0, min(1.0, told / task.budget),
    ]  # fmt: skip
    found = like[:, None] * 0.0 + asarray_like(same, like)
    if task.integer is None:
        return found
    share = share_of(task.integer[:, 0, :], like)[:, None]
    return found + share * asarray_like([name == "integer variables" for name in FEATURE_GROUPS["task"]], like)


def _place_in_range(value: float, low: float, high: float) -> float:
    """Where a positive value lies from low to high, in logarithms: 0 at low or below, 1 at high or above."""
    return math.log(min(max(value, low), high) / low) / math.log(high / low)


@np.errstate(all="ignore")
def describe_profile_search(task: Task, state: TrState | None, like: Array) -> dict[str, Any]:
    """Everything of PROFILE_FEATURE_NEEDS by name, for the runs of like [B].

    state None, before the first answers: the task alone, and None for the rest. "task" is [B, 7], "models" R^2 of f and
    of the worst constraint [B] and the roughness, "search" a dict of numbers. Changes nothing.
    """
    if state is None:
        return {"task": describe_task(task, like, 0), "models": None, "search": None}
    return {
        "task": describe_task(task, like, state.told),
        "models": (*state.r2, state.rough),
        "search": _describe_points(task, state),
    }


def _describe_points(task: Task, state: TrState) -> dict[str, Array]:
    """Counts [B, 6], and what points, region and starts say, [B] each, by name."""
    archive, region = state.archive, state.region
    xp, delta, ev = namespace(archive.x), region.delta, archive.evaluation()
    merit, failed = MERIT.total(ev.f, ev.c, region.weights), archive.failed
    leader = best_among(merit, failed).index
    seen = ~failed
    span = masked_max(ev.f, seen) - masked_min(ev.f, seen)
    c = beyond_tolerance(rows(ev.c, leader), region.weights.tolerance)[:, 0, :]
    most = xp.max(xp.where(failed[..., None], 0.0, ev.c), axis=1) if c.shape[-1] else c
    violation = c / xp.where(most > 0.0, most, 1.0)
    slope = xp.sqrt(total(region.models.gradient * region.models.gradient))  # [B, 1 + C]
    pull = xp.abs(region.multipliers) * slope[:, 1:]
    restarts = xp.astype(region.restart_index, delta.dtype)
    distance, loss = compare_ends(state, merit)
    return {
        "counts": state.counts @ _CASES.on(delta)["sums"],
        "f": rows(ev.f, leader)[:, 0],
        "f_range": xp.where(xp.isfinite(span), span, 0.0),
        "violation": xp.max(violation, axis=-1) if violation.shape[-1] else xp.zeros_like(delta),
        "active": share_of(pull > ACTIVE_PULL * slope[:, :1], delta) * (pull.shape[-1] / task.dim),
        "radius": delta,
        "restarts": restarts,
        "starts_left": max(0, task.budget - state.told) * (restarts + 1.0) / state.told,
        "distance": distance,
        "loss": loss,
    }


def compare_ends(state: TrState, merit: Array) -> tuple[Array, Array]:
    """How far the best of the last start that ended is from the best before it, and how much worse: [B], [B].

    merit [B, n] is that of the archive's points. Both are 0 before two starts have ended.
    """
    archive, ended = state.archive, state.region.restart_index - 1
    xp, none = namespace(merit), namespace(merit).zeros_like(state.region.delta)
    if not maybe_any(ended > 0):
        return none, none
    index = archive.restart_index
    last = best_among(merit, (index != ended[:, None]) | archive.failed)
    before = best_among(merit, (index >= ended[:, None]) | archive.failed)
    both = (ended > 0) & last.some & before.some
    apart = (rows(archive.x, last.index) - rows(archive.x, before.index))[:, 0, :]
    distance = xp.sqrt(total(apart * apart) / apart.shape[-1])
    return xp.where(both, distance, 0.0), xp.where(both, last.merit - before.merit, 0.0)


def profile_features(
    known: Mapping[str, Any], memory: ProfileFeatureMemory | None
) -> tuple[Array, ProfileFeatureMemory | None]:
    """The features [B, 29] in [-1, 1], in the order of PROFILE_FEATURE_NAMES, and what to remember for the next ones.

    known has the names of PROFILE_FEATURE_NEEDS. Before the first answers all but the task is 0, and nothing is
    remembered: None. Where memory is None progress is 0; nan becomes 0. Policies rely on the order.
    """
    task, search = known["task"], known["search"]
    xp = namespace(task)
    if search is None:
        others = len(PROFILE_FEATURE_NAMES) - task.shape[-1]
        return xp.concat([task, xp.zeros((task.shape[0], others), dtype=task.dtype, device=task.device)], axis=-1), None
    r2_f, r2_c, rough = known["models"]
    nines = count_nines(xp.stack([r2_f, r2_c], axis=-1))
    counts, span = search["counts"], search["f_range"]
    if memory is None:
        memory = ProfileFeatureMemory(0.0 * counts, search["f"], search["violation"], nines)
    since = counts - memory.counts
    shares = since[:, 1:] / xp.where(since[:, :1] > 0.0, since[:, :1], 1.0)
    explained = bounded(xp.minimum(r2_f, r2_c), 0.0, 1.0)
    level = xp.log10(xp.maximum(rough.eta, 0.0 * rough.eta + LEAST_ROUGHNESS) / LEAST_ROUGHNESS) / ROUGH_DECADES
    roughest = xp.max(level[:, 1:], axis=-1) if level.shape[-1] > 1 else 0.0 * r2_f
    per = xp.where(span > 0.0, span, 1.0)  # f has no range where all its differences are 0
    changes = [(memory.f - search["f"]) / per, memory.violation - search["violation"], search["violation"]]
    logs = log_scale_share(xp.stack([*changes, search["loss"] / per], axis=-1))
    radius = search["radius"]
    counted = xp.log2(1.0 + xp.stack([search["restarts"], search["starts_left"]], axis=-1)) * (1.0 / 6.0)
    columns = [
        nines, nines - memory.nines, level[:, :1], xp.stack([roughest, rough.lately], axis=-1),
        shares[:, :2], (shares[:, 1] * explained)[:, None], shares[:, 2:], logs[:, :3],
        xp.stack([search["active"], 1.0 + xp.log10(radius) / 6.0], axis=-1), counted,
        search["distance"][:, None], logs[:, 3:],
    ]  # fmt: skip
    s = xp.concat([task, *columns], axis=-1)
    s = bounded(xp.where(xp.isnan(s), 0.0, s), -1.0, 1.0)
    lately = LATELY * memory.nines + (1.0 - LATELY) * nines
    return s, ProfileFeatureMemory(counts, search["f"], search["violation"], xp.where(xp.isnan(lately), 0.0, lately))
