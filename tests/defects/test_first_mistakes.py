"""Mistakes in a function end its run at the first calls; failures that belong to designs do not."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import meco
from meco import Checkpoint, Workers
from meco.errors import MecoError

BOX = [(-2.0, 2.0)] * 3
NAMED = {"a": (0.0, 4.0, "mm"), "b": (0.0, 4.0)}


def counted(function):
    """A function that counts its calls in `calls`."""
    lock = threading.Lock()

    def fun(x):
        with lock:
            fun.calls += 1
        return function(x)

    fun.calls = 0
    return fun


def undefined(x):
    return widht * x[0]  # noqa: F821


def unbound(x):
    if x[0] > 1e9:
        value = 1.0
    return value


def no_module(x):
    import a_module_that_is_not_installed  # noqa: F401

    return x @ x


@pytest.mark.parametrize("function", [undefined, unbound, no_module])
def test_a_name_that_is_not_defined_ends_the_run_at_the_first_call(function):
    fun = counted(function)
    with pytest.raises(MecoError, match="Error"):
        meco.minimize(fun, BOX, budget=200, seed=1)
    assert fun.calls == 1


def test_a_name_that_is_not_defined_ends_the_run_after_successes_and_keeps_the_result():
    @counted
    def fun(x):
        if fun.calls == 30:
            return undefined(x)
        return float(x @ x)

    with pytest.raises(MecoError, match="NameError") as caught:
        meco.minimize(fun, BOX, budget=200, seed=1)
    assert fun.calls == 30
    assert caught.value.result.nfev == 29


def test_a_name_that_is_not_defined_is_seen_in_worker_processes():
    with pytest.raises(MecoError, match="NameError"):
        meco.minimize(undefined, BOX, budget=200, seed=1, workers=Workers(2, timeout=30))


def test_a_misspelt_key_ends_the_run_although_an_early_design_fails_for_another_reason():
    @counted
    def fun(x):
        if x["a"] > 3.5:
            raise RuntimeError("mesh failed")
        return (x["a"] - 1) ** 2 + (x["bb"] - 2) ** 2, {"stress": 3.0 - x["a"]}

    with pytest.raises(MecoError, match="KeyError: 'bb'"):
        meco.minimize(fun, NAMED, budget=200, seed=1)
    assert fun.calls <= 5


@pytest.mark.parametrize("workers", [1, ThreadPoolExecutor(2), Workers(1, asynchronous=True)], ids=["1", "2", "async"])
def test_an_index_outside_ends_the_run_at_its_third_call(workers):
    fun = counted(lambda x: x[7])
    with pytest.raises(MecoError, match="IndexError"):
        meco.minimize(fun, BOX, budget=200, seed=1, workers=workers)
    assert 3 <= fun.calls <= 4


def test_penalize_goes_on_regardless():
    fun = counted(undefined)
    result = meco.minimize(fun, BOX, budget=30, seed=1, on_error="penalize")
    assert fun.calls == result.run.nfail == 30


LINES = {
    "empty list": lambda output: output["values"][0],
    "missing key": lambda output: output["objective"],
    "none": lambda output: None + 1.0,
    "no attribute": lambda output: output.get("mesh").volume,
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", LINES)
def test_a_crashed_simulation_without_output_is_a_failed_design(kind, seed):
    def fun(x):
        if x[0] > 0.4:
            return LINES[kind]({"values": []})
        return float((x[0] - 1.0) ** 2 + x[1] ** 2 + x[2] ** 2)

    result = meco.minimize(fun, BOX, budget=100, seed=seed)
    assert result.run.nfail > 3
    assert result.fun == pytest.approx(0.36, abs=0.02)


@pytest.mark.parametrize(("dim", "most"), [(2, 20), (10, 31)])
def test_failures_of_different_reasons_before_the_first_success_end_the_run(dim, most):
    @counted
    def fun(x):
        raise RuntimeError(f"license {fun.calls}")

    with pytest.raises(MecoError, match="none of the first"):
        meco.minimize(fun, [(-2.0, 2.0)] * dim, budget=500, seed=1)
    assert fun.calls == most


def test_failures_before_the_first_success_are_counted_over_sessions(tmp_path):
    @counted
    def fun(x):
        if fun.calls == 15:
            raise KeyboardInterrupt
        raise RuntimeError(f"license {fun.calls}")

    meco.minimize(fun, BOX, budget=200, seed=1, checkpoint=tmp_path / "run")
    with pytest.raises(MecoError, match="none of the first"):
        meco.minimize(fun, BOX, budget=200, seed=1, checkpoint=Checkpoint(tmp_path / "run", resume=True))
    assert fun.calls == 21


def test_a_success_after_fifteen_failures_goes_on():
    @counted
    def fun(x):
        if fun.calls <= 15:
            raise RuntimeError(f"license {fun.calls}")
        return float(x @ x)

    result = meco.minimize(fun, BOX, budget=60, seed=1)
    assert result.nfev == 60
    assert result.success


def test_named_bounds_and_an_index_are_told_that_x_is_a_dict():
    with pytest.raises(MecoError, match=r'fun receives a dict with the keys "a", "b": use x\["a"\], not x\[0\]'):
        meco.minimize(lambda x: x[0] ** 2, NAMED, budget=100, seed=1)
    with pytest.raises(MecoError, match='fun receives a dict with the keys "a", "b"'):
        meco.minimize(lambda x: 2.0 * x, NAMED, budget=100, seed=1)
