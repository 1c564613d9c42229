"""Methods evaluate the points that release 0.3.0 evaluates, to the last bit: the record of the reference kit."""

import numpy as np
import pytest

from meco import METHODS
from reference import methods, pairs, points, record
from reference.kernels import IS_X86_LINUX, differing_facts

SLOW = {"TR", "COBRA", "SACOBRA", "COBYQA", "BP-epsMAg-ES", "COBYLA"}  # methods
FEW = ("C05", "RC19", "corner")  # problems in every run; for slow methods, the first and the last
FIRST = 60  # points of a kind in every run
FIRST_OF_KIND = {"sixty-variables": 200}  # whose first 60 points are a design
EVERY_RUN = list(pairs.PAIRS)[12::20]  # pairs, with every feature

DIFFERENT = record.arithmetic_differences()
bit_for_bit = pytest.mark.skipif(bool(DIFFERENT), reason=f"OTHER ARITHMETIC than the record: {'; '.join(DIFFERENT)}")


@pytest.mark.skipif(not IS_X86_LINUX, reason="OTHER ARITHMETIC: the record is of Linux on x86")
def test_this_machine_computes_the_last_bits_of_the_record():
    assert not DIFFERENT, "install the versions of constraints.txt, or make the record again (tests/reference)"


def _cases():
    for method in methods.recorded_methods():
        few = FEW[::2] if method in SLOW else FEW
        yield pytest.param(method, few, id=f"{method}-few")
        others = tuple(name for name in methods.PROBLEMS if name not in few)
        yield pytest.param(method, others, id=f"{method}-others", marks=[pytest.mark.slow] * (method in SLOW))


@bit_for_bit
@pytest.mark.parametrize(("method", "problems"), list(_cases()))
def test_a_method_evaluates_the_points_of_the_record(method, problems):
    recorded = record.read_json(record.METHODS)[method]
    assert methods.run_method(method, problems) == {name: recorded[name] for name in problems}


@bit_for_bit
@pytest.mark.parametrize("kind", points.KINDS)
def test_the_first_points_of_a_kind_are_those_of_the_record(kind):
    assert record.check_points(kind, first=FIRST_OF_KIND.get(kind, FIRST)) == ""


@pytest.mark.slow
@bit_for_bit
@pytest.mark.parametrize("kind", points.KINDS)
def test_all_points_of_a_kind_are_those_of_the_record(kind):
    assert record.check_points(kind) == ""


@pytest.mark.parametrize(
    "pair", [pytest.param(name, marks=[] if name in EVERY_RUN else pytest.mark.slow) for name in pairs.PAIRS]
)
def test_what_was_accepted_is_accepted_and_keeps_its_promises(pair):
    recorded, now = record.read_pairs()[pair], pairs.find_outcome(pair)
    assert now == "accepted" or now == recorded


def test_every_method_and_every_kind_has_a_record():
    assert set(record.read_json(record.METHODS)) == set(METHODS) - methods.UNRECORDED
    assert list(record.read_pairs()) == list(pairs.PAIRS)
    assert set().union(*(pairs.PAIRS[name] for name in EVERY_RUN)) == set(pairs.FEATURES)
    assert {file.stem for file in (record.FOLDER / "points").iterdir()} == set(points.KINDS)


def test_points_agree_up_to_the_first_that_differs_by_more_than_the_tolerance():
    recorded = np.arange(12.0).reshape(4, 3)
    made = recorded + np.array([[0, 0, 0], [1e-9, 0, 0], [0, 1e-3, 0], [0, 0, 0]])
    assert [points.count_agreeing(made, recorded, tolerance) for tolerance in (0.0, 1e-6, 1e-2)] == [1, 2, 4]


def test_other_versions_are_named():
    recorded = record.read_json(record.ARITHMETIC)
    older = recorded | {"versions": recorded["versions"] | {"numpy": "1.0"}}
    assert any("1.0" in fact for fact in differing_facts(older))
