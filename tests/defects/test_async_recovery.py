"""Asynchronous runs and optimizers that are interrupted go on where they were."""

from collections import Counter

import numpy as np
import pytest

import meco
from meco import Checkpoint, Optimizer, Variable, Workers

BOUNDS = {
    "round": [(-4.0, 4.0)] * 6,
    "not round": [(0.1, 0.7)] * 6,
    "mixed": [(5.0, 20.0), (0.3, 2.0)] * 3,
    "logarithmic": [Variable(1e-3, 10.0, log=True)] * 6,
}


def fun(x):
    return float(x @ x), [0.2 - x[0]]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_first_points_that_were_recorded_are_not_called_again(tmp_path, bounds, seed):
    made = []

    def interrupted(x):
        made.append(x)
        if len(made) == 6:
            raise KeyboardInterrupt
        return fun(x)

    options = {"budget": 30, "seed": seed, "workers": Workers(1, asynchronous=True)}
    meco.minimize(interrupted, BOUNDS[bounds], checkpoint=tmp_path / "run", **options)
    again = Checkpoint(tmp_path / "run", resume=True)
    result = meco.minimize(interrupted, BOUNDS[bounds], checkpoint=again, **options)
    assert result.nfev == 30
    assert max(Counter(x.tobytes() for x in result.evaluations.x).values()) == 1


@pytest.mark.parametrize("told", [0, 2, 4])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_pending_first_points_of_a_state_are_not_asked_for_again(bounds, told):
    search = Optimizer(BOUNDS[bounds], 0, budget=40, seed=1, workers=Workers(3, asynchronous=True))
    out, asked = list(search.ask(6)), Counter()
    asked.update(x.tobytes() for x in out)
    for x in out[:told]:
        search.tell(x[None], [float(x @ x)])
    out = out[told:]
    search = Optimizer.from_state(search.state())
    assert len(search.pending) == len(out)
    while not search.done:
        for x in search.ask(1):
            out.append(x)
            asked[x.tobytes()] += 1
        if out:
            x = out.pop(0)
            search.tell(x[None], [float(x @ x)])
    assert max(asked.values()) == 1


def asked_in_order(restore_every):
    """Points of an asynchronous optimizer with three points out, restored from its state now and then."""
    search = Optimizer([(-3.0, 3.0)] * 4, 1, budget=80, seed=1, workers=Workers(3, asynchronous=True))
    out, asked = [], []
    while not search.done:
        for x in search.ask(3 - len(out)):
            out.append(x)
            asked.append(x)
        x = out.pop(len(asked) % len(out))
        f, g = fun(x - 0.5)
        search.tell(x, f, g=g)
        if restore_every and len(asked) % restore_every == 0:
            search = Optimizer.from_state(search.state())
    return np.array(asked)


def test_an_asynchronous_optimizer_restored_every_few_answers_asks_for_the_same_points():
    np.testing.assert_array_equal(asked_in_order(20), asked_in_order(0))


def test_an_asynchronous_run_interrupted_eight_times_calls_the_same_points(tmp_path):
    made = []

    def interrupted(x):
        made.append(x)
        if len(made) % 10 == 0:
            raise KeyboardInterrupt
        return fun(x - 0.5)

    options = {"budget": 80, "seed": 1, "workers": Workers(1, asynchronous=True)}
    whole = meco.minimize(lambda x: fun(x - 0.5), [(-3.0, 3.0)] * 4, **options)
    again = Checkpoint(tmp_path / "run", resume=True)
    for _ in range(10):
        resumed = meco.minimize(interrupted, [(-3.0, 3.0)] * 4, checkpoint=again, **options)
    np.testing.assert_array_equal(resumed.evaluations.x, whole.evaluations.x)
