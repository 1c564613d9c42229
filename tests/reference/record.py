"""The record: written by make(), and compared by compare(), kind by kind."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import methods, pairs, points
from .kernels import describe_arithmetic, differing_facts

FOLDER = Path(__file__).parent / "record"
ARITHMETIC, METHODS, PAIRS = FOLDER / "arithmetic.json", FOLDER / "methods.json", FOLDER / "pairs.csv"


def all_kinds() -> list[str]:
    """Every kind, as part/name."""
    parts = {"methods": methods.recorded_methods(), "points": points.KINDS, "pairs": pairs.PAIRS}
    return [f"{part}/{name}" for part, names in parts.items() for name in names]


def select_kinds(wanted: Iterable[str]) -> list[str]:
    """Kinds by name, or all of a part; every kind where none is named. ValueError for an unknown one."""
    known, chosen = all_kinds(), []
    for name in wanted:
        found = [kind for kind in known if name in (kind, kind.partition("/")[0])]
        if not found:
            raise ValueError(f"unknown kind {name!r} (parts: methods, points, pairs; a kind: points/plain)")
        chosen += found
    return chosen or known


def read_json(file: Path) -> dict[str, Any]:
    """A file of the record; empty where it does not exist yet."""
    return json.loads(file.read_text()) if file.exists() else {}


def read_pairs() -> dict[str, str]:
    """How each pair of features ends in the record."""
    if not PAIRS.exists():
        return {}
    with PAIRS.open(newline="") as file:
        return {row["pair"]: row["outcome"] for row in csv.DictReader(file)}


def points_file(kind: str) -> Path:
    """Where the points of a kind are."""
    return FOLDER / "points" / f"{kind}.npy"


def arithmetic_differences() -> list[str]:
    """What differs between this machine's arithmetic and that of the record; none: results agree to the last bit."""
    return differing_facts(read_json(ARITHMETIC))


# -- make --------------------------------------------------------------------------------------------


def make(kinds: Iterable[str]) -> Iterator[str]:
    """Record these kinds, and yield each when it is done. ValueError for a part of a record of other arithmetic."""
    chosen = select_kinds(kinds)
    if set(chosen) != set(all_kinds()) and (found := arithmetic_differences()):
        raise ValueError("the rest of the record was made with other arithmetic: " + "; ".join(found))
    (FOLDER / "points").mkdir(parents=True, exist_ok=True)
    _write_json(ARITHMETIC, describe_arithmetic())
    for kind in chosen:
        part, name = kind.split("/")
        if part == "methods":
            _write_json(METHODS, read_json(METHODS) | {name: methods.run_method(name)})
        elif part == "pairs":
            _write_pairs(read_pairs() | {name: pairs.find_outcome(name)})
        else:
            np.save(points_file(name), points.evaluated_points(name))
        yield kind


def _write_json(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=1) + "\n")


def _write_pairs(outcomes: dict[str, str]) -> None:
    with PAIRS.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerows([("pair", "outcome"), *((name, outcomes[name]) for name in pairs.PAIRS if name in outcomes)])


# -- compare -----------------------------------------------------------------------------------------


def compare(kinds: Iterable[str], tolerance: float = 0.0, first: int = points.BUDGET) -> Iterator[tuple[str, str]]:
    """Each kind, and how it differs from the record, "" where it does not."""
    for kind in select_kinds(kinds):
        part, name = kind.split("/")
        check = {"methods": check_method, "pairs": check_pair}.get(part)
        yield kind, check(name) if check else check_points(name, tolerance, first)


def check_method(name: str) -> str:
    """Problems on which a method differs from the record, "" for none."""
    recorded, made = read_json(METHODS).get(name, {}), methods.run_method(name)
    differing = [problem for problem in made if made[problem] != recorded.get(problem)]
    return f"differs on {', '.join(differing)}" if differing else ""


def check_pair(name: str) -> str:
    """How a pair of features ends now, "" where it ends as in the record."""
    recorded, now = read_pairs().get(name, "nothing"), pairs.find_outcome(name)
    return "" if now == recorded else f"{now} (record: {recorded})"


def check_points(kind: str, tolerance: float = 0.0, first: int = points.BUDGET) -> str:
    """Where the first points of a kind part from the record, "" where they do not.

    Points agree where no coordinate differs by more than tolerance (1 + its size); 0 demands every bit.
    """
    recorded = np.load(points_file(kind))[:first]
    made = points.evaluated_points(kind, first)
    agreeing = points.count_agreeing(made, recorded, tolerance)
    if agreeing == len(recorded) == len(made):
        return ""
    if agreeing == min(len(made), len(recorded)) or made.shape[1:] != recorded.shape[1:]:
        return f"{len(made)} points (record: {len(recorded)}), of which the first {agreeing} agree"
    return f"parts at evaluation {agreeing + 1}, by {np.abs(made[agreeing] - recorded[agreeing]).max():.1g}"
