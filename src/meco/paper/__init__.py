"""The paper in the order of its text, with what it needs to train, run and compare policies; see README.md beside it.

Running needs NumPy alone; training needs torch, the `train` extra.
"""

from __future__ import annotations

import importlib
from typing import Any

from meco.errors import load_extra
from meco.gone import refuse_gone

_HOMES = {
    "CONTROLS": "controls",
    "ConstantControls": "policy",
    "ConstantPolicy": "policy",
    "ControlSet": "controls",
    "Controlled": "controller",
    "Controller": "controller",
    "DECODERS": "controls",
    "Episode": "episode",
    "EpisodeSettings": "config",
    "EpsilonGreedy": "policy",
    "FEATURES": "features",
    "FeatureSet": "features",
    "Greedy": "policy",
    "Learner": "ddqn",
    "LearnerSettings": "config",
    "Masked": "policy",
    "PRESETS": "presets",
    "Policy": "policy",
    "READINGS": "reading",
    "REWARDS": "reward",
    "RandomPolicy": "policy",
    "Reading": "reading",
    "ReferenceObjective": "reward",
    "ReplayMemory": "replay_memory",
    "TaskSettings": "config",
    "Trained": "training",
    "Trainer": "training",
    "TrainingConfig": "config",
    "Weights": "network",
    "double_q_target": "ddqn",
    "draw_log": "record",
    "find_policy": "resolve",
    "load_policy": "store",
    "lockstep_groups": "training",
    "policy_names": "store",
    "q_values": "network",
    "reward_function": "reward",
    "save_policy": "files",
}
_NEED_TORCH = ("training", "ddqn", "replay_memory")

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """A name from its module, imported when it is first asked for."""
    if name not in _HOMES:
        refuse_gone("name of meco.paper", name)
        raise AttributeError(f"module 'meco.paper' has no attribute {name!r}")
    if _HOMES[name] in _NEED_TORCH:
        load_extra("torch", "train", "training")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
