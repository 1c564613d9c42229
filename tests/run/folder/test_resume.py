"""A run folder: nothing evaluated is lost, and a killed run goes on bit for bit."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meco.run.folder.reader import load_run
from meco.run.log.evaluation_log import Entry
from meco.run.log.log_file import HEADER, Encoder, read_log, write_log
from numpy.testing import assert_array_equal

import meco
from interruption import broken_off, pass_for
from meco import Checkpoint, Method, Tolerances
from meco.errors import DamagedFile, InvalidInput
from meco.run.answer import Fault

BOX = [(-5.0, 5.0)] * 3
SIZE = 10  # of a generation
OPTIONS = {"method": Method("SHADE-FR", pop_size=SIZE), "budget": 120, "seed": 4}


def fun(x):
    if x[1] > 4:
        raise ValueError("no mesh")
    return float(x @ x), {"reach": 1.0 - x[0], "height": x[1] - 3.0}, [x[0] - x[2]]


def same(a, b):
    """Whether two results hold the same evaluations and the same answer, to the last bit."""
    for key in ("x", "f", "g", "h", "failed", "attempt"):
        assert_array_equal(getattr(a.evaluations, key), getattr(b.evaluations, key))
    assert_array_equal(a.x, b.x)
    assert (a.nfev, a.run.nfail, a.constraints) == (b.nfev, b.run.nfail, b.constraints)
    for key in a.trace:
        assert_array_equal(a.trace[key], b.trace[key])


def interrupted_run(folder, after, **options):
    """Run until the function has been called `after` times, then break off in the middle."""
    return meco.minimize(broken_off(fun, after), BOX, checkpoint=folder, **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def whole():
    """The run that nobody interrupts."""
    return meco.minimize(fun, BOX, **OPTIONS)


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    """The folder of a run that was interrupted after 80 evaluations: to be copied."""
    folder = tmp_path_factory.mktemp("cut") / "run"
    assert interrupted_run(folder, 80).nfev == 80
    return folder


def test_a_checkpoint_changes_nothing(tmp_path, whole):
    same(meco.minimize(fun, BOX, checkpoint=tmp_path / "run", **OPTIONS), whole)


MOMENTS = (0, 1, 9, 10, 11, 57, 119)


@pytest.mark.parametrize(
    ("method", "after"),
    [
        *(("SHADE-FR", n) for n in MOMENTS),
        *((m, 57) for m in ("MeCO-rand", "MA-ES", "COBYQA")),
        *(pytest.param(m, n, marks=pytest.mark.slow) for m in ("MeCO-rand", "MA-ES") for n in MOMENTS if n != 57),
    ],
)
def test_an_interrupted_run_goes_on_bit_for_bit(tmp_path, method, after):
    change = {"method": method if method == "COBYQA" else Method(method, pop_size=SIZE)}
    whole = meco.minimize(fun, BOX, **{**OPTIONS, **change})
    part = interrupted_run(tmp_path / "run", after, **change)
    assert (part.run.stop_reason, part.nfev) == ("interrupt", after)
    assert np.isfinite(part.x).all()
    calls = []

    def counted(x):
        calls.append(x)
        return fun(x)

    pass_for(fun, counted)
    resumed = meco.minimize(counted, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **{**OPTIONS, **change})
    same(resumed, whole)
    assert len(calls) == 120 - after


@pytest.mark.parametrize("after", [0, 5, 47])
def test_known_points_and_starting_points_are_resumed_with_the_run(tmp_path, after):
    known = np.random.default_rng(3).uniform(-5, 4, (15, 3))
    f, g, h = (
        (known * known).sum(axis=1),
        np.stack([1.0 - known[:, 0], known[:, 1] - 3.0], axis=1),
        known[:, :1] - known[:, 2:],
    )
    more = {"evaluated": (known, f, g, h), "x0": [0.1, 0.2, 0.3]}
    whole = meco.minimize(fun, BOX, **more, **OPTIONS)
    interrupted_run(tmp_path / "run", after, **more)
    resumed = meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **more, **OPTIONS)
    same(resumed, whole)
    assert list(resumed.constraints) == ["reach", "height", "h1"]
    _, log, damaged = load_run(tmp_path / "run")
    assert (len(log), log.counts, damaged) == (120, (2, 1), 0)


def test_a_run_interrupted_again_and_again_ends_the_same(tmp_path):
    whole = meco.minimize(fun, BOX, on_error="retry", **OPTIONS)
    folder = tmp_path / "run"
    interrupted_run(folder, 17, on_error="retry")
    for _ in range(3):
        interrupted_run(Checkpoint(folder, resume=True), 23, on_error="retry")
    same(meco.minimize(fun, BOX, checkpoint=Checkpoint(folder, resume=True), on_error="retry", **OPTIONS), whole)


def test_a_finished_run_is_given_back_without_a_call(tmp_path):
    whole = meco.minimize(fun, BOX, checkpoint=tmp_path / "run", **OPTIONS)

    def never(x):
        raise AssertionError("called")

    pass_for(fun, never)
    same(meco.minimize(never, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **OPTIONS), whole)


def test_the_finished_log_is_the_same_file_whoever_made_it(tmp_path):
    meco.minimize(fun, BOX, checkpoint=tmp_path / "a", **OPTIONS)
    meco.minimize(fun, BOX, checkpoint=tmp_path / "b", workers=3, **OPTIONS)
    interrupted_run(tmp_path / "c", 44)
    meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "c", resume=True), workers=2, **OPTIONS)
    logs = [(tmp_path / name / "evals.bin").read_bytes() for name in "abc"]
    assert logs[0] == logs[1] == logs[2]


def test_the_seed_of_a_resumed_run_is_that_of_the_folder(tmp_path):
    options = {**OPTIONS, "seed": None}
    part = interrupted_run(tmp_path / "run", 30, seed=None)
    resumed = meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **options)
    assert resumed.run.seed == part.run.seed
    same(resumed, meco.minimize(fun, BOX, **{**options, "seed": part.run.seed}))


def test_a_folder_of_another_run_is_refused(tmp_path):
    interrupted_run(tmp_path / "run", 30)
    for change, named in (
        ({"budget": 50}, "budget"),
        ({"seed": 5}, "seed"),
        ({"method": Method("SHADE", pop_size=SIZE)}, "method"),
        ({"method": Method("SHADE-FR", pop_size=11)}, "options"),
        ({"tolerances": Tolerances(eq=1e-3)}, "tolerances"),
        ({"x0": [0, 0, 0]}, "x0"),
        ({"on_error": "retry"}, "on_error"),
    ):
        with pytest.raises(InvalidInput, match=f"another problem or set-up: its {named}"):
            meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **{**OPTIONS, **change})
    with pytest.raises(InvalidInput, match="its variables differ: x1 is -5 to 5, here it is -4 to 5; use the same"):
        meco.minimize(fun, [(-4.0, 5.0)] * 3, checkpoint=Checkpoint(tmp_path / "run", resume=True), **OPTIONS)
    with pytest.raises(InvalidInput, match="its fun"):
        meco.minimize(lambda x: x @ x, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **OPTIONS)


def test_a_folder_of_another_version_is_refused(tmp_path, monkeypatch):
    interrupted_run(tmp_path / "run", 30)
    monkeypatch.setattr(meco, "__version__", "99.0")
    with pytest.raises(InvalidInput, match=r"made by meco .*cannot continue"):
        meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **OPTIONS)


def test_a_folder_in_use_is_not_overwritten(tmp_path):
    meco.minimize(fun, BOX, checkpoint=tmp_path / "run", **OPTIONS)
    with pytest.raises(InvalidInput, match="resume=True"):
        meco.minimize(fun, BOX, checkpoint=tmp_path / "run", **OPTIONS)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(InvalidInput, match="other files"):
        meco.minimize(fun, BOX, checkpoint=tmp_path / "other", **OPTIONS)


def test_a_search_that_departs_from_the_log_is_refused(tmp_path):
    interrupted_run(tmp_path / "run", 60)
    entries = read_log(tmp_path / "run" / "evals.bin").entries
    moved = [e._replace(x=e.x + 0.5) if e.number == 33 else e for e in entries]
    write_log(tmp_path / "run" / "evals.bin", moved)
    with pytest.raises(InvalidInput, match=r"evaluation 33 .*evaluated="):
        meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **OPTIONS)


def test_a_run_file_that_is_not_one_is_named(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(DamagedFile, match=r"run\.json"):
        meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path, resume=True), **OPTIONS)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_damaged_tail_costs_only_the_damaged_records_and_says_so(tmp_path_factory, whole, cut, data):
    folder = tmp_path_factory.mktemp("damage") / "run"
    shutil.copytree(cut, folder)
    log = folder / "evals.bin"
    content = bytearray(log.read_bytes())
    encode = Encoder()
    ends = np.cumsum([len(HEADER), *(len(encode(entry)) for entry in read_log(log).entries)])
    assert (len(ends), ends[-1]) == (81, len(content))
    if data.draw(st.booleans(), label="truncate"):
        cut = data.draw(st.integers(ends[40], ends[80] - 1).filter(lambda n: n not in ends), label="bytes kept")
        content = content[:cut]
        lost = int(np.sum(ends > cut))
    else:
        places = data.draw(st.lists(st.integers(ends[40], ends[80] - 1), min_size=1, max_size=5, unique=True))
        for place in places:
            content[place] ^= 1 << data.draw(st.integers(0, 7))
        lost = len({int(np.sum(ends <= place)) for place in places})
    log.write_bytes(content)
    calls = []

    def counted(x):
        calls.append(x)
        return fun(x)

    pass_for(fun, counted)
    resumed = meco.minimize(counted, BOX, checkpoint=Checkpoint(folder, resume=True), **OPTIONS)
    same(resumed, whole)
    assert len(calls) == 40 + lost
    assert "was damaged" in resumed.message
    assert f"{80 - lost} are intact" in resumed.message


def test_a_damaged_header_is_repaired(tmp_path, whole, cut):
    shutil.copytree(cut, tmp_path / "run")
    log = tmp_path / "run" / "evals.bin"
    content = bytearray(log.read_bytes())
    content[13] ^= 8
    log.write_bytes(content)
    resumed = meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **OPTIONS)
    same(resumed, whole)
    assert "80 are intact" in resumed.message


@given(st.integers(0, 2**63), st.integers(0, 2**31), st.integers(0, 6), st.lists(st.floats(), min_size=7, max_size=7))
def test_a_record_is_read_back_to_the_last_bit(tmp_path_factory, number, batch, fault, values):
    x, g, h = np.array(values[:3]), np.array(values[4:6]), np.array(values[6:])
    entry = Entry(number, batch, 1, Fault(fault), x, values[3], g, h, ("a", "\ud800 b"), ("",))
    path = tmp_path_factory.mktemp("log") / "evals.bin"
    write_log(path, [entry, entry._replace(number=1 + number, g_names=("", ""))])
    back, other = read_log(path).entries
    assert (back.number, back.batch, back.attempt, back.fault) == (number, batch, 1, fault)
    assert (back.g_names[0], back.h_names, other.g_names, other.h_names) == ("a", ("",), ("", ""), ("",))
    assert np.array(values).tobytes() == np.array([*back.x, back.f, *back.g, *back.h]).tobytes()


@given(st.data())
def test_any_flipped_bit_of_a_record_is_noticed_and_harms_no_other(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("log") / "evals.bin"
    entries = [Entry(n, 1, 0, Fault.NONE, np.ones(3), 2.0, np.zeros(n), np.zeros(1), ("",) * n) for n in range(3)]
    write_log(path, entries)
    content, encode = bytearray(path.read_bytes()), Encoder()
    sizes = [len(encode(entry)) for entry in entries]
    bit = data.draw(st.integers(8 * sizes[0], 8 * sum(sizes[:2]) - 1))
    content[len(HEADER) + bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    reading = read_log(path)
    assert [e.number for e in reading.entries] == [0, 2]
    assert reading.damaged >= 1


def test_failures_before_the_number_of_constraints_is_known_are_logged_too(tmp_path):
    calls = []

    def late(x):
        calls.append(x)
        if len(calls) <= 15:
            raise RuntimeError("warming up")
        if len(calls) == 40:
            raise KeyboardInterrupt
        return fun(x)

    late.__qualname__ = "late"
    meco.minimize(late, BOX, checkpoint=tmp_path / "run", on_error="penalize", **OPTIONS)
    reading = read_log(tmp_path / "run" / "evals.bin")
    assert {e.g_names for e in reading.entries} == {(), ("reach", "height")}
    assert sorted(e.number for e in reading.entries) == list(range(39))
    reasons = [json.loads(line) for line in (tmp_path / "run" / "failures.jsonl").read_text().splitlines()]
    assert reasons[0] == {"number": 0, "fault": "raised", "reason": "RuntimeError: warming up"}


def test_wall_times_lie_beside_the_log(tmp_path):
    meco.minimize(fun, BOX, checkpoint=tmp_path / "run", **OPTIONS)
    times = np.frombuffer((tmp_path / "run" / "times.bin").read_bytes(), dtype="<u8,<f8,<f8")
    assert_array_equal(np.sort(times["f0"]), np.arange(120))
    assert (times["f2"] >= 0).all()


def test_a_stale_lock_never_blocks(tmp_path):
    interrupted_run(tmp_path / "run", 30)
    (tmp_path / "run" / "lock").write_text("999999\n")
    assert meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **OPTIONS).nfev == 120


def test_a_folder_that_another_process_writes_to_is_refused(tmp_path):
    ready = tmp_path / "ready"
    script = textwrap.dedent(f"""
        import pathlib, time
        from meco.files.lock import Lock
        held = Lock(pathlib.Path({str(tmp_path / "run" / "lock")!r}))
        pathlib.Path({str(ready)!r}).touch()
        time.sleep(600)
    """)
    interrupted_run(tmp_path / "run", 30)
    holder = subprocess.Popen([sys.executable, "-c", script])
    try:
        while not ready.exists():
            assert holder.poll() is None
            time.sleep(0.02)
        with pytest.raises(InvalidInput, match=f"in use by process {holder.pid}"):
            meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **OPTIONS)
    finally:
        holder.kill()
        holder.wait()
    assert meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **OPTIONS).nfev == 120


def test_a_run_folder_serves_as_known_points(tmp_path):
    first = meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", fsync=True), **OPTIONS)
    more = meco.minimize(fun, BOX, evaluated=tmp_path / "run", **{**OPTIONS, "budget": 50, "seed": 9})
    assert more.evaluations.known.sum() == (~first.evaluations.failed).sum()
    assert more.nfev == 50
