"""Double DQN on the quantile: a training that repeats itself and gives a policy that steers MeCO-TR."""

import numpy as np
from numpy.testing import assert_array_equal

import meco
from meco.mdp import load_policy, save_policy
from meco.training.matches import Match
from meco.training.references import make_pool
from meco.training.search_ddqn import QSearch, QSettings

SMALL = QSettings(rounds=3, width=4, hidden=6, memory=200, batch=16, updates=2, copy_every=5)


def test_a_q_training_repeats_itself_and_its_policy_steers(tmp_path):
    pool = make_pool([Match("ripples-ring", 1, 2, 60), Match("valley-inside", 1, 2, 60)], [1, 2])
    first, again = QSearch(pool, SMALL), QSearch(pool, SMALL)
    weights = first.run()
    for here, there in zip(weights, again.run()):
        assert_array_equal(here, there)
    assert [row["round"] for row in first.rows] == [1, 2, 3]
    assert all(0.0 <= row["quantile"] <= 1.0 for row in first.rows)
    assert first.learner.steps > 10
    path = tmp_path / "q.safetensors"
    save_policy(path, weights, {"features": "model-search", "controls": "theta-and-share", "kind": "greedy"})
    run = meco.solve("MeCO-TR", "ring", 100, [1], policy=load_policy(path))[0]
    assert set(np.unique(run.trace["theta"][1:])) <= {0.0, 0.25, 0.5, 0.75, 0.9}
