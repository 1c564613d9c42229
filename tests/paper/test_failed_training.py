"""A training whose policy or environment raises: a clear error, and a checkpoint that goes on to the same bits."""

from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import quick_training  # noqa: E402
from meco.cli import main  # noqa: E402
from meco.core.problem import Problem  # noqa: E402
from meco.errors import DamagedFile, InvalidInput  # noqa: E402
from meco.paper import Episode, Trainer  # noqa: E402
from meco.paper.agents import Agents  # noqa: E402
from meco.paper.checkpoint import read_checkpoint, write_checkpoint  # noqa: E402
from meco.paper.training import TrainingFailed  # noqa: E402

quick = partial(quick_training.quick, epochs=2)


def breaking(original, at, error):
    """A method that raises once, at its call of a certain number."""
    calls = []

    def call(self, *args, **options):
        calls.append(0)
        if len(calls) == at:
            raise error
        return original(self, *args, **options)

    return call


@pytest.mark.parametrize("at", [1, 2, 3, 6])
@pytest.mark.parametrize(
    ("holder", "method"), [(Episode, "step"), (Episode, "reset"), (Agents, "act"), (Agents, "learn")]
)
def test_a_training_that_fails_anywhere_goes_on_to_the_same_bits(tmp_path, monkeypatch, holder, method, at):
    whole = Trainer([quick(), quick("other", seed=2)]).run()
    configs = [policy.config for policy in whole]
    with monkeypatch.context() as patch:
        patch.setattr(holder, method, breaking(getattr(holder, method), at, FloatingPointError("no mesh")))
        with pytest.raises(TrainingFailed, match=r"on \w.*: FloatingPointError: no mesh; .*c\.npz holds it") as caught:
            Trainer(configs, tmp_path / "c.npz").run()
    assert isinstance(caught.value.__cause__, FloatingPointError)
    again = Trainer(configs, tmp_path / "c.npz")
    again.resume()
    for one, other in zip(whole, again.run(), strict=True):
        assert one.rows == other.rows
        for a, b in zip(one.weights, other.weights):
            np.testing.assert_array_equal(a, b)


def test_without_a_checkpoint_the_error_says_that_nothing_was_kept(monkeypatch):
    monkeypatch.setattr(Episode, "step", breaking(Episode.step, 1, ValueError("no")))
    with pytest.raises(TrainingFailed, match=r"after 0 of 6 episodes, on \w+: ValueError: no; no checkpoint was asked"):
        Trainer([quick()]).run()


def test_the_command_says_it_in_one_line_and_resumes(tmp_path, monkeypatch, capsys):
    words = ["train", "--suite", "toy", "--dim", "2", "--epochs", "1", "--set", "budget=150", "--quiet", "--out"]
    with monkeypatch.context() as patch:
        patch.setattr(Episode, "step", breaking(Episode.step, 5, ValueError("no mesh")))
        assert main([*words, str(tmp_path)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("meco: the training failed")
    assert main([*words, str(tmp_path), "--resume"]) == 0
    assert [p.name for p in tmp_path.glob("*.safetensors")] == ["toy-2d.safetensors"]


@pytest.mark.parametrize("method", ["step", "reset"])
def test_an_episode_that_failed_wants_a_reset(method):
    fails = []

    def raw(x):
        if fails:
            raise ValueError("no mesh")
        return (x**2).sum(-1), 1.0 - x[..., :1], x[..., :0]

    episode = Episode(Problem("mine", [-5.0] * 2, [5.0] * 2, 1, 0, raw), seeds=[1], budget=200, pop_size=10)
    episode.reset()
    episode.step([0.5])
    fails.append(True)
    with pytest.raises(ValueError, match="no mesh"):
        episode.step([0.5]) if method == "step" else episode.reset()
    fails.clear()
    with pytest.raises(InvalidInput, match=r"its last step failed: call reset\(\) first"):
        episode.step([0.5])
    first = episode.reset()
    np.testing.assert_array_equal(first, episode.reset())


def test_wrong_actions_leave_an_episode_as_it_was():
    one, other = (Episode("tilted", seeds=[1], budget=200, pop_size=10) for _ in range(2))
    one.reset(), other.reset()
    with pytest.raises(InvalidInput, match="actions must lie"):
        one.step([7.0])
    np.testing.assert_array_equal(one.step([0.5])[0], other.step([0.5])[0])


def test_a_changed_checkpoint_is_refused(tmp_path):
    trainer = Trainer([quick()], tmp_path / "c.npz", save_every=0.0)
    trainer.run(lambda: True)
    arrays, state = read_checkpoint(tmp_path / "c.npz")
    content = bytearray((tmp_path / "c.npz").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "c.npz").write_bytes(content)
    with pytest.raises(DamagedFile, match="not a readable checkpoint"):
        trainer.resume()
    changes = [{"curricula": []}, {"agents": {}}, {"curricula": [{**state["curricula"][0], "epoch": [[1]]}]}]
    changes.append({"agents": {**state["agents"], "streams": "[1]"}})
    for change in changes:
        write_checkpoint(tmp_path / "c.npz", arrays, {**state, **change})
        with pytest.raises(DamagedFile, match="does not hold this training"):
            trainer.resume()
    for name in arrays:
        write_checkpoint(tmp_path / "c.npz", {**arrays, name: arrays[name][..., :1]}, state)
        with pytest.raises(DamagedFile, match="does not hold this training"):
            Trainer([quick()], tmp_path / "c.npz").resume()
