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
    OwnLoop,
    Policed,
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
from meco.paper import Controlled
from meco.paper.policy import ConstantControls
from meco.paper.relaxation import SteeredEpsilon
from meco.rules import StaticPenalty
from meco.tr.engine import TrustRegion


def task(budget=60):
    evaluator = Evaluator.on(meco.get_problem("ring"), budget)
    return evaluator, Task.of(evaluator, Streams([1]))


def steered(given):
    """SHADE whose allowance may be steered, and the same under a constant policy."""
    engine = Shade(given, rule=SteeredEpsilon())
    return engine, Controlled(engine, ConstantControls({"epsilon": 0.5}))


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
    assert methods_that_offer(Asynchronous) == "TR"
    assert methods_that_offer(SavedState, Policed) == "MeCO, MeCO-u, MeCO-rand"
    assert methods_that_offer(OwnLoop) == "SciPy-DE, COBYQA, SLSQP, COBYLA"


def test_a_controlled_engine_offers_what_its_engine_does_with_its_own_part_in_it():
    evaluator, given = task()
    inner, wrapped = steered(given)
    Loop(wrapped, evaluator).step()
    mine, its = ({type(each) for each in engine.capabilities()} for engine in (wrapped, inner))
    assert mine == its | {Policed}
    assert find_capability(wrapped, SavedState).part is wrapped
    assert find_capability(inner, SavedState).part is inner
    assert find_capability(wrapped, Policed).policy is wrapped.controller.policy.metadata
    find_capability(wrapped, Steering).steer({"epsilon": np.array([0.25])})
    assert_array_equal(wrapped.controller.last["epsilon"], [0.25])  # the policy's features see it


def test_what_is_saved_of_a_controlled_engine_holds_the_engine_and_the_policys_memory():
    evaluator, given = task()
    _, wrapped = steered(given)
    Loop(wrapped, evaluator).step()
    saved = capture_state(find_capability(wrapped, SavedState).part)
    assert {"engine", "controller", "draw"} == saved.keys()
    assert {"population", "generation", "state"} <= saved["engine"].keys()
    assert_array_equal(saved["controller"]["last"]["epsilon"], [0.5])


def test_an_engine_without_controls_cannot_be_steered():
    _, given = task()
    with pytest.raises(InvalidInput, match="TrustRegion cannot be steered: it offers no controls"):
        Controlled(TrustRegion(given), ConstantControls({"epsilon": 0.5}))


def test_a_capability_is_a_value():
    first = Convergence(len)
    assert first == Convergence(len) != first._replace(reached=sum)
    with pytest.raises(AttributeError):
        first.reached = sum
