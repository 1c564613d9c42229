"""TR whose policy holds profiles: what it sees, when it decides, and that the default held changes nothing."""

import array_api_compat.torch as torch_xp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.memory import capture_state, flatten_state, restore_state
from meco.core.streams import Streams
from meco.errors import DamagedFile, InvalidInput
from meco.policies import load_policy, save_policy
from meco.policies.features import FEATURES
from meco.policies.network import NetworkShape, Weights, draw_weights
from meco.policies.policy import Policy, ProfileChoice, RandomPolicy
from meco.policies.profile_search import ProfileSearch, profile_search
from meco.problems.generated import make_batch
from meco.tr.engine import TrustRegion
from meco.tr.profiles import CONTROL_GROUPS, complete_profiles, without_groups

SEEN = FEATURES["tr-search"]
PROFILES = complete_profiles()
RECORD = {"features": "tr-search", "controls": "tr-profiles", "kind": "profiles", "profiles": PROFILES}
SHAPE = NetworkShape(len(SEEN.names), 4, len(PROFILES))
ZEROS = ProfileChoice(Weights(*(np.zeros(sizes) for sizes in SHAPE.layers)), RECORD)


def drawn_policy(seed=3):
    weights = draw_weights(np.random.default_rng(seed), SHAPE)
    return ProfileChoice(weights._replace(w2=20.0 * weights.w2), RECORD)


class Watching(Policy):
    """The default for ever; keeps what it saw."""

    def __init__(self):
        self.seen = []

    def decide(self, s, u, controls):
        self.seen.append(np.array(s))
        return controls.combination(np.zeros(len(s), dtype=int))


def search(make, family="ripples-ring", seeds=(1, 2), dim=2, per=20, until=0, xp=np):
    evaluator = Evaluator.on(list(make_batch(family, seeds, dim)), per * dim, len(seeds), xp)
    engine = make(Task.of(evaluator, Streams(seeds, xp)))
    with np.errstate(all="ignore"):
        Loop(engine, evaluator, traced=False).run(lambda: evaluator.left <= until)
    return engine, evaluator


def points(engine):
    return getattr(engine, "engine", engine).archive.x


@pytest.mark.parametrize("family", ["ripples-ring", "bowl-whole"])
def test_holding_the_default_is_tr_bit_for_bit(family):
    steered, alone = search(lambda task: profile_search(ZEROS, task), family), search(TrustRegion, family)
    assert_array_equal(points(steered[0]), points(alone[0]))


@pytest.mark.parametrize("policy", [drawn_policy(), RandomPolicy()], ids=["network", "random"])
def test_a_run_that_decides_at_its_own_restarts_does_not_notice_its_neighbours(policy):
    together, _ = search(lambda task: profile_search(policy, task), seeds=(1, 2), per=50)
    alone, _ = search(lambda task: profile_search(policy, task), seeds=(2,), per=50)
    assert alone.engine.region.restart_index[0] > 0
    assert_array_equal(points(together)[1:], points(alone))


@pytest.mark.parametrize("family", ["ripples-ring", "bowl-free", "bowl-empty"])
def test_features_are_bounded_and_the_task_alone_is_known_at_first(family):
    watching = Watching()
    search(lambda task: ProfileSearch(TrustRegion(task), watching), family, dim=3, per=15)
    seen = np.stack(watching.seen)
    assert seen.shape[1:] == (2, len(SEEN.names))
    assert np.all(np.abs(seen) <= SEEN.bound)
    known = [SEEN.names.index(name) for name in ("variables", "evaluations per variable")]
    assert_array_equal(np.flatnonzero(seen[0, 0]), known)
    assert np.ptp(seen[1:, 0], axis=0).astype(bool).sum() > 10


def test_features_do_not_depend_on_units_nor_on_the_array_library():
    def observed(factor, xp=np):
        problem = make_batch("valley-inside", [1], 2)[0]
        evaluator = Evaluator.on([problem], 40, 1, xp)
        engine = TrustRegion(Task.of(evaluator, Streams([1], xp)))
        for _ in range(5):
            x = engine.ask()
            ev = evaluator.evaluate(x)
            engine.tell(x, type(ev)(factor * ev.f, ev.g, ev.h, ev.failed, ev.feasible))
        known = engine.capabilities()[0].knowledge()
        return np.asarray(SEEN.observe(known, {}, None)[0])

    assert_allclose(observed(1.0), observed(1024.0), atol=1e-7)
    assert_allclose(observed(1.0), observed(1.0, torch_xp), atol=1e-6)


def test_decisions_are_at_the_start_at_restarts_and_every_fiftieth():
    watching = Watching()
    found, evaluator = search(lambda task: ProfileSearch(TrustRegion(task), watching), seeds=(2,), per=125)
    restarts = int(found.engine.region.restart_index[0])
    assert restarts > 0
    spent = np.array([s[0, SEEN.names.index("budget spent")] for s in watching.seen])
    assert_array_equal(spent[:2], [0.0, found.engine.first.shape[1] / evaluator.budget])
    ordinary = np.unique(np.floor(50.0 * spent[2:] + 1e-9))
    assert 40 <= len(ordinary) <= 50
    assert len(spent) <= 52 + restarts


def test_a_saved_search_goes_on_bit_for_bit():
    policy = drawn_policy()
    whole, _ = search(lambda task: profile_search(policy, task))
    half, evaluator = search(lambda task: profile_search(policy, task), until=20)
    record = {name: part.copy() for name, part in flatten_state(capture_state(half)).items()}
    again, fresh = search(lambda task: profile_search(policy, task), until=34)
    restore_state(again, record)
    again.task.rng.positions = half.task.rng.positions
    with np.errstate(all="ignore"):
        while again.told < evaluator.budget:
            x = again.ask()
            again.tell(x, fresh.evaluate_uncounted(x))
    assert_array_equal(points(again), points(whole))


def test_a_policy_file_keeps_its_profiles_and_steers_meco_tr(tmp_path):
    path, few = tmp_path / "own.safetensors", {name: PROFILES[name] for name in ("default", "missions-5")}
    held = np.zeros((4, 2)), np.array([0.0, 1.0])  # always the second
    weights = Weights(np.zeros((len(SEEN.names), 4)), np.zeros(4), *held)
    save_policy(path, weights, RECORD | {"profiles": few})
    assert load_policy(path).metadata["profiles"] == few
    assert path.stat().st_size < 40_000
    found = meco.solve("MeCO-TR", meco.get_problem("ring", 3), 30, [1], policy=str(path))[0]
    assert set(found.trace["restart_radius"]) == {0.01}
    with pytest.raises(InvalidInput, match="profiles must be values of all controls of TR"):
        save_policy(path, weights, RECORD | {"profiles": few | {"default": {"theta": 0.1}}})


def test_a_file_whose_profiles_are_beyond_their_ranges_is_refused(tmp_path):
    wrong = {"default": PROFILES["default"], "far": PROFILES["default"] | {"margin": 7.0}}
    with pytest.raises((InvalidInput, DamagedFile), match="within their ranges"):
        save_policy(tmp_path / "own.safetensors", drawn_policy().weights, RECORD | {"profiles": wrong})


def test_groups_of_controls_part_all_controls_and_leave_distinct_profiles():
    assert sorted(name for group in CONTROL_GROUPS.values() for name in group) == sorted(PROFILES["default"])
    for group, names in CONTROL_GROUPS.items():
        left = without_groups([group])
        assert next(iter(left)) == "default"
        assert all(values[name] == PROFILES["default"][name] for values in left.values() for name in names)
        assert len({tuple(values.items()) for values in left.values()}) == len(left)
    assert len(PROFILES) <= 10
