"""The trainer: lockstep, epochs and rewards."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from meco.errors import InvalidInput  # noqa: E402
from meco.paper import (  # noqa: E402
    Episode,
    Trainer,
)
from meco.paper.curriculum import STATE_SCHEMA  # noqa: E402
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
    configs = [quick("one", seed=1, problems=("tilted", "ring", "sphere")), *(quick(f"{k}", seed=k) for k in (2, 3, 4))]
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


@pytest.mark.parametrize(
    "changes",
    [{"dim": 3}, {"memory": 128}, {"decoder": "aa"}, {"reward": "r1"}, {"q_output": "sigmoid"}, {"epochs": 2}],
)
def test_policies_that_cannot_share_a_batch_are_refused(changes):
    with pytest.raises(InvalidInput, match=f"need the same {next(iter(changes))}"):
        Trainer([quick("a"), quick("b", **changes)])


def test_a_sigmoid_network_trains():
    policy = Trainer([quick(q_output="sigmoid")]).run()[0]
    assert all(np.isfinite(w).all() for w in policy.weights)


def test_training_says_how_far_it_is():
    seen = []
    Trainer([quick("a"), quick("b", seed=2)], report=seen.append).run()
    assert [status.played for status in seen] == list(range(2, 25, 2))
    assert seen[-1].episodes == 24
    assert seen[-1].left == 0
    assert sum(seen[0].outcomes[0].actions) == 3
