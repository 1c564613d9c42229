"""The one formula of generated problems: what a family is made of, evaluated for B problems at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from meco.core.arrays import Array, namespace
from meco.problems.generated.batch import Values
from meco.problems.generated.constraint_kinds import CONSTRAINTS
from meco.problems.generated.failure_kinds import FAILURES
from meco.problems.generated.families import Blocks, Family
from meco.problems.generated.noise_kinds import NOISES
from meco.problems.generated.objective_kinds import OBJECTIVES
from meco.problems.generated.simulator_kinds import SIMULATORS

Numbers = Mapping[str, Mapping[str, Any]]


def evaluate_family(family: Family, x: Array, p: Numbers, z: Array | None = None) -> Values:
    """Values of a family's problems with numbers p at x [B, N, D]: f [B, N], g [B, N, p], h [B, N, q].

    nan where the family fails. z [B, N, draws] are normal numbers for what chance does; None: it does nothing.
    """
    v = (x - p["x"]["known"]) / p["x"]["half"]  # exactly 0 at the known point
    noise = None if z is None or family.noise is None else NOISES[family.noise]
    seen = noise.disturb(v, z, p["noise"]) if noise is not None and noise.of_point else v
    if family.simulator is not None:
        seen = SIMULATORS[family.simulator].see(seen, p["simulator"])
    value, g, h = _evaluate_model(family, seen, p)
    failed = _find_failed(family, v, g, p, z)
    if family.simulator is not None:
        report = SIMULATORS[family.simulator].report
        value, g, h = _change_outputs(lambda outputs: report(outputs, v, p["simulator"]), value, g, h)
    if noise is not None and not noise.of_point:
        disturb = noise.disturb
        value, g, h = _change_outputs(lambda outputs: disturb(outputs, z, p["noise"]), value, g, h)
    value = p["f"]["scale"] * value + p["f"]["offset"]
    g, h = _scale_blocks("g", family.inequalities, g, p), _scale_blocks("h", family.equalities, h, p)
    if failed is None:
        return value, g, h
    xp, lost = namespace(x), failed[..., None]
    return xp.where(failed, xp.nan, value), xp.where(lost, xp.nan, g), xp.where(lost, xp.nan, h)


def _evaluate_model(family: Family, v: Array, p: Numbers) -> Values:
    """Objective above the known point's [B, N], and constraints, at displacements v [B, N, D], without their scales."""
    xp, at, f = namespace(v), p["x"], p["f"]
    z = xp.matmul(v - at["centre"], at["turn"])
    value = xp.matmul(v, f["tilt"])[..., 0]
    for i, kind in enumerate(family.objective):
        value = value + f["weight"][..., i] * OBJECTIVES[kind].value(z, p[f"f{i}"])
    y = xp.matmul(v, at["lay"])
    g, h = (_evaluate_blocks(*part, v, y, p) for part in (("g", family.inequalities), ("h", family.equalities)))
    return value, g, h


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


def _change_outputs(change: Callable[[Array], Array], value: Array, g: Array, h: Array) -> Values:
    """f, g and h after change() of all outputs side by side [B, N, 1 + p + q]."""
    changed = change(namespace(value).concat([value[..., None], g, h], axis=-1))
    first = 1 + g.shape[-1]
    return changed[..., 0], changed[..., 1:first], changed[..., first:]


def _find_failed(family: Family, v: Array, g: Array, p: Numbers, z: Array | None) -> Array | None:
    """Which calls fail [B, N]; None where none can. The last of the numbers of chance z decides, where it does."""
    if family.failing is None:
        return None
    kind = FAILURES[family.failing]
    if not kind.by_chance:
        return kind.fails(v, p["fail"])
    return None if z is None else kind.fails(v, p["fail"], g, z[..., -1])
