"""The page of one run: what was found, how the search came to it, and what it did on the way. NumPy alone."""

from __future__ import annotations

import time
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from meco.bench.report.page import figure_html, frame_page, table_html
from meco.core.metrics import feasibility_first
from meco.core.rule import order
from meco.figures.figure import Figure
from meco.figures.panel import MUTED, Axis, LegendKey, Line, Panel
from meco.figures.run_figure import WIDE_PANEL, controls_figure, convergence_figure, violation_figure
from meco.figures.table import Cell, Column, Table, format_number
from meco.result import ConstraintValue

SHOWN_POINTS = 20  # points drawn across the variables
MOST_LETTERS = 120  # of names of variables side by side under a picture
AT_BOUND = 1e-6  # of a bound, in shares of the box, that counts as being at it


def write_report(result: Any, path: Any) -> Path:
    """Write the page of a result of minimize(), an Optimizer or a run folder; it needs nothing beside itself."""
    place = Path(path)
    place.write_text(compose_run(result), encoding="utf-8", errors="backslashreplace")
    return place


def compose_run(result: Any) -> str:
    """The whole page as text."""
    every = result.evaluations
    drawn = (convergence_figure(result), violation_figure(result), controls_figure(result), _best_points_figure(result))
    pictures = [figure for figure in drawn if figure is not None]
    parts = {"found": "What was found", "search": "How the search went", "made": "How this was made"}
    links = "".join(f'<li><a href="#{ident}">{title}</a></li>' for ident, title in parts.items())
    tables = [_point_table(result), *([_constraint_table(result)] if result.constraints else [])]
    failed = "" if not result.run.nfail else f" {result.run.nfail} of {result.nfev} evaluations failed."
    body = (
        f'<section id="found"><h2>{parts["found"]}</h2><p><strong>{escape(result.message)}</strong></p>'
        f"{''.join(map(table_html, tables))}</section>"
        f'<section id="search"><h2>{parts["search"]}</h2><p>{int(every.feasible.sum())} of {len(every)} points are '
        f"feasible.{failed} {_describe_starts(result.run.starts)}</p>{''.join(map(figure_html, pictures))}</section>"
        f'<section id="made"><h2>{parts["made"]}</h2>{table_html(_provenance_table(result))}</section>'
    )
    made = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    state = f"f = {result.fun:.10g}" if result.feasible else "no feasible point"
    about = f"{escape(result.run.method)}, seed {result.run.seed}, {result.nfev} evaluations, page of {made} UTC"
    return frame_page(f"One run: {state}", about, "Parts", links, body)


def _describe_starts(count: int) -> str:
    return "The search began once." if count == 1 else f"The search began {count} times."


# -- tables ----------------------------------------------------------------------------------


def _stack_bounds(result: Any) -> np.ndarray:
    """Least and largest value of each variable: [D, 2]."""
    return np.stack([result.run.variables.lower, result.run.variables.upper], axis=1)


def _point_table(result: Any) -> Table:
    """The best point, and which of its variables are at a bound."""
    columns = [Column("Variable", head=True), Column("value"), Column("least"), Column("most"), Column("", left=True)]
    rows = []
    labels = result.run.variables.labels(units=True)
    for i, (name, value, (low, high)) in enumerate(zip(labels, result.x, _stack_bounds(result))):
        room = AT_BOUND * (high - low if np.isfinite(high - low) else max(1.0, abs(value)))
        where = "at its least" if value <= low + room else "at its most" if value >= high - room else ""
        shown = [Cell("no limit" if np.isinf(v) else f"{v:.8g}", float(v)) for v in (value, low, high)]
        rows.append([Cell(name, float(i)), *shown, Cell("fixed" if low == high else where)])
    title = "The best point" if result.feasible else "The point that violates the constraints least"
    return Table("design", title, columns, rows)


def _constraint_table(result: Any) -> Table:
    """Each constraint at the best point, with its multiplier where there is one."""
    heads = ["value", "violation", "tolerance", *(["multiplier"] if result.multipliers else [])]
    rows = []
    for name, found in result.constraints.items():
        multiplier = result.multipliers[name] if result.multipliers else None
        values = [found.value, found.violation, found.tolerance, *([] if multiplier is None else [multiplier])]
        shown = [Cell(format_number(v, 4), v) for v in values]
        rows.append([Cell(name, name), *shown, Cell(_constraint_state(found, multiplier))])
    columns = [Column("Constraint", head=True), *map(Column, heads), Column("", left=True)]
    caption = "Inequalities are g ≤ 0, equalities h = 0."
    if result.multipliers:
        caption += " A multiplier is what f would fall by for each unit that the constraint is allowed more."
    return Table("constraints", "Constraints there", columns, rows, caption)


def _constraint_state(found: ConstraintValue, multiplier: float | None) -> str:
    """Whether a constraint is violated, decides f (its multiplier is not 0), or is just kept."""
    if found.violation > found.tolerance:
        return "violated"
    return "decides f" if multiplier is not None and abs(multiplier) > 0.0 else "kept"


def _provenance_table(result: Any) -> Table:
    """Method, seed, why the run ended, and the versions that made it."""
    columns = [Column("", head=True), Column("", left=True)]
    made = {
        "method": result.run.method,
        "seed": str(result.run.seed),
        "stopped by": result.run.stop_reason,
        **result.run.versions,
    }
    rows = [[Cell(key), Cell(str(value))] for key, value in made.items()]
    return Table(
        "facts", "Facts", columns, rows, " ".join(f"{note[0].upper()}{note[1:]}." for note in result.run.notes)
    )


# -- the picture of points --------------------------------------------------------------------------------


def _best_points_figure(result: Any) -> Figure | None:
    """The best points over the variables, each from its least to its most."""
    every = result.evaluations
    if every.failed.all() or len(result.x) < 2:
        return None
    ranked = [i for i in order(feasibility_first(every.evaluation()))[0] if not every.failed[i]][:SHOWN_POINTS]
    low, high = result.run.variables.shown_range(every.x[ranked])
    width = np.where(high > low, high - low, 1.0)
    at = np.arange(1.0, len(result.x) + 1.0)
    lines = [Line(at, (every.x[i] - low) / width, MUTED, width=1.0) for i in ranked[::-1]]
    lines.append(Line(at, (result.x - low) / width, 0, "the best point"))
    labels = result.run.variables.labels()
    names = tuple(zip(at.tolist(), labels)) if len(" ".join(labels)) <= MOST_LETTERS else ()
    drawn = "the box" if np.isfinite(_stack_bounds(result)).all() else "the range drawn"
    across, up = Axis("variable", (0.7, len(at) + 0.3), names=names), Axis(f"share of {drawn}", (-0.03, 1.03))
    panel = Panel("", lines, across, up, WIDE_PANEL)
    return Figure(
        "points",
        f"The {len(ranked)} best points",
        [panel],
        legend=[LegendKey("the best point", 0), LegendKey("the others", MUTED)],
    )
