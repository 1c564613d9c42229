"""MeCO-TR: the model engine with an evolution strategy beside it, steered by a policy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from meco.arrays import Array
from meco.engines.engine import Task
from meco.engines.es.maes import native_size
from meco.engines.model.trust_region_es import TrustRegionES
from meco.mdp.controller import Controlled
from meco.mdp.controls import CONTROLS
from meco.mdp.features import FEATURES
from meco.mdp.network import NetworkShape
from meco.mdp.policy import Correcting, Policy
from meco.mdp.resolve import PolicyLike, find_policy
from meco.problems.evaluation import Evaluation

DEFAULT_SEARCH_POLICY = "meco-tr"
SEARCH_FEATURES, SEARCH_CONTROLS = "model-search", "theta-and-share"
DECISIONS = 50  # over the budget
UNITS = 8  # hidden ones of a network, unless it says otherwise


def model_search(
    task: Task, policy: PolicyLike | Iterable[PolicyLike] = DEFAULT_SEARCH_POLICY, **options: Any
) -> SteeredSearch:
    """MeCO-TR: TR-ES whose relaxation and share of offspring a policy sets, given as find_policy() takes it."""
    return steered_search(find_policy(policy, task.rng.seeds, correcting_shape(), Correcting), task, **options)


class SteeredSearch(Controlled):
    """TR-ES under a policy; what other searches found goes to its models."""

    remembers = Controlled.remembers

    def learn(self, x: Array, ev: Evaluation) -> None:
        self.engine.learn(x, ev)

    def set_apart(self, u: Array) -> None:
        self.engine.set_apart(u)


def steered_search(policy: Policy, task: Task, **options: Any) -> SteeredSearch:
    """TR-ES with a policy: a decision every fiftieth of the budget, but not more often than its strategy learns."""
    engine, controls = TrustRegionES(task, **options), policy.controls or SEARCH_CONTROLS
    return SteeredSearch(engine, policy, SEARCH_FEATURES, controls, DECISIONS, apart=native_size(task.dim))


def correcting_shape(hidden: int = UNITS) -> NetworkShape:
    """Of a network that corrects the engine's own rule."""
    return NetworkShape(len(FEATURES[SEARCH_FEATURES].names), hidden, Correcting.width(CONTROLS[SEARCH_CONTROLS]))
