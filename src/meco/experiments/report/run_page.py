"""The page of one run: what was found, how the search came to it, and what it did on the way. NumPy alone."""

from __future__ import annotations

import time
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from meco.experiments.report.figure import MUTED, Axis, Figure, Key, Line, Mark, Panel, Segment
from meco.experiments.report.page import figure_html, framed, table_html
from meco.experiments.report.table import Cell, Column, Table, number
from meco.results import feasibility_first
from meco.rules.rule import order

SHOWN = 6  # constraints in a picture: those that were met last
BEST = 20  # points drawn across the variables
MET = 1e-6  # share of its largest violation below which a constraint is drawn as met
CLOSE = 1e-6  # of a bound, in shares of the box, that counts as being at it
SIZE, WIDE = (560, 300), (1000, 300)
LINES = (("theta", "θ, violation that a step may leave"), ("share", "share of offspring"), ("action", "action"),
         ("feasible_share", "feasible share"))  # fmt: skip


def write_report(result: Any, path: Any) -> Path:
    """Write the page of a result of minimize(), an Optimizer or a run folder; it needs nothing beside itself."""
    place = Path(path)
    place.write_text(compose_run(result), encoding="utf-8", errors="backslashreplace")
    return place


def compose_run(result: Any) -> str:
    """The whole page as text."""
    every = result.evaluations
    pictures = [
        f for f in (_convergence(result), _violation(result), _method(result), _across(result)) if f is not None
    ]
    parts = {"found": "What was found", "search": "How the search went", "made": "How this was made"}
    links = "".join(f'<li><a href="#{ident}">{title}</a></li>' for ident, title in parts.items())
    tables = [_design(result), *([_limits(result)] if result.constr else [])]
    failed = "" if not result.nfail else f" {result.nfail} of {result.nfev} evaluations failed."
    body = (
        f'<section id="found"><h2>{parts["found"]}</h2><p><strong>{escape(result.message)}</strong></p>'
        f"{''.join(map(table_html, tables))}</section>"
        f'<section id="search"><h2>{parts["search"]}</h2><p>{int(every.feasible.sum())} of {len(every)} points are '
        f"feasible.{failed} {_starts(result.starts)}</p>{''.join(map(figure_html, pictures))}</section>"
        f'<section id="made"><h2>{parts["made"]}</h2>{table_html(_provenance(result))}</section>'
    )
    made = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    state = f"f = {result.fun:.10g}" if result.feasible else "no feasible point"
    about = f"{escape(result.method)}, seed {result.seed}, {result.nfev} evaluations, page of {made} UTC"
    return framed(f"One run: {state}", about, "Parts", links, body)


def _starts(count: int) -> str:
    return "The search began once." if count == 1 else f"The search began {count} times."


# -- tables ----------------------------------------------------------------------------------


def _design(result: Any) -> Table:
    """The best point, and which of its variables are at a bound."""
    columns = [Column("Variable", head=True), Column("value"), Column("least"), Column("most"), Column("", left=True)]
    rows = []
    for i, (value, (low, high)) in enumerate(zip(result.x, result.bounds)):
        room = CLOSE * (high - low)
        where = "at its least" if value <= low + room else "at its most" if value >= high - room else ""
        shown = [Cell(f"{v:.8g}", float(v)) for v in (value, low, high)]
        rows.append([Cell(f"x{i + 1}", float(i)), *shown, Cell("fixed" if low == high else where)])
    title = "The best point" if result.feasible else "The point that violates the constraints least"
    return Table("design", title, columns, rows)


def _limits(result: Any) -> Table:
    """Each constraint at the best point, with its multiplier where there is one."""
    heads = ["value", "violation", "tolerance", *(["multiplier"] if result.multipliers else [])]
    rows = []
    for name, found in result.constr.items():
        values = [found["value"], found["violation"], found["tolerance"]]
        values += [result.multipliers[name]] if result.multipliers else []
        shown = [Cell(number(v, 4), v) for v in values]
        rows.append([Cell(name, name), *shown, Cell(_state(found, values[3:]))])
    columns = [Column("Constraint", head=True), *map(Column, heads), Column("", left=True)]
    caption = "Inequalities are g ≤ 0, equalities h = 0."
    if result.multipliers:
        caption += " A multiplier is what f would fall by for each unit that the constraint is allowed more."
    return Table("constraints", "Constraints there", columns, rows, caption)


def _state(found: Any, multiplier: list[float]) -> str:
    if found["violation"] > found["tolerance"]:
        return "violated"
    return "decides f" if multiplier and abs(multiplier[0]) > 0.0 else "kept"


def _provenance(result: Any) -> Table:
    columns = [Column("", head=True), Column("", left=True)]
    facts = {"method": result.method, "seed": str(result.seed), "stopped by": result.stop_reason, **result.versions}
    rows = [[Cell(key), Cell(str(value))] for key, value in facts.items()]
    return Table("facts", "Facts", columns, rows, " ".join(f"{note[0].upper()}{note[1:]}." for note in result.notes))


# -- pictures --------------------------------------------------------------------------------


def _stairs(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A curve that keeps each value until the next one comes."""
    keep = np.isfinite(y)
    keep[1:-1] &= (y[1:-1] != y[:-2]) | (y[1:-1] != y[2:])  # what says nothing new is left out
    x, y = x[keep], y[keep]
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


def _calls(result: Any) -> np.ndarray:
    return np.cumsum(~result.evaluations.given)


def _over(result: Any) -> Axis:
    return Axis("evaluations", (0.0, float(max(1, result.nfev))))


def _beginnings(result: Any, low: float, high: float) -> list[Mark]:
    """A stroke wherever the search began again."""
    trace = result.trace
    if "starts" not in trace:
        return []
    at = trace["nfev"][1:][np.diff(trace["starts"]) > 0]
    return [Segment((float(x), float(x)), (low, high)) for x in at]


def _convergence(result: Any) -> Figure | None:
    every = result.evaluations
    best = np.minimum.accumulate(np.where(every.feasible, every.f, np.inf)) if len(every) else np.zeros(0)
    seen = best[np.isfinite(best)]
    if not seen.size:
        return None
    x, y = _stairs(_calls(result), best)
    gap = seen - seen[-1]
    panels = [Panel("Best feasible f", [Line(x, y, 0, "best feasible f")], _over(result), Axis("f"), SIZE)]
    if (gap > 0.0).any():
        floor = gap[gap > 0.0].min()
        a, b = _stairs(_calls(result), np.where(np.isfinite(best), best - seen[-1], np.inf))
        line = Line(a[b >= floor], b[b >= floor], 0, "above the last value")
        panels.append(Panel("The same above its last value", [line], _over(result), Axis("f", log=True), SIZE))
    return Figure("convergence", "Convergence", panels, "The best feasible f so far.")


def _violation(result: Any) -> Figure | None:
    every, names = result.evaluations, list(result.constr)
    c = np.concatenate([np.maximum(every.g, 0.0), np.abs(every.h)], axis=1)
    if not c.size or every.failed.all():
        return None
    c = np.where(every.failed[:, None], np.inf, c)
    least, most = np.minimum.accumulate(c, axis=0), np.max(np.where(np.isfinite(c), c, 0.0), axis=0)
    met_last = np.argsort([-int(np.argmin(column)) for column in least.T], kind="stable")
    late = [int(i) for i in met_last if most[i] > 0.0][:SHOWN]
    nu = np.minimum.accumulate(c.sum(axis=1))
    positive = nu[np.isfinite(nu) & (nu > 0.0)]
    panels = []
    if positive.size:
        x, y = _stairs(_calls(result), np.where(nu > 0.0, nu, positive.min() / 10.0))
        sums = Axis("sum of violations", log=True)
        panels.append(Panel("Least violation of any point", [Line(x, y, 1, "violation")], _over(result), sums, SIZE))
    lines: list[Mark] = []
    for k, i in enumerate(late):
        x, y = _stairs(_calls(result), np.maximum(least[:, i] / most[i], MET))
        lines.append(Line(x, y, k, names[i]))
    if lines:
        share = Axis("share of its largest", (0.5 * MET, 2.0), log=True)
        panels.append(Panel("Each constraint by itself", lines, _over(result), share, SIZE))
    legend = [Key(names[i], k) for k, i in enumerate(late)]
    caption = (
        f"The {len(late)} constraints that were met last, each as a share of the largest violation it ever had; "
        f"{MET:g} stands for less too."
    )
    return Figure("violation", "Violation", panels, caption, legend) if panels else None


def _method(result: Any) -> Figure | None:
    trace = result.trace
    shown = [(key, label) for key, label in LINES if key in trace]
    if not shown:
        return None
    lines: list[Mark] = [Line(*_stairs(trace["nfev"], trace[key].astype(float)), k, label)
                         for k, (key, label) in enumerate(shown)]  # fmt: skip
    begun, size = _beginnings(result, -0.03, 1.03), SIZE if "delta" in trace else WIDE
    panels = [Panel("Controls and shares", [*begun, *lines], _over(result), Axis("", (-0.03, 1.03)), size)]
    if "delta" in trace:
        radius = trace["delta"].astype(float)
        line = Line(*_stairs(trace["nfev"], radius), 2, "radius")
        strokes = _beginnings(result, float(radius.min()), float(radius.max()))
        panels.append(Panel("Radius of the region", [*strokes, line], _over(result), Axis("radius", log=True), SIZE))
    legend = [Key(label, k) for k, (_, label) in enumerate(shown)]
    caption = "Strokes: the search began again." if begun else ""
    return Figure("method", "What the method did", panels, caption, legend)


def _across(result: Any) -> Figure | None:
    """The best points over the variables, each from its least to its most."""
    every, (low, high) = result.evaluations, np.array(result.bounds).T
    if every.failed.all() or len(result.x) < 2:
        return None
    ranked = [i for i in order(feasibility_first(every.evaluation()))[0] if not every.failed[i]][:BEST]
    width = np.where(high > low, high - low, 1.0)
    at = np.arange(1.0, len(result.x) + 1.0)
    lines = [Line(at, (every.x[i] - low) / width, MUTED, width=1.0) for i in ranked[::-1]]
    lines.append(Line(at, (result.x - low) / width, 0, "the best point"))
    names = tuple((float(v), f"x{int(v)}") for v in at) if len(at) <= 20 else ()
    across, up = Axis("variable", (0.7, len(at) + 0.3), names=names), Axis("share of the box", (-0.03, 1.03))
    panel = Panel("", lines, across, up, WIDE)
    return Figure(
        "points", f"The {len(ranked)} best points", [panel], legend=[Key("the best point", 0), Key("the others", MUTED)]
    )
