"""A training log as a picture: return, loss, how often each action was taken, and what the searches reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from meco.figures.figure import Figure
from meco.figures.panel import Axis, Line, Panel, Tile

SIZE = (460, 260)


def make_training_figure(
    title: str,
    epochs: Sequence[int],
    reward: Sequence[float],
    loss: Sequence[float],
    actions: np.ndarray,
    scores: np.ndarray,
) -> Figure:
    """A value per epoch, of which there must be one, for each of the panels; None is a gap.

    actions [epochs, A] counts how often each was taken.
    """
    at = np.array(epochs, dtype=float)
    ends = float(at[0]) - 0.5, float(at[-1]) + 0.5
    over = Axis("epoch", ends)

    def curve(name: str, values: Sequence[float] | np.ndarray, series: int, log: bool = False) -> Panel:
        line = Line(at, np.array([np.nan if v is None else v for v in values], dtype=float), series, name)
        return Panel(name, [line], over, Axis("", log=log), SIZE)

    share = actions / np.maximum(actions.sum(axis=1, keepdims=True), 1)
    tiles = [
        Tile((e - 0.5, e + 0.5), (k - 0.5, k + 0.5), float(part / share.max()), "", f"action {k}: {part:.0%}")
        for e, row in zip(at, share)
        for k, part in enumerate(row)
    ]
    chosen = Axis("action", (-0.5, share.shape[1] - 0.5))
    panels = [
        curve("Mean return of an episode", reward, 0),
        curve("Mean loss", loss, 1, log=True),
        Panel("How often each action was taken: the darker, the more", tiles, over, chosen, SIZE),
        curve("Median of log10 |f + ν| against epoch 1", scores, 2),
    ]
    return Figure("training", title, [replace(panels[0], note=title), *panels[1:]])
