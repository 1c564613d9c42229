"""A result as a picture: convergence, violation and what the method did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from meco.errors import load_extra

if TYPE_CHECKING:
    from meco.blackbox.result import MinimizeResult

SHOWN = 6  # constraints in the picture: those that were met last
LINES = (("feasible_share", "feasible share"), ("action", "action"), ("theta", "theta"), ("share", "share"))


def new_figure(width: float, height: float) -> Any:
    """A matplotlib figure that no window system and no global state knows about."""
    figure_type = load_extra("matplotlib.figure", "plot", "drawing a result").Figure
    return figure_type(figsize=(width, height), layout="constrained")


def plot_result(result: MinimizeResult, path: Any = None) -> Any:
    """Best feasible f, least violation, each constraint, and what the method did, over evaluations."""
    figure = new_figure(7.0, 8.5)
    top, middle, limits, bottom = figure.subplots(4, 1)
    _convergence(top, middle, result)
    _constraints(limits, result)
    _trace(bottom, result.trace)
    for axes in (top, middle, limits, bottom):
        axes.set_xlim(0, max(1, result.nfev))
        axes.grid(alpha=0.3)
    figure.suptitle(f"{result.method}, seed {result.seed}", fontsize="medium")
    if path is not None:
        figure.savefig(path)
    return figure


def _convergence(top: Any, middle: Any, result: MinimizeResult) -> None:
    every = result.evaluations
    calls = np.cumsum(~every.given)
    best = np.minimum.accumulate(np.where(every.feasible, every.f, np.inf)) if len(every) else np.zeros(0)
    nu = every.evaluation().nu[0]
    usable = np.where(every.failed, np.inf, np.where(every.feasible, 0.0, nu))
    least = np.minimum.accumulate(usable) if len(every) else np.zeros(0)
    found = np.isfinite(best)
    top.step(calls[found], best[found], where="post")
    top.set(ylabel="best feasible f")
    if not found.any():
        top.text(0.5, 0.5, "no feasible point was found", ha="center", transform=top.transAxes)
    seen = np.isfinite(least)
    middle.step(calls[seen], least[seen], where="post", color="tab:red")
    middle.set(ylabel="least violation")
    if seen.any() and least[seen].max() > 0:
        middle.set_yscale("symlog", linthresh=1e-6)


def _constraints(axes: Any, result: MinimizeResult) -> None:
    """Violation of the constraints that were hardest to keep, as a share of the largest that each ever had."""
    every = result.evaluations
    c = np.concatenate([np.maximum(every.g, 0.0), np.abs(every.h)], axis=1)
    c = np.where(every.failed[:, None], np.inf, c)
    least = np.minimum.accumulate(c, axis=0) if len(c) else c
    largest = np.max(np.where(np.isfinite(c), c, 0.0), axis=0, initial=0.0)
    rows = np.arange(len(c))
    late = np.argsort([-int(np.argmin(column)) if len(column) else 0 for column in least.T], kind="stable")[:SHOWN]
    for i in late[largest[late] > 0]:
        seen = np.isfinite(least[:, i])
        axes.step(rows[seen], least[seen, i] / largest[i], where="post", label=list(result.constr)[i][:30])
    axes.set(ylabel="each constraint", ylim=(-0.05, 1.05))
    _legend(axes, "upper right")


def _trace(axes: Any, trace: Any) -> None:
    """Shares and controls between 0 and 1, a line each; new starts as ticks."""
    for key, label in LINES:
        if key in trace:
            axes.plot(trace["nfev"], trace[key], label=label, lw=1.0)
    if "starts" in trace:
        for nfev in trace["nfev"][1:][np.diff(trace["starts"]) > 0]:
            axes.axvline(nfev, color="0.6", lw=0.8, ls=":")
    axes.set(ylim=(-0.05, 1.05), xlabel="evaluations", ylabel="the method")
    _legend(axes, "upper left")


def _legend(axes: Any, where: str) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc=where, fontsize="small")
