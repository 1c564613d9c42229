"""Rollouts: what a run follows before and after its switch, trainings that go on, and how policies are compared."""

import io
from contextlib import redirect_stderr
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("torch")

from meco.cli import main
from meco.core.evaluator import Evaluator
from meco.errors import InvalidInput, UnknownName
from meco.learn.engine_digest import engine_digest
from meco.learn.tr import training as training_file
from meco.learn.tr.policy_comparison import CONSTANT_CONTROLS, compare_policies
from meco.learn.tr.quantile import Outcomes
from meco.learn.tr.regression import action_basis
from meco.learn.tr.rollouts import (
    ALTERNATIVES,
    NO_SWITCH,
    OWN_RULE,
    RecordingPolicy,
    RolloutPlan,
    draw_plan,
    quantile_rewards,
    score_rewards,
)
from meco.learn.tr.training import RolloutConfig, RolloutTraining, best_action_on_average
from meco.learn.tr.training_problems import BudgetedProblem
from meco.policies import load_policy
from meco.policies.controls import CONTROLS
from meco.policies.features import FEATURES
from meco.policies.policy import ConstantControls

SMALL = RolloutConfig(
    hidden=4, steps=20, rounds=2, runs=6, least=6, families=("bowl-linear", "valley-planes"),
    layout="2:20", problems=2, judges=1, judge_seeds=1,
)  # fmt: skip
PROBLEMS = [BudgetedProblem("bowl-linear", 1, 2, 40), BudgetedProblem("valley-planes", 1, 2, 40)]


def test_a_run_follows_its_policy_up_to_the_switch_and_fixes_its_controls_there():
    nan = np.nan
    columns = [0.9, nan, 0.9], [0.2, nan, 0.2], [1.0, 0.0, NO_SWITCH], [0, -1, 0]
    plan = RolloutPlan(*map(np.array, columns))
    policy = RecordingPolicy([ConstantControls({"theta": 0.25, "share": 0.5})], plan, records_states=True)
    s = np.zeros((3, 29))
    s[:, -2:] = 0.75, 0.1  # what the engine's own rule would set
    first, second = (policy.decide(s, np.zeros((3, 2)), CONTROLS["theta-by-share"]) for _ in range(2))
    assert_array_equal(first["theta"], [0.25, 0.75, 0.25])
    assert_array_equal(second["theta"], [0.9, 0.75, 0.25])
    assert_array_equal(second["share"], [0.2, 0.1, 0.5])
    assert len(policy.states) == 2


def test_a_plan_fixes_the_controls_of_its_actions():
    plan, action = draw_plan(np.random.default_rng(1), 500, 20, has_policy=True)
    rule = action == OWN_RULE
    assert np.isnan(plan.theta[rule]).all()
    assert_array_equal(plan.share[~rule], np.array(ALTERNATIVES.grid)[action[~rule], 1])
    assert set(plan.base) == {-1.0, 0.0}  # the engine's own rule, and the policy
    assert plan.switch.max() < 20


def test_the_first_runs_of_a_problem_are_what_later_ones_are_ranked_among():
    known: dict[int, Outcomes] = {}
    problem, yes, none = np.array([4, 4]), np.array([True, True]), np.zeros(2)
    assert_array_equal(quantile_rewards(Outcomes(np.array([1.0, 2.0]), none, yes), problem, known), [0.75, 0.25])
    later = quantile_rewards(Outcomes(np.array([0.0, 3.0]), none, yes), problem, known)
    assert_array_equal(later, [1.0, 0.0])


def test_the_papers_gain_is_a_share_of_what_the_centre_of_the_box_is_worth():
    problem = BudgetedProblem("bowl-linear", 1, 2, 40)
    centre = Evaluator.on(problem.problem, 1, 1).evaluate(np.full((1, 1, 2), 0.5))
    start = float(centre.f[0, 0] + centre.nu[0, 0])
    f = np.array([start - 0.5 * abs(start), start, start + 9.0 * abs(start), np.nan])
    runs = Outcomes(f, np.zeros(4), np.ones(4, dtype=bool))
    assert_allclose(score_rewards(runs, [problem] * 4), [0.5, 0.0, -1.0, -1.0])


@pytest.mark.slow
def test_a_training_may_be_rewarded_as_the_paper_does(tmp_path):
    search = RolloutTraining(replace(SMALL, reward="score"), tmp_path, report=lambda line: None)
    assert search.run()
    assert not search.references
    with pytest.raises(UnknownName, match="no reward named 'f'"):
        replace(SMALL, reward="f")


def test_networks_are_blind_to_the_features_that_they_do_without(tmp_path):
    search = RolloutTraining(replace(SMALL, rounds=1), tmp_path, report=lambda line: None)
    assert search.run()
    blind, seeing = search.networks
    assert blind.name == "round 1, without proposers"
    hidden = [FEATURES["model-search"].names.index(name) for name in training_file.PROPOSER_FEATURES]
    assert not blind.weights.w1[hidden].any()
    assert seeing.weights.w1[hidden].all()


def test_the_basis_tells_the_own_rule_from_every_combination():
    rows = action_basis(ALTERNATIVES)
    assert rows.shape == (OWN_RULE + 1, 7)
    assert_array_equal(rows[-1], [0, 0, 0, 0, 0, 0, 1])
    assert not rows[:-1, -1].any()


@pytest.mark.slow
def test_a_training_that_is_stopped_goes_on_with_the_rollouts_that_were_made(tmp_path, monkeypatch):
    batches = []
    run = training_file.run_rollouts
    monkeypatch.setattr(training_file, "run_rollouts", lambda batch: (batches.append(batch), run(batch))[1])

    def search(folder):
        return RolloutTraining(SMALL, folder, report=lambda line: None)

    undisturbed = search(tmp_path / "undisturbed")
    assert undisturbed.run()
    count = len(batches)
    stops = iter([False, True])
    assert not search(tmp_path / "broken").run(stop=lambda: next(stops))
    resumed = search(tmp_path / "broken")
    assert resumed.run()
    assert len(batches) == 2 * count  # nothing was run twice
    for here, there in zip(resumed.networks[-1].weights, undisturbed.networks[-1].weights):
        assert_array_equal(here, there)


def test_stored_rollouts_are_not_used_once_what_draws_them_has_changed(tmp_path, monkeypatch):
    search = RolloutTraining(SMALL, tmp_path, report=lambda line: None)
    stored = search._rollout_identity(None)
    digest = training_file.source_digest
    monkeypatch.setattr(
        training_file,
        "source_digest",
        lambda modules, within=(): "another" if "meco.learn.tr.rollouts" in modules else digest(modules, within),
    )
    changed = search._rollout_identity(None)
    assert {name for name in stored if stored[name] != changed[name]} == {"rollouts"}
    path = tmp_path / "stored.npz"
    outcome = Outcomes(np.zeros(1), np.zeros(1), np.ones(1, dtype=bool))
    training_file.write_checkpoint(path, {"states": np.zeros((1, 2)), **outcome._asdict()}, stored)
    assert training_file._read_stored(path, stored) is not None
    assert training_file._read_stored(path, changed) is None


def test_a_training_that_is_refused_leaves_no_folder(tmp_path):
    with pytest.raises(InvalidInput, match="some to choose on"):
        RolloutTraining(replace(SMALL, families=("bowl-linear",)), tmp_path / "none", report=lambda line: None)
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_rollouts_do_not_depend_on_how_many_are_made_in_lockstep(tmp_path):
    def training(width):
        return RolloutTraining(replace(SMALL, width=width), tmp_path / str(width), report=lambda line: None)

    wide, narrow = training(4096), training(5)
    for search in (wide, narrow):
        assert search.run()
    for one, other in zip(wide.samples, narrow.samples):
        assert_array_equal(one.reward, other.reward)
        assert_array_equal(one.s, other.s)


@pytest.mark.slow
def test_no_kind_of_control_earns_more_than_the_references_can():
    constant = ConstantControls({"theta": 0.0, "share": 0.0})
    found = compare_policies({"constant": constant}, PROBLEMS, seeds=2)
    assert found.quantiles.max() <= 1.0
    assert found.names[-2:] == ("constant", "random")
    apart = compare_policies({"constant": constant}, PROBLEMS, seeds=2, width=7)
    assert_array_equal(found.outcomes.f, apart.outcomes.f)


def test_kinds_that_control_alike_find_the_same():
    theta, share = CONSTANT_CONTROLS[1]
    alike = ConstantControls({"theta": theta, "share": share})
    found = compare_policies({"alike": alike}, PROBLEMS, seeds=2)
    f = found.outcomes.f  # [problems, kinds, seeds]
    assert_array_equal(f[:, found.names.index("alike")], f[:, 1])
    assert (f[:, :, 0] != f[:, :, 1]).any()


def command(folder, *words):
    settings = [f"--set={k}={','.join(map(str, v)) if isinstance(v, list) else v}" for k, v in SMALL.as_dict().items()]
    return ["train-tr", *settings, "--quiet", "--out", str(folder), "--processes", "1", *words]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with an old log that `meco train-tr` trained into, and what the command said on standard error."""
    folder, said = tmp_path_factory.mktemp("trained"), io.StringIO()
    (folder / "old").write_text("of an earlier training")
    (folder / "meco-tr.training.jsonl").hardlink_to(folder / "old")
    words = command(folder, "--set=rounds=1")
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(said):
        patch.setattr("sys.argv", ["meco", *words])
        assert main(words) == 0
    return folder, said.getvalue()


def test_the_command_writes_a_policy_that_says_how_it_was_made(trained):
    folder, _ = trained
    told = load_policy(folder / "meco-tr.safetensors").metadata
    assert told["kind"] == "choosing"
    assert told["controls"] == ALTERNATIVES.name
    assert told["engine"] == engine_digest()
    assert told["families"] == {"train": ["bowl-linear"], "choose": ["valley-planes"]}
    assert str(folder) not in told["command"]
    assert told["command"].startswith("meco train-tr --set=")


def test_a_quiet_training_says_nothing_and_replaces_an_old_log_whole(trained):
    folder, said = trained
    assert load_policy(folder / "meco-tr.safetensors").metadata["training"]["rounds"] == 1
    assert said == ""
    assert (folder / "old").read_text() == "of an earlier training"
    assert "choice" in (folder / "meco-tr.training.jsonl").read_text()


@pytest.mark.parametrize("count", [0, -2])
def test_a_number_of_processes_that_is_none_is_refused(capsys, count):
    assert main(["train-tr", f"--processes={count}"]) == 2
    assert f"--processes must be at least 1; got {count}\n" in capsys.readouterr().err


def test_settings_that_do_not_exist_are_refused():
    with pytest.raises(UnknownName, match="did you mean 'runs'"):
        SMALL.with_texts({"run": "3"})
    with pytest.raises(InvalidInput, match="at least 1; got 0"):
        SMALL.with_texts({"runs": "0"})
    assert SMALL.with_texts({"families": "bowl-linear, valley-planes"}) == SMALL


@pytest.mark.parametrize("family", SMALL.families)
def test_a_training_needs_families_to_train_on_and_others_to_choose_on(tmp_path, family):
    with pytest.raises(InvalidInput, match="some to train on and some to choose on"):
        RolloutTraining(replace(SMALL, families=(family,)), tmp_path)


@pytest.mark.parametrize("device", ["meta:9:9", "nonsense"])
def test_a_device_that_cannot_be_used_is_refused_before_anything_runs(tmp_path, capsys, device):
    assert main(command(tmp_path, f"--set=device={device}")) == 2
    assert capsys.readouterr().err == (
        f"meco: torch cannot use the device '{device}' here; train on 'cpu' or on one it lists\n"
    )


def test_one_problem_to_train_on_is_refused_before_anything_runs(tmp_path, capsys):
    assert main(command(tmp_path, "--set=problems=1")) == 2
    said = "meco: a training needs at least two problems, one to learn from and one to stop by; got 1\n"
    assert capsys.readouterr().err == said
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_with_a_large_margin_a_policy_does_what_is_best_on_average(tmp_path, monkeypatch):
    monkeypatch.setattr(training_file, "VALUE_MARGINS", (1e3,))
    search = RolloutTraining(SMALL, tmp_path, report=lambda line: None)
    assert search.run()
    states = np.concatenate([part.s for part in search.samples])
    for made, policy in zip(search.networks[-2:], search.make_candidates().values(), strict=True):
        assert_array_equal(policy.outputs(states).argmax(axis=1), best_action_on_average(made.weights, search.samples))


@pytest.mark.parametrize("text", ["", "5", "5:", "0:50", "5:50;10:50", "5:-1"])
def test_a_layout_that_cannot_be_read_is_refused(text):
    with pytest.raises(InvalidInput, match="D and evaluations per variable"):
        RolloutConfig(layout=text)


def test_a_layout_is_sizes_of_d_and_evaluations_per_variable():
    assert RolloutConfig(layout="5:50, 10:100").sizes == [(5, 50), (10, 100)]


def test_rollouts_are_made_again_where_the_problems_were_others(tmp_path, monkeypatch):
    batches = []
    once = training_file.run_rollouts
    monkeypatch.setattr(training_file, "run_rollouts", lambda batch: (batches.append(batch), once(batch))[1])
    for digest in ("one", "one", "other"):
        monkeypatch.setattr(training_file, "source_digest", lambda *parts, digest=digest: digest)
        assert RolloutTraining(replace(SMALL, rounds=1), tmp_path, report=lambda line: None).run_round(0)
    assert len(batches) == 2  # the second time none
