"""Generated problems with budgets: from one set of families, searched in lockstep as if each were searched alone."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.streams import Streams
from meco.learn.tr.searches import run_searches
from meco.learn.tr.training_problems import BudgetedProblem, group_by_shape, list_problems
from meco.policies.network import Weights, draw_weights, stack_networks
from meco.policies.policy import Correcting
from meco.problems.generated import GENERATED
from meco.tr.steered import correcting_shape, steered_search

PROBLEMS = [BudgetedProblem(family, 1, 3, 60) for family in ("bowl-linear", "steps-outside", "bowl-whole")]
SHAPE = correcting_shape(2)


def test_problems_come_from_one_set_of_families_and_group_by_shape():
    problems = list_problems("train", [(2, 50), (5, 20)], 2)
    assert len(problems) == sum(family.set == "train" for family in GENERATED.values()) * 2 * 2
    assert len(set(problems)) == len(problems)
    groups = group_by_shape(problems)
    assert sorted(i for group in groups for i in group) == list(range(len(problems)))
    for group in groups:
        assert len({problems[i].shape for i in group}) == 1


def test_a_network_of_zeros_leaves_the_rule_of_the_engine():
    seen = []
    evaluator = Evaluator.on([PROBLEMS[0].problem], 60, 1)
    zeros = Correcting(Weights(*(np.zeros(sizes) for sizes in SHAPE.layers)))
    engine = steered_search(zeros, Task.of(evaluator, Streams([1])))
    steer = engine.controller.steer
    engine.controller.steer = lambda values: (seen.append((engine.engine.default_theta(), values)), steer(values))
    with np.errstate(all="ignore"):
        Loop(engine, evaluator).run()
    assert len(seen) > 5
    for own, values in seen:
        assert_allclose(values["theta"], own, atol=1e-12)


def test_a_run_in_lockstep_is_the_run_alone():
    rng = np.random.default_rng(1)
    networks = [draw_weights(rng, SHAPE) for _ in PROBLEMS]
    together = run_searches(PROBLEMS, [5, 6, 7], Correcting(stack_networks(networks)))
    alone = run_searches(PROBLEMS[1:2], [6], Correcting(stack_networks(networks[1:2])))
    for all_runs, one_run in zip(together, alone):
        assert_array_equal(all_runs[1], one_run[0])
