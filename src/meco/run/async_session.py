"""A run whose workers are never waited for. What it does depends on which call ends first."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from typing import Any

import numpy as np

from meco.core.memory import DoesNotFit
from meco.errors import MecoError
from meco.result import Result
from meco.run.async_search import AsyncSearch
from meco.run.calling.answers import Fault
from meco.run.calling.caller import RETRIES, CallJob, StopRun
from meco.run.folder.resume import saved_search, state_of
from meco.run.folder.search_state import SearchState
from meco.run.log.answer_digest import AnswerDigest
from meco.run.log.evaluation_log import Entry, LayoutChanged
from meco.run.log.evaluation_table import newest
from meco.run.session import Session

RESUMED = (
    "the asynchronous run was resumed from every recorded answer, in the order recorded; it is not bit for bit what an "
    "uninterrupted run would have been"
)


class AsyncSession(Session):
    """Every free worker gets a point at once, and every answer is learnt from when it comes."""

    def _past(self) -> dict[int, Any]:
        return {}  # it is told in the order recorded, not by number

    def _begin(self) -> None:
        past = [] if self.folder is None else self.folder.past
        self.points = self._resumed(past) if past else AsyncSearch(self.request, self.log)
        self.nit, self.loop, self.caller = self.points.nit, self.points.loop, self.make_caller(self.log)

    def _resumed(self, past: list[Entry]) -> AsyncSearch:
        """A search that knows every recorded answer: from where it was saved, or from all of them at once."""
        assert self.folder is not None
        self.notes.append(RESUMED)
        state = saved_search(self, self.folder.saved_state())
        search = None if state is None else self._saved(past[: state.covered], state)
        if search is None:
            search = AsyncSearch(self.request, self.log)
        self.log = search.log
        search.replay(past[len(search.log) :])
        return search

    def _saved(self, told: list[Entry], state: SearchState) -> AsyncSearch | None:
        """The search that was saved after these answers, where it really was."""
        with suppress(LayoutChanged, DoesNotFit, MecoError):
            log = self.log.fork(told)
            if _digest(log.entries, [entry.number for entry in told]) == state.answers:
                return AsyncSearch(self.request, log, record=state.record, nit=state.generation)
        return None

    def search(self) -> None:
        """Call points and learn from answers until the budget is spent, or something ends the run."""
        seen = 0  # answers that the stopping conditions were shown, as soon as they can be read
        try:
            with closing(self._stream()) as numbers:
                for number in numbers:
                    self.log.review()
                    self.points.hear(number)
                    self.nit = self.points.nit
                    fresh = newest(self.log.entries, len(self.log) - seen) if self.stopping.watches_answers else []
                    seen += len(fresh)
                    if any(self.stopping.answered(*self.caller.shown(self.log.entries[n])) for n in fresh):
                        return
                    self._write_down()
                    if self._stops():
                        return
        except LayoutChanged:
            self.restarted = True
            self.points = AsyncSearch(self.request, self.log, self.log.usable())
            self.points.reuse_numbers()
            self.loop = self.points.loop
            self.evaluator.count(len(self.log))
            if not self._known_enough():
                self.search()

    def _stream(self) -> Generator[int, None, None]:
        """Have a point called whenever a worker is free; gives numbers as answers come, failures after retries."""
        caller, given = self.caller, list[tuple[int, int, np.ndarray]]()  # number, attempt and point of each call
        failed: deque[tuple[int, int, np.ndarray]] = deque()

        def jobs() -> Iterator[CallJob]:
            while (call := failed.popleft() if failed else self._first_call()) is not None:
                given.append(call)
                yield CallJob(call[0], call[2][None])

        try:
            for index, (answer,), seconds in self.backend.run(jobs(), self.stopping):
                number, attempt, x = given[index]
                caller.notice(caller.begun, answer)
                caller.begun += 1
                self._events.clocked(number, seconds)
                caller.take(number, attempt, x, answer)
                if answer.fault is Fault.NONE or self.on_error != "retry" or attempt == RETRIES or self.points.left < 1:
                    yield number
                    continue
                self.evaluator.count(1)
                failed.append((self.points.again(number), attempt + 1, x))
        except StopRun as stop:
            self.stopping.end(stop.reason, stop.detail)
            raise
        finally:
            self.log.settle()

    def _first_call(self) -> tuple[int, int, np.ndarray] | None:
        """Number, attempt and point of the next call."""
        proposed = self.points.propose()
        return None if proposed is None else (proposed[0], 0, proposed[1])

    def state(self) -> bytes | None:
        """Where the search is, for the folder; nothing before its models have begun."""
        folder = self.folder
        if folder is None or self.restarted or not self.log.reviewed or not self.points.proposals.begun:
            return None
        return state_of(self, len(folder.order), _digest(self.log.entries, folder.order))

    def result(self, as_told: bool = True) -> Result:
        """The result so far. By number there would be gaps, around which every table is made anew: at the end alone."""
        return super().result(as_told=self.stopping.reason is None)


def _digest(entries: dict[int, Entry], order: list[int]) -> str:
    """Of answers in the order in which they were told."""
    told = {k: entries[number] for k, number in enumerate(order)}
    return AnswerDigest().of(told, len(told))
