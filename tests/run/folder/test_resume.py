"""A run folder: nothing evaluated is lost, and a killed run goes on bit for bit."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import meco
from event_logs import what_happened
from interruption import broken_off, pass_for
from meco import Checkpoint, Method, Tolerances
from meco.errors import DamagedFile, InvalidInput
from meco.run.answer import Answer, Fault
from meco.run.log import FILE_NAME, decode, decode_answer, encode, encode_answer, read_events
from meco.run.recorded import read_recorded

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
    answers = read_recorded(tmp_path / "run").answers
    assert (len(answers), answers.counts) == (120, (2, 1))


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


def test_what_happened_is_the_same_whoever_made_it(tmp_path):
    meco.minimize(fun, BOX, checkpoint=tmp_path / "a", **OPTIONS)
    interrupted_run(tmp_path / "c", 44)
    meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "c", resume=True), **OPTIONS)
    assert what_happened(tmp_path / "a") == what_happened(tmp_path / "c")
    meco.minimize(fun, BOX, checkpoint=tmp_path / "b", workers=3, **OPTIONS)
    assert sorted(what_happened(tmp_path / "a"), key=str) == sorted(what_happened(tmp_path / "b"), key=str)


def test_the_seed_of_a_resumed_run_is_that_of_the_folder(tmp_path):
    options = {**OPTIONS, "seed": None}
    part = interrupted_run(tmp_path / "run", 30, seed=None)
    resumed = meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **options)
    assert resumed.run.seed == part.run.seed
    same(resumed, meco.minimize(fun, BOX, **{**options, "seed": part.run.seed}))


def test_a_folder_of_another_run_is_refused(tmp_path):
    interrupted_run(tmp_path / "run", 30)
    for change, named in (
        ({"seed": 5}, "seed"),
        ({"method": Method("SHADE", pop_size=SIZE)}, "method"),
        ({"method": Method("SHADE-FR", pop_size=11)}, "options"),
        ({"tolerances": Tolerances(eq=1e-3)}, "tolerances"),
        ({"x0": [0, 0, 0]}, "x0"),
        ({"on_error": "retry"}, "on_error"),
    ):
        with pytest.raises(InvalidInput, match=f"another problem or set-up: its {named}"):
            meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **{**OPTIONS, **change})
    with pytest.raises(InvalidInput, match="has a budget of 120; it can be raised, not lowered"):
        meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **{**OPTIONS, "budget": 50})
    with pytest.raises(InvalidInput, match="its variables differ: x1 is -5 to 5, here it is -4 to 5; use the same"):
        meco.minimize(fun, [(-4.0, 5.0)] * 3, checkpoint=Checkpoint(tmp_path / "run", resume=True), **OPTIONS)
    with pytest.raises(InvalidInput, match="its fun"):
        meco.minimize(lambda x: x @ x, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **OPTIONS)


def test_a_folder_of_another_version_goes_on(tmp_path, monkeypatch, whole):
    interrupted_run(tmp_path / "run", 30)
    monkeypatch.setattr(meco, "__version__", "99.0")
    same(meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **OPTIONS), whole)


def test_a_changed_source_is_noted_and_nothing_is_called_again(tmp_path):
    interrupted_run(tmp_path / "run", 30)
    calls = []

    def changed(x):
        calls.append(x)
        return fun(x)

    changed.__qualname__ = "fun"
    result = meco.minimize(changed, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **OPTIONS)
    assert len(calls) == 90
    assert "the source of fun is not that of the recorded answers" in "".join(result.run.notes)


def test_a_folder_in_use_is_not_overwritten(tmp_path):
    meco.minimize(fun, BOX, checkpoint=tmp_path / "run", **OPTIONS)
    with pytest.raises(InvalidInput, match="resume=True"):
        meco.minimize(fun, BOX, checkpoint=tmp_path / "run", **OPTIONS)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(InvalidInput, match="other files"):
        meco.minimize(fun, BOX, checkpoint=tmp_path / "other", **OPTIONS)


def test_a_log_without_its_beginning_is_named(tmp_path):
    (tmp_path / FILE_NAME).write_bytes(encode(["ask", 0, [1.0], None]))
    with pytest.raises(DamagedFile, match="does not begin with the inputs of a run"):
        meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path, resume=True), **OPTIONS)


def test_a_folder_of_an_earlier_release_is_refused_with_advice(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InvalidInput, match="cannot be resumed: start a new run in another folder with evaluated="):
        meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path, resume=True), **OPTIONS)


@pytest.mark.parametrize("kept", [0.3, 0.5, 0.99])
def test_a_torn_last_line_costs_that_line_alone(tmp_path, whole, cut, kept):
    shutil.copytree(cut, tmp_path / "run")
    log = tmp_path / "run" / FILE_NAME
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-1]) + lines[-1][: int(kept * len(lines[-1]))])
    same(meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **OPTIONS), whole)


@given(data=st.data())
def test_a_damaged_line_is_named_by_its_number(tmp_path_factory, cut, data):
    folder = tmp_path_factory.mktemp("damage") / "run"
    shutil.copytree(cut, folder)
    log = folder / FILE_NAME
    lines = log.read_bytes().splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines) - 2), label="line")
    line = bytearray(lines[at])
    place = data.draw(st.integers(0, len(line) - 2), label="place")
    line[place] ^= 1 << data.draw(st.integers(0, 6))
    changed = bytes(line)
    log.write_bytes(b"".join([*lines[:at], changed, *lines[at + 1 :]]))
    before = log.read_bytes()
    with pytest.raises(DamagedFile, match=rf"line {at + 1} is damaged"):
        meco.minimize(fun, BOX, checkpoint=Checkpoint(folder, resume=True), **OPTIONS)
    assert log.read_bytes() == before


@given(st.lists(st.floats(), min_size=6, max_size=6), st.sampled_from(list(Fault)), st.text())
def test_an_answer_is_read_back_to_the_last_bit(values, fault, reason):
    names = (("a", "\ud800 b"), ("",))
    answer = Answer(values[0], np.array(values[1:3]), np.array(values[3:4]), *names, fault, reason, None, "there")
    answer = answer._replace(se=np.abs(np.nan_to_num(values[2:6])))
    line = encode(["tell", 0, 0.5, *encode_answer(answer)])
    back = decode_answer(decode(line[:-1])[3:])
    for one, other in zip(answer, back):
        if isinstance(one, np.ndarray):
            assert_array_equal(one, other)
        else:
            assert one == other or one != one


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
    events = read_events(tmp_path / "run" / FILE_NAME)[0]
    told = {event[1]: event for event in events if event[0] == "tell"}
    assert sorted(told) == list(range(39))
    assert told[0][3:5] == [int(Fault.RAISED), "RuntimeError: warming up"]
    assert told[38][8] == [["reach", "height"], [""]]


def test_seconds_are_logged_with_the_answers(tmp_path):
    meco.minimize(fun, BOX, checkpoint=tmp_path / "run", **OPTIONS)
    seconds = read_recorded(tmp_path / "run").seconds
    assert sorted(seconds) == list(range(120))
    assert all(value >= 0 for value in seconds.values())


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
