"""The same seed gives the same evaluations wherever they are made, and nothing global is touched."""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import meco
from meco import Method, Workers

BOX = [(-5.0, 5.0)] * 3
SIZE = 12  # of a generation
OPTIONS = {"method": Method("SHADE-FR", pop_size=SIZE), "budget": 72}


def fun(x):
    if x[2] > 4:
        return None
    return float(x @ x), [1.0 - x[0]], [x[0] - x[1]]


def uneven(x):
    """Later calls of a batch may finish first."""
    time.sleep(0.004 * (np.abs(x[0]) % 1.0))
    return fun(x)


def assert_same(a, b):
    for key in ("x", "f", "g", "h", "failed"):
        assert_array_equal(getattr(a.evaluations, key), getattr(b.evaluations, key))
    assert_array_equal(a.x, b.x)
    assert a.message == b.message


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["processes", "threads", "executor", "map", "timeout"]),
    workers=st.integers(1, 8),
    method=st.sampled_from(["SHADE-FR", "MeCO-rand", "MA-ES"]),
)
def test_the_evaluations_do_not_depend_on_the_workers(seed, kind, workers, method):
    options = {**OPTIONS, "seed": seed, "method": Method(method, pop_size=SIZE)}
    serial = meco.minimize(uneven, BOX, **options)
    if kind == "processes":
        found = meco.minimize(uneven, BOX, workers=workers, **options)
    elif kind == "timeout":
        found = meco.minimize(uneven, BOX, workers=Workers(min(workers, 3), timeout=60.0), **options)
    elif kind == "map":
        found = meco.minimize(uneven, BOX, workers=map, **options)
    else:
        pool = ThreadPoolExecutor if kind == "threads" else ProcessPoolExecutor
        with pool(workers) as executor:
            found = meco.minimize(uneven, BOX, workers=executor, **options)
    assert_same(found, serial)


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_one_to_eight_processes_make_the_same_run(workers):
    serial = meco.minimize(uneven, BOX, seed=3, **OPTIONS)
    assert_same(meco.minimize(uneven, BOX, seed=3, workers=workers, **OPTIONS), serial)


def test_pools_of_the_standard_library_serve_as_maps():
    serial = meco.minimize(fun, BOX, seed=3, **OPTIONS)
    with multiprocessing.Pool(2) as pool:
        assert_same(meco.minimize(fun, BOX, seed=3, workers=pool.map, **OPTIONS), serial)
        assert_same(meco.minimize(lambda x: fun(x), BOX, seed=3, workers=pool.imap, **OPTIONS), serial)
    with ProcessPoolExecutor(2) as executor:
        assert_same(meco.minimize(lambda x: fun(x), BOX, seed=3, workers=executor.map, **OPTIONS), serial)


def test_a_dask_executor_serves_too():
    distributed = pytest.importorskip("distributed")
    serial = meco.minimize(fun, BOX, seed=3, **OPTIONS)
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        found = meco.minimize(lambda x: fun(x), BOX, seed=3, workers=client.get_executor(), **OPTIONS)
    assert_same(found, serial)


def test_an_executor_of_processes_can_time_out():
    options = {**OPTIONS, "budget": 12, "seed": 3}  # one generation, the points of which are known beforehand
    most = meco.minimize(fun, BOX, **options).evaluations.x[:, 0].max()

    def hangs(x):
        if x[0] == most:
            time.sleep(600)
        return fun(x)

    with ThreadPoolExecutor(2) as executor:
        found = meco.minimize(hangs, BOX, workers=Workers(executor, timeout=1.5), **options)
    assert set(found.run.failures) == {"timeout"}  # on a busy machine of others too
    assert found.evaluations.failed[found.evaluations.x[:, 0] == most].tolist() == [True]


def test_a_broken_executor_ends_the_run_with_what_was_found():
    def deadly(x):
        if x[0] > 4:
            os._exit(1)
        return fun(x)

    with ProcessPoolExecutor(1) as executor:
        result = meco.minimize(deadly, BOX, seed=3, workers=executor, **{**OPTIONS, "budget": 500})
    assert result.run.stop_reason == "workers"
    assert ".." not in result.message
    assert result.nfev > 0
    assert np.isfinite(result.fun)


def test_spawned_workers_give_the_same_run(monkeypatch):
    """Where processes are not forked, the function is packed and sent."""
    import meco.run.workers as processes

    monkeypatch.setattr(processes, "start_method", lambda: "spawn")
    serial = meco.minimize(fun, BOX, seed=3, **OPTIONS)
    assert_same(meco.minimize(lambda x: fun(x), BOX, seed=3, workers=2, **OPTIONS), serial)


def test_no_worker_is_left_behind():
    meco.minimize(fun, BOX, seed=3, workers=3, **OPTIONS)
    assert multiprocessing.active_children() == []


def test_minimize_needs_numpy_alone():
    script = (
        "import sys, meco\n"
        "meco.minimize(lambda x: (x @ x, [1 - x[0]]), [(-5, 5)] * 2, method='SHADE-FR', budget=30, checkpoint='run')\n"
        "heavy = {'scipy', 'torch', 'matplotlib', 'rich', 'cloudpickle', 'dask', 'pymoo', 'cma'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def fingerprint():
    torch = sys.modules.get("torch")
    return (
        random.getstate(),
        [str(part.tolist() if isinstance(part, np.ndarray) else part) for part in np.random.get_state()],  # noqa: NPY002
        None if torch is None else torch.random.get_rng_state().tolist(),
        None if torch is None else torch.get_default_dtype(),
        list(warnings.filters),
        os.getcwd(),
        list(sys.argv),
        np.geterr(),
        dict(os.environ),
    )


@pytest.mark.parametrize("options", [{}, {"workers": 2}, {"seed": None}])  # of every method the contract says so
def test_nothing_global_is_touched(options, tmp_path):
    pytest.importorskip("torch")
    settings_ = {**OPTIONS, "seed": 1, **options}
    meco.minimize(fun, BOX, **settings_)  # imports happen here
    before = fingerprint()
    meco.minimize(fun, BOX, checkpoint=tmp_path / "run", **settings_)
    search = meco.Optimizer(BOX, 1, 1, budget=24, method=Method("SHADE-FR", pop_size=12), seed=1)
    search.tell(search.ask(), np.zeros(12), np.zeros((12, 1)), np.zeros((12, 1)))
    assert fingerprint() == before


def test_the_functions_own_numpy_settings_hold_inside_it():
    seen = []

    def looks(x):
        seen.append(np.geterr()["divide"])
        return float(x @ x)

    with np.errstate(divide="raise"):
        meco.minimize(looks, BOX, seed=1, **OPTIONS)
    assert set(seen) == {"raise"}
