"""MDE-CGO: its moves against a slow reference, its strategies, and the shared DE moves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco import Evaluator, get_problem, solve
from meco.core.engine import Task
from meco.core.streams import Streams
from meco.engines.de.operators import cut_block, distinct_indices
from meco.errors import InvalidInput, UnknownName
from meco.paper.baselines.mdecgo import STRATEGIES, MdeCgo, make_donors
from meco.rules import StaticPenalty


def test_drawn_partners_differ_from_each_other_and_from_oneself():
    picked = distinct_indices(np.random.default_rng(0).random((3, 200, 4)))
    everyone = np.stack([np.broadcast_to(np.arange(200), (3, 200)), *picked], axis=-1)
    assert everyone.min() == 0
    assert everyone.max() == 199
    assert all(len(set(row)) == 5 for row in everyone.reshape(-1, 5))


def test_drawn_partners_are_uniform():
    first, second = distinct_indices(np.random.default_rng(1).random((20000, 4, 2)))
    pairs = np.bincount(first[:, 1] * 4 + second[:, 1], minlength=16).reshape(4, 4)
    allowed = [(a, b) for a in (0, 2, 3) for b in (0, 2, 3) if a != b]
    assert pairs.sum() == sum(pairs[a, b] for a, b in allowed)
    assert_allclose([pairs[a, b] / 20000 for a, b in allowed], 1 / 6, atol=0.01)


def test_the_largest_draw_stays_inside_the_population():
    picked = distinct_indices(np.full((1, 5, 4), np.nextafter(1.0, 0.0)))
    assert max(p.max() for p in picked) == 4


def test_a_block_is_cut_in_order():
    a, b = cut_block(np.arange(14.0).reshape(2, 7), (2, 2), (3,))
    assert_array_equal(a[1], [[7, 8], [9, 10]])
    assert_array_equal(b[0], [4, 5, 6])


def test_donors_are_those_of_the_textbook():
    leader, a, b, c = (np.full((1, n, 1), v) for n, v in ((1, 1.0), (2, 0.2), (2, 0.6), (2, 0.4)))
    assert_allclose(make_donors("rand1", leader, a, b, c, 0.5), np.full((1, 2, 1), 0.3))
    assert_allclose(make_donors("best1", leader, a, b, c, 0.5), np.full((1, 2, 1), 0.8))
    assert_allclose(make_donors("rand-to-best1", leader, a, b, c, 0.5), np.full((1, 2, 1), 0.7))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_approaches_the_optimum(strategy):
    problem = get_problem("tilted", 3)
    for result in solve("MDE-CGO", problem, budget=3000, seeds=[1, 2], strategy=strategy):
        assert result.feasible
        assert_allclose(result.f, problem.best_known, rtol=0.05)


def test_the_violation_of_a_slot_never_grows():
    evaluator = Evaluator.on(get_problem("corner", 6), 1000, 2)
    engine = MdeCgo(Task.of(evaluator, Streams([1, 2])))
    before = np.full((2, 50), np.inf)
    while evaluator.left > 0:
        x = engine.ask()
        engine.tell(x, evaluator.evaluate(x))
        assert np.all(engine.population.ev.nu <= before)
        before = engine.population.ev.nu


def test_another_rule_can_be_given():
    penalty = solve("MDE-CGO", "corner", budget=2000, seeds=[1], rule=StaticPenalty())[0]
    assert penalty.paper.final_score < solve("MDE-CGO", "corner", budget=2000, seeds=[1])[0].paper.final_score


def test_unusable_settings_are_refused():
    with pytest.raises(UnknownName, match="did you mean 'rand1'"):
        solve("MDE-CGO", "sphere", budget=10, seeds=[1], strategy="rand")
    with pytest.raises(InvalidInput, match="at least 4"):
        solve("MDE-CGO", "sphere", budget=10, seeds=[1], pop_size=3)
