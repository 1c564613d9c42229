"""Searches stay what they were, bit for bit: the recorded digests of solve(), walked over the methods.

Those of minimize() follow: the contract says that both evaluate the same points. `tests/digests.py` compares both.
"""

import json

import pytest

import digests
from meco import METHODS

KEPT = json.loads(digests.RECORD.read_text())


@pytest.mark.skipif(
    not digests.same_arithmetic(KEPT),
    reason="this machine's arithmetic, or its number of BLAS threads, differs from that of the record",
)
@pytest.mark.parametrize("method", KEPT["solve"])
def test_solve_evaluates_the_points_that_it_always_did(method):
    assert digests.digests("solve", method, digests.short_budget(method)) == KEPT["solve"][method]


def test_every_method_has_digests():
    assert set(KEPT["solve"]) == set(METHODS) - digests.OF_PACKAGES


def test_a_record_of_other_threads_is_told_apart():
    assert digests.same_arithmetic({"fingerprint": digests.fingerprint()})  # a record from before they were compared
    now = {"fingerprint": digests.fingerprint(), "threaded_fingerprint": digests.threaded_fingerprint()}
    assert digests.same_arithmetic(now)
    assert not digests.same_arithmetic({**now, "threaded_fingerprint": "of two threads"})
