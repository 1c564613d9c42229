"""Problems of a user's own, by file: a meco.Problem, or a plain function beside its bounds."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from meco.core.problem import Problem
from meco.errors import InvalidInput
from meco.files.modules import file_digest, load_file


def load_user_problem(path: str, name: str) -> Problem:
    """What a Python file calls `name`: a meco.Problem, or a function, whose bounds the file gives as `bounds`.

    Executes the file, once while it stays the same. A missing file, name or bounds is an error.
    """
    if not Path(path).is_file():
        raise InvalidInput(f"no file {path!r}; --problem takes file.py:name, a function or a meco.Problem in it")
    return _read_problem(path, name, file_digest(path))


@lru_cache(maxsize=32)
def _read_problem(path: str, name: str, digest: str) -> Problem:
    """The problem that a file calls `name`, InvalidInput without one; by the digest an edited file is read again."""
    module = load_file(path)
    found = getattr(module, name, None)
    if isinstance(found, Problem):
        return found
    if not callable(found):
        raise InvalidInput(f"{path} has no meco.Problem or function called {name!r}; it has {_list_problems(module)}")
    bounds = getattr(found, "bounds", getattr(module, "bounds", None))
    if bounds is None:
        raise InvalidInput(f"{path} must say between which bounds {name} is compared: bounds = [(low, high), ...]")
    from meco.run.function_problem import (
        as_problem,  # how minimize() reads answers: a campaign on suites needs none of it
    )

    integrality, cheap = (getattr(module, each, None) for each in ("integrality", "cheap"))
    return as_problem(f"{Path(path).name}:{name}", found, bounds, integrality, cheap)


def _list_problems(module: ModuleType) -> str:
    """Names of problems and functions of a file, for an error; "none" without any."""

    def is_problem(value: Any) -> bool:
        return isinstance(value, Problem) or (callable(value) and getattr(value, "__module__", "") == module.__name__)

    return ", ".join(k for k, v in vars(module).items() if is_problem(v) and not k.startswith("_")) or "none"
