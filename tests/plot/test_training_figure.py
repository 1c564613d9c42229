"""The figure of a training log."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from meco.plot.training import plot_training


def test_a_training_log_has_four_panels_and_gaps_for_missing_values():
    figure = plot_training("a", [1, 2, 3], [0.1, None, 0.3], [1.0, 0.1, None], np.eye(3), np.array([0.0, -1.0, -2.0]))
    shown = [ax.get_title(loc="left") for ax in figure.axes]
    assert shown[:4] == [
        "Mean return of an episode", "Mean loss", "Median of log10 |f + ν| relative to epoch 1", "Actions taken",
    ]  # fmt: skip
    assert np.isnan(figure.axes[0].get_lines()[0].get_ydata()).tolist() == [False, True, False]
