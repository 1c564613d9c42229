"""What a search does about noise: smooth the values that models are fitted to, repeat calls, judge steps with care.

The formulas are those of noise.py; here they are put together for one iteration. state.noise is what is known of it.
"""

from __future__ import annotations

from typing import Any

from meco.core.arrays import Array, maybe_any, namespace
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.tr.noise import (
    FEWEST_CALLS,
    NoisyPoints,
    compare_repeated,
    final_calls,
    repeat_best,
    smooth_archive,
    told_noise,
)
from meco.tr.region import PointSource, Region
from meco.tr.run_subsets import choose_runs
from meco.tr.tr_state import TrState


def may_be_noisy(task: Task, state: TrState) -> bool:
    """Whether the values of some run are noisy."""
    return task.noisy is not False and maybe_any(state.noise.noisy)


def smooth_fitted_points(task: Task, state: TrState, tau: Array, size: int) -> tuple[Any, Array]:
    """The points that models of `size` points are fitted to, an archive, and the roughness eta [B, F] to fit with.

    The archive itself while no run is noisy. Else the values of noisy runs are smoothed, with gradient freedom tau
    [B or 1], their eta is 0, and state.noise gets the standard deviations that this finds.
    """
    eta = state.rough.eta
    if not may_be_noisy(task, state):
        return state.archive, eta
    noisy = NoisyPoints(state.archive, state.region, state.noise, tau, 2 * size)
    told = told_noise(task, state.archive.y)
    if told is not None and state.working is not None:
        told = state.working.deviations_seen(told)
    smoothed, state.noise = smooth_archive(noisy, task.budget, task.budget - state.told, told)
    return smoothed, namespace(eta).where(state.noise.noisy[:, None], 0.0, eta)


def repeat_calls(task: Task, state: TrState, x: Array, source: Array, before: Region) -> tuple[Array, Array]:
    """Points x [B, k, D] and their sources [B, k], the first of them replaced where a call is to be repeated.

    That is the centre of the region before the step where it is to be found out whether values are noisy. In the last
    calls of a noisy run it is the best point, which is chosen twice and kept in state.noise.target: each gets half of
    the calls. So it is before, wherever another call of it tells more than another step.

    In the last calls no step is made any more: multipliers and weights of state.region stay as they were before, so
    that both points are chosen by the same ones.
    """
    if task.noisy is False:
        return x, source
    noise, budget = state.noise, task.budget
    due = noise.due & (budget >= FEWEST_CALLS)
    if not maybe_any(due | noise.noisy):
        return x, source
    calls = final_calls(budget)
    made = state.told - (budget - calls)  # of the last calls
    fresh = made < 0 or made * 2 // calls > (made - x.shape[1]) * 2 // calls  # two points get half of them each
    state.noise = noise._replace(asked=due, target=before.centre if fresh else noise.target)
    target = namespace(x).where(due[:, None], before.centre, state.noise.target)
    last = noise.noisy & (made >= 0)
    region, old = state.region, (before.multipliers, before.weights.w)
    multipliers, w = choose_runs(last, old, (region.multipliers, region.weights.w))
    state.region = region._replace(multipliers=multipliers, weights=region.weights.with_w(w))
    return repeat_best(x, source, due | noise.repeats_pay | last, target, PointSource.GEOMETRY)


def compare_repeats(task: Task, state: TrState, x: Array, ev: Evaluation) -> None:
    """Note in state.noise whether calls that were repeated to find noise out gave the same values.

    Only the first of the points x [B, k, D] can be such a call. The archive must not hold the answers yet.
    """
    if task.noisy is not False and maybe_any(state.noise.asked):
        state.noise = compare_repeated(state.noise, state.archive, x[:, 0, :], ev)
