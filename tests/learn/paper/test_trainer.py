"""The trainer: lockstep, epochs, rewards, and every kind of array."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from meco.errors import InvalidInput  # noqa: E402
from meco.learn import (  # noqa: E402
    Episode,
    Trainer,
)
from meco.learn.paper.curriculum import STATE_SCHEMA  # noqa: E402
from meco.learn.paper.mixed import make_mixed_decoder, make_mixed_reward  # noqa: E402
from meco.policies.paper.steered_rule import DECODERS  # noqa: E402
from quick_training import assert_same, quick  # noqa: E402


def test_every_epoch_plays_each_training_problem_once_in_a_new_order(monkeypatch):
    trainer = Trainer([quick(epochs=6)])
    played, original = [], trainer.curricula[0].add_outcomes
    monkeypatch.setattr(trainer.curricula[0], "add_outcomes", lambda jobs, o: (played.extend(jobs), original(jobs, o)))
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


def test_a_curriculum_saves_all_that_it_holds_but_settings_and_generator():
    curriculum = Trainer([quick()]).curricula[0]
    assert vars(curriculum).keys() - {"config", "_generator"} == curriculum.state().keys() == STATE_SCHEMA.keys()


def test_random_instances_differ_from_episode_to_episode():
    config = quick("r", suite="cec2017", dim=10, problems=("C01", "C04"), instances="random", epochs=2, budget=150)
    trainer = Trainer([config])
    instances = [trainer.curricula[0].plan_round()[0].instance for _ in range(4)]
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
        "ring", range(4), 250, decoder=make_mixed_decoder(decoders), reward=make_mixed_reward(rewards), references=known
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
    tensors = Trainer([c.with_settings(device="cpu:0") for c in configs]).run()  # any name but "cpu" is a torch device
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
