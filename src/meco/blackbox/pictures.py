"""A result as a picture: convergence, violation and what the method did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from meco.errors import load_extra

if TYPE_CHECKING:
    from meco.blackbox.result import MinimizeResult


def new_figure(width: float, height: float) -> Any:
    """A matplotlib figure that no window system and no global state knows about."""
    figure_type = load_extra("matplotlib.figure", "plot", "drawing a result").Figure
    return figure_type(figsize=(width, height), layout="constrained")


def plot_result(result: MinimizeResult, path: Any = None) -> Any:
    """Best feasible f and least violation over evaluations, feasible share and action over generations."""
    figure = new_figure(7.0, 7.0)
    top, middle, bottom = figure.subplots(3, 1)
    _convergence(top, middle, result)
    _trace(bottom, result.trace)
    for axes in (top, middle, bottom):
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
    middle.set(ylabel="least violation", xlabel="evaluations")
    if seen.any() and least[seen].max() > 0:
        middle.set_yscale("symlog", linthresh=1e-6)


def _trace(axes: Any, trace: Any) -> None:
    """Shares and actions between 0 and 1, a line each."""
    for key, label in (("feasible_share", "feasible share"), ("action", "action")):
        if key in trace:
            axes.plot(trace["nfev"], trace[key], label=label)
    axes.set(ylim=(-0.05, 1.05), xlabel="evaluations", ylabel="per generation")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", fontsize="small")
