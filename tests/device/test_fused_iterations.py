"""An iteration that is traced for torch's compiler is the iteration as it is written; here without the compiler."""

import numpy as np
import pytest

from meco.core.capabilities import Replay, find_capability
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.streams import DeviceStreams
from meco.problems.generated import make_batch
from meco.tr.engine import make_tr_es

torch = pytest.importorskip("torch", reason="TORCH MISSING: traced iterations NOT tested")
from meco.device import cuda_graphs  # noqa: E402 - needs torch
from meco.device.fused_iterations import compile_iteration, thin_product  # noqa: E402


@pytest.fixture
def search(monkeypatch):
    """A search on the CPU whose state lies in buffers, and what replays it."""
    monkeypatch.setattr(cuda_graphs, "draws_on_device", lambda rng: True)
    monkeypatch.setattr(torch.backends.cuda, "preferred_linalg_library", lambda name: None)
    monkeypatch.setattr(torch._inductor, "compile", lambda module, inputs: module)
    rng = DeviceStreams(1, 3, "cpu")
    evaluator = Evaluator.on(make_batch("bowl-linear", [0, 1, 2], 2), 60, 3, rng.xp, "cpu")
    loop = Loop(make_tr_es(Task.of(evaluator, rng)), evaluator, traced=False)
    for _ in range(8):
        loop.step()
    replay = find_capability(loop.engine, Replay)
    replay.preallocate()
    recording = cuda_graphs.GraphReplay(replay, evaluator, loop._iterate)
    recording._refresh_buffers()
    return rng, recording


def test_a_traced_iteration_leaves_in_the_buffers_what_the_written_one_does(search):
    rng, recording = search
    (generator,) = rng.generators
    before, state = [b.clone() for b in recording.buffers], generator.get_state()
    run = compile_iteration(recording._iterate_from, recording.buffers, generator)
    found = []
    for iterate in (run, recording._iterate_in_buffers):
        generator.set_state(state)
        for buffer, values in zip(recording.buffers, before):
            buffer.copy_(values)
        recording._attach_buffers()
        iterate()
        found.append([b.clone().double().numpy() for b in recording.buffers])
    assert any(not np.array_equal(a, b.double().numpy()) for a, b in zip(found[0], before))
    for traced, written in zip(*found):
        np.testing.assert_allclose(traced, written, rtol=1e-9, atol=1e-9)


def test_what_an_iteration_hands_on_is_what_was_there_before_it(monkeypatch):
    """An old value that is kept beside a new one, and two that change places."""
    monkeypatch.setattr(torch._inductor, "compile", lambda module, inputs: module)
    buffers = [torch.full((3,), float(k)) for k in range(4)]
    run = compile_iteration(lambda t: [t[0] + 5.0, t[0][:], t[3], t[2]], buffers, torch.Generator())
    run()
    assert [buffer[0].item() for buffer in buffers] == [5.0, 0.0, 3.0, 2.0]


def test_products_with_a_single_column_or_row_are_sums():
    a, b = torch.rand(3, 4, 5, dtype=torch.float64), torch.rand(3, 5, 6, dtype=torch.float64)
    for left, right in ((a, b[:, :, :1]), (a[:, :1], b)):
        torch.testing.assert_close(thin_product(left, right), left @ right)
    assert thin_product(a, b) is NotImplemented
