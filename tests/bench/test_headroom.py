"""What choosing a relaxation could gain, on scores made up by hand and on two problems."""

import numpy as np
import pytest

from meco.bench.headroom import PENALTY, RULES, Headroom, format_headroom, measure_headroom


def logs(values):
    return np.sign(values) * (10.0 ** np.abs(values) - 1.0)


def test_the_best_of_each_problem_is_chosen_on_other_seeds_than_it_is_judged_on():
    a, b = [[1.0, 4.0], [3.0, 1.0]], [[2.0, 2.0], [2.0, 5.0]]  # option, problem, seed: the first seed chooses
    found = Headroom("shade", 10, ("constant 0", "constant 0.7"), ("C01", "C02"), logs(np.array([a, b])))
    assert found.best_of_each_problem(found.options) == pytest.approx((4.0 + 5.0) / 2)
    assert found.best_of_each_problem(("constant 0",)) == pytest.approx((4.0 + 1.0) / 2)
    assert found.identical() == 0


def test_every_option_runs_on_both_engines():
    for engine in ("shade", "maes"):
        found = measure_headroom(engine, 4, runs=1, problems=("C01", "C22"), workers=1)
        assert found.scores.shape == (len(RULES), 2, 2)
        assert np.isfinite(found.scores).all()
        assert PENALTY in found.options
        assert len(format_headroom(found)) == 1 + len(RULES) + 4
