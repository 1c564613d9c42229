"""Direct policy search: lockstep of policies, references, evolution, and trainings that repeat themselves."""

import sys
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.cli import main
from meco.engines.model.trust_region_es import TrustRegionES
from meco.errors import InvalidInput, UnknownName
from meco.mdp import load_policy
from meco.mdp.model_search import steered_search
from meco.mdp.network import NetworkShape, draw_weights, packed, unpacked
from meco.mdp.policy import ConstantControls
from meco.problems.generated import GENERATED
from meco.training.evolution import Evolution
from meco.training.matches import Match, drawn_matches, in_lockstep, play
from meco.training.references import CONSTANTS, NAMES, make_pool, read_pool, write_pool
from meco.training.search import PolicySearch, Round, engine_digest, first_weights, played
from meco.training.search_config import SearchConfig

MATCHES = [Match("bowl-linear", 1, 3, 60), Match("steps-outside", 2, 3, 60), Match("bowl-whole", 1, 3, 60)]
SMALL = SearchConfig(
    families=("ripples-free", "valley-inside", "bowl-linear", "edges-maxima"), dims=(2,), per_variable=(20,), hidden=2,
    problems=2, judges=2, reference_seeds=2, pairs=4, width=2, iterations=3, judged_every=2,
)  # fmt: skip


def test_weights_pack_and_unpack():
    shape = NetworkShape(3, 2, 2)
    drawn = draw_weights(np.random.default_rng(1), shape)
    for there, back in zip(drawn, unpacked(packed(drawn), shape)):
        assert_array_equal(there, back)
    assert unpacked(np.zeros((5, shape.parameters)), shape).w1.shape == (5, 3, 2)


def test_evolution_climbs_what_the_pairs_show():
    rng, at = np.random.default_rng(1), np.array([1.0, -2.0, 0.5])
    search = Evolution.at(np.zeros(3))
    for _ in range(200):
        e = rng.standard_normal((20, 3))
        search = search.after(e, -np.sum((search.pairs(e, 0.1) - at) ** 2, axis=-1), 0.1, 0.03)
    assert_allclose(search.mean, at, atol=0.1)


def test_a_network_of_zeros_leaves_the_rule_of_the_engine():
    seen, engines = [], []

    def make(task):
        engine = steered_search(policy, task)
        engines.append(engine)
        steer = engine.engine.steer
        engine.engine.steer = lambda values: (seen.append((engine.engine.own_theta(), values)), steer(values))
        return engine

    from meco.mdp.policy import Correcting

    policy = Correcting(unpacked(first_weights(SMALL), SMALL.shape))
    play(MATCHES[:1], [1], make)
    assert len(seen) > 5
    for own, values in seen:
        assert_allclose(values["theta"], own, atol=1e-12)


def test_a_pair_differs_in_its_weights_alone_and_a_run_in_company_is_the_run_alone():
    e = np.random.default_rng(1).standard_normal((3, SMALL.shape.parameters))
    weights = Evolution.at(first_weights(SMALL)).pairs(e, 0.3)
    together = played(Round(MATCHES, [5, 6, 7], weights, SMALL.shape, "cpu"))
    assert together.f.shape == (6, 10)
    alone = played(Round(MATCHES[1:2], [6], weights[4:5], SMALL.shape, "cpu"))
    assert_array_equal(together.f[4], alone.f[0])
    same = played(Round(MATCHES, [5, 6, 7], np.concatenate([weights[:3]] * 2), SMALL.shape, "cpu"))
    assert_array_equal(same.f[:3], same.f[3:])


def test_references_hold_every_control_and_seed(tmp_path):
    pool = make_pool(MATCHES, [1, 2], widest=7)
    assert pool.outcomes.f.shape == (3, 10, 2 * len(NAMES))
    theta, share = CONSTANTS[5]
    alone = play(MATCHES[1:2], [2], partial(steered_search, ConstantControls({"theta": theta, "share": share})))
    place = np.flatnonzero(pool.controls == 5)[1]
    assert_allclose(pool.outcomes.f[1, -1, place], alone.f[0, -1])  # steered from the first step on, either way
    rule = play(MATCHES[:1], [1], TrustRegionES)
    assert_array_equal(pool.outcomes.f[0, :, np.flatnonzero(pool.controls == 12)[0]], rule.f[0])
    write_pool(tmp_path / "pool.npz", pool, {"engine": "this"})
    again = read_pool(tmp_path / "pool.npz", {"engine": "this"})
    assert_array_equal(again.outcomes.nu, pool.outcomes.nu)
    assert again.matches == pool.matches
    with pytest.raises(InvalidInput, match="another engine"):
        read_pool(tmp_path / "pool.npz", {"engine": "that"})


def test_matches_come_from_one_set_of_families_and_group_by_shape():
    drawn = drawn_matches("train", [(2, 50), (5, 20)], 2)
    assert len(drawn) == sum(family.set == "train" for family in GENERATED.values()) * 2 * 2
    assert len(set(drawn)) == len(drawn)
    for places in in_lockstep(drawn):
        assert len({drawn[i].shape for i in places}) == 1


def trained(folder, **options):
    search = PolicySearch(SMALL, folder, say=lambda line: None, **options)
    search.prepare()
    return search


def test_a_training_that_is_stopped_and_resumed_gives_the_same_policy(tmp_path):
    whole = trained(tmp_path)
    assert whole.run()
    calls = iter([False, False, True])
    (tmp_path / "meco-tr.checkpoint.npz").unlink()
    broken = trained(tmp_path)
    assert not broken.run(lambda: next(calls))
    resumed = trained(tmp_path)
    resumed.resume()
    assert resumed.evolution.steps == 2
    assert resumed.run()
    assert_array_equal(resumed.evolution.mean, whole.evolution.mean)
    for here, there in zip(resumed.best()[0], whole.best()[0]):
        assert_array_equal(here, there)


def command(folder, *words):
    settings = [f"--set={k}={','.join(map(str, v)) if isinstance(v, list) else v}" for k, v in SMALL.as_dict().items()]
    return ["train", "--preset", "tr-direct", *settings, "--out", str(folder), *words]


def test_the_command_writes_a_policy_that_says_how_it_was_made(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # NumPy is enough
    assert main(command(tmp_path)) == 0
    told = load_policy(tmp_path / "meco-tr.safetensors").metadata
    assert told["engine"] == engine_digest()
    assert told["features"] == "model-search"
    assert told["controls"] == "theta-and-share"
    assert set(told["families"]["train"]) <= set(SMALL.families)
    assert "iteration 3" in capsys.readouterr().err


def test_a_quiet_training_says_nothing_and_replaces_an_old_log_whole(tmp_path, capsys):
    (tmp_path / "old").write_text("of an earlier training")
    (tmp_path / "meco-tr.training.jsonl").hardlink_to(tmp_path / "old")
    assert main(command(tmp_path, "--set=iterations=1", "--quiet")) == 0
    assert load_policy(tmp_path / "meco-tr.safetensors").metadata["training"]["iterations"] == 1
    assert capsys.readouterr().err == ""
    assert (tmp_path / "old").read_text() == "of an earlier training"
    assert "choice" in (tmp_path / "meco-tr.training.jsonl").read_text()


@pytest.mark.parametrize("preset", ["tr", "tr-direct"])
@pytest.mark.parametrize(
    "option", ["--epochs=3", "--suite=uav", "--dim=10", "--select", "--save-every=5", "--holdout="]
)
def test_an_option_that_the_search_does_not_have_is_refused(capsys, preset, option):
    assert main(["train", "--preset", preset, option]) == 2
    said = f"the preset {preset} has no {option.partition('=')[0]}; --set changes its settings\n"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("preset", ["tr", "tr-direct"])
@pytest.mark.parametrize("count", [0, -2])
def test_a_number_of_processes_that_is_none_is_refused(capsys, preset, count):
    assert main(["train", "--preset", preset, f"--processes={count}"]) == 2
    assert f"--processes must be at least 1; got {count}\n" in capsys.readouterr().err


def test_double_dqn_is_another_learner_of_the_same_command(tmp_path):
    assert main(command(tmp_path, "--set=learner=ddqn", "--set=name=q")) == 0
    told = load_policy(tmp_path / "q.safetensors").metadata
    assert told["kind"] == "greedy"
    assert told["training"]["learner"] == "ddqn"


def test_settings_that_do_not_exist_are_refused():
    with pytest.raises(UnknownName, match="did you mean 'pairs'"):
        SMALL.changed({"pair": "3"})
    with pytest.raises(InvalidInput, match="at least 1; got 0"):
        SMALL.changed({"pairs": "0"})
    assert SMALL.changed({"dims": "2,5", "sigma": "0.2"}).dims == (2, 5)
