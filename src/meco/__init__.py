"""MeCO: constrained black-box optimization with a learned constraint-handling policy.

`import meco` loads NumPy alone; everything heavier is imported when first touched.
"""

from __future__ import annotations

import sys as _sys
import typing as _typing
from importlib import import_module as _import_module

from meco.gone import GoneModules as _GoneModules

if _typing.TYPE_CHECKING:  # what an editor and a type checker see; at run time __getattr__ loads each from its home
    from meco._minimize import minimize as minimize
    from meco.adapters.scipy import scipy_method as scipy_method
    from meco.answer.confirm import confirm as confirm
    from meco.batch_solve import solve as solve
    from meco.core.evaluation import Evaluation as Evaluation
    from meco.core.evaluator import Evaluator as Evaluator
    from meco.core.problem import Problem as Problem
    from meco.core.problem import problem as problem
    from meco.method_record import MethodRecord as MethodRecord
    from meco.methods import METHODS as METHODS
    from meco.optimizer import Optimizer as Optimizer
    from meco.options import Checkpoint as Checkpoint
    from meco.options import Method as Method
    from meco.options import Stop as Stop
    from meco.options import Tolerances as Tolerances
    from meco.options import Workers as Workers
    from meco.paper.store import load_policy as load_policy
    from meco.plot.run_page import write_report as write_report
    from meco.problems.suite import get_problem as get_problem
    from meco.problems.suite import get_suite as get_suite
    from meco.result import Result as Result
    from meco.run.command import Command as Command
    from meco.run.constraints import LinearConstraint as LinearConstraint
    from meco.run.progress import Progress as Progress
    from meco.variables import Variable as Variable
    from meco.variables import Variables as Variables

__version__ = "0.3.0"

_HOMES = {
    "minimize": "_minimize",
    "Optimizer": "optimizer",
    "solve": "batch_solve",
    "Result": "result",
    "Variable": "variables",
    "Variables": "variables",
    "Tolerances": "options",
    "Workers": "options",
    "Stop": "options",
    "Checkpoint": "options",
    "Method": "options",
    "LinearConstraint": "run.constraints",
    "Command": "run.command",
    "Progress": "run.progress",
    "confirm": "answer.confirm",
    "Problem": "core.problem",
    "problem": "core.problem",
    "get_problem": "problems.suite",
    "get_suite": "problems.suite",
    "Evaluation": "core.evaluation",
    "Evaluator": "core.evaluator",
    "METHODS": "methods",
    "MethodRecord": "method_record",
    "load_policy": "paper.store",
    "write_report": "plot.run_page",
    "scipy_method": "adapters.scipy",
}

__all__ = ["__version__", *_HOMES]

_sys.meta_path.append(_GoneModules)  # asked only where no module is found

if not _typing.TYPE_CHECKING:  # a type checker that saw it would take any name for one of ours

    def __getattr__(name: str) -> _typing.Any:
        """A public name from its module, imported when it is first asked for; AttributeError for others."""
        if name in _HOMES:
            _check_numpy()
            return getattr(_import_module(f"meco.{_HOMES[name]}"), name)
        raise AttributeError(f"module 'meco' has no attribute {name!r}{_hint_at_name(name)}")

    def _check_numpy() -> None:
        """ImportError where NumPy is older than this package needs."""
        found = _import_module("numpy").__version__
        if tuple(map(int, found.split(".")[:2])) < (2, 1):
            raise ImportError(
                f"meco needs NumPy 2.1 or newer, and NumPy {found} is installed: pip install 'numpy>=2.1'"
            )

    def _hint_at_name(name: str) -> str:
        """What to say of a name that the package does not have: what does its work, the nearest name, or nothing."""
        if name.lower() in ("maximize", "maximise"):
            return ": f is minimised, so give minimize() a function that returns -f"
        near = None if name.startswith("_") else _import_module("meco.errors").nearest_name(name, _HOMES)
        return "" if near is None else f"; did you mean {near!r}?"


def __dir__() -> list[str]:
    return sorted(__all__)
