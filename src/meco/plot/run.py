"""Figures of one run: convergence, violation, each constraint, and the radius of the trust region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meco.core.metrics import feasibility_first
from meco.core.rule import order
from meco.plot.style import COLOURS, GRID, INK, MUTED, label_text, make_figure, styled

SHOWN_CONSTRAINTS = 6  # in a figure: those that were satisfied last
SATISFIED = 1e-6  # share of its largest violation below which a constraint is drawn as satisfied
SHOWN_POINTS = 20  # of the figure of best points
MOST_LETTERS = 120  # of names of variables below an axis
CONTROL_LINES = {  # names in the trace, and their labels
    "action": "action",
    "feasible_share": "feasible share",
    "failed_share": "share of failed calls",
}
SIZE = (4.5, 2.8)  # inches of a panel; two of them are legible on a page of 600 pixels


def plot_run(result: Any) -> Any:
    """A result of minimize() as one matplotlib figure: f, violation, constraints and the state of the search."""
    panels = [_draw_best_f, _draw_gap, _draw_violation, _draw_constraints, _draw_radius, _draw_controls]
    return _draw_panels(result, panels, f"{result.run.method}, seed {result.run.seed}, {result.nfev} evaluations")


def plot_convergence(result: Any) -> Any:
    """Best feasible f, and its distance from the last one."""
    return _draw_panels(result, [_draw_best_f, _draw_gap])


def plot_violation(result: Any) -> Any | None:
    """Least violation so far, in sum and of each constraint; None without constraints or usable answers."""
    return _draw_panels(result, [_draw_violation, _draw_constraints])


def plot_search(result: Any) -> Any | None:
    """Radius of the trust region, and shares that the trace has; None where nothing changed."""
    return _draw_panels(result, [_draw_radius, _draw_controls])


def plot_scores(results: Sequence[Any]) -> Any:
    """f + nu of each run of solve() over its evaluations."""
    first = results[0]
    with styled():
        figure, axes = make_figure(5.6, 3.0)
        ax = axes[0, 0]
        for k, result in enumerate(results):
            ax.plot(result.trace["nfev"], result.trace["score"], color=COLOURS[k % len(COLOURS)], lw=1.3)
        if all((result.trace["score"] > 0.0).all() for result in results):
            ax.set_yscale("log")
        ax.set(title=label_text(f"{first.run.method} on {first.run.problem}"), xlabel="evaluations", ylabel="f + ν")
        figure.legend([f"seed {r.run.seed}" for r in results], loc="outside right upper")
    return figure


def plot_best_points(result: Any) -> Any | None:
    """The best points across the variables; None for one variable, or where all evaluations failed."""
    every = result.evaluations
    if every.failed.all() or len(result.x) < 2:
        return None
    ranked = [i for i in order(feasibility_first(every.to_evaluation()))[0] if not every.failed[i]][:SHOWN_POINTS]
    variables = result.run.variables
    low, high = variables.shown_range(every.x[ranked])
    width = np.where(high > low, high - low, 1.0)
    at = np.arange(1, len(result.x) + 1)
    with styled():
        figure, axes = make_figure(9, 3.2)
        ax = axes[0, 0]
        ax.plot(at, (every.x[ranked[::-1]] - low).T / width[:, None], color=MUTED, lw=0.9, alpha=0.7)
        ax.plot(at, (result.x - low) / width, color=COLOURS[0], marker="o", ms=4, label="the best point")
        labels = variables.labels()
        if len(" ".join(labels)) <= MOST_LETTERS:
            ax.set_xticks(at, [label_text(name) for name in labels])
        ends = np.stack([variables.lower, variables.upper])
        drawn = "between the bounds" if np.isfinite(ends).all() else "in the range of these points"
        ax.set(xlabel="variable", ylabel=f"position {drawn}", ylim=(-0.03, 1.03))
        figure.legend(loc="outside lower center")
    return figure


def count_best_points(result: Any) -> int:
    """How many points plot_best_points() shows."""
    return min(SHOWN_POINTS, int((~result.evaluations.failed).sum()))


def _draw_panels(result: Any, panels: Sequence[Any], title: str = "") -> Any | None:
    """A figure of the panels that have something to show; None where none has."""
    made = [draw for draw in (panel(result) for panel in panels) if draw is not None]
    if not made:
        return None
    columns = min(2, len(made))
    rows = -(-len(made) // columns)
    with styled():
        figure, axes = make_figure(max(SIZE[0] * columns, 6.0), SIZE[1] * rows, rows, columns)
        for ax in list(axes.flat)[len(made) :]:
            ax.set_axis_off()
        starts = find_restarts(result)
        for ax, draw in zip(axes.flat, made):
            draw(ax)
            ax.set(xlabel="evaluations", xlim=(0, max(1, result.nfev)))
            for k, start in enumerate(starts):
                ax.axvline(start, color=GRID, lw=1.0, ls=(0, (1, 2)), label="restart" if k == 0 else None)
            handles, labels = ax.get_legend_handles_labels()
            if len(labels) > 1:
                ax.legend(handles, labels, fontsize=8)
        if title:
            figure.suptitle(label_text(title), fontsize=10)
    return figure


def find_restarts(result: Any) -> np.ndarray:
    """Numbers of evaluations at which the search restarted."""
    trace = result.trace
    if "restarts" not in trace:
        return np.zeros(0)
    return trace["nfev"][1:][np.diff(trace["restarts"]) > 0]


def _steps(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A curve that keeps each value until the next, without points that change nothing."""
    keep = np.isfinite(y)
    keep[1:-1] &= (y[1:-1] != y[:-2]) | (y[1:-1] != y[2:])
    return x[keep], y[keep]


def _count_calls(result: Any) -> np.ndarray:
    """Calls made up to each evaluation [n]; points that were known before are none."""
    return np.cumsum(~result.evaluations.known)


def _best_f(result: Any) -> np.ndarray:
    """Best feasible f so far: [n], infinite before there is one."""
    every = result.evaluations
    return np.minimum.accumulate(np.where(every.feasible, every.f, np.inf)) if len(every) else np.zeros(0)


def _draw_best_f(result: Any) -> Any:
    """Panel of the best feasible f; a sentence where there is none."""
    best = _best_f(result)

    def draw(ax: Any) -> None:
        ax.set(title="Best feasible f", ylabel="f")
        if np.isfinite(best).any():
            ax.step(*_steps(_count_calls(result), best), where="post", color=COLOURS[0])
        else:
            ax.text(0.5, 0.5, "No feasible point found", ha="center", transform=ax.transAxes)
            ax.set_yticks([])

    return draw


def _draw_gap(result: Any) -> Any | None:
    """Panel of the distance from the final f, on a logarithmic axis; None where f never improved."""
    best = _best_f(result)
    gap = best - best[-1] if len(best) and np.isfinite(best[-1]) else np.zeros(0)
    positive = gap[np.isfinite(gap) & (gap > 0.0)]
    if not positive.size:
        return None

    def draw(ax: Any) -> None:
        x, y = _steps(_count_calls(result), np.where(gap > 0.0, gap, np.nan))
        ax.step(x, y, where="post", color=COLOURS[0])
        ax.set(title="Distance from the final f", yscale="log", ylabel="f − final f")

    return draw


def _violations(result: Any) -> np.ndarray:
    """Violation of each constraint at each evaluation, infinite where it failed: [n, C]."""
    every = result.evaluations
    c = np.concatenate([np.maximum(every.g, 0.0), np.abs(every.h)], axis=1)
    return np.where(every.failed[:, None], np.inf, c)


def _draw_violation(result: Any) -> Any | None:
    """Panel of the least sum of violations; None where every point satisfies all constraints."""
    c = _violations(result)
    nu = np.minimum.accumulate(c.sum(axis=1)) if c.size else np.zeros(0)
    if not (np.isfinite(nu) & (nu > 0.0)).any():
        return None

    def draw(ax: Any) -> None:
        calls = _count_calls(result)
        x, y = _steps(calls, np.where(nu > 0.0, nu, np.nan))
        ax.step(x, y, where="post", color=COLOURS[1])
        ax.set(title="Least violation", yscale="log", ylabel="sum over constraints")
        if (nu == 0.0).any():
            met = calls[int(np.argmax(nu == 0.0))]
            ax.plot([x[-1], met], [y[-1], y[-1]], color=COLOURS[1])
            ax.plot([met], [y[-1]], "v", color=COLOURS[1], ms=6)
            side = "left" if met <= 0.5 * calls[-1] else "right"
            offset = (8 if side == "left" else -8, -3)
            text = f"0 from evaluation {met:.0f}"
            ax.annotate(text, (met, y[-1]), xytext=offset, textcoords="offset points", ha=side, fontsize=9, color=INK)

    return draw


def _draw_constraints(result: Any) -> Any | None:
    """Panel of the constraints that were satisfied last, relative to their largest violation."""
    c, names = _violations(result), list(result.constraints)
    if not c.size or result.evaluations.failed.all():
        return None
    least, most = np.minimum.accumulate(c, axis=0), np.max(np.where(np.isfinite(c), c, 0.0), axis=0)
    last = np.argsort([-int(np.argmin(column)) for column in least.T], kind="stable")
    late = [int(i) for i in last if most[i] > 0.0][:SHOWN_CONSTRAINTS]
    if not any(least[0, i] > SATISFIED * most[i] for i in late):
        return None

    def draw(ax: Any) -> None:
        for i, colour in zip(late, COLOURS):
            x, y = _steps(_count_calls(result), np.maximum(least[:, i] / most[i], SATISFIED))
            ax.step(x, y, where="post", color=colour, lw=1.4, label=label_text(names[i]))
        ax.set(
            title="Each constraint", yscale="log", ylim=(0.5 * SATISFIED, 2.0), ylabel="share of its largest violation"
        )

    return draw


def _draw_radius(result: Any) -> Any | None:
    """Panel of the radius of the trust region; None for methods without one."""
    trace = result.trace
    if "delta" not in trace or not len(trace["delta"]):
        return None

    def draw(ax: Any) -> None:
        ax.step(*_steps(trace["nfev"], trace["delta"].astype(float)), where="post", color=COLOURS[2])
        ax.set(title="Radius of the trust region", yscale="log", ylabel="share of a variable's range")

    return draw


def _draw_controls(result: Any) -> Any | None:
    """Panel of actions and shares over the run; None where all were 0 throughout."""
    trace = result.trace
    shown = {key: label for key, label in CONTROL_LINES.items() if key in trace and np.any(trace[key])}
    if not shown:
        return None

    def draw(ax: Any) -> None:
        for (key, label), colour in zip(shown.items(), COLOURS):
            ax.step(*_steps(trace["nfev"], trace[key].astype(float)), where="post", color=colour, label=label)
        ax.set(title="Shares", ylim=(-0.03, 1.03))
        if len(shown) == 1:
            ax.set_ylabel(*shown.values())

    return draw
