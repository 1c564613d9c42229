"""The protocol for learned optimizers: agents of every kind, what they see, how they are judged, episodes on disk."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from meco import cli
from meco.errors import InvalidInput
from meco.learn.challenge import agents as agents_module
from meco.learn.challenge import judging
from meco.learn.challenge.agents import PipeAgent, PolicyAgent, PredictAgent, RuleAgent, load_agent, make_agent
from meco.learn.challenge.judging import (
    SetSize,
    check_actions,
    first_seed_of_digest,
    judge_agents,
    list_generated_set,
    make_controls,
)
from meco.learn.challenge.judging_progress import JudgingProgress
from meco.learn.challenge.kept_batches import KeptBatches
from meco.learn.challenge.observation import Observation, constraint_tokens, point_tokens
from meco.learn.tr.constant_controls import OWN_RULE_NAME
from meco.learn.tr.episode import TrustRegionEpisode
from meco.policies.policy import ConstantControls
from meco.problems.suite import get_problem
from meco.tr.steered import SEARCH_FEATURES  # noqa: F401

EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"
SMALL = SetSize(((2, 10),), 1, 1)


@pytest.fixture(scope="module")
def problems():
    return [p for p in list_generated_set("choose", SMALL) if p.problem.dim == 2][:2]


@pytest.fixture
def small_sets(monkeypatch):
    monkeypatch.setattr("meco.commands.challenge.QUICK_SIZE", SMALL)

    def few(name, size, first=1):
        return [p for p in list_generated_set(name, size, first) if p.problem.dim == 2][:1]

    monkeypatch.setattr("meco.commands.challenge.list_generated_set", few)


def observation(runs=2):
    episode = TrustRegionEpisode("ring", seeds=list(range(runs)), budget=60)
    s = np.asarray(episode.reset())
    return Observation(s, episode.features.names, np.full((runs, 2), 0.5), episode, np.arange(runs))


def test_tokens_of_points_and_constraints_have_no_units_and_no_dimension():
    seen = observation(3)
    assert seen.points.shape == (3, 64, 6)
    assert seen.constraints.shape[::2] == (3, 5)
    assert np.all((seen.points >= 0) & (seen.points <= 1))
    assert np.all((seen.constraints >= -1) & (seen.constraints <= 1))
    assert np.all(seen.points.sum(axis=(1, 2)) > 0)


def test_tokens_of_a_run_do_not_notice_its_neighbours():
    together, alone = observation(3), observation(1)
    np.testing.assert_array_equal(point_tokens(together.episode)[0], point_tokens(alone.episode)[0])
    np.testing.assert_array_equal(constraint_tokens(together.episode)[0], constraint_tokens(alone.episode)[0])


def test_every_kind_of_agent_gives_theta_and_share():
    seen = observation()
    rule = RuleAgent(lambda one: {"theta": one["budget spent"], "share": 0.5})
    np.testing.assert_allclose(rule.act(seen), [[s, 0.5] for s in seen.s[:, -3]])
    np.testing.assert_array_equal(RuleAgent(lambda one: (0.1, 0.2)).act(seen), [[0.1, 0.2]] * 2)
    np.testing.assert_array_equal(PolicyAgent(ConstantControls({"theta": 0.3})).act(seen)[:, 0], [0.3, 0.3])

    class Indices:
        def predict(self, s):
            return np.zeros(len(s), dtype=int), None

    np.testing.assert_allclose(PredictAgent(Indices()).act(seen), [[0.0, 0.05]] * 2)


def test_an_agent_behind_a_pipe_sees_vector_and_sets():
    agent = PipeAgent([sys.executable, str(EXAMPLES / "agent_process.py")])
    try:
        assert agent.sets
        agent.begin(2)
        seen = observation()
        found = check_actions(agent.act(seen), 2)
        np.testing.assert_allclose(found[:, 0], 0.5 * (1 - seen.s[:, -3]))
    finally:
        agent.close()
    assert agent.process.returncode == 0


def test_a_pipe_that_talks_nonsense_is_named():
    with pytest.raises(InvalidInput, match="JSON object"):
        PipeAgent([sys.executable, "-c", "print('hello')"])
    with pytest.raises(InvalidInput, match="cannot start"):
        PipeAgent(["no-such-program-anywhere"])


@pytest.mark.parametrize("bad", [[[0.5, np.nan]], [0.5], [[0.1, 0.2, 0.3]], [["x", 0.1]], [None]])
def test_actions_that_cannot_be_are_refused(bad):
    with pytest.raises(InvalidInput, match="theta and share"):
        check_actions(bad, 1)


def test_actions_out_of_range_are_refused_as_the_environment_does():
    with pytest.raises(InvalidInput, match=r"mine: theta must lie in \[0, 1\]; got 2"):
        check_actions([[0.5, 0.0], [2.0, 0.0]], 2, "mine")
    with pytest.raises(InvalidInput, match=r"share must lie in \[0, 1\]; got -0.1"):
        check_actions([[0.5, -0.1]], 1)
    np.testing.assert_array_equal(check_actions([[1.0 + 1e-8, -1e-8]], 1), [[1.0, 0.0]])


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def decide(seen):\n    return 1 / 0", r"bad.py:2, in decide\): ZeroDivisionError: division by zero"),
        (
            "def decide(seen):\n    return seen['budget spend'], 0",
            "in decide.*no feature named.*'budget spent'",
        ),
        ("def decide(seen):\n    return {'theta': 2.0, 'share': 0}", "bad: theta must lie in"),
        ("def decide(seen):\n    return {'theta': 0.2}", "the agent bad failed.*'share'"),
        ("def train(make_env, seconds, seed):\n    raise OSError('no licence')", "bad.py:2, in train.*no licence"),
    ],
)
def test_an_error_of_an_agent_is_told_as_its_own_with_file_and_line(small_sets, tmp_path, capsys, code, words):
    (tmp_path / "bad.py").write_text(code + "\n")
    words_given = ["challenge", str(tmp_path / "bad.py"), "--quick", "--choose-only", "--out", str(tmp_path / "out")]
    assert cli.main([*words_given, "--quiet"]) == 2
    said = capsys.readouterr().err
    assert re.search(words, said), said
    assert "defect of meco" not in said


def test_choose_can_be_looked_at_alone_with_its_score_and_progress(small_sets, tmp_path, capsys):
    (tmp_path / "mine.py").write_text("def decide(seen):\n    return 0.5, 0.0\n")
    words = ["challenge", str(tmp_path / "mine.py"), "--quick", "--choose-only", "--out", str(tmp_path)]
    assert cli.main(words) == 0
    told = capsys.readouterr()
    found = json.loads((tmp_path / "choose.json").read_text())["agents"]["mine"]
    assert set(found["sets"]) == {"choose"}
    assert "confirm_from_seed" not in found
    assert f"{found['sets']['choose']['score']:.3f}" in told.out
    assert "100% of all evaluations" in told.err
    assert (tmp_path / "choose.html").is_file()
    assert not (tmp_path / "challenge.json").exists()


def test_progress_tells_the_share_done_and_the_time_left_at_the_pace_of_what_was_run():
    lines = []
    progress = JudgingProgress(1000, lines.append)
    progress.count(200, None)  # kept from before: says nothing of the pace
    progress.show("choose")
    progress.count(300, 30.0)
    progress.show("choose")
    progress.count(500, 40.0)
    progress.show("confirm")
    assert lines == [
        "choose; 20% of all evaluations",
        "choose; 50% of all evaluations, about 0:50 left",
        "confirm; 100% of all evaluations",
    ]


def test_a_file_that_offers_nothing_says_what_it_could(tmp_path):
    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(InvalidInput, match=r"decide\(seen\)"):
        load_agent(str(tmp_path / "empty.py"), 1.0, 1, lambda: None)


def test_a_changed_file_is_confirmed_on_other_problems(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def decide(seen):\n    return 0.5, 0.0\n")
    first = load_agent(str(file), 1.0, 1, lambda: None)[2]
    file.write_text("def decide(seen):\n    return 0.6, 0.0\n")
    second = load_agent(str(file), 1.0, 1, lambda: None)[2]
    assert first_seed_of_digest(first) != first_seed_of_digest(second)
    assert first_seed_of_digest(first) == first_seed_of_digest(first)


def test_an_agent_that_does_as_a_control_scores_as_the_control(problems):
    controls = make_controls(quick=True)
    theta, share = judging.QUICK_CONSTANTS[0]
    agents = {
        "constant": RuleAgent(lambda one: (theta, share)),
        "rule": RuleAgent(lambda one: (one["theta by the rule"], one["share by the rule"])),
    }
    found = judge_agents("choose", problems, controls, agents, 1)
    name = next(iter(controls))
    np.testing.assert_array_equal(found.quantiles_of("constant"), found.quantiles_of(name))
    np.testing.assert_array_equal(found.quantiles_of("rule"), found.quantiles_of(OWN_RULE_NAME))


def test_the_command_judges_three_kinds_of_agents_and_writes_table_json_and_page(small_sets, tmp_path, capsys):
    files = [str(EXAMPLES / name) for name in ("ten_lines.py", "piped.py")]
    (tmp_path / "ours.py").write_text("policy = 'meco-tr-es'\n")
    assert cli.main(["challenge", *files, str(tmp_path / "ours.py"), "--quick", "--suite", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "challenge.json").read_text())
    assert set(found["agents"]) == {"ten_lines", "piped", "ours"}
    ours = found["agents"]["ours"]["sets"]
    assert set(ours) == {"choose", "confirm"}
    assert ours["confirm"]["leads"]["shipped policy"]["mean"] == 0.0
    assert "ten_lines" in capsys.readouterr().out
    assert "Beside the controls" in (tmp_path / "challenge.html").read_text()


@pytest.mark.slow
def test_an_agent_of_stable_baselines_is_trained_and_judged(small_sets, tmp_path):
    pytest.importorskip("stable_baselines3")
    code = cli.main(["challenge", str(EXAMPLES / "sb3_ppo.py"), "--quick", "--suite", "--train-seconds", "1",
                     "--out", str(tmp_path), "--quiet"])  # fmt: skip
    assert code == 0
    found = json.loads((tmp_path / "challenge.json").read_text())["agents"]["sb3_ppo"]
    assert found["training_seconds"] >= 1
    assert 0 <= found["sets"]["confirm"]["score"] <= 1


def test_an_object_may_be_an_entry_point(monkeypatch):
    class Offered:
        @staticmethod
        def decide(seen):
            return 0.5, 0.0

    assert isinstance(make_agent(Offered, 1.0, 1, lambda: None), RuleAgent)
    assert agents_module.ENTRY_POINTS == "meco.agents"


def test_episodes_are_written_and_add_up(tmp_path, capsys, monkeypatch):
    def few(name, size, first=1):
        return list_generated_set(name, size, first)[::5]

    monkeypatch.setattr("meco.commands.episodes.list_generated_set", few)
    words = ["episodes", "--out", str(tmp_path), "--problems", "1", "--layout", "2:10", "--set", "choose", "--sets"]
    assert cli.main([*words, "--behaviours", "random,own rule", "--quiet"]) == 0
    about = json.loads((tmp_path / "episodes.json").read_text())
    total = 0
    for name in about["files"]:
        with np.load(tmp_path / name) as data:
            episodes, decisions, _ = data["actions"].shape
            assert data["s"].shape == (episodes, decisions + 1, len(about["features"]))
            assert data["points"].shape[:3] == (episodes, decisions + 1, 64)
            assert data["rewards"].shape == (episodes, decisions)
            assert np.all(data["rewards"].sum(axis=1) <= 1.5)
            assert set(data["behaviour"]) == {"random", "own rule"}
            assert all(get_problem(name, dim=int(data["dim"])).n_ineq == data["n_ineq"] for name in data["problem"])
            total += episodes
    assert total == about["episodes"]


def test_batches_that_are_kept_are_not_run_again_and_change_no_number(problems, tmp_path, monkeypatch):
    controls = make_controls(quick=True)
    agents = {"rule": RuleAgent(lambda one: (0.2, 0.1)), "trained": RuleAgent(lambda one: (0.4, 0.0))}
    known = dict.fromkeys((*controls, "rule"), "known")
    alone = judge_agents("choose", problems[:1], controls, agents, 1)
    first = judge_agents(
        "choose", problems[:1], controls, agents, 1, kept=KeptBatches(tmp_path / "r"), identities=known
    )
    np.testing.assert_array_equal(first.outcomes.f, alone.outcomes.f)
    with (tmp_path / "r").open("a") as file:
        file.write('{"key": "torn')
    ran = []
    run_rows = judging._run_rows
    monkeypatch.setattr(judging, "_run_rows", lambda rows, *rest: ran.extend(rows[:, 1]) or run_rows(rows, *rest))
    kept = KeptBatches(tmp_path / "r")
    second = judge_agents("choose", problems[:1], controls, agents, 1, kept=kept, identities=known)
    np.testing.assert_array_equal(second.outcomes.f, first.outcomes.f)
    assert set(ran) == {len(controls) + 1}, "only the agent whose runs are not kept"
    assert kept.reused == len(controls) + 1
    judge_agents("choose", problems[:1], controls, agents, 1, kept=kept, identities=known | {"rule": "edited"})
    assert set(ran) == {len(controls), len(controls) + 1}
