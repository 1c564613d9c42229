"""The meta-level MDP: state, action, reward, episode and policy. NumPy alone is needed."""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "DECODERS": "action",
    "GRID": "action",
    "Episode": "episode",
    "FEATURE_VERSION": "state",
    "LearnedEpsilon": "learned",
    "SteeredEpsilon": "learned",
    "REWARDS": "reward",
    "ReferenceObjective": "reward",
    "reward_function": "reward",
    "ConstantPolicy": "policy",
    "EpsilonGreedy": "policy",
    "Greedy": "policy",
    "Masked": "policy",
    "Policy": "policy",
    "RandomPolicy": "policy",
    "Weights": "policy",
    "load_policy": "policy",
    "policy_names": "policy",
    "q_values": "policy",
    "save_policy": "policy",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'meco.mdp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
