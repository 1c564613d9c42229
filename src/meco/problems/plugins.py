"""Problems that installed packages add, by the entry points `meco.problems`."""

from __future__ import annotations

from typing import Any

from meco.core.problem import Problem
from meco.core.registry import Registry
from meco.errors import InvalidInput


def _check_plugin(plugin: Any) -> Any:
    """The plug-in itself, where it is a problem or a function dim -> problem; an error otherwise."""
    if isinstance(plugin, Problem) or callable(plugin):
        return plugin
    raise InvalidInput(f"a problem must be a meco.Problem, or a function that makes one; got {plugin!r:.60}")


PLUGINS: Registry[Any] = Registry("problem", {}, group="meco.problems", accept=_check_plugin)


def make_problem(name: str, dim: int | None = None) -> Problem:
    """A problem of a plug-in; of a function that makes problems, the one with that many variables.

    Loads the plug-in. One that gives no meco.Problem, or another D, is an error.
    """
    found = PLUGINS[name]
    problem = found if isinstance(found, Problem) else found() if dim is None else found(dim)
    if not isinstance(problem, Problem):
        raise InvalidInput(f"the plug-in {name} must give a meco.Problem; it gives {type(problem).__name__}")
    if dim is not None and dim != problem.dim:
        raise InvalidInput(f"{name} has {problem.dim} variables; dim={dim} is not defined for it")
    return problem
