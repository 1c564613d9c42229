"""Problems by name, and the suites they come in."""

from __future__ import annotations

import importlib
from typing import NamedTuple

from meco.core.problem import Problem
from meco.errors import InvalidInput, UnknownName
from meco.files.modules import names_a_file
from meco.problems.generated.families import SETS, first_problem_names, parse_name, problem_name
from meco.problems.plugins import PLUGINS, has_choice_of_dim

CEC_NAMES = tuple(f"C{k:02d}" for k in range(1, 29))
PAPER_EIGHT = ("RC19", "RC20", "RC23", "RC24", "RC25", "RC27", "RC29", "RC32")
UAV_NAMES = tuple(f"UAV-{k:02d}" for k in range(1, 17))
TOY_NAMES = ("sphere", "tilted", "ring", "corner", "impossible")
UNITS_SUFFIX = "-units"  # after the name of any problem: the same in other units


class ProblemModule(NamedTuple):
    """Problems that one module makes."""

    module: str
    names: tuple[str, ...]
    scalable: bool  # whether dim is a choice
    instances: bool  # whether instance is a choice


PROBLEM_MODULES = (
    ProblemModule("meco.problems.cec2017.functions", CEC_NAMES, scalable=True, instances=True),
    ProblemModule("meco.problems.realworld", PAPER_EIGHT, scalable=False, instances=False),
    ProblemModule("meco.problems.uav.mission", UAV_NAMES, scalable=False, instances=False),
    ProblemModule("meco.problems.toy", TOY_NAMES, scalable=True, instances=False),
    ProblemModule("meco.problems.generated", first_problem_names(), scalable=True, instances=False),
)
SUITES = {
    "cec2017": CEC_NAMES,
    "realworld": PAPER_EIGHT,
    "uav": UAV_NAMES,
    "toy": TOY_NAMES,
    "generated": first_problem_names(),
    **{f"generated-{each}": first_problem_names(each) for each in SETS},
}


def get_problem(name: str, dim: int | None = None, instance: str | int = "paper") -> Problem:
    """A problem by name: "C01" to "C28", "RC19" and others of the paper, "UAV-01" to "UAV-16", a toy, or one of a seed.

    "G-bowl-linear-0007" is the problem that seed 7 gives of a generated family. "C05-units" is C05 in other units:
    f and each constraint, with its tolerance, times a factor of its own.

    dim is the number of variables where that is a choice; instance ("paper", "official" or
    an integer seed) says which shifts and rotations a CEC2017 problem uses. What a problem does not have, and an
    unknown name, is an error.

    Examples:
        >>> get_problem("C01", dim=10).dim
        10
    """
    family, exact = find_problem_module(name)
    module = importlib.import_module(family.module)
    if family.instances:
        return module.make_problem(exact, dim, instance)
    if instance != "paper":
        raise InvalidInput(f"{exact} has one instance only; leave instance out (got {instance!r})")
    if family.scalable:
        return module.make_problem(exact, dim)
    found = module.make_problem(exact)
    if dim is not None and dim != found.dim:
        raise InvalidInput(f"{exact} has {found.dim} variables; dim={dim} is not defined for it")
    return found


def get_suite(name: str, dim: int | None = None, instance: str | int = "paper") -> list[Problem]:
    """All problems of "cec2017", "realworld" (the paper's eight), "uav" or "toy".

    "generated" is the first problem of every generated family; "generated-train", "generated-choose" and
    "generated-confirm" are those of one set.
    UnknownName for other suites, InvalidInput for what is no name.
    """
    if not isinstance(name, str):
        raise InvalidInput(
            f"get_suite() takes the name of a suite, one of {', '.join(SUITES)}; got {name!r:.60}. A list of "
            "problems is made by get_problem() of each name"
        )
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    return [get_problem(each, dim, instance) for each in SUITES[name]]


def problem_names() -> list[str]:
    """Every name that get_problem knows; of generated problems, which have any seed, the first of each family."""
    return [*(name for family in PROBLEM_MODULES for name in family.names), *PLUGINS]


def find_problem_module(name: str) -> tuple[ProblemModule, str]:
    """The module that makes the problem of this name in any case, and the name as the module spells it.

    UnknownName for any other; nothing is made.
    """
    wanted = str(name).lower()
    seeded = parse_name(wanted)
    first = wanted if seeded is None else problem_name(seeded[0].name, 1).lower()
    for family in PROBLEM_MODULES:
        for exact in family.names:
            if exact.lower() == first:
                return family, exact if seeded is None else problem_name(seeded[0].name, seeded[1])
    if names_a_file(str(name)) or name in PLUGINS:  # what a file does not have is said by the registry
        return ProblemModule("meco.problems.plugins", (), has_choice_of_dim(name), instances=False), PLUGINS.resolve(
            name
        )
    if wanted.endswith(UNITS_SUFFIX) and not wanted.endswith(2 * UNITS_SUFFIX):
        family, exact = find_problem_module(str(name)[: -len(UNITS_SUFFIX)])
        return family._replace(module="meco.problems.rescaled_problem", names=()), exact + UNITS_SUFFIX
    raise UnknownName("problem", name, problem_names())
