"""Training: settings, lockstep, checkpoints, presets, records and the train command."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from meco.cli import main  # noqa: E402
from meco.commands.train import command_for  # noqa: E402
from meco.errors import DamagedFile, InvalidInput, MissingData, MissingExtra, UnknownName  # noqa: E402
from meco.mdp import Episode, load_policy  # noqa: E402
from meco.problems.suite import CEC_NAMES  # noqa: E402
from meco.rules.steered import DECODERS  # noqa: E402
from meco.training import Trainer, TrainingConfig, lockstep_groups  # noqa: E402
from meco.training.mixed import mixed_decoder, mixed_reward  # noqa: E402
from meco.training.presets import HELD_OUT, PRESETS, folds, for_seeds  # noqa: E402
from meco.training.record import draw_log, read_log, write_trained  # noqa: E402

QUICK = {"suite": "toy", "dim": 2, "problems": ("tilted", "ring", "corner"), "epochs": 4, "budget": 200}


def quick(name="quick", **changes):
    return TrainingConfig(name=name, **{**QUICK, **changes})


def assert_same(one, other):
    for a, b in zip(one.weights, other.weights):
        np.testing.assert_array_equal(a, b)
    assert one.rows == other.rows


# settings


def test_the_defaults_are_the_numbers_of_the_paper():
    c = TrainingConfig()
    assert (c.epochs, c.memory, c.batch, c.explore, c.copy_every, c.gamma) == (50, 64, 8, 0.1, 10, 1.0)
    assert (c.lr_first, c.lr_last, c.pop_size, c.evaluations) == (5e-3, 1e-4, 50, 500)
    assert c.problems == CEC_NAMES
    fold = folds("fold", dim=50)[0]
    assert fold.episodes * fold.steps == 66_150


def test_settings_survive_json():
    c = quick(reward="r1+r2", decoder="ca", seed=7)
    assert TrainingConfig.of(json.loads(json.dumps(c.as_dict()))) == c


def test_an_unknown_setting_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownName, match=r"no training setting named 'memmory'; did you mean 'memory'\?"):
        TrainingConfig.of({"memmory": 5})
    with pytest.raises(UnknownName, match="did you mean 'epochs'"):
        TrainingConfig().changed({"epoch": "5"})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"reward": "r3"}, "no reward named 'r3'"),
        ({"decoder": "geo"}, "did you mean 'geometric'"),
        ({"instances": "offical"}, "did you mean 'official'"),
        ({"suite": "cec2071"}, "did you mean 'cec2017'"),
        ({"problems": ("C01", "C99")}, "no training problem named 'C99'"),
        ({"problems": ("C01", "C01")}, "counts once"),
        ({"batch": 100}, "does not fit into a memory of 64"),
        ({"epochs": 0}, "epochs of a training must be at least 1; got 0"),
        ({"budget": 50}, "leaves no step"),
        ({"parallel_episodes": 3}, "must divide the 1400 episodes"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, message):
    with pytest.raises((InvalidInput, UnknownName), match=message):
        TrainingConfig(**wrong)


def test_settings_are_read_from_text_by_their_type():
    c = TrainingConfig().changed({"memory": "512", "lr_first": "1e-2", "budget": "none", "problems": "C01,C02"})
    assert (c.memory, c.lr_first, c.budget, c.problems) == (512, 1e-2, None, ("C01", "C02"))
    with pytest.raises(InvalidInput, match="memory must be a whole number; got 'many'"):
        c.changed({"memory": "many"})


# presets


def test_the_presets_make_every_policy_the_paper_needs():
    names = {p: [c.name for c in PRESETS[p](1)] for p in PRESETS}
    assert names["10d"] == ["meco-10d"]
    assert names["loo50"] == [f"meco-loo50-{c}" for c in CEC_NAMES]
    assert [names[f"split-{d}d"] for d in (10, 30, 50, 100)] == [[f"meco-split-{d}d"] for d in (10, 30, 50, 100)]
    kinds = {"aa": (10, 50, 100), "ca": (10, 50, 100), **dict.fromkeys(("r1", "r2", "r1r2"), (10, 30, 50, 100))}
    assert sorted(names["ablation"]) == sorted(f"meco-{k}-{d}d" for k, dims in kinds.items() for d in dims)
    assert len(names["ablation"]) == 18


def test_a_fold_never_trains_on_the_problem_it_leaves_out():
    for config in PRESETS["loo50"](1):
        assert len(config.problems) == 27
        assert config.name[-3:] not in config.problems
    for preset in ("split-10d", "ablation"):
        assert all(not set(HELD_OUT) & set(c.problems) for c in PRESETS[preset](1))


def test_no_two_folds_and_seeds_draw_alike():
    configs = for_seeds(PRESETS["loo50"], [1, 2, 3])
    assert len({c.seed for c in configs}) == len({c.name for c in configs}) == 84


def test_policies_of_equal_size_train_in_one_batch():
    groups = lockstep_groups(PRESETS["ablation"](1))
    assert sorted(len(g) for g in groups) == [3, 5, 5, 5]  # 30D has no decodings


# the trainer


def test_every_epoch_plays_each_training_problem_once_in_a_new_order(monkeypatch):
    trainer = Trainer([quick(epochs=6)])
    played, original = [], trainer.curricula[0].record
    monkeypatch.setattr(trainer.curricula[0], "record", lambda jobs, o: (played.extend(jobs), original(jobs, o)))
    trainer.run()
    orders = [tuple(job.problem for job in played[i : i + 3]) for i in range(0, 18, 3)]
    assert all(sorted(order) == ["corner", "ring", "tilted"] for order in orders)
    assert len(set(orders)) > 1
    assert len({job.seed for job in played}) == 18


def test_a_policy_does_not_notice_its_neighbours():
    configs = [
        quick("short", seed=1, problems=("tilted", "ring")),  # ends before the others
        quick("plain", seed=2),
        quick("objective", seed=3, reward="r1", lr_first=1e-3),
        quick("steps", seed=4, decoder="aa", explore=0.5, gamma=0.9),
    ]
    together = Trainer(configs).run()
    for config, policy in zip(configs, together):
        assert_same(policy, Trainer([config]).run()[0])
    assert [len(p.rows) for p in together] == [4] * 4


def test_the_reference_objective_changes_after_an_episode_not_within(monkeypatch):
    seen = []
    original = Episode.reset

    def spy(self, *a):
        seen.append(np.array(self.references))
        return original(self, *a)

    monkeypatch.setattr(Episode, "reset", spy)
    Trainer([quick(problems=("tilted",), epochs=3)]).run()
    known = np.array(seen)[:, 0]
    assert known[0] == np.inf
    assert np.isfinite(known[1:]).all()
    assert known[2] <= known[1]


def test_random_instances_differ_from_episode_to_episode():
    config = TrainingConfig(name="r", problems=("C01", "C04"), instances="random", epochs=2, budget=150)
    trainer = Trainer([config])
    instances = [trainer.curricula[0].next_jobs()[0].instance for _ in range(4)]
    assert len(set(instances)) == 4
    assert len(Trainer([config]).run()[0].rows) == 2


def test_parallel_episodes_learn_as_often_as_sequential_ones():
    one, many = Trainer([quick()]), Trainer([quick(parallel_episodes=3)])
    one.run()
    many.run()
    assert one.agents.learner.steps == one.configs[0].learning_steps == 4 * 3 * 3 - 7
    assert many.agents.learner.steps == many.configs[0].learning_steps == 3 * (12 - 2)


@pytest.mark.parametrize("changes", [{"dim": 3}, {"memory": 128}, {"q_output": "sigmoid"}])
def test_policies_that_cannot_share_a_batch_are_refused(changes):
    with pytest.raises(InvalidInput, match=f"need the same {next(iter(changes))}"):
        Trainer([quick("a"), quick("b", **changes)])


def test_a_sigmoid_network_trains():
    policy = Trainer([quick(q_output="sigmoid")]).run()[0]
    assert all(np.isfinite(w).all() for w in policy.weights)


def test_mixed_runs_are_rewarded_and_decoded_like_runs_of_their_kind():
    kinds = [("geometric", "full"), ("aa", "r1"), ("ca", "r1+r2"), ("geometric", "r2")]
    decoders, rewards = zip(*kinds)
    known = np.full(4, -0.5)
    mixed = Episode(
        "ring", range(4), 250, decoder=mixed_decoder(decoders), reward=mixed_reward(rewards), references=known
    )
    mixed.reset()
    alone = [
        Episode("ring", [b], 250, decoder=DECODERS[d], reward=r, references=known[:1]) for b, (d, r) in enumerate(kinds)
    ]
    for episode in alone:
        episode.reset()
    for action in (0.1, 0.0, 0.1):
        s, r, _ = mixed.step([action] * 4)
        for b, episode in enumerate(alone):
            s_alone, r_alone, _ = episode.step([action])
            np.testing.assert_array_equal(s[b], s_alone[0])
            assert r[b] == r_alone[0]


def test_training_says_how_far_it_is():
    seen = []
    Trainer([quick("a"), quick("b", seed=2)], report=seen.append).run()
    assert [status.played for status in seen] == list(range(2, 25, 2))
    assert seen[-1].episodes == 24
    assert seen[-1].left == 0
    assert sum(seen[0].outcomes[0].actions) == 3


def test_training_on_torch_tensors_equals_training_in_numpy():
    configs = [quick("plain"), quick("steps", seed=2, decoder="aa", reward="r1")]
    numpy = Trainer(configs).run()
    tensors = Trainer([replace(c, device="cpu:0") for c in configs]).run()  # any name but "cpu" is a torch device
    for one, other in zip(numpy, tensors):
        for a, b in zip(one.weights, other.weights):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(InvalidInput, match="cannot use the device 'abacus'"):
        Trainer([quick(device="abacus")])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_training_on_cuda_gives_a_policy():
    policy = Trainer([quick(device="cuda"), quick("b", device="cuda")]).run()[0]
    assert np.isfinite(policy.weights.w1).all()


# checkpoints


@pytest.mark.parametrize("stop_after", [1, 7, 9, 11])
def test_a_stopped_training_resumes_to_the_same_bits(tmp_path, stop_after):
    configs = [quick("short", problems=("tilted", "ring")), quick("long", seed=2, reward="r2")]
    whole = Trainer(configs).run()
    rounds = iter(range(1, 100))
    first = Trainer(configs, tmp_path / "c.npz")
    assert first.run(stop=lambda: next(rounds) == stop_after) == []
    second = Trainer(configs, tmp_path / "c.npz")
    second.resume()
    for a, b in zip(whole, second.run()):
        assert_same(a, b)


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    trainer = Trainer([quick()], tmp_path / "c.npz")
    with pytest.raises(MissingData, match="there is no checkpoint"):
        trainer.resume()
    trainer.save()
    with pytest.raises(InvalidInput, match="other settings"):
        Trainer([quick(seed=2)], tmp_path / "c.npz").resume()
    whole = (tmp_path / "c.npz").read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 5):
        (tmp_path / "c.npz").write_bytes(whole[:length])
        with pytest.raises(DamagedFile, match="not a readable checkpoint"):
            trainer.resume()


COMMAND = [sys.executable, "-m", "meco", "train", "--suite", "toy", "--dim", "2", "--holdout", "sphere,impossible"]
COMMAND += ["--seeds", "1,2", "--epochs", "60", "--set", "budget=200", "--save-every", "0.05", "--quiet"]


def contents(folder):
    found = {p.name: load_policy(p) for p in folder.glob("*.safetensors")}
    assert not list(folder.glob("*.checkpoint.npz"))
    logs = {p.name: p.read_text() for p in folder.glob("*.jsonl")}
    return {name: p.metadata["digest"] for name, p in found.items()}, logs


def test_a_training_killed_at_random_moments_resumes_to_the_same_bits(tmp_path):
    assert main([*COMMAND[3:], "--out", str(tmp_path / "whole")]) == 0
    began = checkpointed = 0
    chance = random.Random(time.time_ns())
    while True:
        process = subprocess.Popen([*COMMAND, "--out", tmp_path / "killed", "--resume"])
        began += 1
        patience = time.monotonic() + 60
        while process.poll() is None and not list(tmp_path.glob("killed/*.npz")) and time.monotonic() < patience:
            time.sleep(0.02)
        if began < 3:
            time.sleep(chance.uniform(0, 0.4))
            process.kill()
        if process.wait() == 0:
            break
        checkpointed += bool(list(tmp_path.glob("killed/*.npz")))
    assert checkpointed >= 1
    assert contents(tmp_path / "whole") == contents(tmp_path / "killed")


def test_sigterm_stops_cleanly_and_the_training_can_go_on(tmp_path):
    command = [*COMMAND, "--out", tmp_path, "--save-every", "1000", "--epochs", "4000"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        while process.poll() is None and not _handles_sigterm(process.pid):
            time.sleep(0.02)
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "--resume goes on" in said
    assert len(list(tmp_path.glob("*.checkpoint.npz"))) == 1


def _handles_sigterm(pid):
    """Whether the process has put its own handler in place."""
    if not os.path.exists(f"/proc/{pid}/status"):
        pytest.skip("needs /proc")
    with open(f"/proc/{pid}/status") as status:
        caught = next(line for line in status if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


# records and the command


def test_a_policy_carries_the_record_of_its_training(tmp_path):
    trained = Trainer([quick(decoder="aa")]).run()[0]
    policy = load_policy(write_trained(tmp_path, trained, "meco train --preset x"))
    log = tmp_path / "quick.training.jsonl"
    known = policy.metadata
    assert known["log_digest"] == hashlib.sha256(log.read_bytes()).hexdigest()
    assert TrainingConfig.of(known["training"]) == trained.config
    assert (known["suite"], known["dim"], known["seed"], known["decoder"]) == ("toy", 2, 1, "aa")
    assert known["command"] == "meco train --preset x"
    np.testing.assert_array_equal(policy.weights.w2, trained.weights.w2)
    config, rows = read_log(log)
    assert config == trained.config
    assert rows == trained.rows
    assert all(sum(row["actions"]) == 9 and set(row["score"]) == set(QUICK["problems"]) for row in rows)


def test_a_training_log_can_be_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    write_trained(tmp_path, Trainer([quick()]).run()[0])
    draw_log(tmp_path / "quick.training.jsonl", tmp_path / "log.png")
    assert (tmp_path / "log.png").stat().st_size > 10_000
    (tmp_path / "broken.jsonl").write_text("{}\n")
    with pytest.raises(DamagedFile, match="not a training log"):
        draw_log(tmp_path / "broken.jsonl", tmp_path / "log.png")


def test_the_command_trains_what_a_preset_says(tmp_path, capsys, monkeypatch):
    small = lambda seed: folds("tiny", seed, **{k: v for k, v in QUICK.items() if k != "problems"})  # noqa: E731
    monkeypatch.setitem(PRESETS._items, "tiny", small)
    words = ["train", "--preset", "tiny", "--only", "tiny-ring,tiny-corner", "--out", str(tmp_path), "--quiet"]
    monkeypatch.setattr(sys, "argv", ["meco", *words])
    assert main(words) == 0
    assert capsys.readouterr().out.split() == [f"{tmp_path}/tiny-{p}.safetensors" for p in ("ring", "corner")]
    known = load_policy(tmp_path / "tiny-ring.safetensors").metadata
    assert "ring" not in known["problems"]
    assert known["command"] == "meco train --preset tiny --only tiny-ring"
    assert main([*words, "--resume"]) == 0
    assert capsys.readouterr().out == ""  # nothing was left to do


def test_the_best_of_several_seeds_is_kept_under_the_plain_name(tmp_path, capsys, monkeypatch):
    words = ["train", "--suite", "toy", "--dim", "2", "--holdout", "impossible", "--name", "best", "--seeds", "1,2,3"]
    words += ["--set", "budget=200", "--epochs", "2", "--select", "--quiet", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["meco", *words])
    assert main(words) == 0
    assert capsys.readouterr().out.split() == [f"{tmp_path}/best.safetensors"]
    known = load_policy(tmp_path / "best.safetensors").metadata
    losses = known["chosen_among"]
    assert sorted(losses) == ["1", "2", "3"]
    assert losses[str(known["seed"])] == min(losses.values())
    assert main([*words, "--resume"]) == 0
    assert capsys.readouterr().out == ""  # the choice is made
    assert main([*words, "--resume", "--seeds", "1,2,4"]) == 0  # another choice: all candidates count
    assert sorted(load_policy(tmp_path / "best.safetensors").metadata["chosen_among"]) == ["1", "2", "4"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--preset", "loo05"], "did you mean 'loo50'"),
        (["--holdout", "C77"], "no problem of cec2017 named 'C77'"),
        (["--set", "epochs"], "--set takes NAME=VALUE"),
        (["--preset", "10d", "--holdout", "C01"], "a preset says what to train; leave out --holdout"),
        (["--preset", "10d", "--dim", "10"], "a preset says what to train; leave out --dim"),
        (["--preset", "10d", "--seconds", "9"], "--seconds is an option of the presets tr and tr-direct"),
        (["--preset", "10d", "--only", "meco-11d"], "did you mean 'meco-10d'"),
    ],
)
def test_the_command_refuses_what_it_does_not_know(words, message, capsys, tmp_path):
    assert main(["train", *words, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_the_recorded_command_is_the_one_that_makes_this_policy():
    words = ["train", "--preset", "loo50", "--out=x", "--only", "a,b", "--resume", "--set", "memory=512"]
    assert command_for(words, "meco-loo50-C03") == "meco train --preset loo50 --set memory=512 --only meco-loo50-C03"


def test_training_without_torch_says_which_extra_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r'training needs torch.*pip install "meco-opt\[train\]"'):
        from meco.training import Learner  # noqa: F401


def test_settings_are_values():
    assert replace(quick(), seed=2) == quick(seed=2)
