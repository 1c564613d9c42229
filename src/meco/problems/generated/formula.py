"""The one formula of generated problems: what a family is made of, evaluated for B problems at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meco.core.arrays import Array, namespace
from meco.problems.generated.batch import Values
from meco.problems.generated.constraint_kinds import CONSTRAINTS
from meco.problems.generated.families import Blocks, Family
from meco.problems.generated.objective_kinds import OBJECTIVES

Numbers = Mapping[str, Mapping[str, Any]]


def evaluate_family(family: Family, x: Array, p: Numbers) -> Values:
    """Values of a family's problems with numbers p at x [B, N, D]: f [B, N], g [B, N, p], h [B, N, q]."""
    v = (x - p["x"]["known"]) / p["x"]["half"]  # exactly 0 at the known point
    return scale_outputs(family, *evaluate_model(family, v, p), p)


def evaluate_model(family: Family, v: Array, p: Numbers) -> Values:
    """Objective above the known point's [B, N], and constraints, at displacements v [B, N, D], without their scales."""
    xp, at, f = namespace(v), p["x"], p["f"]
    z = xp.matmul(v - at["centre"], at["turn"])
    value = xp.matmul(v, f["tilt"])[..., 0]
    for i, kind in enumerate(family.objective):
        value = value + f["weight"][..., i] * OBJECTIVES[kind].value(z, p[f"f{i}"])
    y = xp.matmul(v, at["lay"])
    g, h = (_evaluate_blocks(*part, v, y, p) for part in (("g", family.inequalities), ("h", family.equalities)))
    return value, g, h


def scale_outputs(family: Family, value: Array, g: Array, h: Array, p: Numbers) -> Values:
    """Outputs of the model in their raw scales."""
    value = p["f"]["scale"] * value + p["f"]["offset"]
    return value, _scale_blocks("g", family.inequalities, g, p), _scale_blocks("h", family.equalities, h, p)


def _evaluate_blocks(part: str, blocks: Blocks, v: Array, y: Array, p: Numbers) -> Array:
    """The values of all blocks side by side, without their scales: [B, N, count], no column without blocks."""
    if not blocks:
        return v[..., :0]
    return namespace(v).concat(
        [CONSTRAINTS[kind].value(v, y, p[f"{part}{i}"]) for i, (kind, _) in enumerate(blocks)], axis=-1
    )


def _scale_blocks(part: str, blocks: Blocks, values: Array, p: Numbers) -> Array:
    """The values of all blocks [B, N, count] in their raw scales."""
    if not blocks:
        return values
    return namespace(values).concat([p[f"{part}{i}"]["scale"] for i in range(len(blocks))], axis=-1) * values
