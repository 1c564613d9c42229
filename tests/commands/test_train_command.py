"""What remains of a training, and the train command."""

import hashlib
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from meco.cli import main  # noqa: E402
from meco.commands.train import EXIT_STOPPED, command_of_policy  # noqa: E402
from meco.errors import DamagedFile  # noqa: E402
from meco.paper import (  # noqa: E402
    Trainer,
    TrainingConfig,
    load_policy,
)
from meco.paper.presets import PRESETS, make_leave_one_out_configs  # noqa: E402
from meco.paper.record import draw_log, read_log, write_policy_and_log  # noqa: E402
from quick_training import QUICK, quick  # noqa: E402


def test_a_policy_carries_the_record_of_its_training(tmp_path):
    trained = Trainer([quick(decoder="aa")]).run()[0]
    policy = load_policy(write_policy_and_log(tmp_path, trained, "meco train --preset x"))
    log = tmp_path / "quick.training.jsonl"
    known = policy.metadata
    assert known["log_digest"] == hashlib.sha256(log.read_bytes()).hexdigest()
    assert TrainingConfig.from_dict(known["training"]) == trained.config
    assert (known["suite"], known["dim"], known["seed"], known["decoder"]) == ("toy", 2, 1, "aa")
    assert known["command"] == "meco train --preset x"
    np.testing.assert_array_equal(policy.weights.w2, trained.weights.w2)
    config, rows = read_log(log)
    assert config == trained.config
    assert rows == trained.rows
    assert all(sum(row["actions"]) == 9 and set(row["score"]) == set(QUICK["problems"]) for row in rows)


def test_a_training_log_can_be_drawn(tmp_path):
    write_policy_and_log(tmp_path, Trainer([quick()]).run()[0])
    draw_log(tmp_path / "quick.training.jsonl", tmp_path / "log.svg")
    assert "Mean return of an episode" in (tmp_path / "log.svg").read_text(encoding="utf-8")
    (tmp_path / "broken.jsonl").write_text("{}\n")
    with pytest.raises(DamagedFile, match="not a training log"):
        draw_log(tmp_path / "broken.jsonl", tmp_path / "log.svg")


def test_the_command_trains_what_a_preset_says(tmp_path, capsys, monkeypatch):
    small = lambda seed: make_leave_one_out_configs("tiny", seed, **{k: v for k, v in QUICK.items() if k != "problems"})  # noqa: E731
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


@pytest.mark.parametrize(("settings", "said"), [([], True), (["--set", "pop_size=5"], False)])
def test_episodes_too_short_to_learn_from_are_named_before_the_training(tmp_path, capsys, settings, said):
    words = ["train", "--suite", "toy", "--problem", "ring", "--dim", "2", "--epochs", "1"]
    assert main([*words, *settings, "--out", str(tmp_path)]) == 0
    note = (
        "meco: 100 evaluations with a population of 50 leave 1 decision in an episode, from which next to nothing is "
        "learnt: give a larger budget, --set budget=1000, or a smaller population, --set pop_size=5\n"
    )
    assert (note in capsys.readouterr().err) == said


def test_a_policy_of_another_training_is_not_overwritten(tmp_path, capsys):
    words = ["train", "--suite", "toy", "--problem", "ring", "--dim", "2", "--epochs", "1", "--set", "pop_size=5"]
    words += ["--out", str(tmp_path), "--quiet"]
    path = tmp_path / "toy-2d.safetensors"
    assert main(words) == 0
    first = path.read_bytes()
    assert main(words) == 0  # the very same training may be made again
    capsys.readouterr()
    for more, told in (["--seeds", "2"], "seed 1 there, 2 here"), (["--set", "budget=90"], "budget"):
        for resume in ([], ["--resume"]):
            assert main([*words, *more, *resume]) == 2
            said = capsys.readouterr().err
            assert told in said
            assert f"{path} is the policy of another training" in said
            assert "give another name or --out, or remove it" in said
    assert path.read_bytes() == first
    assert main([*words, "--seeds", "2", "--name", "second"]) == 0
    path.write_bytes(b"mine")
    assert main(words) == 2
    assert "is no policy that can be read, and is not overwritten" in capsys.readouterr().err


OWN = """
import meco

@meco.problem("crate", bounds=[(0.1, 3)] * 3)
def crate(x):
    a, b, c = x[..., 0], x[..., 1], x[..., 2]
    return 2 * (a * b + b * c + a * c), [2 - a * b * c], []

@meco.problem("duct", bounds=[(0.1, 2)] * 3)
def duct(x):
    return x.sum(-1), [1 - x[..., 0] * x[..., 1], x[..., 2] - x[..., 0]], []

@meco.problem("plate", bounds=[(0, 1)] * 2)
def plate(x):
    return x.sum(-1), [0.5 - x[..., 0]], []

def plain(x):
    return x[0]
"""


def test_the_command_trains_on_problems_of_a_file(tmp_path, capsys, monkeypatch):
    mine = tmp_path / "mine.py"
    mine.write_text(OWN)
    words = ["train", "--problem", f"{mine}:crate", f"{mine}:duct", "--epochs", "1", "--set", "pop_size=20"]
    words += ["--out", str(tmp_path), "--quiet"]
    monkeypatch.setattr(sys, "argv", ["meco", *words])
    assert main(words) == 0
    known = load_policy(tmp_path / "mine-3d.safetensors").metadata
    assert (known["suite"], known["dim"], len(known["problems"])) == ("own", 3, 2)
    assert known["training"]["suite"] == "own"
    assert read_log(tmp_path / "mine-3d.training.jsonl")[0].as_dict() == known["training"]
    capsys.readouterr()
    assert main([*words, "--resume"]) == 0
    assert capsys.readouterr().out == ""  # nothing was left to do
    mine.write_text(OWN + "# edited\n")
    assert main([*words, "--resume"]) == 2
    assert "is the policy of another training (problems " in capsys.readouterr().err
    (tmp_path / "mine-3d.safetensors").unlink()
    assert main([*words, "--resume"]) == 0
    assert capsys.readouterr().out.split() == [f"{tmp_path}/mine-3d.safetensors"]  # another version, another training


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("plain",), "must be a meco.Problem, which @meco.problem(name, bounds) makes"),
        (("crate", "plate"), "a policy is trained on problems of equal D"),
        (("crat",), "did you mean 'crate'"),
    ],
)
def test_problems_of_a_file_that_cannot_be_trained_on_are_refused_in_words(names, message, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(OWN)
    words = [f"{tmp_path}/mine.py:{name}" for name in names]
    assert main(["train", "--problem", *words, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_a_command_out_of_time_keeps_whole_batches_and_goes_on_with_the_others(tmp_path, capsys, monkeypatch):
    small = lambda seed: make_leave_one_out_configs("tiny", seed, **{k: v for k, v in QUICK.items() if k != "problems"})  # noqa: E731
    monkeypatch.setitem(PRESETS._items, "tiny", small)
    words = ["train", "--preset", "tiny", "--only", "tiny-ring,tiny-corner", "--out", str(tmp_path), "--quiet"]
    words += ["--together", "1", "--resume"]
    assert main([*words, "--seconds", "0"]) == EXIT_STOPPED
    assert capsys.readouterr().out == ""
    assert main([*words, "--only", "tiny-ring"]) == 0
    assert main(words) == 0
    assert capsys.readouterr().out.split() == [f"{tmp_path}/tiny-{p}.safetensors" for p in ("ring", "corner")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--preset", "loo05"], "did you mean 'loo50'"),
        (["--suite", "toi"], "no suite named 'toi'; did you mean 'toy'"),
        (["--suite", "cec", "--leave-one-out"], "did you mean 'cec2017'"),
        (["--holdout", "C77"], "no problem of cec2017 named 'C77'"),
        (["--set", "epochs"], "--set takes NAME=VALUE"),
        (["--preset", "10d", "--holdout", "C01"], "a preset says what to train; leave out --holdout"),
        (["--preset", "10d", "--dim", "10"], "a preset says what to train; leave out --dim"),
        (["--preset", "10d", "--only", "meco-11d"], "did you mean 'meco-10d'"),
        (["--preset", "10d", "--together", "0"], "--together must be at least 1; got 0"),
        (["--preset", "paper-loo50"], "it left in 0.4: use loo50, the training as printed"),
        (["--set", "compiled=true"], "no training setting named 'compiled'; it left in 0.4: training runs on the CPU"),
        (["--device", "cuda"], "no option of train named '--device'; it left in 0.4: training runs on the CPU"),
        (["--select"], "no option of train named '--select'; it left in 0.4: fix the seeds beforehand"),
    ],
)
def test_the_command_refuses_what_it_does_not_know(words, message, capsys, tmp_path):
    assert main(["train", *words, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_the_recorded_command_is_the_one_that_makes_this_policy():
    words = ["train", "--preset", "loo50", "--out=x", "--only", "a,b", "--resume", "--set", "memory=512"]
    made = command_of_policy(words, "meco-loo50-C03")
    assert made == "meco train --preset loo50 --set memory=512 --only meco-loo50-C03"
