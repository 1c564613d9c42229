"""The page of one run: the answer, how sure it is, what limits it, and how the search went."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from meco.files.atomic import open_output
from meco.plot.page import Note, PagePicture, PageTable, Section, render_page
from meco.plot.run import count_best_points, plot_best_points, plot_convergence, plot_search, plot_violation
from meco.plot.style import one_line, to_svg
from meco.result import ConstraintValue, describe_doubt, format_probability, is_feasible_in_mean

MOST_CATEGORIES = 8  # of a variable that are named
MOST_ROWS = 200  # of the table of constraints
AT_BOUND = 1e-6  # share of the range within which a value counts as at its bound


def write_report(result: Any, path: Any, title: str = "", author: str = "", notes: str = "") -> Path:
    """Write the page of a result over a file that is there; gives its path."""
    page = compose_run_page(result, title, author, notes)
    with open_output(path) as file:
        file.write(page)
    return Path(path)


def compose_run_page(result: Any, title: str = "", author: str = "", notes: str = "", refresh: int = 0) -> str:
    """The page of a result as HTML text. notes: a paragraph per line."""
    run, sections = result.run, []
    if paragraphs := [line for line in notes.splitlines() if line.strip()]:
        sections.append(Section("notes", "Notes", list(paragraphs)))
    sections.append(Section("found", "The answer", [result.message, _make_point_table(result)]))
    sections.append(Section("sure", "How sure it is", _describe_evidence(result)))
    limits = _make_limit_table(result)
    tables = [*([_make_constraint_table(result)] if result.constraints else []), *([limits] if limits else [])]
    if tables:
        sections.append(Section("limits", "What limits it", list(tables)))
    sections.append(Section("search", "How the search went", _show_search(result)))
    sections.append(Section("made", "How this was made", _make_provenance(result)))
    made = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    about = f"{run.method}, seed {run.seed}, {len(result.evaluations)} evaluations, page of {made} UTC"
    head = f"{title}: {_describe_state(result)}" if title else f"One run: {_describe_state(result)}"
    return render_page(head, f"{author} · {about}" if author else about, sections, refresh)


def _describe_state(result: Any) -> str:
    """The answer in the heading."""
    if result.feasible:
        return f"f = {result.fun:.10g}"
    if is_feasible_in_mean(result):
        return f"f = {result.fun:.6g} in the mean, feasible with probability {format_probability(result.probability)}"
    return "no feasible point"


def _describe_evidence(result: Any) -> list[Any]:
    """What the restarts say of the answer, failures and noise, and the other minima."""
    every, run = result.evaluations, result.run
    lines = [f"{run.evidence} {int(every.feasible.sum())} of {len(every)} points are feasible.".strip()]
    if run.nfail:
        lines.append(
            f"{run.nfail} of {result.nfev} evaluations failed ({100 * run.nfail / max(1, result.nfev):.0f} %)."
        )
    if count := int(every.partial.sum()):
        lines.append(f"{count} of {len(every)} answers were partial: they stopped at a violated constraint.")
    if result.probability is not None:
        chance = f"x is feasible with probability {format_probability(result.probability)}"
        lines.append(
            f"Values are noisy: {describe_doubt(result.probability) if is_feasible_in_mean(result) else chance}."
        )
    if len(result.minima) < 2:
        return lines
    rows = [
        [f"{k}", f"{found.f:.8g}", str(found.starts), *(_show_value(v, x) for v, x in zip(run.variables.each, found.x))]
        for k, found in enumerate(result.minima, 1)
    ]
    columns = ["Minimum", "f", "restarts", *run.variables.labels(units=True)]
    caption = "Points where restarts ended. Points within 1 % of the range of each variable are one minimum."
    return [*lines, PageTable("The best distinct minima", columns, rows, caption)]


def _show_value(variable: Any, value: float) -> str:
    return f"{value:.6g}" if variable.categories is None else variable.show(value)


def _show_search(result: Any) -> list[Any]:
    """Figures of the run."""
    starts = result.run.starts
    items: list[Any] = ["The search started once." if starts == 1 else f"The search started {starts} times."]
    figures = [
        ("Convergence", plot_convergence(result), "The best feasible f so far."),
        (
            "Violation",
            plot_violation(result),
            "Left: the least sum of violations so far, each in its own unit. Right: the constraints that were "
            "satisfied last, relative to their largest violation.",
        ),
        (f"The {count_best_points(result)} best points", plot_best_points(result), ""),
        ("State of the search", plot_search(result), "Dotted lines: restarts."),
    ]
    return items + [PagePicture(t, to_svg(f, t, inline=True), c) for t, f, c in figures if f is not None]


def _make_point_table(result: Any) -> PageTable:
    """The best point, and which of its variables are at a bound."""
    variables, rows = result.run.variables, []
    for name, variable, value, low, high in zip(
        variables.labels(units=True), variables.each, result.x, variables.lower, variables.upper
    ):
        if variable.categories is not None:
            names = [str(each) for each in variable.categories]
            shown = ", ".join(names) if len(names) <= MOST_CATEGORIES else f"{names[0]} … {names[-1]} ({len(names)})"
            rows.append([name, variable.show(value), "–", "–", f"one of {one_line(shown)}"])
            continue
        room = AT_BOUND * (high - low if np.isfinite(high - low) else max(1.0, abs(value)))
        where = "at its lower bound" if value <= low + room else "at its upper bound" if value >= high - room else ""
        ends = ["none" if np.isinf(end) else f"{end:.8g}" for end in (low, high)]
        rows.append([name, f"{value:.8g}", *ends, "fixed" if low == high else where])
    title = "The best point"
    if not (result.feasible or is_feasible_in_mean(result)):
        noisy = result.probability is not None
        title = "The point most likely to be feasible" if noisy else "The point with the smallest violation"
    return PageTable(title, ["Variable", "value", "lower bound", "upper bound", ""], rows, text_columns=[4])


def _make_constraint_table(result: Any) -> PageTable:
    """Each constraint at the best point: value, violation, tolerance, and whether it is active."""
    every, prices, rows = result.evaluations, result.multipliers or {}, []
    partial = bool(every.partial.any())
    for k, (name, found) in enumerate(result.constraints.items()):
        cells = [f"{number:.4g}" for number in found]
        if partial:
            cells.append(f"{100 * float(every.told[:, 1 + k].mean()):.0f} %")
        rows.append([name, *cells, _describe_constraint(found, prices.get(name))])
    caption = "Inequalities are g ≤ 0, equalities h = 0."
    if len(rows) > MOST_ROWS:
        worst = sorted(result.constraints.values(), key=lambda found: -found.violation)[:MOST_ROWS]
        kept = {id(found) for found in worst}
        rows = [row for row, found in zip(rows, result.constraints.values()) if id(found) in kept]
        caption += f" The {MOST_ROWS} with the largest violation of {len(result.constraints)}."
    columns = ["Constraint", "value", "violation", "tolerance", *(["share of answers"] if partial else []), ""]
    return PageTable("Constraints", columns, rows, caption, text_columns=[len(columns) - 1])


def _describe_constraint(found: ConstraintValue, multiplier: float | None) -> str:
    if found.violation > found.tolerance:
        return "violated"
    return "satisfied" if multiplier is None else "active" if multiplier else "inactive"


def _make_limit_table(result: Any) -> PageTable | None:
    """The shadow price of each active limit; None where none is active."""
    limits = [limit for limit in result.limits if limit.multiplier != 0.0][:MOST_ROWS]
    if not limits:
        return None
    rows = []
    for limit in limits:
        price = "–" if limit.multiplier is None else f"{limit.multiplier:.4g}"
        share = "" if limit.one_percent is None else f"{limit.one_percent:.4g}"
        note = f"unknown: {limit.reason}" if limit.reason else ""
        if not note and limit.kind == "equality":
            note = f"f improves where h may be {'above' if limit.multiplier > 0 else 'below'} 0"
        rows.append([limit.label, price, share, note])
    caption = (
        "How much f would improve if a limit were relaxed, to first order (Lagrange multipliers): per unit of the "
        "value that the function returns, and for 1 % of the bound (of its range where the bound is 0). Limits that "
        "are not listed are not active."
    )
    columns = ["Limit", "f improves by, per unit", "for 1 % of the limit, to first order", ""]
    return PageTable("Shadow prices", columns, rows, caption, text_columns=[3])


def _make_provenance(result: Any) -> list[Any]:
    """Method, seed, why the run ended, versions and remarks."""
    run = result.run
    facts = {"method": run.method, "seed": run.seed, "stopped by": run.stop_reason, **run.versions}
    table = PageTable("Facts", ["", ""], [[key, one_line(value)] for key, value in facts.items()], text_columns=[1])
    notes = [f"{note[0].upper()}{note[1:]}." for note in run.notes if note]
    return [table, *([Note(notes)] if notes else [])]
