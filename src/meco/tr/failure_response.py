"""What a search does about failures: learn where they lie, step with that in mind, and score what was foreseen.

The probabilities are those of failures.py and failure_border.py, the steps those of failure_avoidance.py; here they
are put together for one iteration. All of it changes the state that it is given, and nothing while nothing has failed.
"""

from __future__ import annotations

from meco.core.arrays import Array, namespace, zeros_like
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.tr.expectation import Asked
from meco.tr.failure_avoidance import (
    BORDER_RESTART_RADIUS,
    StepChoice,
    leave_border,
    pass_failures,
    radius_survives_failure,
    runs_testing_border,
    touches_failure,
    weigh_failures,
)
from meco.tr.failure_border import fit_border
from meco.tr.failures import ENOUGH_EVIDENCE, FailureModel, decide_local, fit_nearby, score_places
from meco.tr.model_check import MODEL_CHECKS
from meco.tr.model_fit import model_size
from meco.tr.run_subsets import choose_runs
from meco.tr.step import Step, Subproblem, relaxed_step
from meco.tr.tr_state import TrState

LEAST_SCALE_INTERVAL = 10  # evaluations between two searches for the scales of failures.py


def learn_failures(task: Task, state: TrState, batch: int) -> FailureModel | None:
    """Fit where evaluations around the centre fail; None while none has failed.

    The length and amplitude of the model are searched for anew every fiftieth of the budget, but not more often than
    every tenth evaluation, and kept in state.failure_scale. batch is how many points the last iteration told.
    """
    if not state.archive.some_failed:
        return None
    interval = max(LEAST_SCALE_INTERVAL, task.budget // MODEL_CHECKS)
    due = (state.told - batch) // interval < state.told // interval
    width = state.region.width_in_force
    border = fit_border(state.archive, state.region)
    # the border is asked in the model's place where it is there and failures, by evidence, have places
    needed = ~(border.there & (state.failure_evidence > ENOUGH_EVIDENCE))
    size = model_size(task.dim)
    found = fit_nearby(state.archive, state.region.centre, width, size, state.failure_scale, due, needed)
    state.failure_scale = found.length, found.amplitude
    found = found._replace(border=border)
    return decide_local(found, state.failure_evidence, state.failed_row, state.archive.has_failures)


def avoid_failures(state: TrState, known: StepChoice) -> tuple[Step, Subproblem, Array]:
    """Choose the step that failures leave: it, its subproblem, and which runs [B] test a border by it.

    Sets next_source of state.region to a restart in runs whose border leaves a step hardly any decrease.
    """
    step, sub = weigh_failures(known, lambda sub, given: relaxed_step(sub, *given))
    tested = runs_testing_border(known, step, state.archive, state.failed_row)
    step, sub = choose_runs(tested, (known.step, known.sub), (step, sub))
    state.region = leave_border(known, step, state.region)
    return pass_failures(step, sub, state.region, state.archive, state.failed_row), sub, tested


def expect_failures(asked: Asked, state: TrState, failures: FailureModel, x: Array, tested: Array) -> Asked:
    """`asked` with how likely the first of the points x [B, k, D] is to fail, and whether the radius survives that.

    Runs that test a border [B] keep their radius in any case, runs without a failure so far in none: beside others in
    lockstep they do as they would alone.
    """
    risk = failures.place_risks(x[:, :1, :])[:, 0]
    kept = radius_survives_failure(risk, failures.local, state.failed_row) | tested
    return asked._replace(risk=risk, kept=kept & state.archive.has_failures)


def score_failures(state: TrState, asked: Asked, ev: Evaluation) -> None:
    """Add to state.failure_evidence what the first answer says of the probability that was foreseen for it, and count
    failures in a row in state.failed_row.

    The archive must not hold the answer yet. Evidence changes only in runs that had a failure before it.
    """
    xp, failed = namespace(ev.f), ev.failed[:, 0]
    if asked.risk is not None:
        scored = score_places(state.failure_evidence, asked.risk, failed, state.archive.failed_rate())
        state.failure_evidence = xp.where(state.archive.has_failures, scored, state.failure_evidence)
    if not ev.intact or state.archive.some_failed:
        for k in range(ev.failed.shape[1]):
            state.failed_row = xp.where(ev.failed[:, k], state.failed_row + 1, 0)


def widen_restart_radius(state: TrState, least: Array) -> Array:
    """Radii [B] below which a run starts again; at least 3e-5 where the centre lies beside a point that failed."""
    if not state.archive.some_failed:
        return least
    xp = namespace(least)
    wide = xp.maximum(least, zeros_like(least) + BORDER_RESTART_RADIUS)
    return xp.where(touches_failure(state.archive, state.region), wide, least)
