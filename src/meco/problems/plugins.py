"""Problems that installed packages add, by the entry points `meco.problems`."""

from __future__ import annotations

import inspect
from typing import Any

from meco.core.problem import Problem
from meco.core.registry import Registry
from meco.errors import InvalidInput
from meco.files.modules import names_a_file


def _check_plugin(plugin: Any) -> Any:
    """The plug-in itself, where it is a problem or a function dim -> problem; InvalidInput otherwise."""
    if isinstance(plugin, Problem) or callable(plugin):
        return plugin
    raise InvalidInput(f"a problem must be a meco.Problem, or a function that makes one; got {plugin!r:.60}")


_WANTED = (
    "{} must be a meco.Problem, which @meco.problem(name, bounds) makes of a formula, or a function of D that makes one"
)
DEFAULT_DIM = 10  # variables of a problem of any size, as in the suites
PLUGINS: Registry[Any] = Registry("problem", {}, group="meco.problems", accept=_check_plugin)


def has_choice_of_dim(name: str) -> bool:
    """Whether a plug-in makes problems of any number of variables: a problem, or a function without D, does not."""
    found = PLUGINS[name]
    if isinstance(found, Problem):
        return False
    try:
        return bool(inspect.signature(found).parameters)
    except (TypeError, ValueError):  # of what has no signature nothing is known
        return True


def _needs_dim(function: Any) -> bool:
    """Whether a function cannot be called without D."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def make_problem(name: str, dim: int | None = None) -> Problem:
    """A problem of a plug-in; of a function that makes problems, the one with that many variables.

    Without dim it is the function's own default, or 10 where it has none. Loads the plug-in, or executes the file that
    the name is of. What gives no meco.Problem, or another D, is an error.
    """
    found = PLUGINS[name]
    size = DEFAULT_DIM if dim is None and not isinstance(found, Problem) and _needs_dim(found) else dim
    try:
        problem = found if isinstance(found, Problem) else found() if size is None else found(size)
    except Exception as error:
        called = "without D" if size is None else f"with D = {size}"
        wanted = _WANTED.format(name if names_a_file(name) else f"the plug-in {name}")
        raise InvalidInput(f"{wanted}; called {called} it raises {type(error).__name__}: {error}") from error
    if not isinstance(problem, Problem):
        wanted = _WANTED.format(name) if names_a_file(name) else f"the plug-in {name} must give a meco.Problem"
        raise InvalidInput(f"{wanted}; it gives {type(problem).__name__}")
    if dim is not None and dim != problem.dim:
        raise InvalidInput(f"{name} has {problem.dim} variables; dim={dim} is not defined for it")
    return problem
