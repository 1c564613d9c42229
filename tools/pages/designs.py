"""Nine designs as users have them: what benchmarks/users.py printed, as a table and in a sentence."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from tools.pages.tables import KEPT, bold_if, join_words, markdown_table

SHOWN = ("MeCO", "COBYQA", "SciPy DE", "pycma AL", "Optuna TPE")  # the others are in the file
CLOSE_GAP = 1e-3  # of the best known f: median gaps that differ by less are level
FAR_GAP = 0.1  # a run that ends further above is named


class SolverRow(NamedTuple):
    """What one solver did on one design."""

    feasible: float  # share of its runs
    gap: float  # of the median run, inf where that is infeasible
    worst: float  # gap of the worst run
    values: tuple[str, ...]  # f of each seed


class DesignRows(NamedTuple):
    """A design, its number of variables, and the row of each solver."""

    name: str
    dim: int
    solvers: dict[str, SolverRow]


def read_designs() -> list[DesignRows]:
    """What is kept of `python benchmarks/users.py`."""
    return parse_designs((KEPT / "users.txt").read_text(encoding="utf-8"))


def parse_designs(text: str) -> list[DesignRows]:
    """The blocks of that text, in their order; whatever else it says is passed over."""
    found: list[DesignRows] = []
    for line in text.splitlines():
        head = re.match(r"(\w[\w ]*): D = (\d+)", line)
        row = re.match(r"  (\S.*?) {2,}(\d+)% +(\S+) +(\S+) +[\d.]+ {3}(.+)", line)
        if head:
            found.append(DesignRows(head[1], int(head[2]), {}))
        elif row and found:
            share, median, worst = int(row[2]) / 100, float(row[3]), float(row[4])
            found[-1].solvers[row[1]] = SolverRow(share, median, worst, tuple(row[5].split()))
    return found


def write_gap(row: SolverRow) -> str:
    """A median gap in percent, or how many runs are feasible where the median run is not."""
    feasible = f"{100 * row.feasible:.0f} % feasible"
    if not math.isfinite(row.gap):
        return feasible
    percent = 100 * row.gap
    said = "< 0.1 %" if row.gap < CLOSE_GAP else f"{percent:.2g} %" if percent < 10 else f"{percent:.0f} %"
    return said if row.feasible == 1.0 else f"{said} ({feasible})"


def best_solvers(design: DesignRows) -> list[str]:
    """Those with most feasible runs whose median gap is the least, or level with it; none where nobody is feasible."""
    most = max(row.feasible for row in design.solvers.values())
    gaps = {name: row.gap for name, row in design.solvers.items() if row.feasible == most and math.isfinite(row.gap)}
    return [name for name, gap in gaps.items() if gap <= max(min(gaps.values()), 0.0) + CLOSE_GAP]


def designs_table() -> str:
    """Median gaps of the solvers on each design, the best in bold, ties alike."""
    rows = []
    for design in read_designs():
        best = best_solvers(design)
        cells = [bold_if(write_gap(design.solvers[name]), name in best) for name in SHOWN]
        rows.append([f"{design.name}, {design.dim} variables", *cells])
    return markdown_table(["median gap to the best known f", *SHOWN], rows)


def designs_verdict() -> str:
    """How often each solver is best, feasible and near the best known, and what its seeds are worth."""
    designs = read_designs()
    runs = sum(len(design.solvers["MeCO"].values) for design in designs)
    close = {name: sum(_is_close(design.solvers[name]) for design in designs) for name in SHOWN}
    feasible = {name: sum(_feasible_runs(design.solvers[name]) for design in designs) for name in SHOWN}
    best = {name: sum(name in best_solvers(design) for design in designs) for name in SHOWN}
    same = sum(len(set(design.solvers["COBYQA"].values)) == 1 for design in designs)
    return (
        f"Best or level with the best, of {len(designs)} designs: {_count_words(best)}. "
        f"Median run within 0.1 % of the best known: {_count_words(close)}. "
        f"Feasible runs of {runs}: {_count_words(feasible, all_of_them=True)}. "
        f"Runs of MeCO that end more than {100 * FAR_GAP:.0f} % above it: {_name_far(designs)}. "
        f"COBYQA begins at the same point whatever the seed: on {same} designs its runs are one run."
    )


def _name_far(designs: list[DesignRows]) -> str:
    """The designs on which the worst run of MeCO is far off, with its gap; "none"."""
    worst = {design.name: design.solvers["MeCO"].worst for design in designs}
    far = [f"{name} ({100 * gap:.0f} % at worst)" for name, gap in worst.items() if gap > FAR_GAP]
    return join_words(far or ["none"])


def _is_close(row: SolverRow) -> bool:
    """Whether the median run is feasible and level with the best known."""
    return row.gap < CLOSE_GAP


def _feasible_runs(row: SolverRow) -> int:
    """How many runs are feasible."""
    return sum(value != "inf" for value in row.values)


def _count_words(counts: dict[str, int], all_of_them: bool = False) -> str:
    """ "MeCO 8, COBYQA 3 and the others none", most first."""
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    told = [f"{name} {count}" for name, count in ordered if count or all_of_them]
    return join_words(told if len(told) == len(ordered) else [*told, "the others none"])
