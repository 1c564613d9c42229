"""Pictures of a run: convergence, violation and what the method did, by themselves and on one sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from meco.figures.figure import Figure
from meco.figures.panel import COLOUR_SLOTS, MUTED, Axis, LegendKey, Line, Mark, Panel, Segment, Words

SHOWN = 6  # constraints in a picture: those that were met last
MET = 1e-6  # share of its largest violation below which a constraint is drawn as met
LONGEST = 60  # letters of a name in a legend
SIZE, WIDE_PANEL = (560, 300), (1000, 300)
# names in the trace, and their labels
CONTROL_LINES = (
    ("theta", "θ, violation that a step may leave"),
    ("action", "action"),
    ("feasible_share", "feasible share"),
    ("failed_share", "share of failed calls"),
)


def make_run_figure(result: Any) -> Figure:
    """A result of minimize() on one sheet: convergence, violation and the method's controls, as far as known."""
    shown = [
        figure
        for figure in (make_convergence_figure(result), make_violation_figure(result), make_controls_figure(result))
        if figure is not None
    ]
    panels = [_with_own_legend(panel, figure.legend) for figure in shown for panel in figure.panels]
    if not result.evaluations.feasible.any():
        words = Words(0.5 * max(1, result.nfev), 0.5, "no feasible point was found")
        nowhere = Axis("f", (0.0, 1.0), names=((0.0, " "),))
        panels.insert(0, Panel("Best feasible f", [words], _evaluation_axis(result), nowhere, SIZE))
    about = f"{result.run.method}, seed {result.run.seed}, {result.nfev} evaluations"
    return Figure("run", about, [replace(panels[0], note=about), *panels[1:]])


def make_scores_figure(results: Sequence[Any]) -> Figure:
    """f + nu of each run of solve() over its evaluations, one run at least; logarithmic where all are positive."""
    first = results[0]
    lines = [
        Line(r.trace["nfev"], r.trace["score"], k % COLOUR_SLOTS, f"seed {r.run.seed}", 1.4)
        for k, r in enumerate(results)
    ]
    positive = all((line.y > 0.0).all() for line in lines)
    panel = Panel(
        f"{first.run.method} on {first.run.problem}", lines, Axis("evaluations"), Axis("f + ν", log=positive), SIZE
    )
    return Figure("scores", "f + ν", [panel])


def _with_own_legend(panel: Panel, keys: Sequence[LegendKey]) -> Panel:
    """A copy of the panel with the entries of the legend that it shows."""
    drawn = {mark.label for mark in panel.marks if isinstance(mark, Line)}
    own = [key._replace(label=key.label[:LONGEST]) for key in keys if key.label in drawn]
    if any(isinstance(mark, Segment) for mark in panel.marks):
        own.append(LegendKey("a new start", MUTED, mark=Segment((0.5, 0.5), (0.0, 1.0))))
    return replace(panel, legend=own, size=SIZE)


# -- each by itself --------------------------------------------------------------------------


def _step_curve(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners (x, y) of a curve [n] that keeps each value until the next one comes; what is not finite is left out."""
    keep = np.isfinite(y)
    keep[1:-1] &= (y[1:-1] != y[:-2]) | (y[1:-1] != y[2:])  # what says nothing new is left out
    x, y = x[keep], y[keep]
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


def _count_calls(result: Any) -> np.ndarray:
    """Calls made up to each evaluation [n]; known points are none."""
    return np.cumsum(~result.evaluations.known)


def _evaluation_axis(result: Any) -> Axis:
    """The horizontal axis of all panels: evaluations."""
    return Axis("evaluations", (0.0, float(max(1, result.nfev))))


def _make_restart_strokes(result: Any, low: float, high: float) -> list[Mark]:
    """A stroke wherever the search began again: where the trace counts one restart more; [] if it counts none."""
    trace = result.trace
    if "restarts" not in trace:
        return []
    at = trace["nfev"][1:][np.diff(trace["restarts"]) > 0]
    return [Segment((float(x), float(x)), (low, high)) for x in at]


def make_convergence_figure(result: Any) -> Figure | None:
    """The best feasible f so far, and its distance from the last; None where nothing is feasible."""
    every = result.evaluations
    best = np.minimum.accumulate(np.where(every.feasible, every.f, np.inf)) if len(every) else np.zeros(0)
    seen = best[np.isfinite(best)]
    if not seen.size:
        return None
    x, y = _step_curve(_count_calls(result), best)
    gap = seen - seen[-1]
    panels = [Panel("Best feasible f", [Line(x, y, 0, "best feasible f")], _evaluation_axis(result), Axis("f"), SIZE)]
    if (gap > 0.0).any():
        floor = gap[gap > 0.0].min()
        a, b = _step_curve(_count_calls(result), np.where(np.isfinite(best), best - seen[-1], np.inf))
        line = Line(a[b >= floor], b[b >= floor], 0, "above the last value")
        panels.append(Panel("Distance from the final f", [line], _evaluation_axis(result), Axis("f", log=True), SIZE))
    return Figure("convergence", "Convergence", panels, "The best feasible f so far.")


def make_violation_figure(result: Any) -> Figure | None:
    """The least violation so far, in sum and of each constraint; None where there is nothing to show."""
    every, names = result.evaluations, list(result.constraints)
    c = np.concatenate([np.maximum(every.g, 0.0), np.abs(every.h)], axis=1)
    if not c.size or every.failed.all():
        return None
    c = np.where(every.failed[:, None], np.inf, c)
    least, most = np.minimum.accumulate(c, axis=0), np.max(np.where(np.isfinite(c), c, 0.0), axis=0)
    met_last = np.argsort([-int(np.argmin(column)) for column in least.T], kind="stable")
    late = [int(i) for i in met_last if most[i] > 0.0][:SHOWN]
    if not any(least[0, i] > MET * most[i] for i in late):  # all were met from the first point on
        late = []
    nu = np.minimum.accumulate(c.sum(axis=1))
    positive = nu[np.isfinite(nu) & (nu > 0.0)]
    panels = []
    if positive.size:
        marks, limits = _make_sum_curve(_count_calls(result), nu)
        sums = Axis("sum over constraints", limits, log=True)
        panels.append(Panel("Least violation of any point", marks, _evaluation_axis(result), sums, SIZE))
    lines: list[Mark] = []
    for k, i in enumerate(late):
        x, y = _step_curve(_count_calls(result), np.maximum(least[:, i] / most[i], MET))
        lines.append(Line(x, y, k, names[i]))
    if lines:
        share = Axis("share of its largest", (0.5 * MET, 2.0), log=True)
        panels.append(Panel("Each constraint by itself", lines, _evaluation_axis(result), share, SIZE))
    legend = [LegendKey(names[i], k) for k, i in enumerate(late)]
    caption = (
        "A point's violation is the sum, over all constraints, of what each is over its limit, in its own unit; "
        "where it falls to 0, the line ends at the axis."
    )
    if late:
        caption += (
            f" The {len(late)} constraints that were met last, each as a share of the largest violation it ever had; "
            f"{MET:g} stands for less too."
        )
    return Figure("violation", "Violation", panels, caption, legend) if panels else None


def _make_sum_curve(calls: np.ndarray, nu: np.ndarray) -> tuple[list[Mark], tuple[float, float]]:
    """The least sum of violations nu [n], some of them positive, over calls [n] as marks, and the limits of its axis.

    A logarithm has no 0: where nu comes to it the line falls to the end of the axis, ends there, and words say so.
    """
    seen = np.isfinite(nu) & (nu > 0.0)
    floor, top = nu[seen].min() / 10.0, nu[seen].max() * 2.0
    x, y = _step_curve(calls[seen], nu[seen])
    if not (nu == 0.0).any():
        return [Line(x, y, 1, "violation")], (floor * 5.0, top)
    met = float(calls[int(np.argmax(nu == 0.0))])
    line = Line(np.append(x, [met, met]), np.append(y, [y[-1], floor]), 1, "violation")
    anchor, aside = ("start", 6.0) if met <= 0.5 * calls[-1] else ("end", -6.0)
    words = Words(met, floor, f"0 from evaluation {met:.0f} on", anchor, shift=(aside, -8.0))
    return [line, words], (floor, top)


def _is_worth_drawing(name: str, values: np.ndarray) -> bool:
    """Whether a curve is drawn: that of failed calls only where some failed."""
    return name != "failed_share" or bool(np.any(values > 0))


def make_controls_figure(result: Any) -> Figure | None:
    """What was set, what share was feasible, and the radius of a trust region; None where nothing changed.

    Controls that were 0 all along are not drawn.
    """
    trace = result.trace
    shown = [(key, label) for key, label in CONTROL_LINES if key in trace and _is_worth_drawing(key, trace[key])]
    shown = shown if any(np.any(trace[key]) for key, _ in shown) else []
    lines: list[Mark] = [Line(*_step_curve(trace["nfev"], trace[key].astype(float)), k, label)
                         for k, (key, label) in enumerate(shown)]  # fmt: skip
    begun, size = _make_restart_strokes(result, -0.03, 1.03), SIZE if "delta" in trace else WIDE_PANEL
    panels = []
    if lines:
        shares = Axis("share", (-0.03, 1.03))
        panels.append(Panel("What was set while it ran", [*begun, *lines], _evaluation_axis(result), shares, size))
    if "delta" in trace and len(trace["delta"]):
        radius = trace["delta"].astype(float)
        line = Line(*_step_curve(trace["nfev"], radius), 2, "radius")
        strokes = _make_restart_strokes(result, float(radius.min()), float(radius.max()))
        panels.append(
            Panel(
                "Radius of the trust region",
                [*strokes, line],
                _evaluation_axis(result),
                Axis("share of a variable's range", log=True),
                SIZE,
            )
        )
    if not panels:
        return None
    legend = [LegendKey(label, k) for k, (_, label) in enumerate(shown)]
    caption = "Strokes: the search began again." if begun else ""
    return Figure("method", "What the method did", panels, caption, legend)
