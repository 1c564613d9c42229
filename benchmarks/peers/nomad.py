"""NOMAD 4, mesh adaptive direct search, by PyNomad (pip install PyNomadBBO)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from peers import Spent, Target


def search_by_nomad(
    values: Callable[[np.ndarray], Sequence[float] | None],
    start: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    outputs: Sequence[str],
    most: int,
    seed: int,
    kinds: str = "",
) -> bool:
    """One search from a point, at most so many evaluations: whether the budget behind values was spent.

    values gives a number for each of outputs ("OBJ", "EB", "PB"), None for a failure, or raises Spent. kinds has a
    letter for each variable, "I" or "R". What NOMAD writes goes to a folder of its own.
    """
    import PyNomad

    spent = False

    def box(point: Any) -> int:
        nonlocal spent
        try:
            found = values(np.array([point.get_coord(i) for i in range(point.size())]))
        except Spent:
            spent = True
            return 0
        if found is None:
            return 0
        point.setBBO(" ".join(repr(float(v)) for v in found).encode())
        return 1

    options = [
        *([f"BB_INPUT_TYPE ({' '.join(kinds)})"] if kinds else []),
        f"BB_OUTPUT_TYPE {' '.join(outputs)}",
        f"MAX_BB_EVAL {most}",
        "DISPLAY_DEGREE 0",
        f"SEED {seed + 1}",
    ]
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        try:
            PyNomad.optimize(box, start.tolist(), low.tolist(), high.tolist(), options)
        finally:
            os.chdir(here)
    return spent


def nomad(target: Target, seed: int) -> None:
    """Search from the middle of the box, then from random points. An equality is |h| <= tolerance."""
    rng = np.random.default_rng(seed)
    start = (target.low + target.high) / 2.0
    outputs = ["OBJ", *["PB"] * (target.problem.n_ineq + target.problem.n_eq)]

    def values(x: np.ndarray) -> np.ndarray | None:
        row = target(x)
        return None if row is None else np.concatenate([row[:1], target.excess(row)])

    kinds = "".join("I" if whole else "R" for whole in target.integer)
    while True:
        start = np.where(target.integer, np.round(start), start)
        if search_by_nomad(values, start, target.low, target.high, outputs, target.left + 1, seed, kinds):
            raise Spent
        start, seed = rng.uniform(target.low, target.high), seed + 1000
