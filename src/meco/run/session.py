"""One run of minimize(): the search, its stops, its folder and its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from meco.core.capabilities import Convergence, find_capability
from meco.core.engine import Engine
from meco.core.evaluator import Evaluator
from meco.errors import log_event
from meco.result import Result
from meco.run.calling.blas_threads import one_thread
from meco.run.calling.caller import Backend, Caller, Stopping, StopRun
from meco.run.engine_search import make_search
from meco.run.function_fingerprint import NO_FINGERPRINTS, Fingerprints, is_changed
from meco.run.function_source import make_box
from meco.run.log.answer_digest import AnswerDigest
from meco.run.log.evaluation_log import ConstraintsChanged, Entry, EvaluationLog, Events
from meco.run.log.recorded_answers import RecordedAnswers
from meco.run.make_result import list_many_constraints, make_result
from meco.run.quick_calls import CallSeconds
from meco.run.request import Request

if TYPE_CHECKING:
    from meco.run.folder.run_folder import RunFolder

SAME_POINT_SHARE = 1e-6  # of a variable's range, within which another number of threads proposes the same point


class Session:
    """A run in progress: generations of candidates, each evaluated as a whole.

    With a folder it goes on where an interrupted run was, and writes down now and then where it is.
    AsyncSession replaces _recorded_answers, _begin_or_resume, search, pack_state and result; folder/resume.py reads
    request, log, loop, nit, make_caller and folder.
    """

    @np.errstate(all="ignore")
    @one_thread()
    def __init__(
        self,
        request: Request,
        backend: Backend,
        stopping: Stopping,
        *,
        on_error: str | None = None,
        vectorized: bool = False,
        folder: RunFolder | None = None,
        warn: Callable[[str], None] = lambda text: None,
        fingerprints: Fingerprints = NO_FINGERPRINTS,
    ) -> None:
        """Begin the search, or resume that of the folder; nothing is called before run()."""
        self.request, self.stopping, self.folder = request, stopping, folder
        self.backend, self.on_error, self.vectorized = backend, on_error, vectorized
        self.fingerprints = fingerprints
        self.nit = 0
        self.restarted = False  # whether the search was begun again with other constraints
        self.notes: list[str] = list(request.notes)
        self._answers = AnswerDigest()
        self._logged_best = float("inf")  # feasible f that the log was last told
        self._planned_when_complete = -1  # calls planned when the last generation was complete
        self._seconds = CallSeconds()
        self._events = Events(on_failure=_log_failure, on_duration=self._note_duration, warn=warn)
        near = None
        if folder is not None:
            self._events = Events(folder.write_answer, self._keep_failure, self._note_duration, warn)
            self.notes += folder.notes
            if warning := folder.check_thread_count():
                warn(warning)
                self.notes.append(warning)
                near = SAME_POINT_SHARE * make_box(request).lengths
        recorded = RecordedAnswers(() if folder is None else folder.recorded, near)
        self.log = EvaluationLog(request.budget, len(request.constraint_names) or None, recorded, self._events)
        if request.known is not None:
            self.log.declare_constraints(request.known.g.shape[1], request.known.h.shape[1])
        self._begin_or_resume()

    def _keep_failure(self, entry: Entry, reason: str) -> None:
        """Write a failure to the folder, and tell the logger."""
        assert self.folder is not None
        self.folder.write_failure(entry, reason)
        _log_failure(entry, reason)

    def _note_duration(self, number: int, seconds: float) -> None:
        """Keep how long a call took, here and in the folder."""
        self._seconds.add(seconds)
        if self.folder is not None:
            self.folder.note_duration(number, seconds)

    def _begin_or_resume(self) -> None:
        """Set log, caller and loop: where the folder says that the search was, or of a new search."""
        if self.folder is not None:
            from meco.run.folder.resume import resume_search

            extended_at = self.folder.extended_at
            for name in ("state.bin", "extended.bin") if extended_at else ("state.bin",):
                if found := resume_search(self, self.folder.read_saved_state(name)):
                    self.log, self.caller, self.loop, self.nit = found
                    self._planned_when_complete = self.log.planned
                    return
            if extended_at:
                return self._begin_knowing(extended_at)
        self.caller = self.make_caller(self.log)
        self.loop = make_search(self.request, self.log, self.caller)

    def _begin_knowing(self, count: int) -> None:
        """Begin a search that knows the first recorded answers; those after them are replayed."""
        recorded = self.log.unreplayed.entries
        told = [recorded[number] for number in sorted(recorded)[:count]]
        self.log = self.log.fork(told)
        self.caller = self.make_caller(self.log, 1 + max((entry.batch for entry in told), default=-1))
        self._search_knowing_all()

    def _search_knowing_all(self) -> None:
        """Set another search, which knows every answer that the log holds and counts its calls."""
        self.restarted = True
        self.loop = make_search(self.request, self.log, self.caller, self.log.good_points())
        self.evaluator.count_evaluations(self.log.planned)

    def make_caller(self, log: EvaluationLog, batch: int = 0) -> Caller:
        """What has the function called, for a log of this run; batch is the number of the next batch."""
        return Caller(
            self.backend,
            log,
            self.stopping,
            self.request.budget,
            self.on_error,
            lambda: self.request.resolve_tolerances(log),
            self.vectorized,
            self._events,
            calls_begun=0 if self.folder is None else len(self.folder.recorded),
            batch=batch,
            check_names=lambda: self.request.check_names(log),
        )

    @property
    def engine(self) -> Engine:
        """What searches."""
        return self.loop.engine

    @property
    def evaluator(self) -> Evaluator:
        """What evaluates its candidates."""
        return self.loop.evaluator

    @property
    def between_generations(self) -> bool:
        """Whether a generation is complete and the next not begun."""
        return self.log.planned == self._planned_when_complete

    @np.errstate(all="ignore")  # ours, whatever the caller set: the function and the callback keep theirs
    @one_thread()
    def run(self) -> Result:
        """Search until something ends it; always a result, but for errors, which carry it."""
        request, known = self.request, len(self.log) + len(self.log.unreplayed)
        log_event(
            "info",
            f"{request.method} begins: {request.dim} variables, {request.budget} evaluations, seed {request.seed}"
            + (f", {known} of them recorded before" if known else ""),
            method=request.method,
            budget=request.budget,
            seed=request.seed,
        )
        try:
            with closing(self):
                with self._note_ending():
                    self._check_function()
                    if not self._known_point_ends_run():
                        self.search()
                return self._finish_run()
        except BaseException as error:  # of the search, or of the folder that could not be closed
            self._attach_result(error)
            raise

    def _check_function(self) -> None:
        """Where old answers are those of other code, call the best of them again: InvalidInput if it has changed."""
        recorded = bool(self.folder is not None and self.folder.recorded)
        before = self.folder.function if self.folder is not None and recorded else None
        now = self.fingerprints.now
        if not any(is_changed(old, now) for old in (before, self.fingerprints.known)):
            return
        from meco.run.changed_function import compare_best_answer

        note = compare_best_answer(
            self.request, () if self.folder is None else self.folder.recorded, self.backend, self.stopping
        )
        self._events.warn(note)
        self.notes.append(note)
        if self.folder is not None and recorded:
            self.folder.keep_function(now)

    @contextmanager
    def _note_ending(self) -> Iterator[None]:
        """Inside the block StopRun and Ctrl-C end it, and their reason is noted; the callback is closed."""
        try:
            yield
        except StopRun as stop:
            self.stopping.note_reason(stop.reason, stop.detail)
        except KeyboardInterrupt:
            self._planned_when_complete = -1  # the streams may have moved on: where the search is is not known
            self.stopping.note_reason("interrupt")
        finally:
            self.stopping.close()

    def close(self) -> None:
        """End workers and close files."""
        try:
            self.backend.close()
        finally:
            if self.folder is not None:
                self.folder.close()

    def _attach_result(self, error: BaseException) -> None:
        """Attach the result so far to an error, unless that is what failed."""
        self.stopping.note_reason("error", f"{type(error).__name__} ended the run")
        log_event("error", f"{type(error).__name__} ended the run: {error}", nfev=len(self.log))
        with suppress(Exception):
            error.result = self.result()  # type: ignore[attr-defined]

    def _finish_run(self) -> Result:
        """The result at the end, which is written to the folder too, with the last state."""
        self.stopping.note_reason("budget" if len(self.log) >= self.request.budget else "finished")
        self.caller.report_mismatch(over=True)
        if self.folder is not None:
            self.folder.put_back_removed_files()
        result = self.result()
        if self.folder is not None:
            if self.between_generations:
                self.folder.save_generation(self.pack_state, force=True)
            self.folder.write_result(self.log, result.summary())
        log_event("info", result.message, nfev=result.nfev, fun=result.fun, feasible=result.feasible)
        return result

    def search(self) -> None:
        """Iterate; where the constraints turn out to be others, begin again with what is known by then."""
        try:
            self.loop.run(self._after_generation)
        except ConstraintsChanged:
            self._search_knowing_all()
            if not self._known_point_ends_run():
                self.search()

    def _known_point_ends_run(self) -> bool:
        """Whether a point known beforehand already is what the run should stop at."""
        if self.request.known is None or not self.stopping.watches_answers:
            return False
        ev = self.request.known.to_evaluation(*self.request.resolve_tolerances(self.log))
        return any(self.stopping.check_answer(f, ok) for f, ok in zip(ev.f[0].tolist(), ev.feasible[0].tolist()))

    def _after_generation(self) -> bool:
        """Count a generation and let the folder keep it: whether the run should stop."""
        self.nit += 1
        self._planned_when_complete = self.log.planned
        self._write_progress()
        self._log_best()
        list_many_constraints(self.request, self.log)
        if self.log.unreplayed:  # what an interrupted run told is not told again
            return False
        return self._should_stop()

    def _log_best(self) -> None:
        """Tell the logger of a best feasible value that is new."""
        held = self.evaluator.history.feasible_best.point
        if held is not None and bool(held.feasible[0, 0]) and float(held.f[0, 0]) < self._logged_best:
            self._logged_best = float(held.f[0, 0])
            said = f"best feasible f = {self._logged_best:.10g} after {len(self.log)} evaluations"
            log_event("debug", said, nfev=len(self.log), fun=self._logged_best)

    def _write_progress(self) -> None:
        """Let the folder keep what is new: trace, answers and, where due, the state."""
        if self.folder is not None:
            if self.nit:  # first: what comes before the state is not repeated
                self.folder.write_trace(len(self.log), self.engine.trace)
            self.folder.save_generation(self.pack_state)

    def _should_stop(self) -> bool:
        """Whether something ends the run between two generations; the callback is asked here."""
        convergence = find_capability(self.engine, Convergence) if self.nit else None
        reached = (lambda: False) if convergence is None else convergence.reached
        return self.stopping.check_generation(self.result, reached)

    def pack_state(self) -> bytes | None:
        """Where the search is, for the folder; nothing while the constraints are not settled, or it cannot be saved."""
        from meco.run.folder.resume import pack_search

        log = self.log
        if self.restarted or not log.constraints_checked or len(log) != log.planned:
            return None
        digest = partial(self._answers.digest_first, log.entries, len(log))
        return pack_search(self, len(log), digest, self.caller.batch)

    def result(self, *, by_arrival: bool = False) -> Result:
        """The result so far, of everything in the log; rows by number, or as they came with by_arrival."""
        history = self.evaluator.history
        seen = history.feasible_best.point is not None and self.nit > 0
        trace = {name: rows[:, 0] for name, rows in history.collect_trace().items()} if seen else {}
        found = make_result(
            self.request,
            self.log,
            self.stopping.reason or "running",
            detail=self.stopping.detail,
            nit=self.nit,
            trace=trace,
            notes=[*self.notes, *self._list_late_notes(), *history.notes, *self._note_untried_points()],
            loop=self.loop,
            by_arrival=by_arrival,
        )
        found.evaluations.mark_function(self.fingerprints.now)
        return found

    def _list_late_notes(self) -> list[str]:
        """What happened to the folder while the run went on, and what is to be said of the function once it is over."""
        said = [] if self.stopping.reason is None else self._seconds.advise(self.request.method)
        return [*([] if self.folder is None else self.folder.late_notes), *said]

    def _note_untried_points(self) -> list[str]:
        """A note on starting points for which there was no room; [] while the run goes on."""
        if self.request.x0 is None or self.stopping.reason is None:
            return []
        tried = {entry.x.tobytes() for entry in self.log.entries.values()}
        known = set() if self.request.known is None else {row.tobytes() for row in self.request.known.x}
        missing = sum(row.tobytes() not in tried | known for row in self.request.x0)
        said = f"{missing} of the {len(self.request.x0)} starting points were not tried (population or budget)"
        return [said] if missing else []


def _log_failure(entry: Entry, reason: str) -> None:
    """Tell the logger of a call that gave no usable answer."""
    log_event(
        "debug", f"evaluation {entry.number} failed: {reason}", number=entry.number, fault=entry.fault.name.lower()
    )
