"""Shifts and linear maps of the CEC 2017 constrained problems: paper, official, or any seed."""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np

from meco.errors import InvalidInput, UnknownName
from meco.problems.official_tables.load import TABLE_DIMS, TABLE_FILES, load_tables

SHARED = 12  # from this problem on, all share one shift and one map
PAPER_SEEDS = (42, 47)
MARGIN = 0.8  # a random instance puts its shift in the inner part of the box


class Instance(NamedTuple):
    """Shift o [D], and the maps M [D, D] of z = M y and w = M' y where a problem has them."""

    shift: np.ndarray
    first: np.ndarray | None = None
    second: np.ndarray | None = None


def make_instance(name: str, dim: int, bound: float, instance: str | int) -> Instance:
    """The numbers behind an instance of problem `name`; it has the maps that Definition.given names (z, w).

    "official" reads the organisers' tables, which must be on this machine. Another instance is an error.
    """
    number = int(name[1:])
    if instance == "paper":
        made = _paper_instance(dim, bound)
    elif instance == "official":
        made = _official_instance(number, dim)
    elif isinstance(instance, Integral) and not isinstance(instance, bool):
        made = _random_instance(number, dim, bound, int(instance))
    elif isinstance(instance, str):
        raise UnknownName("instance", instance, ["paper", "official", "an integer seed"])
    else:
        raise InvalidInput(f'instance must be "paper", "official" or an integer seed; got {instance!r}')
    return Instance(
        made.shift,
        made.first if number in (2, 5) or number > 20 else None,
        made.second if number == 5 else None,
    )


def _paper_instance(dim: int, bound: float) -> Instance:
    """Rotations from generators 42 and 47, the shift from the first one, over the whole box."""
    one, two = (np.random.default_rng(seed) for seed in PAPER_SEEDS)
    first, second = draw_rotation(one, dim), draw_rotation(two, dim)
    return Instance(one.uniform(-bound, bound, dim), first, second)


def _random_instance(number: int, dim: int, bound: float, seed: int) -> Instance:
    """Both rotations, then the shift, by seed and problem: the order of draws is part of an instance.

    InvalidInput below 0.
    """
    if seed < 0:
        raise InvalidInput(f"an instance seed must be 0 or more; got {seed}")
    draw = np.random.default_rng([seed, number])
    first, second = draw_rotation(draw, dim), draw_rotation(draw, dim)
    return Instance(draw.uniform(-MARGIN * bound, MARGIN * bound, dim), first, second)


def draw_rotation(draw: np.random.Generator, dim: int) -> np.ndarray:
    """A random orthogonal matrix with determinant 1: Q of a normal matrix, one column negated if need be."""
    q = np.linalg.qr(draw.standard_normal((dim, dim)))[0]
    if np.linalg.det(q) < 0:
        q[:, 0] = -q[:, 0]
    return q


def _official_instance(number: int, dim: int) -> Instance:
    """The shift and maps of the organisers' tables, read from their file; an error for another D or without it."""
    if dim not in TABLE_DIMS:
        raise InvalidInput(
            f"the official instance of C{number:02d} exists for D = 10, 30, 50 and 100; got dim={dim} "
            "(any D works with instance='paper' or an integer seed)"
        )
    tables = load_tables(TABLE_FILES["cec2017"], "cec2017")
    group = f"{number:02d}" if number < SHARED else f"{SHARED}_28"
    shift = tables[f"shift_{group}"][:dim]
    if number == 5:
        return Instance(shift, tables[f"rotation_05a_{dim}"], tables[f"rotation_05b_{dim}"])
    if number == 2 or number > 20:
        return Instance(shift, tables[f"rotation_{group}_{dim}"])
    return Instance(shift)
