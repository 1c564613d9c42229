"""A run that goes on from its state: bit for bit as if it had never stopped, and without doing anything twice."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meco.run.folder.search_state import unpack_state
from meco.run.log.answer_digest import AnswerDigest
from meco.run.log.log_file import read_log
from numpy.testing import assert_array_equal

import meco
from interruption import broken_off
from meco import Checkpoint, Method, Stop, Variable, Workers
from meco.core.capabilities import SavedState
from meco.core.memory import DoesNotFit, capture_state, flatten_state, restore_state
from meco.core.streams import Streams
from meco.engines.de.shade import Shade
from meco.method_record import as_method_record
from meco.methods import DEFAULT, build_engine
from meco.rules import StaticPenalty
from meco.run.folder import resume
from meco.run.folder import run_folder as runfolder
from meco.run.request import make_request
from meco.tr import model_fit

BOX = [(-5.0, 5.0)] * 3
SAVED = ["TR", "TR-ES", "MeCO-TR", "SHADE", "MA-ES", "MeCO", "C2oDE", "COLSHADE", "MDE-CGO"]  # a class each
INTEGER = [Variable(-5, 5, integer=True), Variable(-5, 5), Variable(-5, 5, integer=True)]
CHANGES = ["integers", "sized", "retry"]


def fun(x):
    if x[1] > 3.5:
        raise ValueError("no mesh")
    f = float(x @ x) + np.sin(5.0 * x[0])
    return f if x[2] < 4.9 else np.nan, {"reach": 1.0 - x[0], "height": x[1] - 3.0}, [x[0] - x[2]]


def same(a, b):
    for key in ("x", "f", "g", "h", "failed", "attempt"):
        assert_array_equal(getattr(a.evaluations, key), getattr(b.evaluations, key))
    assert_array_equal(a.x, b.x)
    assert (a.nfev, a.run.nfail, a.nit, a.constraints, a.run.starts) == (
        b.nfev,
        b.run.nfail,
        b.nit,
        b.constraints,
        b.run.starts,
    )
    assert a.trace.keys() == b.trace.keys()
    for key in a.trace:
        assert_array_equal(a.trace[key], b.trace[key])


def cut_off(folder, after, bounds=BOX, **options):
    """A run that ends in the middle of a call."""
    return meco.minimize(broken_off(fun, after), bounds, checkpoint=folder, **options)


def changed(method, change, budget):
    """Options of a run, one of which is not what it usually is."""
    size = None if "TR" in method else 8 if change == "sized" else 12
    options = {"method": Method(method, pop_size=size), "budget": budget, "seed": 5}
    options |= {"bounds": INTEGER if change == "integers" else BOX}
    options |= {"workers": Workers(batch=4)} if change == "sized" and size is None else {}
    return options | ({"on_error": "retry"} if change == "retry" else {})


@pytest.fixture
def often(monkeypatch):
    """A state after every generation, and how many answers the resumed searches began with."""
    monkeypatch.setattr(runfolder, "STATE_COST_FACTOR", 0)
    found, resumed = [], resume.resume_search

    def watched(session, content):
        back = resumed(session, content)
        if session.folder.recorded:  # of a new run there is nothing to resume
            found.append(0 if back is None else len(back[0]))
        return back

    monkeypatch.setattr(resume, "resume_search", watched)
    return found


def go_on_from_states(tmp_path, method, change, often, kills, budget):
    """Kill a run, resume it, and compare with one that was left alone."""
    options = changed(method, change, budget)
    draw = np.random.default_rng(len(method) + len(change))
    whole = meco.minimize(fun, **options)
    for k in range(kills):
        after = int(draw.integers(budget // 2 + 5, budget - 1))
        cut_off(tmp_path / str(k), after, **options)
        same(meco.minimize(fun, checkpoint=Checkpoint(tmp_path / str(k), resume=True), **options), whole)
        assert len(often) == k + 1
        assert after - budget // 2 <= often[-1] <= after  # all but the generation that was under way


@pytest.mark.parametrize(
    ("method", "change"), [*((m, "") for m in SAVED[1:]), *((m, c) for m in ("TR-ES", "SHADE") for c in CHANGES)]
)  # TR-ES has all of TR
def test_a_run_goes_on_from_its_state_bit_for_bit(tmp_path, method, change, often):
    budget = 30 if "TR" in method else 80  # some of the others tell three populations at a time
    go_on_from_states(tmp_path, method, change, often, kills=1, budget=budget)


@pytest.mark.slow
@pytest.mark.parametrize("method", [*SAVED, "MeCO-rand"])
@pytest.mark.parametrize("change", ["", *CHANGES])
def test_a_run_goes_on_from_its_state_at_whichever_moment(tmp_path, method, change, often):
    budget = 160 if method == "C2oDE" else 80  # it tells three populations at a time, more than half of 80
    go_on_from_states(tmp_path, method, change, often, kills=3, budget=budget)


@pytest.mark.parametrize("method", [DEFAULT, Method("SHADE", pop_size=8)])
def test_a_run_cut_off_again_and_again_ends_the_same(tmp_path, method, often):
    options = {"method": method, "budget": 30, "seed": 2}
    for after in (12, 4, 6):
        cut_off(Checkpoint(tmp_path / "run", resume=True), after, **options)
    same(
        meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **options),
        meco.minimize(fun, BOX, **options),
    )
    assert often[-1] >= 16


@pytest.mark.parametrize("method", [DEFAULT, Method("SHADE-FR", pop_size=12)])
def test_known_points_are_told_once_in_all(tmp_path, method, often):
    known = np.random.default_rng(3).integers(-5, 4, (30, 3)).astype(float)
    values = [fun(x) for x in np.where(known > 3.5, 0.0, known)]
    evaluated = (known, [v[0] for v in values], [list(v[1].values()) for v in values], [v[2] for v in values])
    integer = [Variable(-5, 5, integer=True)] * 3
    options = {"bounds": integer, "method": method, "budget": 50, "seed": 1, "evaluated": evaluated, "x0": [1, 1, 1]}
    cut_off(tmp_path / "run", 30, **options)
    same(
        meco.minimize(fun, checkpoint=Checkpoint(tmp_path / "run", resume=True), **options),
        meco.minimize(fun, **options),
    )
    assert often[-1] > 0


@pytest.mark.parametrize(("method", "batch"), [(DEFAULT, 1), ("TR-ES", 4)])
def test_no_model_is_fitted_again_for_what_the_state_covers(tmp_path, monkeypatch, method, batch, often):
    fits, fit = [], model_fit.least_change
    monkeypatch.setattr(model_fit, "least_change", lambda *args: fits.append(1) or fit(*args))
    options = {"method": method, "budget": 28, "seed": 3, "workers": Workers(batch=batch)}
    meco.minimize(fun, BOX, **options)
    whole, fits[:] = len(fits), []
    cut_off(tmp_path / "run", 19, **options)
    before, fits[:] = len(fits), []
    meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **options)
    assert before + len(fits) == whole + 1  # the step under way is made once more
    fits[:] = []
    meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **options)
    assert fits == []  # a finished run is given back as it is


@settings(max_examples=15, deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 8))
def test_a_damaged_state_is_not_used(tmp_path_factory, place, bit):
    folder = tmp_path_factory.mktemp("run") / "run"
    options = {"method": Method("SHADE", pop_size=6), "budget": 40, "seed": 1}
    cut_off(folder, 30, **options)
    content = bytearray((folder / "state.bin").read_bytes())
    at = int(place * len(content))
    if bit == 8:
        del content[at:]
    else:
        content[at] ^= 1 << bit
    (folder / "state.bin").write_bytes(content)
    assert unpack_state(bytes(content)) is None
    same(
        meco.minimize(fun, BOX, checkpoint=Checkpoint(folder, resume=True), **options),
        meco.minimize(fun, BOX, **options),
    )


TOLD_A_LIE = {"method": "TR", "budget": 20, "seed": 1}


@pytest.fixture(scope="module")
def cut_and_whole(tmp_path_factory):
    """The folder of a run that was cut off after 14 evaluations, and the run as it is when nobody cuts it off."""
    folder = tmp_path_factory.mktemp("cut") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runfolder, "STATE_COST_FACTOR", 0)
        cut_off(folder, 14, **TOLD_A_LIE)
    return folder, meco.minimize(fun, BOX, **TOLD_A_LIE)


@pytest.mark.parametrize("lie", ["name", "shape", "type", "missing", "covered", "answers", "fingerprint", "trace"])
def test_a_state_that_does_not_fit_is_not_used(tmp_path, cut_and_whole, lie, often):
    cut, whole = cut_and_whole
    shutil.copytree(cut, tmp_path / "run")
    place = tmp_path / "run" / "state.bin"
    state = unpack_state(place.read_bytes())
    name = "engine.state.region.centre"
    record = dict(state.record)
    if lie == "name":
        record["engine.more"] = np.zeros(1)
    elif lie == "shape":
        record[name] = record[name][:, :2]
    elif lie == "type":
        record[name] = record[name].astype(np.int64)
    elif lie == "missing":
        del record[name]
    elif lie == "trace":
        record["trace.delta"] = record["trace.delta"][:-1]
    state = state._replace(record=record)
    changes = {"covered": 4000, "answers": "0" * 64, "fingerprint": "0" * 64}
    if lie in changes:
        state = state._replace(**{lie: changes[lie]})
    place.write_bytes(state.to_bytes())
    same(meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **TOLD_A_LIE), whole)
    assert sum(often) == 0


def test_a_run_whose_state_was_refused_notes_what_it_was_told_itself(tmp_path, monkeypatch, often):
    options = {"method": "TR", "budget": 20, "seed": 1}
    cut_off(tmp_path / "run", 14, **options)
    place = tmp_path / "run" / "state.bin"
    place.write_bytes(unpack_state(place.read_bytes())._replace(answers="0" * 64).to_bytes())
    noted, write = [], runfolder.write_bytes
    monkeypatch.setattr(runfolder, "write_bytes", lambda path, content: noted.append(content) or write(path, content))
    meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **options)
    entries = {entry.number: entry for entry in read_log(tmp_path / "run" / "evals.bin").entries}
    states = [unpack_state(content) for content in noted]
    assert min(state.covered for state in states) < 14  # on the way to where it was cut off
    assert [state.answers for state in states] == [
        AnswerDigest().digest_first(entries, state.covered) for state in states
    ]


def test_a_state_of_other_answers_is_not_used(tmp_path, often):
    options = {"method": "TR", "budget": 20, "seed": 1}
    cut_off(tmp_path / "long", 17, **options)
    cut_off(tmp_path / "short", 11, **options)
    (tmp_path / "short" / "state.bin").write_bytes((tmp_path / "long" / "state.bin").read_bytes())
    same(
        meco.minimize(fun, BOX, checkpoint=Checkpoint(tmp_path / "short", resume=True), **options),
        meco.minimize(fun, BOX, **options),
    )
    assert often == [0]


def test_a_target_that_an_earlier_answer_meets_ends_the_resumed_run_there(tmp_path, often):
    options = {"method": DEFAULT, "budget": 30, "seed": 1}
    whole = meco.minimize(fun, BOX, **options)
    cut_off(tmp_path / "run", 27, **options)
    target = float(whole.trace["f"][15])
    resumed = meco.minimize(
        fun, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), stop=Stop(target=target), **options
    )
    assert resumed.run.stop_reason == "target"
    assert resumed.nfev == meco.minimize(fun, BOX, stop=Stop(target=target), **options).nfev < 27


def test_the_states_of_a_run_cost_little(tmp_path, monkeypatch):
    written, write = [], runfolder.write_bytes
    monkeypatch.setattr(runfolder, "write_bytes", lambda *args: written.append(args[0].name) or write(*args))
    clock = iter(np.arange(0.0, 1e6, 0.5))  # each look at the clock takes half a second
    monkeypatch.setattr(runfolder.time, "monotonic", lambda: float(next(clock)))
    request = make_request([(0.0, 1.0)], budget=9, method="SHADE", seed=1)
    folder = runfolder.RunFolder.open(Checkpoint(tmp_path / "run"), request.describe_inputs())
    for _ in range(1000):
        folder.save_generation(lambda: b"state")
    folder.close()
    assert (
        1000 * 0.5 / (0.5 * (1 + runfolder.STATE_COST_FACTOR)) <= len(written) <= 1000 / runfolder.STATE_COST_FACTOR + 2
    )


def engine_and(values, method="SHADE", seed=1, **options):
    """An engine that was told generations of these values."""
    from meco.core.engine import Task
    from meco.core.evaluator import Evaluator
    from meco.core.loop import Loop
    from meco.core.problem import Problem

    problem = Problem("p", np.zeros(3), np.ones(3), 1, 0, lambda x: (values * x[..., 0], x[..., :1] - 0.5, x[..., :0]))
    evaluator = Evaluator.on(problem, 500)
    engine = build_engine(method, Task.of(evaluator, Streams([seed])), **options)
    turns = iter([False, False, True])
    Loop(engine, evaluator).run(lambda: next(turns))
    return engine


def test_a_record_is_flat_and_named_by_what_it_holds():
    record = flatten_state(capture_state(engine_and(1.0, "TR")))
    assert record["state.region.models.hessian"].shape == (1, 2, 3, 3)
    assert record["state.archive.count"].dtype == np.int64
    assert {type(value) for value in record.values()} == {np.ndarray}


@pytest.mark.parametrize("method", ["SHADE", "TR-ES", "MA-ES"])
def test_a_record_put_back_makes_an_engine_go_the_same_way(method):
    one, other = engine_and(1.0, method), engine_and(-7.0, method, seed=2)
    restore_state(
        {"engine": other, "streams": other.task.rng},
        flatten_state(capture_state({"engine": one, "streams": one.task.rng})),
    )
    assert_array_equal(one.ask(), other.ask())


def test_a_record_of_another_engine_is_refused():
    with pytest.raises(DoesNotFit, match=r"population\.x should be float64 \(1, 9, 3\)"):
        restore_state(engine_and(1.0, pop_size=9), flatten_state(capture_state(engine_and(1.0, pop_size=8))))
    with pytest.raises(DoesNotFit, match=r"history\.F is missing"):
        restore_state(engine_and(1.0, pop_size=7), flatten_state(capture_state(engine_and(1.0, "MA-ES"))))


def test_only_a_method_whose_record_says_so_is_saved(tmp_path):
    class Mine(Shade):
        """May keep more than what it is derived from: nobody has said that it can be saved."""

        def __init__(self, task):
            super().__init__(task, StaticPenalty(), pop_size=8)

    record = as_method_record(Mine)
    for method, saved in ((record, False), (replace(record, offers=(SavedState,)), True)):
        folder = tmp_path / str(saved)
        meco.minimize(lambda x: x @ x, [(-1, 1)] * 2, method=method, budget=40, seed=1, checkpoint=folder)
        assert (folder / "state.bin").exists() == saved


def test_streams_are_put_back_to_the_last_bit():
    draw, other = Streams([3, 4]), Streams([5, 6])
    draw.normal(7)
    draw.generator(1).integers(10, dtype=np.uint32)
    other.positions = draw.positions
    assert_array_equal(draw.normal(9), other.normal(9))
    assert draw.generator(1).integers(99, dtype=np.uint32) == other.generator(1).integers(99, dtype=np.uint32)


@pytest.mark.parametrize(
    ("method", "told"),
    [*((m, 27) for m in ("TR", "TR-ES", "MeCO-TR", "SHADE", "MA-ES", "MeCO")), (DEFAULT, 0), (DEFAULT, 40)],
)
def test_an_optimizer_goes_on_from_its_state_without_asking_twice(method, told, monkeypatch):
    def values(x):
        return (x * x).sum(axis=1), 1.0 - x[:, :2], x[:, :1] - x[:, 2:]

    options = {"budget": 40, "seed": 1, "method": Method(method, pop_size=None if "TR" in method else 10)}
    search = meco.Optimizer(BOX, 2, 1, **options)
    while len(search.result.evaluations) < told:
        x = search.ask(told - len(search.result.evaluations))
        f, g, h = values(x)
        for column in (f, g, h):
            column[x[:, 0] > 4] = np.nan
        search.tell(x, f, g, h)
    asked = []
    engine = search._search.loop.engine
    kinds = {type(engine), type(getattr(engine, "engine", engine))}
    for kind in kinds:
        ask = kind.ask
        monkeypatch.setattr(kind, "ask", lambda self, ask=ask: asked.append(1) or ask(self))
    again = meco.Optimizer.from_state(search.state())
    assert len(asked) <= 3 * len(kinds)  # when built, in the rehearsal, and for the points that are out
    for each in (search, again):
        while not each.done:
            each.ask()
            x = each.pending
            each.tell(x, *values(x))
    same(search.result, again.result)


def test_a_state_without_where_the_search_stood_is_told_again():
    search = meco.Optimizer(BOX, budget=30, seed=1)
    for _ in range(20):
        x = search.ask()
        search.tell(x, (x * x).sum(axis=1))
    whole = search.state()
    lost = {key: value for key, value in whole.items() if key != "search"}
    damaged = whole | {"search": whole["search"][:-1]}
    points = search.ask()
    for state in (lost, damaged):
        assert_array_equal(meco.Optimizer.from_state(state).ask(), points)
    for content in (b"not a state", hashlib.sha256(b"").digest()):
        assert unpack_state(content) is None


def test_a_state_that_is_too_large_is_not_packed_and_no_answer_is_read_for_it(tmp_path, monkeypatch, often):
    digested = []
    plain = AnswerDigest.digest_first
    monkeypatch.setattr(AnswerDigest, "digest_first", lambda *given: digested.append(1) or plain(*given))
    monkeypatch.setattr(resume, "LARGEST_TENSORS_BYTES", 1000)
    result = meco.minimize(fun, BOX, budget=40, seed=5, checkpoint=tmp_path / "run")
    assert not digested
    assert not (tmp_path / "run" / "state.bin").exists()
    same(result, meco.minimize(fun, BOX, budget=40, seed=5))
