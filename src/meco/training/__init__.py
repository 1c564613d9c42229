"""Training of policies: by Double DQN as the paper does, many in lockstep, and from held controls for MeCO-TR.

Needs torch: the `train` extra.
"""

from __future__ import annotations

import importlib
from typing import Any

from meco.errors import load_extra

_HOMES = {
    "TrainingConfig": "config",
    "PRESETS": "presets",
    "Trainer": "trainer",
    "Trained": "trainer",
    "lockstep_groups": "trainer",
    "Learner": "ddqn",
    "double_q_target": "ddqn",
    "Replay": "replay",
    "draw_log": "record",
}
_LIGHT = ("config", "presets", "record")  # these work without torch

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'meco.training' has no attribute {name!r}")
    if _HOMES[name] not in _LIGHT:
        load_extra("torch", "train", "training")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
