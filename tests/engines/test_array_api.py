"""Formulas run unchanged on other array libraries; whole runs agree with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import meco
from array_libraries import assert_formulas_agree, every_library
from meco.core.arrays import rows
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.streams import Streams
from meco.engines.de.shade import Shade
from meco.problems.cec2017.functions import NAMES
from meco.rules import (
    BalancedPenalty,
    FeasibilityFirst,
    FixedEpsilon,
    ScheduledEpsilon,
    StaticPenalty,
    best,
    gain,
    order,
)

RULES = [
    StaticPenalty(), BalancedPenalty(), FeasibilityFirst(), FixedEpsilon(), FixedEpsilon(per_constraint=True),
    ScheduledEpsilon(),
]  # fmt: skip


@every_library
@pytest.mark.parametrize("name", NAMES)
def test_cec2017_formulas_agree_with_numpy(name, xp):
    assert_formulas_agree(meco.get_problem(name, 10), xp, within=1e-9)


@every_library
@pytest.mark.parametrize("name", ["sphere", "tilted", "ring", "corner", "impossible"])
def test_toy_formulas_agree_with_numpy(name, xp):
    assert_formulas_agree(meco.get_problem(name, 4), xp, within=1e-12)


@every_library
def test_order_best_and_gain_agree_with_numpy(xp):
    rng = np.random.default_rng(0)
    f, g = rng.integers(0, 4, (3, 9)).astype(float), rng.integers(-2, 3, (3, 9, 2)).astype(float)
    ours = FeasibilityFirst().key(Evaluation.of(f, g, np.zeros((3, 9, 0))), None)
    theirs = FeasibilityFirst().key(Evaluation.of(*map(xp.asarray, (f, g, np.zeros((3, 9, 0))))), None)
    assert_allclose(np.asarray(order(theirs)), order(ours))
    assert_allclose(np.asarray(best(theirs)), best(ours))
    better = rng.random((3, 9)) < 0.5
    worse = type(ours)(ours.major + 1.0, ours.minor)
    moved = type(ours)(theirs.major + 1.0, theirs.minor)
    assert_allclose(np.asarray(gain(theirs, moved, xp.asarray(better))), gain(ours, worse, better))
    index = rng.integers(0, 9, (3, 4))
    assert_allclose(np.asarray(rows(xp.asarray(g), xp.asarray(index))), rows(g, index))


@pytest.mark.parametrize("preset", ["shade2013", "release"])
@pytest.mark.parametrize("rule", RULES, ids=repr)
@every_library
def test_a_whole_run_on_the_same_draws_equals_numpy(rule, xp, preset):
    problems = [meco.get_problem(name, 10) for name in ("C01", "C18", "C06")]
    found = []
    for library in (np, xp):
        evaluator = Evaluator.on(problems, 220, 3, library)
        engine = Shade(Task.of(evaluator, Streams([1, 2, 3], library)), rule=rule, preset=preset)
        Loop(engine, evaluator).run()
        found.append((np.asarray(engine.population.x), evaluator.results("SHADE", [1, 2, 3])))
    assert_allclose(found[1][0], found[0][0], rtol=0, atol=1e-9)
    for ours, theirs in zip(found[0][1], found[1][1]):
        assert_allclose(theirs.x, ours.x, rtol=1e-9)
        assert_allclose(theirs.score, ours.score, rtol=1e-9)
        assert theirs.nfev == 220
