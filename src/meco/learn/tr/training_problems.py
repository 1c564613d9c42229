"""Generated problems with budgets: what the policy of MeCO-TR is trained and compared on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from meco.core.problem import Problem
from meco.errors import InvalidInput
from meco.problems.generated import GENERATED, make_batch

Layout = Sequence[tuple[int, int]]  # sizes of problems: D and evaluations per variable


class BudgetedProblem(NamedTuple):
    """A generated problem and the evaluations that a search on it has."""

    family: str
    seed: int
    dim: int
    budget: int

    @property
    def problem(self) -> Problem:
        """The problem itself."""
        return _cached_problem(self.family, self.seed, self.dim)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """What problems in lockstep have in common: D, budget, inequalities, equalities."""
        return (self.dim, self.budget, *GENERATED[self.family].counts(self.dim))

    @property
    def cost(self) -> float:
        """The time of a search on it, in no unit: to be compared with that of others."""
        return self.budget * (self.dim + 8.0)


@lru_cache(maxsize=4096)
def _cached_problem(family: str, seed: int, dim: int) -> Problem:
    """The generated problem of a family, seed and dimension; up to 4096 are kept."""
    return make_batch(family, [seed], dim)[0]


def read_layout(text: str) -> list[tuple[int, int]]:
    """A layout, (D, evaluations per variable) each, from text such as "5:50,10:100"; other text is an error."""
    found = [re.fullmatch(r"([1-9]\d*):([1-9]\d*)", size.strip()) for size in text.split(",")]
    if None in found:
        raise InvalidInput(f'a layout is D and evaluations per variable, such as "5:50,10:100"; got {text!r}')
    return [(int(size[1]), int(size[2])) for size in found if size]


def list_problems(
    family_set: str, layout: Layout, each: int, families: Sequence[str] = (), first: int = 1
) -> list[BudgetedProblem]:
    """So many problems of every family of a set, or of some families, at every size of a layout.

    Rollouts know a problem by its place in this list, so the order is part of a
    training. Seeds of generated problems count up from `first`; [] for an unknown set.
    """
    found = []
    for family in (f for f in GENERATED.values() if f.set == family_set and (not families or f.name in families)):
        for number, (dim, per) in enumerate(layout):
            seeds = range(first + number * each, first + (number + 1) * each)
            found += [BudgetedProblem(family.name, seed, dim, per * dim) for seed in seeds]
    return found


def group_by_shape(problems: Iterable[BudgetedProblem]) -> list[list[int]]:
    """Indices of the problems that can be searched in lockstep, the costliest group first.

    A training draws group by group and numbers its files so: the order is part of it.
    """
    groups: dict[Any, list[int]] = {}
    each = list(problems)
    for index, problem in enumerate(each):
        groups.setdefault(problem.shape, []).append(index)
    return sorted(groups.values(), key=lambda group: -each[group[0]].cost)
