"""MeCO-TR: the model engine steered by a policy, over profiles of its controls or over theta and share of offspring."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from meco.core.engine import Task
from meco.engines.es.maes import native_size
from meco.errors import InvalidInput
from meco.policies.controller import Controlled
from meco.policies.controls import CONTROLS
from meco.policies.features import FEATURES
from meco.policies.network import NetworkShape
from meco.policies.policy import Correcting, Policy
from meco.policies.profile_search import PROFILE_FEATURES, profile_search
from meco.policies.resolve import PolicyLike, find_policy
from meco.tr.controls import TR_CONTROLS
from meco.tr.engine import make_tr_es

DEFAULT_SEARCH_POLICY = "meco-tr"  # over profiles
SHARE_POLICY = "meco-tr-es"  # over theta and share
SEARCH_FEATURES, SEARCH_CONTROLS = "model-search", "theta-and-share"
DECISIONS = 50  # over the budget
HIDDEN_UNITS = 8  # hidden ones of a network, unless it says otherwise


def make_meco_tr(
    task: Task,
    policy: PolicyLike | Iterable[PolicyLike] | None = None,
    theta: float | None = None,
    share: float | None = None,
    **options: Any,
) -> Controlled:
    """MeCO-TR: TR whose profile a policy holds, or TR-ES whose theta and share it sets, as it was trained.

    policy as find_policy() takes it; None: the shipped one, over profiles, or theta and share as constants in its
    place; InvalidInput for both, and for controls beside a policy over profiles. options go to the engine.
    """
    constants = {name: value for name, value in (("theta", theta), ("share", share)) if value is not None}
    if constants and policy is not None:
        raise InvalidInput(f"MeCO-TR takes a policy or constants, not both; got policy and {', '.join(constants)}")
    policy = (constants or DEFAULT_SEARCH_POLICY) if policy is None else policy
    found = find_policy(policy, task.rng.seeds, correcting_shape(), Correcting)
    if found.features != PROFILE_FEATURES:
        return steered_search(found, task, **options)
    if held := [control.name for control in TR_CONTROLS if control.name in options]:
        raise InvalidInput(
            f"a policy over profiles sets every control; give {', '.join(held)} to TR, or another policy"
        )
    return profile_search(found, task, **options)


def steered_search(policy: Policy, task: Task, **options: Any) -> Controlled:
    """TR-ES of a task that a policy steers, options going to the engine.

    It decides every fiftieth of the budget, but not more often than the strategy learns.
    """
    engine, controls = make_tr_es(task, **options), policy.controls or SEARCH_CONTROLS
    return Controlled(engine, policy, SEARCH_FEATURES, controls, DECISIONS, min_interval=native_size(task.dim))


def correcting_shape(hidden: int = HIDDEN_UNITS) -> NetworkShape:
    """Sizes of a network, with so many hidden units, that corrects the engine's own rule."""
    return NetworkShape(len(FEATURES[SEARCH_FEATURES].names), hidden, Correcting.width(CONTROLS[SEARCH_CONTROLS]))
