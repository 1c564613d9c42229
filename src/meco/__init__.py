"""MeCO: constrained black-box optimization with a learned constraint-handling policy.

`import meco` loads NumPy alone; everything heavier is imported when first touched.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"

_HOMES = {
    "Problem": "meco.core.problem",
    "problem": "meco.core.problem",
    "get_problem": "meco.problems.suite",
    "get_suite": "meco.problems.suite",
    "Evaluation": "meco.core.evaluation",
    "Evaluator": "meco.core.evaluator",
    "METHODS": "meco.methods",
    "Method": "meco.method",
    "solve": "meco.methods",
    "RunResult": "meco.core.results",
    "minimize": "meco.api",
    "Optimizer": "meco.api",
    "LinearConstraint": "meco.run.constraints",
    "Checkpoint": "meco.run.folder.run_folder",
    "Command": "meco.run.calling.command",
    "write_report": "meco.bench.report.run_page",
    "load_policy": "meco.policies.store",
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
