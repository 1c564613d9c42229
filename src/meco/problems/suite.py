"""Problems by name, and the suites they come in."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from meco.errors import InvalidInput, UnknownName
from meco.problems.problem import Problem
from meco.registry import Registry

CEC_NAMES = tuple(f"C{k:02d}" for k in range(1, 29))
RW_NAMES = tuple(f"RC{k:02d}" for k in range(1, 58))
PAPER_EIGHT = ("RC19", "RC20", "RC23", "RC24", "RC25", "RC27", "RC29", "RC32")
UAV_NAMES = tuple(f"UAV-{k:02d}" for k in range(1, 17))
TOY_NAMES = ("sphere", "tilted", "ring", "corner", "impossible")


class Family(NamedTuple):
    """Problems that one module makes."""

    module: str
    names: tuple[str, ...]
    scalable: bool  # whether dim is a choice
    instances: bool  # whether instance is a choice


FAMILIES = (
    Family("meco.problems.cec2017", CEC_NAMES, scalable=True, instances=True),
    Family("meco.problems.realworld", RW_NAMES, scalable=False, instances=False),
    Family("meco.problems.mission", UAV_NAMES, scalable=False, instances=False),
    Family("meco.problems.toy", TOY_NAMES, scalable=True, instances=False),
)


def _problem_or_maker(given: Any) -> Any:
    """What a plug-in may give: a problem, or a function dim -> problem."""
    if isinstance(given, Problem) or callable(given):
        return given
    raise InvalidInput(f"a problem must be a meco.Problem, or a function that makes one; got {given!r:.60}")


PLUGINS: Registry[Any] = Registry("problem", {}, group="meco.problems", accept=_problem_or_maker)
SUITES = {"cec2017": CEC_NAMES, "realworld": PAPER_EIGHT, "rwco": RW_NAMES, "uav": UAV_NAMES, "toy": TOY_NAMES}


def get_problem(name: str, dim: int | None = None, instance: str | int = "paper") -> Problem:
    """A benchmark problem by name: "C01" to "C28", "RC01" to "RC57", "UAV-01" to "UAV-16", a toy, or a plug-in's.

    dim is the number of variables where that is a choice; instance ("paper", "official" or
    an integer seed) says which shifts and rotations a CEC2017 problem uses.

    >>> get_problem("C01", dim=10).dim
    10
    """
    family, exact = _family(name)
    if family is None:
        return _plugged(exact, dim)
    module = importlib.import_module(family.module)
    if family.instances:
        return module.get(exact, dim, instance)
    if instance != "paper":
        raise InvalidInput(f"{exact} has one instance only; leave instance out (got {instance!r})")
    if family.scalable:
        return module.get(exact, dim)
    found = module.get(exact)
    if dim is not None and dim != found.dim:
        raise InvalidInput(f"{exact} has {found.dim} variables; dim={dim} is not defined for it")
    return found


def get_suite(name: str, dim: int | None = None, instance: str | int = "paper") -> list[Problem]:
    """All problems of "cec2017", "realworld" (the paper's eight), "rwco" (all 57), "uav" or "toy"."""
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    return [get_problem(each, dim, instance) for each in SUITES[name]]


def problem_names() -> list[str]:
    """Every name that get_problem knows."""
    return [*(name for family in FAMILIES for name in family.names), *PLUGINS]


def _plugged(name: str, dim: int | None) -> Problem:
    """A problem of a plug-in; of a function that makes problems, the one with that many variables."""
    found = PLUGINS[name]
    problem = found if isinstance(found, Problem) else found() if dim is None else found(dim)
    if not isinstance(problem, Problem):
        raise InvalidInput(f"the plug-in {name} must give a meco.Problem; it gives {type(problem).__name__}")
    if dim is not None and dim != problem.dim:
        raise InvalidInput(f"{name} has {problem.dim} variables; dim={dim} is not defined for it")
    return problem


def _family(name: str) -> tuple[Family | None, str]:
    wanted = str(name).lower()
    for family in FAMILIES:
        for exact in family.names:
            if exact.lower() == wanted:
                return family, exact
    if name in PLUGINS:
        return None, PLUGINS.resolve(name)
    raise UnknownName("problem", name, problem_names())
