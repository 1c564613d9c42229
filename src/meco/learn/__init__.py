"""Learning to steer: episodes, rewards and the paper's Double DQN.

Episodes need NumPy alone; learners need torch, the `train` extra.
"""

from __future__ import annotations

import importlib
from typing import Any

from meco.errors import load_extra
from meco.gone import refuse_gone

_HOMES = {
    "Episode": "paper.episode",
    "REWARDS": "paper.reward",
    "ReferenceObjective": "paper.reward",
    "reward_function": "paper.reward",
    "EpisodeSettings": "paper.config",
    "LearnerSettings": "paper.config",
    "TaskSettings": "paper.config",
    "TrainingConfig": "paper.config",
    "PRESETS": "paper.presets",
    "draw_log": "paper.training_record",
    "Trainer": "paper.trainer",
    "Trained": "paper.trainer",
    "lockstep_groups": "paper.trainer",
    "Learner": "paper.ddqn",
    "double_q_target": "paper.ddqn",
    "ReplayMemory": "paper.replay_memory",
}
_NEED_TORCH = ("paper.trainer", "paper.ddqn", "paper.replay_memory")

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """A name from its module, imported when it is first asked for."""
    if name not in _HOMES:
        refuse_gone("name of meco.learn", name)
        raise AttributeError(f"module 'meco.learn' has no attribute {name!r}")
    if _HOMES[name] in _NEED_TORCH:
        load_extra("torch", "train", "training")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
