"""Searches on generated problems in lockstep, in NumPy or on a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from meco.core.engine import Engine, Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.streams import DeviceStreams, Streams
from meco.device.cuda_graphs import find_recorder
from meco.learn.tr.quantile import Outcomes
from meco.learn.tr.training_problems import BudgetedProblem
from meco.policies.policy import Policy
from meco.tr.steered import steered_search

S = TypeVar("S", bound=Engine)


def run_lockstep(
    make_search: Callable[[Task], S], problems: Sequence[BudgetedProblem], seeds: Sequence[int], device: str = "cpu"
) -> tuple[S, Outcomes]:
    """An engine that has searched problems of one shape in lockstep, and the best points [B] that it ended with.

    On "cpu" arrays are NumPy's and row b is run b alone; elsewhere they are torch's, and one generator serves all.
    """
    runs = len(problems)
    rng: Any = Streams(seeds) if device == "cpu" else DeviceStreams(seeds[0], runs, device)
    evaluator = Evaluator.on([p.problem for p in problems], problems[0].budget, runs, rng.xp, rng.device, rng)
    search = make_search(Task.of(evaluator, rng))
    with np.errstate(all="ignore"):
        Loop(search, evaluator, find_recorder(rng), traced=False).run()
    best = evaluator.history.feasible_best.point_in_numpy()
    return search, Outcomes(best.f[:, 0], best.nu[:, 0], best.feasible[:, 0])


def run_searches(
    problems: Sequence[BudgetedProblem], seeds: Sequence[int], policy: Policy, device: str = "cpu"
) -> Outcomes:
    """The best points [B], feasibility first, that MeCO-TR with a policy of theta and share ends with.

    Problems of one shape are searched in lockstep, one for each seed, in NumPy on "cpu", else on the device.
    """
    return run_lockstep(lambda task: steered_search(policy, task), problems, seeds, device)[1]
