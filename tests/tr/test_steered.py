"""MeCO-TR: every way to say which policy steers it, and what does not fit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco.core.capabilities import Cooperation, find_capability
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.streams import Streams
from meco.errors import InvalidInput, UnknownName
from meco.learn.engine_digest import engine_digest
from meco.policies import load_policy, policy_names, save_policy
from meco.policies.engine_stamp import read_engine_stamp
from meco.policies.network import NetworkShape, Weights, draw_weights
from meco.policies.policy import Choosing, Correcting, Greedy
from meco.tr.steered import correcting_shape, steered_search

RECORD = {"features": "model-search", "controls": "theta-and-share", "kind": "correcting"}

ZEROS = Correcting(Weights(*(np.zeros(sizes) for sizes in correcting_shape(1).layers)), RECORD)


RING = meco.get_problem("ring", 5)


def runs(policy, seeds=(1, 2), budget=50):
    return meco.solve("MeCO-TR", RING, budget, seeds, policy=policy)


@pytest.fixture
def own(tmp_path):
    """A network with large weights, in a file."""
    weights = draw_weights(np.random.default_rng(3), correcting_shape(4))
    path = tmp_path / "own.safetensors"
    save_policy(path, weights._replace(w2=20.0 * weights.w2), RECORD)
    return path


def test_a_policy_is_a_name_a_file_or_an_object(own):
    by_file, by_object = runs(str(own)), runs(load_policy(own))
    for one, other in zip(by_file, by_object):
        assert_array_equal(one.trace["theta"], other.trace["theta"])
    assert np.ptp(by_file[0].trace["share"]) > 0.0
    assert runs("meco-tr")[0].nfev == 50


def test_controls_beside_a_policy_over_profiles_are_refused():
    with pytest.raises(InvalidInput, match="give margin, kappa to TR"):
        meco.solve("MeCO-TR", RING, 50, (1,), kappa=0.2, margin=0.2)


def test_each_run_may_have_a_policy_of_its_own(own):
    other = draw_weights(np.random.default_rng(4), correcting_shape(4))
    side_by_side = runs([Correcting(other, RECORD), load_policy(own)])
    assert_array_equal(side_by_side[1].x, runs(load_policy(own), seeds=(2,))[0].x)


def test_constants_stand_for_the_whole_run():
    for found in runs({"theta": 0.5, "share": 0}):
        assert set(found.trace["theta"]) == {0.5}
        assert set(found.trace["share"]) == {0.0}
    with pytest.raises(UnknownName, match="no control named 'thta'; did you mean 'theta'"):
        runs({"thta": 0.5})
    with pytest.raises(InvalidInput, match=r"share must lie in \[0, 1\]; got 2.0"):
        runs({"share": 2})


def test_random_and_untrained_controls_differ_from_run_to_run_and_repeat_themselves():
    for policy in ("random", "untrained"):
        first, again = runs(policy), runs(policy)
        assert_array_equal(first[0].trace["theta"], again[0].trace["theta"])
        assert not np.array_equal(first[0].trace["theta"], first[1].trace["theta"])


def test_a_policy_of_other_features_or_controls_is_refused():
    with pytest.raises(InvalidInput, match=r"the controls 'epsilon' set epsilon.*TrustRegion offers theta in"):
        runs("meco-10d")
    ten = Greedy(draw_weights(np.random.default_rng(1)), {"features": "population-10", "controls": "theta-and-share"})
    with pytest.raises(InvalidInput, match="made for the features 'population-10'; the search has 'model-search'"):
        runs(ten)


def test_a_network_of_zeros_sets_what_the_engine_would():
    steered, alone = runs(ZEROS)[0], meco.solve("TR-ES", RING, 50, [1])[0]
    at = np.flatnonzero(np.diff(steered.trace["theta"]))[0] + 1
    assert abs(steered.trace["theta"][at] - alone.trace["theta"][at]) < 0.03  # it stands until the next decision


def test_results_and_run_folders_name_the_policy(own, tmp_path):
    def fun(x):
        return float(np.sum(x**2)), [1.0 - x[0]]

    options = {"method": meco.Method("MeCO-TR", policy=str(own)), "budget": 30, "seed": 1}
    result = meco.minimize(fun, [(-2, 2)] * 2, checkpoint=tmp_path / "run", **options)
    assert result.run.versions["policy"] == f"own {load_policy(own).metadata['digest'][:12]}"
    assert load_policy(own).metadata["digest"][:12] in "".join(p.read_text() for p in (tmp_path / "run").glob("*.json"))


def test_policies_name_the_engine_that_they_steer_and_what_has_changed_since_their_training():
    """An engine that has changed asks for a new training; until then the record says what it was trained with."""
    told = [read_engine_stamp(load_policy(name).metadata) for name in policy_names()]
    stamps = [stamp for stamp in told if stamp is not None]
    assert stamps
    assert {stamp.stamped_for for stamp in stamps} == {engine_digest()}
    assert all(stamp.since for stamp in stamps if stamp.trained_with != stamp.stamped_for)


def test_choosing_policies_take_a_place_of_their_grid_or_the_rule():
    controls = meco.policies.CONTROLS["theta-by-share"]
    shape = NetworkShape(29, 2, Choosing.width(controls))
    record = {"features": "model-search", "controls": "theta-by-share"}
    zeros = Weights(*(np.zeros(sizes) for sizes in shape.layers))
    last, seventh = np.eye(26)[-1], np.eye(26)[7]
    steered = runs(Choosing(zeros._replace(b2=seventh), record))[0]
    assert set(steered.trace["theta"][1:]) == {controls.grid[7][0]}
    assert set(steered.trace["share"][1:]) == {controls.grid[7][1]}
    for rule, zero in zip(runs(Choosing(zeros._replace(b2=last), record)), runs(ZEROS)):
        assert_array_equal(rule.x, zero.x)


def test_what_other_searches_found_goes_to_the_models():
    evaluator = Evaluator.on(meco.get_problem("ring"), 60, 1)
    search = steered_search(ZEROS, Task.of(evaluator, Streams([1])))
    Loop(search, evaluator).step()
    known, x = search.engine.archive.count, search.engine.archive.x[:, :3] * 0.5
    find_capability(search, Cooperation).learn(x, evaluator.evaluate_uncounted(x))
    assert search.engine.archive.count == known + 3


def test_correcting_policies_keep_the_ranges_of_their_controls(own):
    policy, rng = load_policy(own), np.random.default_rng(1)
    assert isinstance(policy, Correcting)
    values = policy.decide(
        rng.uniform(-1, 1, (50, 29)), rng.uniform(size=(50, 2)), meco.policies.CONTROLS["theta-and-share"]
    )
    for each in values.values():
        assert np.all((each >= 0.0) & (each <= 1.0))
