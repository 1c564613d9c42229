"""Generated problems: a seed gives a problem, for training and judging policies on none of any suite.

A family (families.py) names an objective (objectives.py), constraints (constraints.py) and failures
(failures.py), or a kind of small mission (small_missions.py). A seed draws a member of it (draw.py). Many members
of one family are evaluated in one call (batch.py), on any array library.

    make_batch("bowl-linear", seeds=range(1000), dim=10)   # [1000, N, 10] -> f, g, h
    get("G-bowl-linear-0007", dim=10)                      # one of them, as a Problem

A list of such problems, of one family or several, is as good as a batch: the evaluator stacks what stacks.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral

from meco.errors import InvalidInput, UnknownName
from meco.problems.generated import draw, small_missions
from meco.problems.generated.batch import ProblemBatch
from meco.problems.generated.families import GENERATED, SETS, Family, MissionFamily, parse_name
from meco.problems.problem import Problem

__all__ = ["GENERATED", "SETS", "Family", "MissionFamily", "ProblemBatch", "get", "make_batch"]


def make_batch(family: str, seeds: Iterable[int], dim: int | None = None) -> ProblemBatch:
    """Problems of one family, one for each seed, that are evaluated in one call; D is 10 unless given."""
    if family not in GENERATED:
        raise UnknownName("family of generated problems", family, GENERATED)
    kind = GENERATED[family]
    if isinstance(kind, MissionFamily):
        if dim not in (None, kind.dim):
            raise InvalidInput(f"{family} has {kind.dim} variables; dim={dim} is not defined for it")
        return ProblemBatch([small_missions.draw_problem(kind, s) for s in seeds])
    size = 10 if dim is None else dim
    if isinstance(size, bool) or not isinstance(size, Integral) or size < 2:
        raise InvalidInput(f"{family} is defined for D >= 2; got dim={size}")
    return ProblemBatch([draw.draw_problem(kind, s, int(size)) for s in seeds])


def get(name: str, dim: int | None = None) -> Problem:
    """A generated problem by family and seed, such as "G-bowl-linear-0007"."""
    found = parse_name(name)
    if found is None:
        raise UnknownName("generated problem", name, [f"G-{family}-0001" for family in GENERATED])
    return make_batch(found[0].name, [found[1]], dim)[0]
