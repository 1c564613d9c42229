"""The replay contract: a run that was killed at any moment and resumed has the events of one that was not."""

from __future__ import annotations

import json
import math
import random
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import meco
from event_logs import SimulatedWorkers, cut_log, events_of, what_happened
from meco import Checkpoint, Method, Optimizer, Variable, Workers
from meco.core.capabilities import Asynchronous
from meco.methods import METHODS
from meco.run.log import FILE_NAME, encode

SLOW = {"COBRA", "SACOBRA", "Optuna-GP", "SCBO", "NOMAD", "NSGA-III", "ISRES", "CMA-ES-AL"}
FAST_METHODS = sorted(set(METHODS) - SLOW)
ALL_METHODS = sorted(METHODS)
BOXES = {
    "plain": [(-2.0, 2.0)] * 3,
    "mixed": [(-2.0, 2.0), Variable(-3, 4, integer=True), Variable(0.1, 10.0, log=True)],
    "rounding": [(-1.9, 0.7), (0.1, 0.7), (0.3, 20.0)],
}
FAULTS = ("none", "region", "noise", "partial", "penalty")


class Function:
    """A function whose values follow from the point and the number of the call, as those of a new process do."""

    numbered = True

    def __init__(self, kind):
        self.kind, self.__qualname__ = kind, "function"

    def __call__(self, x, number):
        f = float(((x - 0.3) ** 2 * np.arange(1, len(x) + 1)).sum() + math.cos(3 * x[0]))
        g = {"a": 0.5 - float(x[0]), "b": float(x[1] + x[0] ** 2 - 1.5)}
        if self.kind == "region" and math.sin(7 * x[0] + 3 * x[1]) > 0.6:
            raise ValueError("no mesh")
        if self.kind == "noise":
            f += 0.1 * random.Random(number).gauss(0.0, 1.0)
        if self.kind == "partial" and g["a"] > 0.3:
            return {"g": {"a": g["a"]}}
        if self.kind == "penalty" and number % 4 == 1:
            return 1e9
        return f, g


@st.composite
def cases(draw, methods):
    """A run: method, workers, faults, budgets, and moments at which it is killed."""
    method = draw(st.sampled_from(methods), label="method")
    asynchronous = Asynchronous in METHODS[method].offers and draw(st.booleans(), label="asynchronous")
    return {
        "method": method,
        "box": draw(st.sampled_from(sorted(BOXES)), label="box"),
        "kind": draw(st.sampled_from(FAULTS), label="function"),
        "width": draw(st.sampled_from([1, 3, 8]), label="workers"),
        "asynchronous": asynchronous,
        "on_error": draw(st.sampled_from(["penalize", "retry"]), label="on_error"),
        "budget": draw(st.integers(1, 45), label="budget"),
        "raised": draw(st.sampled_from([0, 0, 1, 12]), label="raised by"),
        "kills": draw(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=2), label="kills"),
        "seed": draw(st.integers(0, 99), label="seed"),
    }


def run_case(case, folder, budget):
    """Run or resume it in a folder."""
    pool = SimulatedWorkers
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        patch.setattr("meco._minimize._make_workers", lambda workers, call, request: pool(call, case["width"]))
        return meco.minimize(
            Function(case["kind"]),
            BOXES[case["box"]],
            budget=budget,
            method=case["method"],
            seed=case["seed"],
            on_error=case["on_error"],
            workers=Workers(1, min(case["width"], case["budget"]), asynchronous=case["asynchronous"])
            if Asynchronous in METHODS[case["method"]].offers
            else 1,
            checkpoint=Checkpoint(folder, resume=True),
        )


def check_case(case, folder):
    """Run it to its end, then once more with kills, and compare the events."""
    raised = case["budget"] + case["raised"]
    run_case(case, folder / "whole", case["budget"])
    if case["raised"]:
        run_case(case, folder / "whole", raised)
    whole = events_of(folder / "whole")
    wanted, source = what_happened(folder / "whole"), folder / "whole"
    for k, share in enumerate(case["kills"]):
        target = folder / f"cut{k}"
        count = len(events_of(source))
        cut_log(source, target, min(count, 1 + int(share * count)), b'0badcafe ["tell",3' if k == 0 else b"")
        if case["raised"] and not any(event[0] == "budget" for event in events_of(target)):
            run_case(case, target, case["budget"])
        result = run_case(case, target, raised)
        assert what_happened(target) == wanted
        assert not any("recorded points" in note for note in result.run.notes)
        source = target
    calls = [event for event in whole if event[0] == "ask"]
    assert len(calls) <= raised


def supported(case):
    """Whether the method's package is installed."""
    try:
        meco.minimize(lambda x: 1.0, [(0, 1)] * 2, budget=1, method=case["method"], seed=1)
    except meco.errors.MissingExtra:
        return False
    return True


COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=40, **COMMON)
@given(case=cases(FAST_METHODS))
def test_a_killed_run_has_the_events_of_one_that_was_not(tmp_path_factory, case):
    if supported(case):
        check_case(case, tmp_path_factory.mktemp("replay"))


@pytest.mark.slow
@settings(max_examples=200, **COMMON)
@given(case=cases(ALL_METHODS))
def test_two_hundred_killed_runs_have_the_events_of_those_that_were_not(tmp_path_factory, case):
    if supported(case):
        check_case(case, tmp_path_factory.mktemp("replay"))


def drive(search, moves, seed, restarts=()):
    """Ask and tell in a random order, with points of other searches; state() and from_state() at some moves."""
    draw, asked = random.Random(seed), []
    fun = Function("region")
    for move in range(moves):
        if move in restarts:
            search = Optimizer.from_state(json.loads(json.dumps(search.state())))
        if draw.random() < 0.5 or not len(search.pending):
            asked += search.ask(draw.randint(1, 3)).tolist()
        if len(search.pending) and draw.random() < 0.8:
            x = search.pending[draw.randrange(len(search.pending))]
            try:
                f, g = fun(x, 0)
                search.tell(x, f, [list(g.values())])
            except ValueError:
                search.tell(x, failed=True)
        if draw.random() < 0.1:
            x = np.array([[draw.uniform(-2, 2) for _ in range(3)]])
            search.learn(x, np.array([x.sum()]), np.array([[1.0 - x[0, 0], -1.0]]), np.zeros((1, 0)))
        if draw.random() < 0.05:
            search.diversify(draw.random())
    return asked


@settings(max_examples=15, **COMMON)
@given(
    method=st.sampled_from(["TR", "SHADE", "MA-ES", "CMA-ES"]),
    asynchronous=st.booleans(),
    seed=st.integers(0, 99),
    restarts=st.sets(st.integers(0, 59), min_size=1, max_size=4),
)
def test_an_optimizer_goes_on_from_its_state(method, asynchronous, seed, restarts):
    asynchronous = asynchronous and Asynchronous in METHODS[method].offers
    options = {"budget": 60, "method": method, "seed": 1, "workers": Workers(batch=3, asynchronous=asynchronous)}
    if not asynchronous and method != "TR":
        options.pop("workers")
    made = [Optimizer(BOXES["plain"], 2, **options) for _ in range(2)]
    assert drive(made[0], 60, seed) == drive(made[1], 60, seed, restarts)


def test_recorded_points_of_another_machine_are_kept_and_counted(tmp_path):
    case = {"method": "SHADE", "box": "plain", "kind": "none", "width": 1, "asynchronous": False}
    case |= {"on_error": "penalize", "seed": 1}
    run_case(case, tmp_path / "whole", 60)
    events = events_of(tmp_path / "whole")[:70]
    moved = [[e[0], e[1], [v * (1 + 1e-13) for v in e[2]], *e[3:]] if e[0] == "ask" else e for e in events]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / FILE_NAME).write_bytes(b"".join(map(encode, moved)))
    result = run_case(case, tmp_path / "other", 60)
    asked = [e for e in moved if e[0] == "ask"]
    assert result.evaluations.x[: len(asked)].tolist() == [e[2] for e in asked]
    assert result.nfev == 60
    assert f"{len(asked)} of {len(asked)} recorded points are not those" in result.message


@pytest.mark.parametrize("method", [Method("SHADE", pop_size=8), "TR"])
def test_one_wrong_answer_with_an_extra_constraint_changes_nothing_else(method):
    def run(odd):
        calls = []

        def fun(x):
            calls.append(x.copy())
            g = [0.5 - x[0], x[1] - 1.5]
            if odd and len(calls) == 30:
                return float(x @ x), [*g, 0.0]
            if not odd and len(calls) == 30:
                raise ValueError("a failed call")
            return float(x @ x), g

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            meco.minimize(fun, BOXES["plain"], budget=60, method=method, seed=1, on_error="penalize")
        return np.array(calls)

    assert (run(True) == run(False)).all()
