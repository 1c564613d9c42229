"""Rounds that a device repeats: the same episodes, problems chosen by number, numbers drawn beforehand."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import array_api_compat.torch as xp  # noqa: E402

from meco import get_problem  # noqa: E402
from meco.core import arrays  # noqa: E402
from meco.core.evaluator import Evaluator  # noqa: E402
from meco.core.streams import Streams  # noqa: E402
from meco.device import cuda_graphs  # noqa: E402
from meco.device.indexed_problems import IndexedProblems, value_columns  # noqa: E402
from meco.device.prepared_streams import PreparedStreams  # noqa: E402
from meco.learn import Trainer  # noqa: E402
from meco.learn.paper import recorded_rounds as recorded_file  # noqa: E402
from meco.learn.paper import trainer as trainer_file  # noqa: E402
from meco.learn.paper.recorded_rounds import RecordedRounds, make_rounds  # noqa: E402
from meco.learn.paper.rounds import PlainRounds  # noqa: E402
from meco.learn.paper.trainer import TrainingFailed  # noqa: E402
from quick_training import assert_same, quick  # noqa: E402
from recorded_on_cpu import Capture, Recording  # noqa: E402

DIFFERENT = ("C01", "C04", "C06", "C11", "C18", "C20")  # boxes, and from one constraint to six


def test_runs_take_the_values_of_the_problems_they_are_given():
    problems = [get_problem(name, 10) for name in DIFFERENT]
    source = IndexedProblems(problems, 4, xp, "cpu:0")
    unit = np.random.default_rng(1).random((4, 7, 10))
    for which in ([0, 1, 2, 3], [5, 5, 2, 4]):
        source.choose(torch.tensor(which))
        chosen = Evaluator(source, 100)
        alone = Evaluator.on([problems[k] for k in which], 100, 4)
        ours, theirs = chosen.evaluate(torch.from_numpy(unit)), alone.evaluate(unit)
        np.testing.assert_allclose(chosen.box.to_box(torch.from_numpy(unit)), alone.box.to_box(unit), rtol=1e-14)
        np.testing.assert_allclose(ours.f, theirs.f, rtol=1e-12)
        np.testing.assert_array_equal(ours.feasible, theirs.feasible)
        np.testing.assert_allclose(ours.nu, theirs.nu, rtol=1e-12)
        np.testing.assert_allclose(chosen.history.score_best.point.f, alone.history.score_best.point.f, rtol=1e-12)
        assert chosen.nfev.tolist() == [7] * 4


def test_every_value_of_every_problem_has_its_column():
    assert value_columns([(1, 0), (2, 1), (0, 2)]).tolist() == [[1, 2, 0, 0, 0], [3, 4, 5, 6, 0], [7, 0, 0, 8, 9]]


def test_prepared_numbers_are_those_of_the_streams():
    prepared = PreparedStreams(2, xp, "cpu:0")
    for early, seeds in ((False, (1, 2)), (False, (3, 4)), (True, (5, 6)), (True, (7, 8))):
        if early:
            prepared.prepare(seeds)
        prepared.begin(seeds)
        for streams in (Streams(seeds), Streams(seeds)):  # asked for once more, they are the same
            prepared.rewind()
            for _ in range(3):
                np.testing.assert_array_equal(prepared.uniform(4, 3), streams.uniform(4, 3))
                np.testing.assert_array_equal(prepared.normal(5), streams.normal(5))
            if not early and seeds == (1, 2):
                break  # the first search is drawn as it goes


def test_a_training_in_rounds_that_could_be_recorded_is_the_same_training(monkeypatch):
    configs = [quick("plain"), quick("steps", seed=2, decoder="aa", reward="r1"), quick("short", seed=3, epochs=1)]
    numpy = Trainer(configs).run()
    monkeypatch.setattr(trainer_file, "make_rounds", RecordedRounds)
    tensors = Trainer([c.with_settings(device="cpu:0") for c in configs]).run()
    for one, other in zip(numpy, tensors):
        assert [row["actions"] for row in one.rows] == [row["actions"] for row in other.rows]
        for a, b in zip(one.weights, other.weights):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


def test_seeds_of_the_coming_round_are_told_without_drawing_them():
    trainer = Trainer([quick(), quick("b", seed=2)])
    for curriculum in trainer.curricula:
        for _ in range(9):  # over the end of an epoch
            assert curriculum.peek_seeds() == curriculum.peek_seeds() == [j.seed for j in curriculum.plan_round()]


def several(**changes):
    suite = {"suite": "cec2017", "dim": 10, "problems": DIFFERENT, "device": "cpu:0"}
    return [quick(f"policy {k}", seed=k, reward=r, **{**suite, **changes}) for k, r in enumerate(("full", "score"), 1)]


@pytest.fixture
def recordings(monkeypatch):
    """Rounds on the CPU are recorded; the recordings that were made."""
    made = []
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: made.append(Recording()) or made[-1])
    monkeypatch.setattr(cuda_graphs, "capture_graph", Capture)
    monkeypatch.setattr(recorded_file, "supports_graphs", lambda device: True)
    return made


def plainly(configs):
    """The same training, every round step by step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded_file, "supports_graphs", lambda device: False)
        patch.setattr(trainer_file, "make_rounds", RecordedRounds)
        return Trainer(configs).run()


@pytest.mark.parametrize(
    ("changes", "replays"),
    [
        # three rounds do not learn at every step, and the one after them shows the buffers
        pytest.param({}, [4 * 6 - 4], marks=pytest.mark.slow),
        pytest.param({"budget": 230}, [4 * 6 - 3], marks=pytest.mark.slow),  # the last generation is cut
        ({"parallel_episodes": 2}, [4 * 3 - 2]),
        pytest.param({"memory": 37, "batch": 30}, [4 * 6 - 11], marks=pytest.mark.slow),
    ],
)
def test_replayed_rounds_end_as_plain_ones_do(recordings, changes, replays):
    for one, other in zip(plainly(several(**changes)), Trainer(several(**changes)).run(), strict=True):
        assert_same(one, other)
    assert [graph.replays for graph in recordings] == replays


@pytest.mark.slow
def test_policies_that_end_earlier_or_decode_otherwise_are_replayed_too(recordings):
    one, other = several()
    configs = [one.with_settings(epochs=2, decoder="aa"), other.with_settings(decoder="ca")]
    for a, b in zip(plainly(configs), Trainer(configs).run(), strict=True):
        assert_same(a, b)
    assert len(recordings) == 2  # what is recorded is for so many policies


@pytest.mark.slow
def test_a_replayed_training_goes_on_from_its_checkpoint(recordings, tmp_path):
    whole = Trainer(several()).run()
    rounds = iter(range(9))
    assert Trainer(several(), tmp_path / "half.npz").run(stop=lambda: next(rounds) == 8) == []
    rest = Trainer(several(), tmp_path / "half.npz")
    rest.resume()
    for one, other in zip(whole, rest.run(), strict=True):
        assert_same(one, other)


def test_formulas_that_cannot_be_repeated_are_not_recorded(recordings, monkeypatch):
    monkeypatch.setattr(type(get_problem("C01", 10).formula), "recordable", False)
    assert type(make_rounds(several(), Trainer(several()).agents)) is PlainRounds


def test_a_training_leaves_compiling_as_its_caller_wants_it(monkeypatch):
    seen = []
    monkeypatch.setattr(Trainer, "_play_round", lambda trainer: (seen.append(arrays._FusingMode.on), 1 / 0))
    for outer, compiled, device in ((False, False, "cpu"), (True, False, "cpu"), (False, True, "cpu:0")):
        with arrays.fusing(on=outer), pytest.raises(TrainingFailed):
            Trainer([quick(device=device, compiled=compiled)]).run()
    assert seen == [False, True, True]


def test_what_may_fail_or_is_drawn_anew_is_not_recorded(recordings):
    made = [several(), several(instances="random"), [quick(device="cpu:0")]]
    kinds = [type(make_rounds(configs, Trainer(configs).agents)) for configs in made]
    assert kinds == [RecordedRounds, PlainRounds, PlainRounds]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_rounds_recorded_on_a_gpu_end_as_plain_ones_do(monkeypatch):
    replays, replay = [], torch.cuda.CUDAGraph.replay
    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", lambda graph: (replays.append(graph), replay(graph)))
    for one, other in zip(Trainer(several(device="cuda")).run(), plainly(several(device="cuda")), strict=True):
        assert_same(one, other)
    assert len(replays) == 4 * 6 - 4
