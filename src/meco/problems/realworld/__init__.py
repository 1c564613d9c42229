"""The CEC 2020 real-world suite: RC01-RC57, a file per field, loaded when first asked for.

Kumar et al., "A test-suite of non-convex constrained optimization problems from the real-world
and some baseline results", Swarm and Evolutionary Computation 56, 2020. What counts is what the
suite's own code computes.
"""

from __future__ import annotations

import importlib

from meco.core.problem import Problem
from meco.core.registry import Registry
from meco.problems.realworld.parts import expand_numbers

FIELDS = {
    "chemical": "1-5",
    "separation": "6-7",
    "synthesis": "8-14",
    "mechanical": "16-19 29-30 32",
    "gears": "15 22-23 26 31",
    "bearings": "21 25 28",
    "truss": "20 27",
    "gripper": "24",
    "topology": "33",
    "power_systems": "34-39",
    "microgrid": "40-43",
    "wind_farm": "44",
    "pwm": "45-50",
    "livestock": "51-57",
}

_HOME = {f"RC{number:02d}": module for module, text in FIELDS.items() for number in expand_numbers(text)}
HOME = Registry("real-world problem", dict(sorted(_HOME.items())))  # name -> module

NAMES = tuple(HOME)
PAPER_EIGHT = ("RC19", "RC20", "RC23", "RC24", "RC25", "RC27", "RC29", "RC32")


def make_problem(name: str) -> Problem:
    """The problem of that name, UnknownName for others; its tables, if any, are read at the first evaluation."""
    name = HOME.resolve(name)
    module = importlib.import_module(f"{__name__}.{HOME[name]}")
    return next(item for item in vars(module).values() if isinstance(item, Problem) and item.name == name)
