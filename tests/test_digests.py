"""Searches stay what they were, bit for bit: the recorded digests of solve(), walked over the methods.

Those of minimize() follow: the contract says that both evaluate the same points. `tests/digests.py` compares both.
"""

import json

import pytest

import digests
from meco import METHODS

KEPT = json.loads(digests.RECORD.read_text())
LONG = set(digests.SLOW)  # methods that take long
FEW = ("C05", "RC19", "corner")  # for every method in every run, but of those that take long the first and the last
CASES = [(method, which) for method in KEPT["solve"] for which in ("few", "others")]


def problems(method, which):
    few = FEW[::2] if method in LONG else FEW
    return few if which == "few" else tuple(name for name in digests.PROBLEMS if name not in few)


@pytest.mark.skipif(
    not digests.same_arithmetic(KEPT),
    reason="this machine's arithmetic, or its number of BLAS threads, differs from that of the record",
)
@pytest.mark.parametrize(
    ("method", "which"),
    [pytest.param(m, w, marks=[pytest.mark.slow] if m in LONG and w == "others" else []) for m, w in CASES],
)
def test_solve_evaluates_the_points_that_it_always_did(method, which):
    kept = {name: KEPT["solve"][method][name] for name in problems(method, which)}
    assert digests.digests("solve", method, digests.short_budget(method), kept) == kept


def test_every_problem_has_digests():
    assert all(set(kept) == set(digests.PROBLEMS) for kept in KEPT["solve"].values())


def test_every_method_has_digests():
    assert set(KEPT["solve"]) == set(METHODS) - digests.OF_PACKAGES


def test_a_record_of_other_threads_is_told_apart():
    assert digests.same_arithmetic({"fingerprint": digests.fingerprint()})  # a record from before they were compared
    now = {"fingerprint": digests.fingerprint(), "threaded_fingerprint": digests.threaded_fingerprint()}
    assert digests.same_arithmetic(now)
    assert not digests.same_arithmetic({**now, "threaded_fingerprint": "of two threads"})
