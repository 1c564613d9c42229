"""Trainings of a second, and whether two are the same."""

import numpy as np

from meco.paper import TrainingConfig

QUICK = {"suite": "toy", "dim": 2, "problems": ("tilted", "ring", "corner"), "epochs": 4, "budget": 200}


def quick(name="quick", **changes):
    return TrainingConfig.from_dict({"name": name, **QUICK, **changes})


def assert_same(one, other):
    for a, b in zip(one.weights, other.weights):
        np.testing.assert_array_equal(a, b)
    assert one.rows == other.rows
