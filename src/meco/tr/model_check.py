"""Now and then, how good the models are: how rough the functions look, whether noise is behind it, and R^2."""

from __future__ import annotations

from meco.core.arrays import Array, namespace
from meco.core.engine import Task
from meco.tr.model_fit import LocalFit
from meco.tr.point_models import FEW_VARIABLES
from meco.tr.quadratic import leave_one_out_r2
from meco.tr.roughness import estimate_roughness
from meco.tr.tr_state import TrState

MODEL_CHECKS = 50  # in a run, at most
CHECKS_PER_VARIABLE = 2  # beyond FEW_VARIABLES: checks in as many evaluations as there are variables, at most


def model_check_is_due(task: Task, told: int, generation: int, batch: int) -> bool:
    """Whether this iteration is the first of all, or the first after another fiftieth of the budget.

    told counts the evaluations so far, batch those of the last iteration.
    """
    checks = MODEL_CHECKS
    if task.dim > FEW_VARIABLES:  # where a check costs several fits, and a few points more tell little
        checks = min(checks, max(1, CHECKS_PER_VARIABLE * task.budget // task.dim))
    parts = [count * checks // task.budget for count in (told - batch, told)]
    return generation == 1 or parts[0] < parts[1]


def check_models(task: Task, state: TrState, local: LocalFit, smooth: Array, first: bool) -> None:
    """Set state.r2, and unless it is the first check state.rough and state.noise, from the last fit.

    smooth [B or 1] is the roughness that counts as none. A first check, of a star alone, cannot tell roughness.
    """
    if not first:
        state.rough = estimate_roughness(local.fit, smooth, state.rough.lately)
        if task.noisy is not False:
            state.noise = state.noise.checked(state.rough.eta, smooth, local.span, state.archive.y)
    r2 = leave_one_out_r2(local.fit)
    xp, constraints = namespace(r2), r2[:, 1:]
    worst = xp.min(constraints, axis=-1) if constraints.shape[-1] else xp.ones_like(r2[:, 0])
    state.r2 = (r2[:, 0], worst)
