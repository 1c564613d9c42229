"""The numbers printed in the paper, as data: they stand beside ours, and enter none of our ranks and tests."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple


class Printed(NamedTuple):
    """A printed cell: mean and deviation of f + nu, or of f over feasible runs; else the mean violation."""

    mean: float | None
    std: float | None
    violation: float | None = None


@cache
def read_cells(table: str) -> dict[tuple[str, str], Printed]:
    """The cells of "table1" or "realworld" by problem and contender; nothing for other tables."""
    if table not in ("table1", "realworld"):
        return {}
    return {
        (r["problem"], r["method"]): Printed(
            _parse_number(r["mean"]), _parse_number(r["std"]), _parse_number(r.get("violation", ""))
        )
        for r in _read_rows(table)
    }


@cache
def read_average_ranks(table: str) -> dict[str, float]:
    """The printed average ranks of "table1" or "realworld" by contender; nothing for other tables."""
    if table not in ("table1", "realworld"):
        return {}
    return {r["method"]: float(r["rank"]) for r in _read_rows(f"{table}_ranks")}


@cache
def read_gains() -> dict[tuple[str, int], float]:
    """The printed relative reductions by variant and dimension."""
    return {(r["variant"], int(r["dim"])): float(r["gain"]) for r in _read_rows("training-gain")}


@cache
def read_engineering_problems() -> dict[str, dict[str, str]]:
    """The printed summary of the eight engineering problems."""
    return {r["problem"]: r for r in _read_rows("realworld_problems")}


def _read_rows(name: str) -> list[dict[str, str]]:
    """The rows of a table of the paper by column, from a file of the package."""
    text = resources.files("meco.bench").joinpath("printed", f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _parse_number(text: str) -> float | None:
    """The number in a text; None of an empty one."""
    return float(text) if text else None
