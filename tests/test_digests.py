"""Searches stay what they were, bit for bit: the recorded digests, walked over the methods."""

import json

import pytest

import digests

KEPT = json.loads(digests.RECORD.read_text())
comparable = pytest.mark.skipif(
    digests.fingerprint() != KEPT["fingerprint"],
    reason="this machine's arithmetic differs from the one that recorded the digests",
)


@comparable
@pytest.mark.parametrize("method", KEPT["solve"])
def test_solve_evaluates_the_points_that_it_always_did(method):
    made = {name: digests.solved(method, name) for name in digests.PROBLEMS}
    assert made == KEPT["solve"][method]


@comparable
@pytest.mark.parametrize("method", KEPT["minimize"])
def test_minimize_evaluates_the_points_that_it_always_did(method):
    made = {name: digests.minimized(method, name) for name in digests.PROBLEMS}
    assert made == KEPT["minimize"][method]
