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
from meco.figures.run_figure import WIDE_PANEL, make_controls_figure, make_convergence_figure, make_violation_figure
from meco.figures.table import Cell, Column, Table, format_number, format_share
from meco.result import ConstraintValue, describe_doubt, format_probability, is_feasible_in_mean

SHOWN_POINTS = 20  # points drawn across the variables
MOST_LETTERS = 120  # of names of variables side by side under a picture
MOST_CATEGORIES = 8  # of a variable that are named beside it
AT_BOUND = 1e-6  # of a bound, in shares of the box, that counts as being at it


def write_report(result: Any, path: Any, title: str = "", author: str = "", notes: str = "") -> Path:
    """Write the page of a result of minimize(), an Optimizer or a run folder, over a file that is there; its path.

    It needs nothing beside itself. A folder that is not there is an OSError.
    """
    place = Path(path)
    text = compose_run_page(result, title, author, notes)
    place.write_text(text, encoding="utf-8", errors="backslashreplace")
    return place


def compose_run_page(result: Any, title: str = "", author: str = "", notes: str = "") -> str:
    """The whole HTML page as text: the answer, how sure it is and what limits it first; the method's own words last.

    Title, author and notes (a paragraph a line) are escaped, and left out where empty.
    """
    every, run = result.evaluations, result.run
    parts = {
        "found": "The answer",
        "sure": "How sure it is",
        "limits": "What limits it",
        "search": "How the search went",
        "made": "How this was made",
    }
    priced = _make_limit_table(result)
    tables = [*([_make_constraint_table(result)] if result.constraints else []), *([] if priced is None else [priced])]
    if not tables:
        del parts["limits"]
    bodies = {
        "found": f"<p><strong>{escape(result.message)}</strong></p>{table_html(_make_point_table(result))}",
        "sure": _evidence_html(result),
        "limits": "".join(map(table_html, tables)),
        "search": _search_html(result),
        "made": table_html(_make_provenance_table(result)),
    }
    links = "".join(f'<li><a href="#{ident}">{head}</a></li>' for ident, head in parts.items())
    said = "".join(f"<p>{escape(line)}</p>" for line in notes.splitlines() if line.strip())
    body = f'<section id="notes"><h2>Notes</h2>{said}</section>' if said else ""
    body += "".join(f'<section id="{i}"><h2>{head}</h2>{bodies[i]}</section>' for i, head in parts.items())
    made = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    state = _describe_state(result)
    about = f"{escape(run.method)}, seed {run.seed}, {len(every)} evaluations, page of {made} UTC"
    about = f"{escape(author)} · {about}" if author else about
    return frame_page(f"{title}: {state}" if title else f"One run: {state}", about, "Parts", links, body)


def _describe_state(result: Any) -> str:
    """What the heading says of the answer."""
    if result.feasible:
        return f"f = {result.fun:.10g}"
    if is_feasible_in_mean(result):
        return f"f = {result.fun:.6g} in the mean, feasible with probability {format_probability(result.probability)}"
    return "no feasible point"


def _evidence_html(result: Any) -> str:
    """What the starts of the search tell of the answer, and the other minima with their designs, as HTML."""
    every, run = result.evaluations, result.run
    share = format_share(run.nfail / max(1, result.nfev))
    failed = f" {run.nfail} of {result.nfev} evaluations failed ({share})." if run.nfail else ""
    if count := int(every.partial.sum()):
        failed += f" {count} of {len(every)} answers were partial: they stopped at a violated constraint."
    if result.probability is not None:
        doubt = f"x is {describe_doubt(result.probability)}" if is_feasible_in_mean(result) else ""
        doubt = doubt or f"x keeps the constraints with probability {format_probability(result.probability)}"
        failed += f" Values are noisy: {doubt}."
    said = f"<p>{escape(run.evidence)} {int(every.feasible.sum())} of {len(every)} points are feasible.{failed}</p>"
    if len(result.minima) < 2:
        return said
    columns = [
        Column("Minimum", head=True),
        Column("f"),
        Column("starts"),
        *map(Column, run.variables.labels(units=True)),
    ]
    rows = [
        [
            Cell(f"{k}", float(k)),
            Cell(f"{found.f:.8g}", found.f),
            Cell(str(found.starts), float(found.starts)),
            *(
                Cell(f"{value:.6g}" if each.categories is None else each.show(value), float(value))
                for each, value in zip(run.variables.each, found.x)
            ),
        ]
        for k, found in enumerate(result.minima, 1)
    ]
    caption = "Where starts of the search ended; ends within 1 % of the range of each variable are one minimum."
    return said + table_html(Table("minima", "The best distinct minima", columns, rows, caption))


def _search_html(result: Any) -> str:
    """Pictures of the run as HTML; what the method did is behind a fold."""
    drawn = (make_convergence_figure(result), make_violation_figure(result), _make_best_points_figure(result))
    inner = make_controls_figure(result)
    pictures = "".join(figure_html(figure) for figure in drawn if figure is not None)
    fold = "" if inner is None else f"<details><summary>What the method did</summary>{figure_html(inner)}</details>"
    return f"<p>{_describe_starts(result.run.starts)}</p>{pictures}{fold}"


def _describe_starts(count: int) -> str:
    """How often the search began, as a sentence."""
    return "The search began once." if count == 1 else f"The search began {count} times."


# -- tables ----------------------------------------------------------------------------------


def _stack_bounds(result: Any) -> np.ndarray:
    """Least and largest value of each variable: [D, 2]."""
    return np.stack([result.run.variables.lower, result.run.variables.upper], axis=1)


def _make_point_table(result: Any) -> Table:
    """The best point as a table, and which of its variables are at a bound."""
    columns = [
        Column("Variable", head=True),
        Column("value"),
        Column("lower bound"),
        Column("upper bound"),
        Column("", left=True),
    ]
    rows = []
    labels = result.run.variables.labels(units=True)
    for i, (name, value, (low, high)) in enumerate(zip(labels, result.x, _stack_bounds(result))):
        room = AT_BOUND * (high - low if np.isfinite(high - low) else max(1.0, abs(value)))
        where = "at its lower bound" if value <= low + room else "at its upper bound" if value >= high - room else ""
        shown = [Cell("no limit" if np.isinf(v) else f"{v:.8g}", float(v)) for v in (value, low, high)]
        variable = result.run.variables.each[i]
        if variable.categories is not None:
            shown = [Cell(variable.show(value), float(value)), Cell("–"), Cell("–")]
            where = f"one of {_list_briefly([str(each) for each in variable.categories])}"
        rows.append([Cell(name, float(i)), *shown, Cell("fixed" if low == high else where)])
    least = "The likeliest point" if result.probability is not None else "The point that violates the constraints least"
    title = "The best point" if result.feasible or is_feasible_in_mean(result) else least
    return Table("design", title, columns, rows)


def _list_briefly(names: list[str]) -> str:
    """Names side by side; the middle ones of many are counted."""
    return ", ".join(names) if len(names) <= MOST_CATEGORIES else f"{names[0]} … {names[-1]} ({len(names)})"


def _make_constraint_table(result: Any) -> Table:
    """Each constraint at the best point: its value, how far it is violated, whether it is active.

    Where answers were partial, also the share of all that told of it.
    """
    every = result.evaluations
    partial = bool(every.partial.any())
    columns = [
        Column("Constraint", head=True),
        *map(Column, ("value", "violation", "tolerance", *(["told"] if partial else []))),
        Column("", left=True),
    ]
    prices = result.multipliers or {}
    rows = []
    for k, (name, found) in enumerate(result.constraints.items()):
        shown = [Cell(format_number(v, 4), v) for v in found]
        if partial:
            share = float(every.told[:, 1 + k].mean())
            shown.append(Cell(format_share(share), share))
        rows.append([Cell(name, name), *shown, Cell(_constraint_state(found, prices.get(name)))])
    return Table("constraints", "Constraints", columns, rows, "Inequalities are g ≤ 0, equalities h = 0.")


def _constraint_state(found: ConstraintValue, multiplier: float | None) -> str:
    """Whether a constraint is violated, active (its multiplier is not 0), inactive, or just satisfied."""
    if found.violation > found.tolerance:
        return "violated"
    return "satisfied" if multiplier is None else "active" if multiplier else "inactive"


def _make_limit_table(result: Any) -> Table | None:
    """What each limit that holds f back costs, and 1 % of it where that is known; None where none does."""
    limits = [limit for limit in result.limits if limit.multiplier != 0.0]
    if not limits:
        return None
    columns = [
        Column("Limit", head=True),
        Column("f falls by, for each unit"),
        Column("for 1 % of the limit, to first order"),
        Column("", left=True),
    ]
    rows = []
    for limit in limits:
        shown = [
            Cell(missing) if value is None else Cell(format_number(value, 4), value)
            for value, missing in ((limit.multiplier, "–"), (limit.one_percent, "" if limit.multiplier else "–"))
        ]
        note = f"not known: {limit.reason}" if limit.reason else _sign_note(limit)
        rows.append([Cell(limit.label, limit.label), *shown, Cell(note)])
    caption = (
        "What easing a limit would bring, to first order (Lagrange multipliers), for each unit of the value that is "
        "returned as constraint. 1 % is of the bound, or of its range where the bound is 0; of a constraint it is "
        "known only where its limit was given (lb, ub). Limits that are not listed do not hold f back."
    )
    return Table("limits", "What the limits cost", columns, rows, caption)


def _sign_note(limit: Any) -> str:
    """Which way an equality has to be moved for f to fall; "" for other limits."""
    if limit.kind != "equality":
        return ""
    return f"f falls where h may be {'above' if limit.multiplier > 0 else 'below'} 0"


def _make_provenance_table(result: Any) -> Table:
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


def _make_best_points_figure(result: Any) -> Figure | None:
    """The best points over the variables, each from least to most; None for one variable, or where all failed."""
    every = result.evaluations
    if every.failed.all() or len(result.x) < 2:
        return None
    ranked = [i for i in order(feasibility_first(every.to_evaluation()))[0] if not every.failed[i]][:SHOWN_POINTS]
    low, high = result.run.variables.shown_range(every.x[ranked])
    width = np.where(high > low, high - low, 1.0)
    at = np.arange(1.0, len(result.x) + 1.0)
    lines = [Line(at, (every.x[i] - low) / width, MUTED, width=1.0) for i in ranked[::-1]]
    lines.append(Line(at, (result.x - low) / width, 0, "the best point"))
    labels = result.run.variables.labels()
    names = tuple(zip(at.tolist(), labels)) if len(" ".join(labels)) <= MOST_LETTERS else ()
    drawn = "between the bounds" if np.isfinite(_stack_bounds(result)).all() else "in the range drawn"
    across, up = Axis("variable", (0.7, len(at) + 0.3), names=names), Axis(f"position {drawn}", (-0.03, 1.03))
    panel = Panel("", lines, across, up, WIDE_PANEL)
    return Figure(
        "points",
        f"The {len(ranked)} best points",
        [panel],
        legend=[LegendKey("the best point", 0), LegendKey("the others", MUTED)],
    )
