"""A simulator that fails: the run goes on, and failed points neither win nor teach."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
import zlib
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco import Method, Workers
from meco.run.answer import EvaluationFailed

METHODS = ("SHADE-FR", "MeCO-rand", "MA-ES", "C2oDE", "MDE-CGO")


def fault(kind, x):
    """One of the ways in which a simulation does not answer."""
    if kind == "exception":
        raise ValueError("negative volume")
    if kind == "exit":
        sys.exit(3)
    return {
        "nan": float("nan"),
        "inf": (float("inf"), [0.0, 0.0]),
        "nan constraint": (1.0, [float("nan"), 0.0]),
        "none": None,
        "complex": 1j * x[0],
        "text": "mesh error",
        "wrong shape": np.zeros((2, 3)),
        "other constraints": (0.0, [-1.0, -1.0, -1.0]),
    }[kind]


KINDS = (
    "exception",
    "exit",
    "nan",
    "inf",
    "nan constraint",
    "none",
    "complex",
    "text",
    "wrong shape",
    "other constraints",
)


class Faulty:
    """x.x with two constraints; a share of the calls fails, never the first."""

    def __init__(self, share, kinds, seed):
        self.share, self.kinds, self.rng = share, kinds, np.random.default_rng(seed)
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        if self.calls > 1 and self.rng.random() < self.share:
            return fault(self.kinds[self.rng.integers(len(self.kinds))], x)
        return float(x @ x), [1.0 - x[0], x[1] - 2.0]


@pytest.mark.parametrize("trials", [6, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", METHODS)
def test_faulty_runs_end_with_a_point_inside_the_bounds(method, trials):
    rng = np.random.default_rng(METHODS.index(method))
    for trial in range(trials):
        dim, share = int(rng.integers(2, 6)), float(rng.uniform(0.0, 0.9))
        kinds = KINDS if trial % 2 else (KINDS[int(rng.integers(len(KINDS)))],)
        fun = Faulty(share, kinds, trial)
        options = {
            "budget": int(rng.integers(20, 61)),
            "method": Method(method, pop_size=int(rng.integers(6, 13))),
            "seed": trial,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            result = meco.minimize(fun, [(-3, 4)] * dim, on_error=("penalize", "retry")[trial % 2], **options)
        assert np.isfinite(result.x).all()
        assert (result.x >= -3).all()
        assert (result.x <= 4).all()
        assert np.isfinite(result.fun)
        assert fun.calls == result.nfev <= options["budget"]
        made = result.evaluations
        assert_array_equal(result.fun, made.f[~made.failed][np.all(made.x[~made.failed] == result.x, axis=1)][0])


def test_a_function_that_always_fails_still_gives_a_point():
    def fun(x):
        raise RuntimeError("licence expired")

    result = meco.minimize(fun, [(-3, 4)] * 3, method="SHADE-FR", budget=30, seed=1, on_error="penalize")
    assert (result.x >= -3).all()
    assert (result.x <= 4).all()
    assert (result.status, result.success, result.run.nfail) == (2, False, 30)
    assert np.isnan(result.fun)
    assert "No evaluation succeeded" in result.message
    assert "licence expired" in result.message


def test_a_first_wave_that_fails_does_not_decide_the_number_of_constraints():
    calls = []

    def fun(x):
        calls.append(x)
        return float("nan") if len(calls) <= 15 else (float(x @ x), [1.0 - x[0]])

    result = meco.minimize(fun, [(-3, 4)] * 3, method=Method("SHADE-FR", pop_size=10), budget=200, seed=1)
    assert len(calls) == 200
    assert list(result.constraints) == ["g1"]
    assert result.feasible


def test_failed_points_never_win_however_good_they_claim_to_be():
    def fun(x):
        if x[0] > 2:
            return -1e9, [float("nan")]
        return float(x @ x), [1.0 - x[0]]

    result = meco.minimize(fun, [(-3, 4)] * 3, method="SHADE-FR", budget=300, seed=1)
    assert result.fun >= 0
    assert result.x[0] <= 2
    assert np.nanmin(result.trace["f"]) >= 0


def test_failed_points_enter_no_statistic():
    """Whether a failed call returns nan or a huge number makes no difference to the search."""

    def run(bad):
        return meco.minimize(
            lambda x: bad if x[0] > 2 else (float(x @ x), [1.0 - x[0]]),
            [(-3, 4)] * 3,
            method="MeCO-rand",
            budget=300,
            seed=1,
        )

    plain, huge = run(float("nan")), run((float("inf"), [1e300]))
    assert_array_equal(plain.evaluations.x, huge.evaluations.x)
    assert_array_equal(plain.trace["eps"], huge.trace["eps"])


def test_failures_are_counted_by_kind_and_named_when_frequent():
    def fun(x):
        if x[0] > 1:
            raise ValueError("negative volume")
        return (float(x @ x), [0.0, 0.0]) if x[1] < 2 else (float(x @ x), [0.0])

    with pytest.warns(UserWarning, match="1 inequalities and 0 equalities instead of 2 and 0") as caught:
        result = meco.minimize(
            fun, [(-3, 4)] * 3, x0=[0, 0, 0], method=Method("SHADE-FR", pop_size=20), budget=60, seed=1
        )
    assert len([w for w in caught if "instead of" in str(w.message)]) == 1
    assert result.run.nfail == sum(result.run.failures.values()) == result.evaluations.failed.sum()
    assert result.run.failures["raised"] > 0
    assert result.run.failures["mismatch"] > 0
    assert "ValueError: negative volume" in result.message
    assert "another number of constraints" in result.message


def test_named_constraints_are_matched_by_name():
    flip = []

    def fun(x):
        flip.append(0)
        pairs = [("a", 1.0 - x[0]), ("b", x[1] - 2.0)]
        return {"f": float(x @ x), "g": dict(pairs if len(flip) % 2 else pairs[::-1])}

    result = meco.minimize(fun, [(-3, 4)] * 3, method="SHADE-FR", budget=60, seed=1)
    made = result.evaluations
    assert_array_equal(made.g, np.stack([1.0 - made.x[:, 0], made.x[:, 1] - 2.0], axis=1))
    assert list(result.constraints) == ["a", "b"]


def test_raise_stops_at_the_first_failure_with_its_cause():
    calls = []

    def fun(x):
        calls.append(x)
        if len(calls) == 5:
            raise ZeroDivisionError("thickness")
        return float(x @ x)

    with pytest.raises(EvaluationFailed, match=r"evaluation 4 .*thickness") as caught:
        meco.minimize(fun, [(-3, 4)] * 3, method="SHADE-FR", budget=60, seed=1, on_error="raise")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.result.nfev == 4
    assert len(calls) == 5


def medians(method, share, budget, problems):
    """Median final value over seeds for each problem, with a share of the evaluations failing."""
    found = []
    for name in problems:
        problem, rng = meco.get_problem(name, 5), np.random.default_rng(0)

        def formula(x, problem=problem, rng=rng):
            f, g, h = problem.formula(x)
            return np.where(rng.random(f.shape) < share, np.nan, f), g, h

        results = meco.solve(method, replace(problem, formula=formula), budget, seeds=range(9))
        found.append(np.median([r.f - problem.best_known if r.feasible else 1e6 + r.nu for r in results]))
    return np.array(found)


def test_twenty_percent_failures_cost_no_more_than_the_evaluations_they_took():
    problems = ("sphere", "tilted")
    faulty = medians("SHADE-FR", 0.2, 500, problems)
    clean = medians("SHADE-FR", 0.0, 400, problems)
    assert np.median(faulty / clean) <= 1.5


@pytest.mark.slow
def test_twenty_percent_failures_on_ten_problems():
    cec = ("C01", "C02", "C04", "C05", "C13", "C20", "C22", "C23")
    ratios = []
    for names, dim in ((("sphere", "tilted"), 5), (cec, 10)):
        for name in names:
            problem = meco.get_problem(name, dim)
            at = {}
            for share, budget in ((0.2, 50 * dim), (0.0, 40 * dim)):
                final = []
                for seed in range(21):
                    rng = np.random.default_rng(seed)

                    def fun(x, rng=rng, problem=problem, share=share):
                        return float("nan") if rng.random() < share else problem.raw(x)

                    box = list(zip(problem.lower, problem.upper))
                    result = meco.minimize(fun, box, method="SHADE-FR", budget=budget, seed=seed)
                    nu = sum(c.violation for c in result.constraints.values())
                    final.append(result.fun + nu - min(problem.best_known or 0.0, 0.0))
                at[share] = np.median(final)
            ratios.append(at[0.2] / at[0.0])
    assert np.median(ratios) <= 1.5


def sleepy_or_deadly(hang, kill, seed):
    """A function that, in a worker process, may hang or be killed."""

    def fun(x):
        rng = np.random.default_rng([seed, zlib.crc32(x.tobytes())])  # the same in every process
        u = rng.random()
        if u < hang:
            time.sleep(600)
        if u < hang + kill:
            os.kill(os.getpid(), signal.SIGKILL)
        return float(x @ x), [1.0 - x[0]]

    return fun


def hostile_run(seed):
    hang, kill = ((0.1, 0.1), (0.25, 0.0), (0.0, 0.3))[seed % 3]
    result = meco.minimize(
        sleepy_or_deadly(hang, kill, seed),
        [(-3, 4)] * 3,
        method=Method("SHADE-FR", pop_size=8),
        budget=16,
        seed=seed,
        workers=Workers(1 + seed % 3, timeout=0.5),
    )
    assert np.isfinite(result.x).all()
    assert (result.x >= -3).all()
    assert (result.x <= 4).all()
    assert result.nfev == 16
    assert set(result.run.failures) <= {"timeout", "worker_lost"}
    return result


def test_hanging_and_killed_workers_cost_one_evaluation_each():
    found = [hostile_run(seed) for seed in range(3)]
    assert sum(r.run.failures.get("timeout", 0) for r in found) > 0
    assert sum(r.run.failures.get("worker_lost", 0) for r in found) > 0


@pytest.mark.slow
def test_sixty_runs_with_hanging_and_killed_workers():
    for seed in range(60):
        hostile_run(seed)


def test_a_hang_is_ended_by_the_timeout():
    result = meco.minimize(
        lambda x: time.sleep(600) if x[0] > 0 else float(x @ x),
        [(-3, 4)],
        method=Method("SHADE-FR", pop_size=4),
        budget=6,
        workers=Workers(timeout=0.3),
        seed=2,
    )
    assert result.run.failures["timeout"] >= 1  # after ten minutes it would have answered None, which is malformed


def test_a_timeout_also_ends_what_the_function_started(tmp_path, monkeypatch):
    import subprocess

    clock = SimpleNamespace(monotonic=lambda: 100.0 if any(tmp_path.iterdir()) else 0.0, sleep=time.sleep)
    monkeypatch.setattr("meco.run.workers.time", clock)  # time is over when it has started something
    monkeypatch.setattr("meco.run.stop.time", clock)

    def fun(x):
        if x[0] > 0:
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            (tmp_path / str(child.pid)).touch()
            child.wait()
        return float(x @ x)

    one_each = {"x0": [[-1.0], [1.0]], "method": Method("SHADE-FR", pop_size=4), "budget": 2}
    meco.minimize(fun, [(-3, 4)], workers=Workers(timeout=50.0), seed=2, **one_each)
    children = [int(path.name) for path in tmp_path.iterdir()]
    assert children
    until = time.monotonic() + 60
    while any(alive(pid) for pid in children):
        assert time.monotonic() < until, "a child outlives its timeout"
        time.sleep(0.02)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_worker_that_dies_takes_nobody_with_it():
    def fun(x):
        if x[0] > 2:
            os._exit(1)
        return float(x @ x)

    result = meco.minimize(fun, [(-3, 4)] * 2, method=Method("SHADE-FR", pop_size=10), budget=40, workers=2, seed=1)
    made = result.evaluations
    assert_array_equal(made.failed, made.x[:, 0] > 2)
    assert result.run.failures == {"worker_lost": int(made.failed.sum())}
