"""What TR-ES knows of its search, and the features that a policy sees of it."""

import array_api_compat.torch as torch_xp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.core.evaluator import Evaluator
from meco.core.streams import Streams
from meco.policies.controller import Controller
from meco.policies.controls import CONTROLS
from meco.policies.features import FEATURES
from meco.problems.generated import make_batch
from meco.tr.engine import make_tr_es
from meco.tr.proposal_counts import add_points, sum_counts, zero_counts
from meco.tr.region import PointSource

SEEN = FEATURES["model-search"]


def told(counts, source, gained, f, g):
    f, g = np.array([f], dtype=float), np.array([g], dtype=float)[..., None]
    ev = Evaluation.of(f, g, np.zeros((1, f.shape[1], 0)))
    return add_points(counts, np.array([source]), np.array([gained]), ev)


def test_counts_say_which_source_proposed_what_and_what_came_of_it():
    sources = [PointSource.STEP, PointSource.STEP, PointSource.GEOMETRY]
    counts = told(zero_counts(np.zeros((1, 2))), sources, [True, False, False], [3, 4, np.nan], [-1, 1, 0])
    counts = sum_counts(told(counts, [PointSource.OFFSPRING], [True], [2.0], [0.2]))
    assert {name: float(value[0]) for name, value in counts._asdict().items()} == {
        "told": 4, "accepted": 1, "refused": 1, "geometry": 1, "offspring": 1, "fruitful": 1, "feasible": 1,
        "failed": 1,
    }  # fmt: skip


def observed(family, dim, xp=np, seeds=(1, 2), moments=10):
    """Features at the first of ten moments of a run: [moments, B, F]."""
    evaluator = Evaluator.on(list(make_batch(family, seeds, dim)), 30 * dim, len(seeds), xp)
    engine = make_tr_es(Task.of(evaluator, Streams(seeds, xp)))
    controller, seen = Controller(engine, SEEN, CONTROLS["theta-and-share"]), []
    while evaluator.left and len(seen) < moments:
        x = engine.ask()
        engine.tell(x, evaluator.evaluate(x))
        if evaluator.nfev[0] >= 3 * dim * (len(seen) + 1):
            seen.append(np.asarray(controller.observe()))
    return np.stack(seen)


@pytest.mark.parametrize("family", ["ripples-ring", "bowl-free", "bowl-planes", "bowl-whole", "bowl-empty"])
def test_features_are_bounded(family):
    s = observed(family, 3, moments=5)
    assert s.shape == (5, 2, len(SEEN.names))
    assert np.all(np.abs(s) <= SEEN.bound)


@pytest.mark.parametrize("family", ["ripples-ring", "bowl-empty"])
def test_features_are_of_each_run_alone(family):
    assert_array_equal(
        observed(family, 3, moments=4)[:, 1], observed(family, 3, seeds=(2,), moments=4)[:, 0]
    )  # what differs between runs in lockstep: constraints, and which of them fail


@pytest.mark.parametrize(("dim", "moments"), [(2, 2), pytest.param(3, 4, marks=pytest.mark.slow)])
def test_features_are_the_same_on_torch(dim, moments):
    torch, numpy = (observed("steps-outside", dim, xp, moments=moments) for xp in (torch_xp, np))
    assert_allclose(torch, numpy, atol=1e-6)  # later, rounding has set the searches apart


def test_the_last_features_are_what_the_engines_own_rule_would_set():
    s = dict(zip(SEEN.names, np.moveaxis(observed("ripples-free", 2), -1, 0)))
    assert_allclose(s["theta by the rule"], 0.5 * (1.0 - s["budget spent"]))
    assert set(np.unique(s["share by the rule"])) <= {0.0, 0.5, 0.9}
