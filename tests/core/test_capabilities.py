"""What an engine offers is found by its kind, and handed on by who wraps it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco.core import capabilities
from meco.core.capabilities import (
    Asynchronous,
    Convergence,
    Cooperation,
    LinearRows,
    OwnLoop,
    Policed,
    Replay,
    SavedState,
    Steering,
    find_capability,
)
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.memory import capture_state
from meco.core.streams import Streams
from meco.engines.de.shade import Shade
from meco.errors import InvalidInput
from meco.methods import METHODS, methods_that_offer
from meco.policies import Controlled
from meco.policies.policy import ConstantControls
from meco.rules import StaticPenalty
from meco.tr.engine import TrustRegion, make_tr_es


def task(budget=60):
    evaluator = Evaluator.on(meco.get_problem("ring"), budget)
    return evaluator, Task.of(evaluator, Streams([1]))


def controlled(engine, theta=0.5):
    return Controlled(engine, ConstantControls({"theta": theta}), "model-search", "theta-and-share", 50)


def test_a_capability_is_found_by_its_kind_or_missed():
    _, given = task()
    engine = Shade(given, rule=StaticPenalty())
    assert isinstance(find_capability(engine, SavedState), SavedState)
    assert find_capability(engine, Convergence) is None
    assert find_capability(engine, OwnLoop) is None


def test_an_engine_that_says_nothing_offers_nothing():
    class Silent(Shade):
        capabilities = meco.core.engine.Engine.capabilities

    _, given = task()
    assert Silent(given, rule=StaticPenalty()).capabilities() == ()


def test_a_kind_is_offered_once():
    for name in METHODS:
        assert len(set(METHODS[name].offers)) == len(METHODS[name].offers)


def test_the_record_names_kinds_of_capabilities_alone():
    known = {kind for kind in vars(capabilities).values() if isinstance(kind, type)}
    for name in METHODS:
        assert set(METHODS[name].offers) <= known


def test_methods_are_named_by_all_that_they_offer():
    assert methods_that_offer(Asynchronous) == "TR, TR-ES, MeCO-TR"
    assert methods_that_offer(Asynchronous, Policed) == "MeCO-TR"
    assert methods_that_offer(OwnLoop) == "SciPy-DE, COBYQA, SLSQP, COBYLA"


def test_a_controlled_engine_hands_on_what_its_engine_offers():
    _, given = task()
    inner = make_tr_es(given)
    wrapped = controlled(inner)
    mine, its = ({type(each): each for each in engine.capabilities()} for engine in (wrapped, inner))
    assert mine.keys() == its.keys() | {Policed}
    for kind in (Convergence, Cooperation):
        assert mine[kind] == its[kind]
    assert_array_equal(mine[LinearRows].inside(np.ones((1, 2))), its[LinearRows].inside(np.ones((1, 2))))


def test_a_controlled_engine_has_its_own_part_in_what_it_hands_on():
    _, given = task()
    inner = make_tr_es(given)
    wrapped = controlled(inner)
    assert find_capability(wrapped, SavedState).part is wrapped
    assert find_capability(inner, SavedState).part is inner
    assert find_capability(wrapped, Policed).policy is wrapped.controller.policy.metadata
    assert find_capability(wrapped, Replay).engine is inner
    assert find_capability(wrapped, Replay).after == wrapped.count_told
    find_capability(wrapped, Steering).steer({"share": np.array([0.25])})
    assert_array_equal(wrapped.controller.last["share"], [0.25])  # the policy's features see it
    assert_array_equal(inner.settings["share"], [0.25])


def test_what_is_saved_of_a_controlled_engine_holds_the_engine_and_the_policys_memory():
    evaluator, given = task()
    wrapped = controlled(make_tr_es(given))
    Loop(wrapped, evaluator).step()
    saved = capture_state(find_capability(wrapped, SavedState).part)
    assert {"engine", "controller", "told", "next_decision", "draw"} == saved.keys()
    assert saved["engine"]["generation"] == 1
    assert_array_equal(saved["controller"]["last"]["theta"], [0.5])


def test_points_that_an_engine_only_remembers_count_for_the_policy_and_decide_nothing():
    evaluator, given = task()
    wrapped = controlled(make_tr_es(given))
    loop = Loop(wrapped, evaluator)
    loop.step()
    aside = []
    proposals = find_capability(wrapped, Asynchronous).start(2, loop.tell, aside.append)
    told, due = wrapped.told, wrapped.next_decision
    first = proposals.give_out(np.full(given.dim, 0.2))
    proposals.answer(first, first.x[None, None], evaluator.evaluate(first.x[None, None]))
    assert wrapped.told == told + 1
    assert wrapped.next_decision == due
    assert aside == [1]
    step = proposals.ask()
    proposals.answer(step, step.x[None, None], evaluator.evaluate(step.x[None, None]))
    assert wrapped.told == told + 2
    assert wrapped.generation == 2


def test_an_engine_without_controls_cannot_be_steered():
    _, given = task()

    class Unsteered(TrustRegion):
        def capabilities(self):
            return tuple(each for each in super().capabilities() if not isinstance(each, Steering))

    with pytest.raises(InvalidInput, match="Unsteered cannot be steered: it offers no controls"):
        controlled(Unsteered(given))


def test_a_capability_is_a_value():
    first = Convergence(len)
    assert first == Convergence(len) != first._replace(reached=sum)
    with pytest.raises(AttributeError):
        first.reached = sum
