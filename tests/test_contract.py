"""What every method promises, walked over the engine classes: the checks are meco.testing's."""

import numpy as np
import pytest

from engine_classes import ENGINE_CLASSES
from meco import METHODS, MethodRecord
from meco.core.capabilities import Convergence, SavedState
from meco.core.engine import Engine
from meco.core.rule import Population
from meco.errors import InvalidInput, MissingData, MissingExtra
from meco.paper.policy import ConstantPolicy
from meco.testing import CHECKS, MethodContract, Subject, check_method

BUDGETS = {
    "COBRA": 19,
    "SACOBRA": 19,
    "TR": 25,
    "COBYQA": 31,
    "COBYLA": 31,
}  # a model for each evaluation, or a library that is slow to ask
BEYOND_THE_START = {"COBRA": 205, "SACOBRA": 205, "COBYQA": 180, "C2oDE": 230}  # at D = 100: past the first design
BEYOND_THE_START |= {"TR": 30}  # whose first design is as small as the budget wants
LEARNED = {"MeCO": {"policy": ConstantPolicy(9)}}  # any policy keeps the promises of a trained one

OF_A_RECORD = ("is_what_its_record_says", "offers_what_its_record_says")  # promises of the name, not of the engine
WALKED = [(method, check) for method in METHODS for check in CHECKS if method in ENGINE_CLASSES or check in OF_A_RECORD]


@pytest.mark.parametrize(("method", "check"), WALKED)
def test_it(method, check, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    subject = Subject(method, LEARNED.get(method, {}), BUDGETS.get(method, 61), BEYOND_THE_START.get(method))
    try:
        CHECKS[check](subject)
    except (MissingExtra, MissingData) as missing:
        pytest.skip(f"METHOD NOT CHECKED: {method}: {missing}")
    assert capfd.readouterr() == ("", "")  # nor by a library in C


class Uniform(Engine):
    """Random search, ten points at a time."""

    def __init__(self, task, width=1.0):
        self.task, self.width = task, width

    def ask(self):
        return self.width * self.task.rng.uniform(10, self.task.dim)

    def tell(self, x, ev):
        self.population, self.generation = Population(x, ev), self.generation + 1


class TestAnEngineOfOnesOwn(MethodContract):
    method = Uniform


def test_a_method_that_breaks_a_promise_is_told_which():
    class Loud(Uniform):
        def ask(self):
            print("ten more")
            return super().ask()

    class Clock(Uniform):
        def ask(self):
            return np.random.default_rng().random((1, 10, self.task.dim))

    check_method(Uniform, width=0.5)
    with pytest.raises(AssertionError, match="Loud touches nothing global: no"):
        check_method(Loud)
    with pytest.raises(AssertionError, match="Clock repeats itself"):
        check_method(Clock)
    with pytest.raises(InvalidInput, match="derive it from"):
        check_method(dict)


def test_an_engine_that_offers_more_than_its_record_is_told_how_to_name_it():
    class Saved(Uniform):
        remembers = ("generation", "population")

        def capabilities(self):
            return (SavedState(self),)

    with pytest.raises(AssertionError, match=r"offers SavedState, .* meco.MethodRecord\(..., offers=\(SavedState,\)\)"):
        check_method(Saved)


class Remembering(Uniform):
    """Random search around its best point, of which it tells a part."""

    remembers = ("generation", "best")

    def __init__(self, task):
        super().__init__(task)
        self.best = self.unsaid = None

    def ask(self):
        u = super().ask()
        return u if self.best is None else np.clip(self.best[:, None] + 0.2 * (u - self.unsaid), 0.0, 1.0)

    def tell(self, x, ev):
        super().tell(x, ev)
        self.best, self.unsaid = x[:, 0], np.mean(ev.f) % 1.0

    def capabilities(self):
        return (SavedState(self),)


def test_a_record_that_does_not_fit_its_engine_is_told_so():
    with pytest.raises(AssertionError, match="names Convergence, which the engine does not offer"):
        check_method(MethodRecord(Uniform, "random search", offers=(Convergence,), lockstep=False))
    with pytest.raises(AssertionError, match="offers SavedState, which the record does not name"):
        check_method(Remembering)


def test_a_search_that_forgets_something_does_not_go_on_bit_for_bit():
    class Whole(Remembering):
        remembers = ("generation", "best", "unsaid")

    check_method(MethodRecord(Whole, "random search", offers=(SavedState,), lockstep=False))
    with pytest.raises(AssertionError, match="goes on from its saved state bit for bit: no"):
        check_method(MethodRecord(Remembering, "random search", offers=(SavedState,), lockstep=False))
