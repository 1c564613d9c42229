"""Control beside the engine: who decides when, what is remembered, and what does not fit together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco.core.capabilities import Steering, find_capability
from meco.core.control import Control, refuse_unknown
from meco.core.engine import Engine, Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.streams import DeviceStreams, Streams
from meco.errors import InvalidInput, UnknownName
from meco.paper import CONTROLS, FEATURES, Controlled, Controller, ControlSet, FeatureSet, load_policy, save_policy
from meco.paper.network import NetworkShape, draw_weights
from meco.paper.policy import ConstantControls, Greedy, Policy, RandomPolicy
from meco.paper.resolve import find_policy

THETA, SHARE = Control("theta", 0.0, 1.0, 0.5), Control("share", 0.0, 1.0, 0.0)
LEVELS = {"theta": (0.0, 0.25, 0.5, 0.75, 0.9), "share": (0.05, 0.3, 0.6, 0.95)}
BOTH = ControlSet.product("theta-share", (THETA, SHARE), **LEVELS)


class Pairs(Engine):
    """Two random points a step for every run; it tells its radius and takes theta and share."""

    controls = (THETA, SHARE)
    knows = ("radius", "spent")

    def __init__(self, task):
        self.task, self.size, self.seen, self.steered = task, 2, 0, []

    def ask(self):
        return self.task.rng.uniform(2, self.task.dim)

    def tell(self, x, ev):
        self.seen += x.shape[1]
        self.generation += 1

    def capabilities(self):
        return (Steering(self.controls, self.knows, self.steer, self.knowledge),)

    def steer(self, values):
        refuse_unknown(self, self.controls, values)
        self.steered.append((self.seen, values))

    def knowledge(self):
        runs = self.task.rng.runs
        return {"radius": np.full(runs, 1.0 / self.seen), "spent": np.full(runs, self.seen / self.task.budget)}


class RadiusTwo(FeatureSet):
    """The radius against that of the decision before, and the budget spent."""

    name, version, bound = "radius-2", 3, 1.0
    names, needs = ("radius change", "budget spent"), ("radius", "spent")

    def observe(self, known, last, memory):
        before = known["radius"] if memory is None else memory
        return np.stack([known["radius"] / before, known["spent"]], axis=-1), known["radius"]


FEATURES.add("radius-2", RadiusTwo())
CONTROLS.add("theta-share", BOTH)


@dataclass(frozen=True)
class RelaxEarly(Policy):
    """A rule by hand: theta falls with the budget, the share stays as it is."""

    def decide(self, s, u, controls):
        return {"theta": 0.5 * (1.0 - s[:, FEATURES["radius-2"].names.index("budget spent")])}


def search(policy, budget=100, seeds=(1, 2)):
    evaluator = Evaluator.on(meco.get_problem("tilted"), budget, len(seeds))
    engine = Pairs(Task.of(evaluator, Streams(seeds)))
    controlled = Controlled(engine, policy, "radius-2", "theta-share")
    Loop(controlled, evaluator).run()
    return engine, controlled, evaluator


def test_a_grid_of_combinations_names_a_value_for_each_control():
    assert len(BOTH.grid) == 20
    assert BOTH.names == BOTH.traced == ("theta", "share")
    values = BOTH.combination(np.array([0, 5, 19]))
    assert_array_equal(values["theta"], [0.0, 0.25, 0.9])
    assert_array_equal(values["share"], [0.05, 0.3, 0.95])


def test_a_policy_decides_after_every_generation():
    engine, controlled, evaluator = search(RelaxEarly())
    assert [seen for seen, _ in engine.steered] == list(range(2, 101, 2))
    assert_allclose(engine.steered[19][1]["theta"], [0.3, 0.3])
    assert_allclose(controlled.controller.last["share"], [0.0, 0.0])  # never set: its default
    theta = evaluator.results("x", [1, 2])[0].trace["theta"]
    assert_allclose(theta[:3], [0.49, 0.48, 0.47])


def test_features_remember_from_one_decision_to_the_next():
    _, controlled, _ = search(RelaxEarly())
    assert_allclose(controlled.controller.memory, 1 / 100)
    s = controlled.controller.observe()
    assert_allclose(s, [[1.0, 1.0]] * 2)


def test_a_policy_that_draws_changes_no_number_of_the_search():
    assert_array_equal(*(search(p)[0].task.rng.uniform(3) for p in (RandomPolicy(), RelaxEarly())))
    engine, _, _ = search(RandomPolicy())
    chosen = np.array([values["theta"] for _, values in engine.steered])
    assert len(np.unique(chosen)) > 3
    alone, _, _ = search(RandomPolicy(), seeds=(2,))
    assert_array_equal(chosen[:, 1], [values["theta"][0] for _, values in alone.steered])


def test_streams_beside_others_leave_them_where_they_stand():
    rng = Streams([1, 2])
    other = rng.spawn(7)
    assert not np.array_equal(other.uniform(3), rng.uniform(3))
    assert_array_equal(rng.uniform(2), Streams([1, 2]).uniform(5)[:, 3:])
    assert_array_equal(Streams([2]).spawn(7).uniform(3)[0], Streams([1, 2]).spawn(7).uniform(3)[1])


def test_networks_of_any_shape_choose_rows():
    shape = NetworkShape.of(FEATURES["radius-2"], BOTH, hidden=7)
    assert shape == (2, 7, 20)
    s, u = np.random.default_rng(0).random((5, 2)), np.zeros((5, 2))
    greedy = Greedy(draw_weights(np.random.default_rng(1), shape))
    index = greedy.act(s, u)
    assert_array_equal(greedy.decide(s, u, BOTH)["theta"], np.array(BOTH.grid)[index, 0])
    with pytest.raises(InvalidInput, match="RelaxEarly sets its controls outright"):
        RelaxEarly().act(s, u)


def test_a_policy_file_names_features_and_controls(tmp_path):
    weights = draw_weights(np.random.default_rng(1), NetworkShape(2, 7, 20))
    path = tmp_path / "tr.safetensors"
    save_policy(path, weights, {"features": "radius-2", "controls": "theta-share"})
    policy = load_policy(path)
    assert (policy.features, policy.controls) == ("radius-2", "theta-share")
    assert policy.metadata["feature_version"] == 3
    assert "delta" not in policy.metadata
    assert len(search(policy)[0].steered) == 50
    with pytest.raises(InvalidInput, match=r"w2 must have shape \(7, "):
        save_policy(path, draw_weights(np.random.default_rng(1), NetworkShape(2, 7, 3)), policy.metadata)


def test_what_does_not_fit_is_refused_with_what_each_side_has(tmp_path):
    save_policy(
        tmp_path / "tr.safetensors",
        draw_weights(np.random.default_rng(1), NetworkShape(2, 7, 20)),
        {"features": "radius-2", "controls": "theta-share"},
    )
    with pytest.raises(
        InvalidInput, match="'radius-2' need radius, spent; Shade knows population, progress, eps, delta"
    ):
        meco.solve("MeCO", "tilted", budget=100, seeds=[1], policy=tmp_path / "tr.safetensors")
    task = Task.of(Evaluator.on(meco.get_problem("tilted"), 100), Streams([1]))
    with pytest.raises(InvalidInput, match=r"'epsilon' set epsilon in \[0, 1\]; Pairs offers theta in \[0, 1\], share"):
        Controller(Pairs(task), FEATURES["radius-2"], CONTROLS["epsilon"])
    with pytest.raises(InvalidInput, match=r"was made for the features 'population-10'; .* 'radius-2'"):
        Controller(Pairs(task), FEATURES["radius-2"], BOTH, load_policy("meco-10d"))
    with pytest.raises(InvalidInput, match="Pairs has no control 'radius'; it offers theta, share"):
        find_capability(Pairs(task), Steering).steer({"radius": np.ones(1)})
    with pytest.raises(InvalidInput, match=r"theta must lie in \[0, 1\]; got 2"):
        search(ConstantControls({"theta": 2.0}))


def test_a_policy_is_found_by_name_file_object_word_or_constants():
    assert isinstance(find_policy("random", [1]), RandomPolicy)
    assert find_policy("untrained", [1, 2]).weights.w1.shape == (2, 10, 64)
    assert find_policy("meco-10d", [1]).metadata["name"] == "meco-10d"
    constant = find_policy({"theta": 0.5, "share": 0}, [1])
    engine, _, _ = search(constant)
    assert_array_equal(engine.steered[-1][1]["theta"], [0.5, 0.5])
    with pytest.raises(InvalidInput, match="constant controls are numbers by name"):
        find_policy({"theta": "much"}, [1])
    with pytest.raises(UnknownName, match="no control named 'thta'; did you mean 'theta'"):
        search(find_policy({"thta": 0.5}, [1]))


def test_the_words_for_policies_are_the_papers_controls():
    for word, method in (("untrained", "MeCO-u"), ("random", "MeCO-rand")):
        ours = meco.solve("MeCO", "tilted", budget=200, seeds=[1], policy=word)[0]
        assert_array_equal(ours.x, meco.solve(method, "tilted", budget=200, seeds=[1])[0].x)
    held = meco.solve("MeCO", "tilted", budget=200, seeds=[1], policy={"epsilon": 0.3})[0]
    assert_array_equal(held.trace["action"], [0.3] * 4)


def test_the_package_lists_its_public_names_alone():
    assert dir(meco.paper) == sorted(meco.paper.__all__)


def test_a_device_has_streams_beside_too():
    rng = DeviceStreams(3, 2, "cpu")
    other = rng.spawn(7)
    assert not bool((other.uniform(4) == rng.uniform(4)).any())
    assert bool((rng.spawn(7).uniform(4) == DeviceStreams(3, 2, "cpu").spawn(7).uniform(4)).all())
