"""Our runs against the numbers printed in the paper."""

from __future__ import annotations

import numpy as np
import pytest

import meco
from meco.bench.plan.printed import read_cells

SEEDS = range(42, 52)  # those of the paper's authors


@pytest.mark.slow
def test_shade_is_below_its_printed_mean_on_at_least_26_of_28():
    """The two others are C19 and C28, where the authors' functions are not the official ones."""
    printed = {problem: cell.mean for (problem, method), cell in read_cells("table1").items() if method == "SHADE"}
    worse = []
    for name, mean in printed.items():
        problem = meco.get_problem(name, 50)
        scores = [r.score for r in meco.solve("SHADE", problem, budget=2500, seeds=SEEDS)]
        if np.mean(scores) >= mean:
            worse.append(name)
    print("not below the printed mean:", worse)
    assert len(printed) == 28
    assert len(worse) <= 2
