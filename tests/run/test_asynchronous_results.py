"""Asynchronous runs: what a callback sees on the way, targets, and calls that are tried again."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from interruption import broken_off
from meco import Checkpoint, Method, Stop, Workers
from meco.methods import DEFAULT

BOX = [(-5.0, 5.0)] * 3


def fun(x):
    return float(x @ x), [1.0 - x[0]]


def run(folder=None, method=DEFAULT, call=fun, **options):
    sized = Method(method, pop_size=7 if method == "SHADE-FR" else None)
    return meco.minimize(call, BOX, **({"method": sized, "budget": 40, "seed": 1, "checkpoint": folder} | options))


@pytest.mark.parametrize("method", ["TR"])
def test_while_an_asynchronous_run_goes_on_evaluations_come_as_they_are_answered(method):
    seen = []

    def look(result):
        assert len(result.evaluations) == result.nfev
        assert result.nfev == 0 or np.isin(result.fun, result.evaluations.f)
        seen.append(result.evaluations)

    result = run(None, method, workers=Workers(2, asynchronous=True), callback=look, stop=Stop(target=-1.0))
    for before, after in pairwise(seen):
        assert_array_equal(before.x, after.x[: len(before)])
    assert sorted(map(tuple, seen[-1].x)) == sorted(map(tuple, result.evaluations.x))


@pytest.mark.parametrize("after", [12, 25])
def test_an_asynchronous_run_that_watches_a_target_is_shown_answers_of_an_earlier_session(tmp_path, after):
    first = run(tmp_path, call=broken_off(fun, after), workers=Workers(asynchronous=True, batch=2))
    best = first.fun
    resumed = run(
        Checkpoint(tmp_path, resume=True),
        workers=Workers(asynchronous=True, batch=2),
        stop=Stop(target=best),
    )
    assert (resumed.run.stop_reason, resumed.nfev < 40) == ("target", True)


@pytest.mark.parametrize(
    ("method", "after"),
    [*(("TR", after) for after in (20, 33, 39, 40))]
    + [pytest.param("TR", after, marks=pytest.mark.slow) for after in (30, 35)],
)
def test_an_asynchronous_run_is_resumed_as_often_as_one_likes_and_then_confirmed(tmp_path, method, after):
    run(tmp_path, method, broken_off(fun, after), workers=Workers(asynchronous=True))
    for _ in range(2):
        resumed = run(Checkpoint(tmp_path, resume=True), method, workers=Workers(asynchronous=True))
        assert (resumed.nfev, resumed.run.stop_reason) == (40, "budget")
    confirmed = meco.confirm(resumed, fun, calls=10)
    assert (confirmed.nfev, confirmed.repeated["calls"] > 1) == (50, True)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_calls_that_are_tried_again_stay_within_the_budget(asynchronous):
    calls = []

    def fails_late(x):
        calls.append(x)
        if len(calls) > 30 and len(calls) % 3:
            raise ValueError("no mesh")
        return fun(x)

    result = run(None, call=fails_late, on_error="retry", workers=Workers(asynchronous=asynchronous))
    assert (result.nfev, len(calls)) == (40, 40)
