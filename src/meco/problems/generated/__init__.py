"""Generated problems: a seed gives a problem, for training and judging policies on none of any suite.

A family (families.py) names an objective (objective_kinds.py) and constraints (constraint_kinds.py). A seed draws a
member of it (draw.py). Many members of one family are evaluated in one call (batch.py), on any array library.

    make_batch("bowl-linear", seeds=range(1000), dim=10)   # [1000, N, 10] -> f, g, h
    get("G-bowl-linear-0007", dim=10)                      # one of them, as a Problem

A list of such problems, of one family or several, is as good as a batch: the evaluator stacks what stacks.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING

from meco.errors import InvalidInput, UnknownName
from meco.problems.generated.families import GENERATED, SETS, Family, parse_name, problem_name

if TYPE_CHECKING:
    from meco.core.problem import Problem
    from meco.problems.generated.batch import GeneratedBatch

__all__ = ["GENERATED", "SETS", "Family", "get", "make_batch"]


def make_batch(family: str, seeds: Iterable[int], dim: int | None = None) -> GeneratedBatch:
    """Problems of one family, one for each seed, that are evaluated in one call; D is 10 unless given.

    An unknown family, no seed, or a D below 2 is an error.
    """
    from meco.problems.generated.batch import GeneratedBatch  # names alone are asked for far more often
    from meco.problems.generated.draw import draw_problem

    if family not in GENERATED:
        raise UnknownName("family of generated problems", family, GENERATED)
    kind = GENERATED[family]
    size = 10 if dim is None else dim
    if isinstance(size, bool) or not isinstance(size, Integral) or size < 2:
        raise InvalidInput(f"{family} is defined for D >= 2; got dim={size}")
    return GeneratedBatch([draw_problem(kind, seed, int(size)) for seed in seeds])


def make_problem(name: str, dim: int | None = None) -> Problem:
    """A generated problem by family and seed, such as "G-bowl-linear-0007"; another name or D is an error."""
    found = parse_name(name)
    if found is None:
        raise UnknownName("generated problem", name, [problem_name(family, 1) for family in GENERATED])
    return make_batch(found[0].name, [found[1]], dim)[0]


get = make_problem  # the name by which tests/tr/test_lockstep.py asks; goes when that test follows
