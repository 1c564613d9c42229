"""The meta-level MDP: features, controls, reward, episode, policy and controller. NumPy alone is needed."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

_HOMES = {
    "CONTROLS": "controls",
    "ControlSet": "controls",
    "Controlled": "controller",
    "Controller": "controller",
    "DECODERS": "controls",
    "Episode": "episode",
    "FEATURES": "features",
    "FeatureSet": "features",
    "REWARDS": "reward",
    "ReferenceObjective": "reward",
    "SearchEpisode": "search_episode",
    "reward_function": "reward",
    "Choosing": "policy",
    "ConstantControls": "policy",
    "ConstantPolicy": "policy",
    "Correcting": "policy",
    "EpsilonGreedy": "policy",
    "Greedy": "policy",
    "Masked": "policy",
    "Policy": "policy",
    "RandomPolicy": "policy",
    "Weights": "network",
    "find_policy": "resolve",
    "load_policy": "policy_store",
    "policy_names": "policy_store",
    "q_values": "network",
    "save_policy": "policy_store",
}

_MOVED = {"GRID": "steered", "SteeredEpsilon": "steered"}  # in meco.rules now

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in _MOVED:
        warnings.warn(f"meco.mdp.{name} is now meco.rules.{name}", DeprecationWarning, stacklevel=2)
        return getattr(importlib.import_module(f"meco.rules.{_MOVED[name]}"), name)
    if name == "FEATURE_VERSION":
        warnings.warn("meco.mdp.FEATURE_VERSION is now FEATURES['population-10'].version", DeprecationWarning, 2)
        return importlib.import_module(f"{__name__}.features").FEATURES["population-10"].version
    if name == "LearnedEpsilon":
        raise AttributeError(
            "meco.mdp.LearnedEpsilon is gone: a policy steers an engine beside its rule; "
            'solve("MeCO", ..., policy=..., engine="shade" or "maes") runs the same search'
        )
    raise AttributeError(f"module 'meco.mdp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
