"""The extensions of a search, composed once from its task."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meco.tr_single.extension import Extension
from meco.tr_single.extensions.batches import Batches
from meco.tr_single.extensions.cheap import Cheap
from meco.tr_single.extensions.integers import Integers
from meco.tr_single.extensions.keep_feasible import KeepFeasible
from meco.tr_single.extensions.linear_rows import LinearRows
from meco.tr_single.extensions.partial import Partial
from meco.tr_single.options import Options
from meco.tr_single.search import TrustRegion
from meco.tr_single.task import Task


def make_search(task: Task, rng: np.random.Generator, options: Options | None = None) -> TrustRegion:
    """A search for a task with all extensions that it needs."""
    return TrustRegion(task, rng, options, make_extensions(task))


def make_extensions(task: Task) -> list[Extension]:
    """The extensions of a task in the order in which their hooks are called. The order is part of the method."""
    batch = min(task.batch, task.budget)
    found: list[Extension] = [] if batch == 1 else [Batches(batch)]
    snap: Callable[[np.ndarray], np.ndarray] = np.asarray
    if task.integers is not None:
        integers = Integers(task.integers)
        found, snap = [*found, integers], integers.snap
    found.append(Partial())
    if task.limits is not None:
        found.append(LinearRows(task.limits))
        if task.limits.needs_models or task.limits.hard.any():
            found.append(KeepFeasible(task, snap))
    if task.cheap is not None:
        found.append(Cheap(task))
    return found
