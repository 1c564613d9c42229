"""The loop: ask, evaluate, tell. Every search of minimize(), solve() and Optimizer goes through it.

One engine inside another is told by the outer one (Controlled, policies/controller.py), never by the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from meco.core.arrays import Array
from meco.core.capabilities import FreePoints, OwnLoop, Remarks, Selection, find_capability
from meco.core.engine import Engine
from meco.core.evaluation import Evaluation
from meco.core.evaluator import Evaluator


class Loop:
    """One search: an engine and the evaluator of its points.

    step() makes one iteration, run() all of them. Who evaluates elsewhere calls ask() and evaluate_and_tell(), or
    tell() with an evaluation of his own.
    """

    def __init__(self, engine: Engine, evaluator: Evaluator, *, traced: bool = True) -> None:
        """Nothing is asked yet; traced=False keeps no history."""
        self.engine, self.evaluator, self.traced = engine, evaluator, traced
        self._selection, self._free = find_capability(engine, Selection), find_capability(engine, FreePoints)

    def run(self, stop: Callable[[], Any] | None = None) -> None:
        """Iterate until the budget is spent or stop(), asked after each iteration, is true."""
        own = find_capability(self.engine, OwnLoop)
        if own is not None:
            own.run(self.evaluator, stop)
        while own is None and not self.evaluator.is_spent:
            self.evaluate_and_tell(self.ask())
            if stop is not None and stop():
                break
        remarks, notes = find_capability(self.engine, Remarks), self.evaluator.history.notes
        notes += [] if remarks is None else [said for said in remarks.said() if said not in notes]

    def step(self) -> None:
        """One iteration: ask, evaluate, tell, record. Nothing where the budget is spent."""
        self.run(stop=lambda: True)

    def _evaluation_function(self) -> Callable[[Array], Evaluation]:
        """What evaluates the candidates [B, n, D] asked for last.

        All, those that are wanted, or all without counting.
        """
        if self._free is not None and self._free.free():
            return self.evaluator.evaluate_uncounted
        wanted = None if self._selection is None else self._selection.wanted()
        return self.evaluator.evaluate if wanted is None else partial(self.evaluator.evaluate, wanted=wanted)

    def ask(self) -> Array:
        """Candidates to evaluate next, [B, n, D]: whatever the engine says, numbers inside the bounds.

        The first time it notes in the history where the budget does not reach through them.
        """
        x = self.evaluator.box.keep_inside(self.engine.ask())
        if self.engine.generation == 0:
            known = self.evaluator.known
            note_small_budget(self.evaluator, x.shape[1] if known is None else len(known.unknown(x)))
        return x

    def evaluate_and_tell(self, x: Array) -> Evaluation:
        """Evaluate the candidates x [B, n, D] asked for, tell the engine, record the generation; their evaluation."""
        ev = self._evaluation_function()(x)
        self.engine.tell(x, ev)
        self.record_generation()
        return ev

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Tell the engine the evaluation of candidates x [B, n, D] made elsewhere.

        record_generation() is the caller's.
        """
        self.engine.tell(x, ev)

    def record_generation(self) -> None:
        """Add counts, incumbents, population and the engine's trace to the history, where the search is traced."""
        if self.traced:
            history = self.evaluator.history
            history.record_generation(self.evaluator.nfev, self.engine.population, self.engine.trace())


def note_small_budget(evaluator: Evaluator, size: int) -> None:
    """Note in the history, once, that the budget is less than the first candidates, of which size are to be called."""
    said = (
        f"the budget of {evaluator.budget} is below the population of {size}: "
        f"only the first {evaluator.budget} points were evaluated"
    )
    if size > evaluator.budget and said not in evaluator.history.notes:
        evaluator.history.notes.append(said)
