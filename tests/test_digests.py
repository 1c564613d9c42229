"""Searches stay what they were, bit for bit: the recorded digests of solve(), walked over the methods.

Those of minimize() follow: the contract says that both evaluate the same points. `tests/digests.py` compares both.
"""

import json

import pytest

import digests
from meco import METHODS

KEPT = json.loads(digests.RECORD.read_text())


@pytest.mark.skipif(
    digests.fingerprint() != KEPT["fingerprint"],
    reason="this machine's arithmetic differs from the one that recorded the digests",
)
@pytest.mark.parametrize("method", KEPT["solve"])
def test_solve_evaluates_the_points_that_it_always_did(method):
    assert digests.digests("solve", method, digests.short_budget(method)) == KEPT["solve"][method]


def test_every_method_has_digests():
    assert set(KEPT["solve"]) == set(METHODS)
