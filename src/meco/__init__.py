"""MeCO: constrained black-box optimization with a learned constraint-handling policy.

`import meco` loads NumPy alone; everything heavier is imported when first touched.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"

_HOMES = {
    "Problem": "meco.problems.problem",
    "problem": "meco.problems.problem",
    "get_problem": "meco.problems.suite",
    "get_suite": "meco.problems.suite",
    "Evaluation": "meco.problems.evaluation",
    "Evaluator": "meco.core.evaluator",
    "METHODS": "meco.methods",
    "Method": "meco.method",
    "solve": "meco.methods",
    "RunResult": "meco.results",
    "minimize": "meco.api",
    "Optimizer": "meco.api",
    "LinearConstraint": "meco.blackbox.constraints",
    "Checkpoint": "meco.blackbox.runfolder",
    "Command": "meco.blackbox.command",
    "write_report": "meco.experiments.report.run_page",
    "load_policy": "meco.mdp.policy_store",
    "scipy_method": "meco.adapters.scipy",
}
_PARTS = ("problems", "rules", "engines", "mdp", "training", "experiments")

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _PARTS:
        return importlib.import_module(f"meco.{name}")
    raise AttributeError(f"module 'meco' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_PARTS])
