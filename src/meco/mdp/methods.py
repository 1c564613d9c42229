"""MeCO and its two controls: the same engine and rule, steered by different policies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from meco.engines import ENGINES
from meco.engines.engine import Engine, Task
from meco.errors import InvalidInput
from meco.mdp.action import DECODERS
from meco.mdp.learned import LearnedEpsilon
from meco.mdp.network import draw_weights, stack
from meco.mdp.policy import Greedy, Policy, RandomPolicy, load_policy, side_by_side

DEFAULT_POLICY = "meco-10d"
UNTRAINED = 0x75  # sets the weights' stream apart from the run's own

PolicyLike = Policy | str | os.PathLike[str]


def trained(
    task: Task, policy: PolicyLike | Iterable[PolicyLike] = DEFAULT_POLICY, engine: str = "shade", **options: Any
) -> Engine:
    """MeCO: a trained policy by name, by file or as it is; a list gives each run its own."""
    return find_engine(engine)(task, rule=LearnedEpsilon(find_policy(policy, task.rng.runs)), **options)


def untrained(task: Task, engine: str = "shade", decoder: str = "geometric", **options: Any) -> Engine:
    """MeCO-u: a network with random weights, drawn from each run's seed."""
    networks = stack(draw_weights(np.random.default_rng([seed, UNTRAINED])) for seed in task.rng.seeds)
    return find_engine(engine)(task, rule=LearnedEpsilon(Greedy(networks), DECODERS[decoder]), **options)


def random_actions(task: Task, engine: str = "shade", decoder: str = "geometric", **options: Any) -> Engine:
    """MeCO-rand: an action at random in every generation."""
    return find_engine(engine)(task, rule=LearnedEpsilon(RandomPolicy(), DECODERS[decoder]), **options)


def find_engine(name: str | Callable[..., Engine]) -> Callable[..., Engine]:
    """The engine of that name, or the one given."""
    return ENGINES.find(name)


def find_policy(policy: PolicyLike | Iterable[PolicyLike], runs: int) -> Policy:
    """A policy object from a name, a path, a policy, or one of these for each run."""
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, (str, os.PathLike)):
        return load_policy(policy)
    if not isinstance(policy, Iterable):
        raise InvalidInput(f"policy must be a name, a file or a policy; got {policy!r}")
    each = [p if isinstance(p, Policy) else load_policy(p) for p in policy]
    if len(each) != runs or not all(isinstance(p, Greedy) for p in each):
        raise InvalidInput(f"{runs} runs need one policy, or {runs} greedy ones; got {len(each)}")
    return side_by_side(each)  # type: ignore[arg-type]
