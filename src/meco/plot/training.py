"""A training log as a figure: return, loss, actions and what the episodes reached, over epochs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meco.plot.style import COLOURS, make_figure, styled


def plot_training(
    title: str,
    epochs: Sequence[int],
    reward: Sequence[float],
    loss: Sequence[float],
    actions: np.ndarray,
    scores: np.ndarray,
) -> Any:
    """A matplotlib figure with four panels, one value per epoch; None is a gap. actions: counts [epochs, A]."""
    curves = [
        ("Mean return of an episode", reward),
        ("Mean loss", loss),
        ("Median of log10 |f + ν| relative to epoch 1", scores),
    ]
    with styled():
        figure, axes = make_figure(9, 5.4, 2, 2)
        for ax, (name, values), colour in zip(axes.flat, curves, COLOURS):
            ax.plot(epochs, np.array([np.nan if v is None else v for v in values], dtype=float), color=colour)
            ax.set(title=name, xlabel="epoch")
        axes[0, 1].set_yscale("log")
        share = actions / np.maximum(actions.sum(axis=1, keepdims=True), 1)
        edges = np.append(np.asarray(epochs, dtype=float) - 0.5, epochs[-1] + 0.5)
        shown = axes[1, 1].pcolormesh(edges, np.arange(share.shape[1] + 1) - 0.5, share.T, cmap="Blues", vmin=0.0)
        figure.colorbar(shown, ax=axes[1, 1], label="share")
        axes[1, 1].set(title="Actions taken", xlabel="epoch", ylabel="action")
        axes[1, 1].grid(visible=False)
        figure.suptitle(title.replace("$", r"\$"), fontsize=10)
    return figure
