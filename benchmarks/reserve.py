"""The reserve: problems that no benchmark runs before the engine of TR is frozen.

One third of the open CUTEst problems and of the G-problems of CEC2006, drawn once by a fixed seed; a quality gate is
made of them later. `reference/reserve.csv` names the set of every problem, and this module reads it. Scripts call
without_reserve() on the names that they would run:

    names = without_reserve("cutest", names)

A problem that a test of 0.3.0 runs by name was never drawn. `python benchmarks/reserve.py` draws again and says whether
the file agrees; it needs the table of the open CUTEst problems (MECO_DATA).
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "reference" / "reserve.csv"
SEED = 20261119
IN_TESTS = {"cutest": ("HS43", "HS71", "HS77", "HS113", "HS117"), "g": ("G3", "G6", "G24")}


@cache
def read_sets() -> dict[str, dict[str, str]]:
    """The set of every problem, reserve or development: suite (cutest, g) -> name -> set."""
    found: dict[str, dict[str, str]] = {}
    with open(FILE, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["suite"], {})[row["problem"]] = row["set"]
    return found


def without_reserve(suite: str, names: Iterable[str]) -> list[str]:
    """The names of a suite (cutest, g) that are not in the reserve, in their order; a prefix as S2MPJ- may stay."""
    sets = read_sets()[suite]
    return [name for name in names if sets.get(name.rpartition("-")[2], "development") != "reserve"]


def draw_sets(groups: dict[str, list[str]], kept: Iterable[str]) -> dict[str, str]:
    """Put one third of each group of names into the reserve, none of those kept: name -> set."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    reserve: set[str] = set()
    for names in groups.values():
        order = [sorted(names)[i] for i in rng.permutation(len(names))]
        reserve.update([name for name in order if name not in kept][: round(len(names) / 3)])
    every = sorted(name for names in groups.values() for name in names)
    return {name: "reserve" if name in reserve else "development" for name in every}


def draw_all(table: Iterable[dict[str, str]]) -> dict[str, dict[str, str]]:
    """Both suites drawn, from the rows of the table of open CUTEst problems."""
    groups: dict[str, list[str]] = {}
    for row in table:  # nonlinear with and without a reference value, linear
        groups.setdefault(f"{row['type']} {bool(row['f_ref'])}", []).append(row["problem"])
    ordered = {key: groups[key] for key in sorted(groups)}
    return {
        "cutest": draw_sets(ordered, IN_TESTS["cutest"]),
        "g": draw_sets({"g": [f"G{i}" for i in range(1, 25)]}, IN_TESTS["g"]),
    }


def main() -> int:
    """Write the file where it is missing; otherwise compare it with the draw."""
    import os

    with open(Path(os.environ["MECO_DATA"]) / "s2mpj_open.csv", encoding="utf-8", newline="") as file:
        drawn = draw_all(csv.DictReader(file))
    if not FILE.exists():
        rows = [[suite, name, kind] for suite, sets in drawn.items() for name, kind in sets.items()]
        with open(FILE, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([["suite", "problem", "set"], *rows])
    same = drawn == read_sets()
    for suite, sets in drawn.items():
        print(f"{suite}: {list(sets.values()).count('reserve')} of {len(sets)} problems are reserved")
    print(f"{FILE.name} {'agrees with' if same else 'DIFFERS FROM'} the draw by seed {SEED}")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
