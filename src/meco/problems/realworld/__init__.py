"""The eight engineering problems of the paper, from the CEC 2020 real-world suite; each is loaded when first asked for.

Kumar et al., "A test-suite of non-convex constrained optimization problems from the real-world
and some baseline results", Swarm and Evolutionary Computation 56, 2020. What counts is what the
suite's own code computes.
"""

from __future__ import annotations

import importlib

from meco.core.problem import Problem
from meco.core.registry import Registry

HOME = Registry(
    "real-world problem",
    {
        "RC19": "mechanical",
        "RC20": "truss",
        "RC23": "gears",
        "RC24": "gripper",
        "RC25": "bearings",
        "RC27": "truss",
        "RC29": "mechanical",
        "RC32": "mechanical",
    },
)  # name -> module
NAMES = tuple(HOME)


def make_problem(name: str) -> Problem:
    """The problem of that name; UnknownName for others."""
    name = HOME.resolve(name)
    module = importlib.import_module(f"{__name__}.{HOME[name]}")
    return next(item for item in vars(module).values() if isinstance(item, Problem) and item.name == name)
