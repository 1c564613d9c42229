"""The replay memory: first in, first out, and mini-batches without repetition."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from meco.paper.replay_memory import ReplayMemory, sample_without_replacement  # noqa: E402


def filled(policies=2, capacity=4, count=6):
    """A memory in which transition t of policy k has every feature equal to 10 k + t."""
    memory = ReplayMemory(policies, capacity, features=3)
    for t in range(count):
        value = torch.tensor([10.0 * k + t for k in range(policies)], dtype=torch.float64)
        s = value[:, None].expand(-1, 3)
        memory.add(s, torch.full((policies,), t % 11), value, s + 0.5, last=t == count - 1)
    return memory


def test_the_oldest_transition_makes_room_for_the_newest():
    memory = filled(capacity=4, count=6)
    assert memory.size == 4
    assert sorted(memory.rows[0, :, 0].tolist()) == [2.0, 3.0, 4.0, 5.0]
    assert sorted(memory.rows[1, :, 0].tolist()) == [12.0, 13.0, 14.0, 15.0]


def test_a_batch_holds_whole_transitions_of_its_own_policy():
    batch = filled().sample(np.random.default_rng(0).random((2, 3)))
    assert batch.s.shape == (2, 3, 3)
    assert batch.action.dtype == torch.int64
    for k in range(2):
        for s, s_next, action, reward, last in zip(*(part[k] for part in batch)):
            assert 10 * k <= reward < 10 * k + 10
            assert (s == reward).all()
            assert (s_next == reward + 0.5).all()
            assert action == int(reward) - 10 * k
            assert bool(last) == (reward == 10 * k + 5)


@pytest.mark.parametrize("size", [8, 9, 20, 64])
def test_rows_are_drawn_without_replacement(size):
    rows = sample_without_replacement(np.random.default_rng(size).random((500, 8)), size)
    assert rows.min() >= 0
    assert rows.max() < size
    assert all(len(set(row)) == 8 for row in rows.tolist())


def test_every_set_of_rows_is_equally_likely():
    rows = np.sort(sample_without_replacement(np.random.default_rng(1).random((30_000, 3)), 5), axis=1)
    _, counts = np.unique(rows, axis=0, return_counts=True)
    assert len(counts) == 10  # 3 of 5
    assert np.abs(counts - 3000).max() < 5 * np.sqrt(3000 * 0.9)


def test_a_batch_does_not_depend_on_other_policies():
    u = np.random.default_rng(2).random((2, 3))
    together, alone = filled().sample(u), filled(policies=1).sample(u[:1])
    assert all(torch.equal(a[:1], b) for a, b in zip(together, alone))
