"""Trainings that are stopped or killed: they go on from their checkpoint to the same bits."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")

from meco.cli import main  # noqa: E402
from meco.errors import DamagedFile, InvalidInput, MissingData  # noqa: E402
from meco.paper import Trainer, load_policy  # noqa: E402
from quick_training import assert_same, quick  # noqa: E402
from small_runs import posix  # noqa: E402


@pytest.mark.parametrize("stop_after", [1, 7, 9, 11])
def test_a_stopped_training_resumes_to_the_same_bits(tmp_path, stop_after):
    configs = [quick("one"), quick("two", seed=2)]
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


@pytest.mark.slow
def test_a_training_killed_at_random_moments_resumes_to_the_same_bits(tmp_path):
    assert main([*COMMAND[3:], "--out", str(tmp_path / "whole")]) == 0
    began = checkpointed = 0
    chance = random.Random(1)
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


@posix
def test_sigterm_stops_cleanly_and_the_training_can_go_on(tmp_path, monkeypatch, capsys):
    class TerminatesAfterARound:
        """Stands where the line of progress is."""

        def __init__(self, label):
            pass

        def __call__(self, status):
            os.kill(os.getpid(), signal.SIGTERM)

        def end(self):
            pass

    monkeypatch.setattr("meco.commands.train.TrainingLine", TerminatesAfterARound)
    words = [word for word in COMMAND[3:] if word != "--quiet"]
    assert main([*words, "--out", str(tmp_path), "--save-every", "1000"]) == 130
    assert "--resume goes on" in capsys.readouterr().err
    assert len(list(tmp_path.glob("*.checkpoint.npz"))) == 1
