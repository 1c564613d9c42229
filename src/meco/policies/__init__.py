"""What steers an engine: policies, what they see (features) and what they set (controls). NumPy alone is needed."""

from __future__ import annotations

import importlib
from typing import Any

from meco.gone import refuse_gone

_HOMES = {
    "CONTROLS": "controls",
    "ControlSet": "controls",
    "Controlled": "controller",
    "Controller": "controller",
    "DECODERS": "controls",
    "FEATURES": "features",
    "FeatureSet": "features",
    "ConstantControls": "policy",
    "ConstantPolicy": "policy",
    "EpsilonGreedy": "policy",
    "Greedy": "policy",
    "Masked": "policy",
    "Policy": "policy",
    "RandomPolicy": "policy",
    "Weights": "network",
    "find_policy": "resolve",
    "load_policy": "store",
    "policy_names": "store",
    "q_values": "network",
    "save_policy": "policy_file",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """A name from its module, imported when it is first asked for."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    refuse_gone("name of meco.policies", name)
    raise AttributeError(f"module 'meco.policies' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_HOMES)
