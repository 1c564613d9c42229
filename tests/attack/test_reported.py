"""What an attack once found, each as the test that would have found it."""

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco.blackbox.answers import Cause, EvaluationFailed, raised
from meco.blackbox.calls import CallJob, Stopping
from meco.blackbox.runfolder import RunFolder
from meco.blackbox.trace_file import read_trace
from meco.blackbox.workers import Executor
from meco.errors import CannotWrite, DamagedFile, InvalidInput, MecoError

BOX = [(-5.0, 5.0)] * 3
posix = pytest.mark.skipif(os.name != "posix", reason="signals, fork and full disks are those of POSIX")


def f_and_g(x):
    return float(x @ x), [1.0 - x[0]]


def run(fun=f_and_g, **options):
    return meco.minimize(fun, BOX, **({"method": "SHADE-FR", "budget": 40, "pop_size": 10, "seed": 1} | options))


# -- right answers ---------------------------------------------------------------------------


def test_what_is_told_is_copied():
    search = meco.Optimizer(BOX, n_ineq=1, n_eq=1, method="SHADE-FR", budget=300, seed=1, pop_size=10)
    x, f, g, h = (np.zeros((10, n)) for n in (3, 1, 1, 1))
    while not search.done:
        asked = search.ask()
        n = len(asked)
        x[:n], f[:n, 0], g[:n], h[:n] = asked, (asked**2).sum(1), 1 - asked[:, :1], 0.0
        search.tell(x[:n], f[:n, 0], g[:n], h[:n])
        for told in (x, f, g, h):
            told[:] = -777.0
    result = search.result
    assert result.fun == float((result.x**2).sum())
    assert result.constr["g1"]["value"] == 1 - result.x[0] <= 0


def test_what_a_function_returns_is_copied():
    shared = np.zeros(1)

    def fun(x):
        shared[0] = 1.0 - x[0]
        return float(x @ x), shared

    made = run(fun).evaluations
    assert_array_equal(made.g[:, 0], 1.0 - made.x[:, 0])


def test_points_bounds_limits_and_known_values_are_copied():
    class Limits:
        lb, ub = np.array([1.0]), np.array([np.inf])
        A = np.array([[1.0, 0.0, 0.0]])

    given = {"x0": np.full((1, 3), 2.0), "evaluated": (np.full((2, 3), 3.0), np.full(2, 27.0), np.full((2, 1), -2.0))}
    box = np.array(BOX)

    def fun(x):
        box[:], given["x0"][:], given["evaluated"][0][:], given["evaluated"][2][:] = 9.0, 9.0, 9.0, 9.0
        Limits.lb[:], Limits.A[:] = 9.0, 9.0
        return float(x @ x)

    result = meco.minimize(fun, box, Limits(), method="SHADE-FR", budget=40, pop_size=10, seed=1, **given)
    made = result.evaluations
    assert (made.x >= -5).all()
    assert (made.x <= 5).all()
    assert_array_equal(made.x[2], [2.0] * 3)
    assert_array_equal(made.x[0], [3.0] * 3)
    assert_array_equal(made.g[:, 0], 1.0 - made.x[:, 0])


def test_a_callback_cannot_change_the_run():
    def spoil(result):
        with pytest.raises(ValueError, match="read-only"):
            result.evaluations.f[:] = -1.0
        result.x[:] = 99.0

    assert_array_equal(run(callback=spoil).evaluations.f, run().evaluations.f)


@pytest.mark.parametrize("later", [(1.0, [-1.0, -1.0]), (1.0, [-1.0], [0.0])])
def test_a_first_answer_without_constraints_decides_nothing(later):
    calls = []

    def fun(x):
        calls.append(0)
        return 1e9 if len(calls) == 1 else later

    result = run(fun)
    assert result.nfail <= 1
    assert result.fun == 1.0
    assert len(result.constr) == sum(map(len, later[1:]))


def test_known_values_and_names_that_contradict_the_answers_are_refused():
    with pytest.raises(InvalidInput, match="evaluated has 0 and 0"):
        run(evaluated=([[1.0, 1.0, 1.0]], [3.0]))
    with pytest.raises(InvalidInput, match="constraint_names has 2"):
        run(constraint_names=["a", "b"])


@posix
def test_a_function_that_forks_answers_once_wherever_it_runs():
    def forks(x):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        return float(x @ x)

    with ThreadPoolExecutor(1) as pool:
        for workers in (1, 2, pool):
            made = run(forks, workers=workers, budget=20).evaluations
            assert_array_equal(made.f, [float(x @ x) for x in made.x])


@posix
def test_a_worker_that_dies_and_leaves_a_child_is_noticed():
    def fun(x):
        if x[0] > 0:
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
            os._exit(3)
        return float(x @ x)

    begun = time.monotonic()
    made = run(fun, workers=2, budget=20).evaluations
    assert time.monotonic() - begun < 50
    assert_array_equal(made.failed, made.x[:, 0] > 0)


def test_an_exception_never_travels_as_code(tmp_path):
    mark = tmp_path / "ran"

    class Trap(Exception):
        def __reduce__(self):
            return os.mkdir, (str(mark),)

    def fun(x):
        raise Trap("no")

    run(fun, budget=10, on_error="penalize")
    if os.name == "posix":
        run(fun, budget=10, workers=2, on_error="penalize")
    answer = pickle.loads(pickle.dumps(raised(Trap("no"))))
    assert not mark.exists()
    assert isinstance(answer.cause, Cause)
    assert answer.cause.error is None
    with pytest.raises(EvaluationFailed) as caught:
        run(fun, on_error="raise")
    assert isinstance(caught.value.__cause__, Trap)


def test_maps_that_lose_or_mix_results_do_not_change_values():
    def mixed(call, jobs):
        return list(map(call, jobs))[::-1]

    assert_array_equal(run(workers=mixed).evaluations.f, run().evaluations.f)
    for broken in (lambda c, j: list(map(c, j))[:-1], lambda c, j: [c(j[0])] * len(j), lambda c, j: [None] * len(j)):
        result = run(workers=broken)
        assert result.stop_reason == "workers"
        made = result.evaluations
        assert_array_equal(made.f, [float(x @ x) for x in made.x])


class Forgetful:
    """An executor that loses every third future."""

    count = 0

    def submit(self, call, *args):
        self.count += 1
        future = Future()
        if self.count % 3:
            future.set_result(call(*args))
        return future


def test_lost_futures_are_bounded_by_a_time(monkeypatch):
    monkeypatch.setattr("meco.blackbox.workers.GRACE", 0.2)
    backend = Executor(Forgetful(), lambda number, points: ([raised(ValueError())] * len(points), 0.0), timeout=0.1)
    found = list(backend.run([CallJob(i, np.zeros((1, 2))) for i in range(6)], Stopping()))
    assert sorted(index for index, *_ in found) == list(range(6))
    assert sum("lost" in answers[0].reason for _, answers, _ in found) == 2


def test_lost_futures_do_not_outlast_max_time():
    begun = time.monotonic()
    result = run(workers=Forgetful(), max_time=1.0)
    assert result.stop_reason == "max_time"
    assert time.monotonic() - begun < 30


# -- ends ------------------------------------------------------------------------------------


class Own(BaseException):
    pass


@pytest.mark.parametrize("error", [GeneratorExit, asyncio.CancelledError, Own, MemoryError])
def test_whatever_ends_a_run_carries_the_result(error, tmp_path):
    calls = []

    def fun(x):
        calls.append(x)
        if len(calls) == 25 and not issubclass(error, Exception):
            raise error
        return f_and_g(x)

    def stop(result):
        if issubclass(error, Exception) and result.nfev >= 20:
            raise error

    with pytest.raises(error) as caught:
        run(fun, callback=stop, checkpoint=tmp_path / "r")
    assert caught.value.result.nfev in (20, 24)
    assert caught.value.result.stop_reason == "error"
    again = run(fun, checkpoint=tmp_path / "r", resume=True)
    assert_array_equal(again.evaluations.x, run().evaluations.x)


@pytest.mark.parametrize("name", ["eval_timeout", "max_time"])
def test_endless_times_are_times(name):
    for seconds in (1e7, 1e9, float("inf")):
        assert run(**{name: seconds}, budget=10).nfev == 10
    for wrong in (float("nan"), -1, "1", True):
        with pytest.raises(InvalidInput, match=name):
            run(**{name: wrong})


def test_a_state_with_another_number_or_budget_is_refused():
    search = meco.Optimizer(BOX, n_ineq=1, method="SHADE-FR", budget=60, pop_size=10, seed=1)
    for _ in range(2):
        x = search.ask()
        search.tell(x, (x**2).sum(1), 1 - x[:, :1])
    state = search.state()
    assert meco.Optimizer.from_state(state).result.nfev == 20
    old = {key: value for key, value in state.items() if key != "sha256"}
    changes = [
        {"number": state["number"] + 1000}, {"number": state["number"][::-1]}, {"number": np.arange(19)},
        {"x": state["x"][:, :2]}, {"f": state["f"][:5]}, {"inputs": state["inputs"].replace("60", "15")},
        {"inputs": state["inputs"].replace('"out": 0', '"out": 99')}, {"inputs": "[" * 100_000}, {"inputs": "{}"},
    ]  # fmt: skip
    for change in changes:
        for before in (state, old):
            with pytest.raises(DamagedFile):
                meco.Optimizer.from_state(before | change)
    with pytest.raises(DamagedFile, match="changed or damaged"):
        meco.Optimizer.from_state(state | {"inputs": state["inputs"].replace("0.0001", "0.001")})


def test_the_callers_error_state_kills_no_engine():
    def huge(x):
        assert np.geterr()["over"] == "raise"
        return 1e308 * (1 if x[0] > 0 else -1), [1e308 * x[0]]

    seen = []
    with np.errstate(all="raise"):
        for method in ("SHADE", "SHADE-FR", "MeCO-rand", "MA-ES", "TR-ES", "COBYQA", "SACOBRA"):
            options = {"method": method, "pop_size": None, "budget": 30}
            assert run(huge, **options, callback=lambda r: seen.append(np.geterr()["over"])).nfev == 30
            assert run(**options).nfev == 30
        meco.solve("SHADE", "tilted", budget=100, seeds=[1])
        search = meco.Optimizer(BOX, method="SHADE", budget=100, seed=1)
        while not search.done:
            x = search.ask()
            search.tell(x, np.full(len(x), 1e308))
    assert set(seen) == {"raise"}


@posix
def test_an_interrupt_in_the_last_moments_keeps_the_result(monkeypatch, tmp_path):
    """The signal comes while files are let go: the result is there already."""
    close, sent = RunFolder.close, []

    def interrupted(self):
        if not sent:
            sent.append(os.kill(os.getpid(), signal.SIGINT))
        close(self)

    monkeypatch.setattr(RunFolder, "close", interrupted)
    assert run(checkpoint=tmp_path / "r").nfev == 40
    assert sent


# -- files -----------------------------------------------------------------------------------


def test_a_relative_folder_stays_where_it_was_when_the_function_moves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()

    def moves(x):
        os.chdir(tmp_path / "elsewhere")
        return f_and_g(x)

    run(moves, checkpoint="r")
    assert (tmp_path / "r" / "result.json").is_file()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_texts_that_are_not_utf8_are_kept(tmp_path):
    def fun(x):
        raise ValueError("\udc80 broken \udcff")

    result = run(fun, checkpoint=tmp_path / "r", on_error="penalize")
    assert result.nfail == 40
    assert "broken" in (tmp_path / "r" / "result.json").read_text()
    assert "broken" in (tmp_path / "r" / "failures.jsonl").read_text()


class FullDisk:
    """os.write that takes only so many bytes to log files, as a full disk does."""

    def __init__(self, room):
        self.room, self.write = room, os.write

    def __call__(self, descriptor, content):
        if self.room < len(content):
            if self.room > 0:
                written, self.room = self.write(descriptor, bytes(content)[: self.room]), 0
                return written
            raise OSError(28, "No space left on device")
        self.room -= len(content)
        return self.write(descriptor, content)


@posix
@pytest.mark.parametrize("room", [50, 150, 300, 333, 700, 1200, 2000])
def test_a_full_disk_gives_an_error_with_the_result_and_a_folder_that_resumes(tmp_path, monkeypatch, room):
    whole = run(lambda x: {"f": float(x @ x), "g": {"left": 1.0 - x[0]}})

    def named(x):
        return {"f": float(x @ x), "g": {"left": 1.0 - x[0]}}

    with monkeypatch.context() as patch:
        patch.setattr("meco.blackbox.log_file.PATIENCE", -1.0)  # every record at once
        patch.setattr("meco.blackbox.log_file.os.write", FullDisk(room))
        with pytest.raises(CannotWrite, match="No space left") as caught:
            run(named, checkpoint=tmp_path / "r")
    assert str(tmp_path / "r") in str(caught.value)
    if caught.value.result is not None:  # the very first bytes may be what did not fit
        assert caught.value.result.nfev <= 40
    again = run(named, checkpoint=tmp_path / "r", resume=True)  # the lock is free
    assert_array_equal(again.evaluations.x, whole.evaluations.x)
    assert_array_equal(again.evaluations.g, whole.evaluations.g)
    assert list(again.constr) == ["left"]


def test_a_file_where_a_folder_should_be_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(MecoError, match="file"):
        run(checkpoint=tmp_path / "file")
    with pytest.raises(InvalidInput, match="checkpoint"):
        run(checkpoint=7)


@posix
def test_children_of_a_command_end_with_a_killed_parent(tmp_path):
    program = tmp_path / "sim"
    program.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nsleep 300\n")
    program.chmod(0o755)
    line = [sys.executable, "-m", "meco", "solve", "--command", f"{program} {{input}} {{output}}", "--bounds", "0,1"]
    process = subprocess.Popen([*line, "--budget", "5", "--quiet"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    child = int((tmp_path / "pid").read_text())
    process.kill()
    process.wait()
    wait_for(lambda: not alive(child))


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.05)


def test_callbacks_do_not_make_a_run_quadratic():
    """Seconds for each of the last callbacks against each of the first: a generous bound, the machine may be busy."""
    times = []

    def look(result):
        times.append(time.perf_counter())
        assert result.nfev == len(result.evaluations)

    run(budget=20_000, callback=look, method="SHADE")
    steps = np.diff(times)
    assert np.median(steps[-300:]) < 3 * np.median(steps[:300])


def test_a_spoilt_trace_is_only_less_to_look_at(tmp_path):
    run(checkpoint=tmp_path / "r")
    file = tmp_path / "r" / "trace.jsonl"
    whole = file.read_text() if file.exists() else ""
    wrong = [
        "[" * 5000,
        '{"nfev": 1, "delta": "x"}',
        '{"nfev": true}',
        "{}",
        '{"nfev": ' + "9" * 5000 + "}",
        "\x00",
        "7",
    ]
    file.write_text(whole + "\n".join(wrong) + "\n")
    assert len(read_trace(file)) == len(whole.splitlines())
    assert run(checkpoint=tmp_path / "r", resume=True).nfev == 40
