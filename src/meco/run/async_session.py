"""A run whose workers are never waited for. What it does depends on which call ends first."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from functools import partial
from typing import Any

import numpy as np

from meco.core.memory import DoesNotFit
from meco.errors import MecoError
from meco.result import Result
from meco.run.answer import Fault
from meco.run.async_search import AsyncSearch
from meco.run.calling.caller import MAX_RETRIES, CallJob, StopRun
from meco.run.folder.resume import pack_search, read_saved_search
from meco.run.folder.search_state import SearchState
from meco.run.log.answer_digest import AnswerDigest
from meco.run.log.evaluation_log import ConstraintsChanged, Entry
from meco.run.log.evaluations_builder import newest_numbers
from meco.run.make_result import list_many_constraints
from meco.run.session import Session

RESUMED_NOTE = (
    "the asynchronous run was resumed from every recorded answer, in the order recorded; it is not bit for bit what an "
    "uninterrupted run would have been"
)


class AsyncSession(Session):
    """Every free worker gets a point at once, and every answer is learnt from when it comes."""

    def _recorded_answers(self) -> dict[int, Any]:
        """Nothing to replay by number: recorded answers are told in their order."""
        return {}

    def _begin_or_resume(self) -> None:
        """Set search, loop and caller: of a new search, or of one that knows every recorded answer."""
        past = [] if self.folder is None else self.folder.recorded
        self.async_search = self._resume_search(past) if past else AsyncSearch(self.request, self.log)
        self.nit, self.loop, self.caller = self.async_search.nit, self.async_search.loop, self.make_caller(self.log)

    def _resume_search(self, past: list[Entry]) -> AsyncSearch:
        """A search that knows every recorded answer: from where it was saved, or from all of them at once."""
        assert self.folder is not None
        self.notes.append(RESUMED_NOTE)
        state = read_saved_search(self, self.folder.read_saved_state())
        search = None if state is None else self._restore_search(past[: state.covered], state)
        if search is None:
            search = AsyncSearch(self.request, self.log)
        self.log = search.log
        search.replay_answers(past[len(search.log) :])
        return search

    def _restore_search(self, told: list[Entry], state: SearchState) -> AsyncSearch | None:
        """The search that was saved after these answers; None where the state is of others or does not fit."""
        with suppress(ConstraintsChanged, DoesNotFit, MecoError):
            log = self.log.fork(told)
            if _digest_answers(log.entries, [entry.number for entry in told]) == state.answers:
                return AsyncSearch(self.request, log, record=state.record, nit=state.generation)
        return None

    def search(self) -> None:
        """Call points and learn from answers until the budget is spent, or something ends the run."""
        seen = 0  # answers that the stopping conditions were shown, as soon as they can be read
        try:
            with closing(self._call_points()) as numbers:
                for number in numbers:
                    self.log.check_constraints()
                    self.async_search.accept_answer(number)
                    self.nit = self.async_search.nit
                    fresh = (
                        newest_numbers(self.log.entries, len(self.log) - seen) if self.stopping.watches_answers else []
                    )
                    seen += len(fresh)
                    if any(self.stopping.check_answer(*self.caller.assess_next(self.log.entries[n])) for n in fresh):
                        return
                    self._write_progress()
                    self._log_best()
                    list_many_constraints(self.request, self.log)
                    if self._should_stop():
                        return
        except ConstraintsChanged:
            self.restarted = True
            self.async_search = AsyncSearch(self.request, self.log, self.log.good_points())
            self.async_search.reuse_unanswered_numbers()
            self.loop = self.async_search.loop
            self.evaluator.count_evaluations(len(self.log))
            if not self._known_point_ends_run():
                self.search()

    def _call_points(self) -> Generator[int, None, None]:
        """Have a point called whenever a worker is free; gives numbers as answers come, failures after retries."""
        caller, given = self.caller, list[tuple[int, int, np.ndarray]]()  # number, attempt and point of each call
        failed: deque[tuple[int, int, np.ndarray]] = deque()

        def jobs() -> Iterator[CallJob]:
            while (call := failed.popleft() if failed else self._next_call()) is not None:
                given.append(call)
                yield CallJob(call[0], call[2][None])

        try:
            for index, (answer,), seconds in self.backend.run(jobs(), self.stopping):
                number, attempt, x = given[index]
                caller.check_first_answers(caller.next_call_index(), [answer])
                self._events.on_duration(number, seconds)
                caller.enter_answer(number, attempt, x, answer)
                if (
                    answer.fault is Fault.NONE
                    or self.on_error != "retry"
                    or attempt == MAX_RETRIES
                    or self.async_search.left < 1
                ):
                    yield number
                    continue
                self.evaluator.count_evaluations(1)
                failed.append((self.async_search.renumber_for_retry(number), attempt + 1, x))
        except StopRun as stop:
            self.stopping.note_reason(stop.reason, stop.detail)
            raise
        finally:
            self.log.fix_constraints()

    def _next_call(self) -> tuple[int, int, np.ndarray] | None:
        """Number, attempt (0) and point [D] of the next call; None where the budget is spent."""
        proposed = self.async_search.propose()
        return None if proposed is None else (proposed[0], 0, proposed[1])

    def pack_state(self) -> bytes | None:
        """Where the search is, for the folder; nothing before its models have begun."""
        folder = self.folder
        if (
            folder is None
            or self.restarted
            or not self.log.constraints_checked
            or not self.async_search.proposals.begun
        ):
            return None
        digest = partial(_digest_answers, self.log.entries, folder.log_order)
        return pack_search(self, len(folder.log_order), digest)

    def result(self, *, by_arrival: bool = True) -> Result:
        """The result so far; rows come by number at the end alone, for before there are gaps."""
        return super().result(by_arrival=self.stopping.reason is None)


def _digest_answers(entries: dict[int, Entry], order: list[int]) -> str:
    """A digest of answers in the order of these numbers, in which they were told."""
    told = {k: entries[number] for k, number in enumerate(order)}
    return AnswerDigest().digest_first(told, len(told))
