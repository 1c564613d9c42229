"""A search that is asked for whole generations, handed out point by point: the other of the two behind Optimizer."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from meco.core.memory import Record
from meco.run.folder.search_state import can_save_search, capture_search, restore_search
from meco.run.function_source import ValueLookup
from meco.run.known_points import KnownPoints
from meco.run.log.evaluation_log import EvaluationLog, fix_equalities
from meco.run.request import Request
from meco.run.search import make_search


class GenerationSearch:
    """A search whose candidates are asked for one by one, and told when the last of a generation is answered.

    The log must hold the answer to a number before accept_answer() is given it. Optimizer uses this and AsyncSearch
    alike: propose, accept_answer, done, nit, loop and saved.
    """

    def __init__(self, request: Request, log: EvaluationLog, record: Record | None = None, nit: int = 0) -> None:
        """Ask for the first generation, or go on from the record of a search after nit generations."""
        self.request, self.log, self.nit = request, log, nit
        self._numbers: list[int] = []
        call = ValueLookup(lambda x: log.values(self._numbers))
        self.loop = make_search(request, log, call) if record is None else restore_search(request, log, record, call)
        self.saved: tuple[Any, int, int] = (None, 0, 0)  # what the search knew when it was told last, see _save_state()
        if record is not None:
            self._save_state()
        self._next_generation()

    @property
    def done(self) -> bool:
        """Whether the budget is spent and everything has been told."""
        return self.loop.evaluator.left <= 0

    def _next_generation(self) -> None:
        """Ask for the next generation, and number its points; one that holds known points only is told at once."""
        evaluator, known = self.loop.evaluator, cast(KnownPoints, self.loop.evaluator.known)
        self._points, self._numbers, self._out = np.zeros((0, self.request.dim)), [], 0
        while evaluator.left > 0 and not self._numbers:
            self._unit = self.loop.ask()
            called = known.unknown(self._unit)[: evaluator.left]
            self._points = evaluator.box.to_box(self._unit)[0][called]
            self._numbers = list(self.log.reserve_numbers(len(self._points)))
            if not self._numbers:
                self._tell_generation()

    def propose(self) -> tuple[int, np.ndarray] | None:
        """Number and point [D] of the next candidate; None where all of this generation are out."""
        if self._out == len(self._numbers):
            return None
        self._out += 1
        return self._numbers[self._out - 1], self._points[self._out - 1].copy()

    def propose_again(self, count: int) -> None:
        """Let propose() give the last so many of this generation again."""
        self._out -= count

    def accept_answer(self, number: int) -> None:
        """Tell the engine, and begin the next generation, when this was the last answer of one."""
        if self._numbers and all(n in self.log.entries for n in self._numbers):
            self._tell_generation()
            self._next_generation()

    def _tell_generation(self) -> None:
        """Tell the engine a complete generation, keep its state, and check what the constraints are."""
        fix_equalities(self.log, len(self._numbers))
        self.loop.evaluate_and_tell(self._unit)
        self.nit += 1
        self.log.check_constraints()
        self._save_state()

    def _save_state(self) -> None:
        """Keep in `saved` what the search knows, or None, and after how many answers and generations."""
        saved = capture_search(self.loop) if can_save_search(self.request) else None
        self.saved = saved, len(self.log), self.nit
