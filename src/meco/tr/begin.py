"""The first state of a search, by the size of its problem: what many variables and very many constraints change."""

from __future__ import annotations

from meco.core.arrays import Array
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.tr.model_fit import model_size
from meco.tr.point_models import FEW_VARIABLES
from meco.tr.tr_state import Sizes, TrState, find_capacity
from meco.tr.working_set import MOST_WATCHED, WorkingSet


def begin_state(task: Task, x: Array, ev: Evaluation, radii: Array, batch: int, matrices: bool) -> TrState:
    """The first state, from points x [B, n, D] and radii [B or 1, D]; `batch` points at a time follow.

    Beyond FEW_VARIABLES models have no matrices, beyond MOST_WATCHED inequalities there is a working set. Neither is
    made where something else needs matrices; a working set not where linear limits are known, either.
    The archive is as long as memory allows all the same.
    """
    count, sizes, working = x.shape[1], Sizes(), None
    if not matrices and task.dim > FEW_VARIABLES:
        sizes = sizes._replace(model_points=model_size(task.dim))
    if ev.g.shape[-1] > MOST_WATCHED:
        least = count + max(batch, 2 * model_size(task.dim))
        most = find_capacity(task.budget, count, batch)
        capacity = WorkingSet.capacity(ev.g.shape[-1] + ev.h.shape[-1], least, most)
        sizes = sizes._replace(capacity=capacity)
        if not matrices and task.limits is None:
            working = WorkingSet(task.dim, ev, task.tolerance(ev), capacity)
            sizes, ev = sizes._replace(tolerance=working.tolerance_seen), working.reduce(ev)
    state = TrState.begin(task, x, ev, radii, batch, sizes)
    state.working = working
    return state
