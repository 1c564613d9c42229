"""The one formula of generated problems: objective, constraints and failures of a family, for B problems at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meco.core.arrays import Array, namespace
from meco.problems.generated.batch import Values
from meco.problems.generated.constraint_kinds import CONSTRAINTS
from meco.problems.generated.failure_kinds import FAILURES
from meco.problems.generated.families import Blocks, Family
from meco.problems.generated.objective_kinds import OBJECTIVES


def evaluate_family(family: Family, x: Array, p: Mapping[str, Mapping[str, Any]]) -> Values:
    """Values of a family's problems with numbers p at x [B, N, D]: f [B, N], g [B, N, p], h [B, N, q].

    nan where the family fails.
    """
    xp, at, f = namespace(x), p["x"], p["f"]
    v = (x - at["known"]) / at["half"]  # exactly 0 at the known point
    z = xp.matmul(v - at["centre"], at["turn"])
    value = xp.matmul(v, f["tilt"])[..., 0]
    for i, kind in enumerate(family.objective):
        value = value + f["weight"][..., i] * OBJECTIVES[kind].value(z, p[f"f{i}"])
    value = f["scale"] * value + f["offset"]
    y = xp.matmul(v, at["lay"])
    g = _evaluate_blocks("g", family.inequalities, v, y, p)
    h = _evaluate_blocks("h", family.equalities, v, y, p)
    if family.failing is None:
        return value, g, h
    failed = FAILURES[family.failing][1](v, p["fail"])
    lost = failed[..., None]
    return xp.where(failed, xp.nan, value), xp.where(lost, xp.nan, g), xp.where(lost, xp.nan, h)


def _evaluate_blocks(part: str, blocks: Blocks, v: Array, y: Array, p: Mapping[str, Mapping[str, Any]]) -> Array:
    """The values of all blocks side by side, in their raw scales: [B, N, count], no column without blocks."""
    if not blocks:
        return v[..., :0]
    found = []
    for i, (kind, _) in enumerate(blocks):
        numbers = p[f"{part}{i}"]
        found.append(numbers["scale"] * CONSTRAINTS[kind].value(v, y, numbers))
    return namespace(v).concat(found, axis=-1)
