"""Which runs of a batch are evaluated in one call."""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.problems.problem import Problem


def grouped(problems: list[Problem]) -> tuple[list[tuple[Any, int]], np.ndarray]:
    """Runs that share a problem object, or whose formulas stack, are evaluated in one call.

    What evaluates each group with its number of runs, and the runs [B] group by group.
    """
    members: dict[Any, list[int]] = {}
    for run, p in enumerate(problems):
        members.setdefault(getattr(p.formula, "stacks_with", id(p)), []).append(run)
    groups = [(_together([problems[run] for run in runs]), len(runs)) for runs in members.values()]
    return groups, np.concatenate([np.array(runs) for runs in members.values()])


def _together(problems: list[Problem]) -> Any:
    """What evaluates these problems in one raw(x [B, N, D])."""
    if all(p is problems[0] for p in problems):
        return problems[0]
    formula: Any = problems[0].formula
    return formula.stack(problems)
