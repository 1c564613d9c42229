"""Problems that installed packages add, by the entry points `meco.problems`."""

from __future__ import annotations

from typing import Any

from meco.core.problem import Problem
from meco.core.registry import Registry
from meco.errors import InvalidInput


def _problem_or_maker(given: Any) -> Any:
    """What a plug-in may give: a problem, or a function dim -> problem."""
    if isinstance(given, Problem) or callable(given):
        return given
    raise InvalidInput(f"a problem must be a meco.Problem, or a function that makes one; got {given!r:.60}")


PLUGINS: Registry[Any] = Registry("problem", {}, group="meco.problems", accept=_problem_or_maker)


def get(name: str, dim: int | None = None) -> Problem:
    """A problem of a plug-in; of a function that makes problems, the one with that many variables."""
    found = PLUGINS[name]
    problem = found if isinstance(found, Problem) else found() if dim is None else found(dim)
    if not isinstance(problem, Problem):
        raise InvalidInput(f"the plug-in {name} must give a meco.Problem; it gives {type(problem).__name__}")
    if dim is not None and dim != problem.dim:
        raise InvalidInput(f"{name} has {problem.dim} variables; dim={dim} is not defined for it")
    return problem
