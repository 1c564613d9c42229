"""A seed draws one problem of a family: its box, known point, numbers, and where its optimum lies."""

from __future__ import annotations

import zlib
from functools import partial

import numpy as np

from meco.core.problem import Problem
from meco.problems.generated.batch import Numbers, StackingFormula
from meco.problems.generated.constraint_kinds import CONSTRAINTS, Draw, draw_directions, outward_normals
from meco.problems.generated.families import Blocks, Family, problem_name
from meco.problems.generated.formula import evaluate_family
from meco.problems.generated.objective_kinds import OBJECTIVES

SCALES = (-3.0, 4.0)  # decades of the raw values
INTERIOR, BORDER = 0.25, 0.5  # how often the optimum is inside, and on the border; else it is not known


def draw_problem(family: Family, seed: int, dim: int, rng: Draw | None = None) -> Problem:
    """The problem of a seed in D variables, drawn by rng, the generator of the family's name, seed and D unless given.

    The order of draws is part of the seed.
    """
    rng = np.random.default_rng([zlib.crc32(family.name.encode()), seed, dim]) if rng is None else rng
    low, high, known, whole = _draw_box(rng, family, dim)
    half = (high - low) / 2
    numbers: Numbers = {f"f{i}": OBJECTIVES[kind].draw(rng, dim) for i, kind in enumerate(family.objective)}
    numbers |= _draw_blocks(rng, "g", family.count_columns(family.inequalities, dim), dim)
    numbers |= _draw_blocks(rng, "h", family.count_columns(family.equalities, dim), dim)
    u = (known - low) / half - 1.0  # the known point in [-1, 1]
    tilt, centre, exact = _place_optimum(rng, family, numbers, u)
    scale = 10.0 ** rng.uniform(*SCALES)
    offset = scale * rng.uniform(-10.0, 10.0)
    numbers["f"] = {
        "weight": np.concat([[1.0], rng.uniform(0.3, 1.0, len(family.objective) - 1)])[None],
        "tilt": tilt[:, None],
        "scale": np.array([scale]),
        "offset": np.array([offset]),
    }
    numbers["x"] = {"known": known[None], "half": half[None], "centre": centre[None]}
    numbers["x"] |= {"turn": draw_rotation(rng, dim), "lay": draw_rotation(rng, dim)}
    return Problem(
        problem_name(family.name, seed),
        low,
        high,
        *family.counts(dim),
        StackingFormula(partial(evaluate_family, family), numbers, (family.name, dim)),
        title=family.about,
        source="generated",
        best_known=None if family.empty or not exact else float(offset),
        known_x=None if family.empty else known,
        infeasible=family.empty,
        integrality=whole,
    )


def draw_rotation(rng: Draw, dim: int) -> np.ndarray:
    """A random rotation [D, D]; three times in ten none, which leaves the variables separate."""
    turned = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    return np.eye(dim) if rng.random() < 0.3 else np.ascontiguousarray(turned)


def _draw_box(rng: Draw, family: Family, dim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Lower and upper bounds of different widths, the known point well inside, and which are whole: [D] each.

    None in the last place where none is.
    """
    half = 10.0 ** (rng.uniform(-1.0, 2.5) + rng.uniform(-0.5, 0.5, dim))
    middle = half * rng.uniform(-1.0, 1.0, dim)
    u = rng.uniform(-0.8, 0.8, dim)
    if not family.whole:
        return middle - half, middle + half, middle + half * u, None
    whole = np.arange(dim) % 2 == 0
    half = np.where(whole, rng.integers(2, 20, dim), half)
    middle = np.where(whole, np.round(middle), middle)
    known = middle + np.where(whole, np.round(half * u), half * u)
    return middle - half, middle + half, known, whole


def _draw_blocks(rng: Draw, part: str, blocks: Blocks, dim: int) -> Numbers:
    """Draw the numbers of the blocks of constraints, by "g0", "g1", ...; equalities ("h") leave no room."""
    drawn: Numbers = {}
    for i, (kind, count) in enumerate(blocks):
        entry = CONSTRAINTS[kind]
        room = rng.uniform(*entry.room, (1, count)) if part == "g" else np.zeros((1, count))
        scale = 10.0 ** rng.uniform(*SCALES, (1, count))
        drawn[f"{part}{i}"] = {**entry.draw(rng, dim, count), "room": room, "scale": scale}
    return drawn


def _place_optimum(rng: Draw, family: Family, numbers: Numbers, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """The tilt [D] of the objective, its centre [D] seen from the known point, and whether the optimum is exact.

    Inside: no tilt, the centre is the known point. On the border (KKT): some convex constraints lose
    their room, and the tilt is minus a positive sum of their normals n. A feasible v has n v <= 0, so
    the tilt never lowers the objective there, whatever its kind. Beyond: the centre lies elsewhere.
    A tilt along the normals of equalities makes the known point stationary; tolerance allows a little less. On the
    border numbers are changed (_press_constraints).
    """
    dim, here = len(u), np.zeros(len(u))
    free = not (family.inequalities or family.equalities)
    where = INTERIOR if family.objective == ("linear",) else rng.random()  # a slope alone has no least point inside
    if free or family.empty or where < INTERIOR:
        return here, here, True
    if where >= INTERIOR + BORDER:
        return here, rng.uniform(-0.9, 0.9, dim) - u, False
    tilt = _press_constraints(rng, family, numbers, dim)
    exact = bool(np.any(tilt)) and not (family.equalities and rng.random() < 0.5)
    if not exact and family.equalities:
        across = np.concat([numbers[f"h{i}"]["out"] for i in range(len(family.equalities))], axis=1)
        tilt = tilt + across @ rng.normal(0.0, 0.5, across.shape[1])
    return tilt, here, exact


def _press_constraints(rng: Draw, family: Family, numbers: Numbers, dim: int) -> np.ndarray:
    """Take the room of some convex constraints from numbers, at most D, and give the tilt that presses on them: [D].

    These are turned to face one common way, so that the opposite way leads into all of them at once:
    however many meet at the known point, the feasible set has an interior.
    """
    convex = [numbers[f"g{i}"] for i, (kind, _) in enumerate(family.inequalities) if CONSTRAINTS[kind].convex]
    if not convex:
        return np.zeros(dim)
    sizes = [block["room"].shape[-1] for block in convex]
    count = int(rng.integers(1, min(sum(sizes), dim) + 1))
    active = rng.permutation(sum(sizes)) < count
    pressure = np.where(active, 10.0 ** rng.uniform(-1.0, 0.3, len(active)), 0.0)
    way = draw_directions(rng, dim, 1)[:, 0]
    for block, chosen in zip(convex, np.split(active, np.cumsum(sizes)[:-1])):
        block["room"] = np.where(chosen, 0.0, block["room"])
        pieces = np.repeat(chosen, block["out"].shape[1] // len(chosen))
        block["out"] = np.where(pieces & (way @ block["out"] < 0), -block["out"], block["out"])
    return -(pressure @ np.concat([outward_normals(block) for block in convex]))
