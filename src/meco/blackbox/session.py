"""One run of minimize(): the evaluator that knows what is known, the search, its stops, checkpoint and result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from meco.arrays import Array, rows
from meco.blackbox.calls import Caller, StopRun
from meco.blackbox.evaluation_log import EvaluationLog, Known, LayoutChanged
from meco.blackbox.repeats import call_again
from meco.blackbox.request import Request
from meco.blackbox.result import MinimizeResult, make_result
from meco.engines.engine import Engine, Task
from meco.evaluator import Evaluator
from meco.methods import build_engine
from meco.problems.evaluation import Evaluation, absent, concat
from meco.problems.problem import Problem
from meco.results import feasibility_first
from meco.rules.rule import order
from meco.signals import interrupting, noted
from meco.streams import Streams

if TYPE_CHECKING:
    from meco.blackbox.runfolder import RunFolder

SCOUT = 0x5C  # sets the stream of points that look for a first answer apart from the run's own

Values = tuple[np.ndarray, np.ndarray, np.ndarray]  # f [n], g [n, p], h [n, q]


def prepare(
    request: Request, log: EvaluationLog, call: Callable[[np.ndarray], Values], more: Known | None = None
) -> tuple[WarmStartEvaluator, Engine]:
    """An evaluator that knows what is known, and the engine; the same request gives the same search.

    Points to try first, in the unit cube: x0, then known points from best to worst; more are known like these.
    """
    evaluator = WarmStartEvaluator(request, log, call)
    first = [] if request.x0 is None else list(evaluator.place(request.x0))
    for known in (k for k in (request.known, more) if k is not None):
        unit = evaluator.know(known)
        ev = known.evaluation(*request.tolerances(log))
        first += [unit[i] for i in order(feasibility_first(ev))[0] if not ev.failed[0, i]]
    distinct = list({row.tobytes(): row for row in first}.values())
    task = Task.of(evaluator, Streams([request.seed]), x0=np.array(distinct) if distinct else None)
    task = request.limited(task, evaluator)
    return evaluator, build_engine(request.method, task, **request.options)


class WarmStartEvaluator(Evaluator):
    """One run on a function whose number of constraints its answers tell.

    Mapping a point into the unit cube and back can move its last bit, so points given in the box are remembered with
    their unit coordinates. A known point is answered once without being called or counted; asked for again, it is a
    point like any other, so a run that only proposes known points ends too.
    """

    remembers = ("nfev", "_most", "feasible_best", "score_best", "untold")
    kept: Callable[[np.ndarray], np.ndarray] = staticmethod(lambda unit: unit)  # where points [n, D] may lie at first

    def __init__(self, request: Request, log: EvaluationLog, call: Callable[[np.ndarray], Values]) -> None:
        ineq_tol, eq_tol = request.strictest
        problem = Problem(
            "fun", request.lower, request.upper, 0, 0, lambda x: call(x[0]),
            integrality=request.integrality, ineq_tol=ineq_tol, eq_tol=eq_tol,
        )  # fmt: skip
        super().__init__(problem, request.budget - request.repeats)  # these are made when the search is over
        self.request, self.log, self.call = request, log, call
        self.scale = request.scale()
        self._scouting = np.random.default_rng([request.seed, SCOUT])
        self._exact: dict[bytes, np.ndarray] = {}
        self._known: dict[bytes, list[tuple[Any, ...]]] = {}
        self._untold = 0  # how many values are known and were not asked for

    def counts(self) -> tuple[int, int]:
        """Numbers of inequalities and equalities, known from the first answers on."""
        assert self.log.layout is not None or self.log.planned, "asked for counts before the first evaluation"
        return self.log.counts

    def tolerances(self) -> tuple[Array, Array]:
        """As the user gave them: [1, 1, 1], or [1, 1, p] and [1, 1, q] by the constraints that there are."""
        ineq, eq = self.request.tolerances(self.log)
        return np.reshape(ineq, (1, 1, -1)), np.reshape(eq, (1, 1, -1))

    def place(self, x: np.ndarray) -> np.ndarray:
        """Unit coordinates [n, D] that will be evaluated as exactly these points [n, D]."""
        unit = self.to_unit(x) + 0.0
        for row, point in zip(unit, x):
            self._exact[row.tobytes()] = point
        return unit

    def know(self, known: Known) -> np.ndarray:
        """Answer these points without a call, and let them compete for the best; their unit coordinates."""
        unit = self.place(known.x)
        if len(unit):
            for i, row in enumerate(unit):
                self._known.setdefault(row.tobytes(), []).append((known.f[i], known.g[i], known.h[i]))
            self._untold += len(unit)
            self._challenge(*known)
        return unit

    @property
    def untold(self) -> np.ndarray:
        """How many values of each known point have not been asked for."""
        return np.array([len(values) for values in self._known.values()], dtype=np.int64)

    @untold.setter
    def untold(self, counts: np.ndarray) -> None:
        for values, count in zip(self._known.values(), counts.tolist()):
            del values[: max(0, len(values) - count)]
        self._untold = sum(map(len, self._known.values()))

    def charge(self, count: int) -> None:
        """Count calls that were made beside the candidates asked for."""
        self.nfev = self.nfev + count
        self._most = int(self.nfev.max())

    def to_box(self, unit: Array) -> Array:
        """Unit-cube coordinates [1, n, D] as the points that are evaluated."""
        x = super().to_box(unit)
        if self._exact:
            found = [(i, self._exact[key]) for i, key in enumerate(_keys(unit)) if key in self._exact]
            if found:
                x = x.copy()
                for i, point in found:
                    x[0, i] = point
        return x

    def needed(self, unit: Array) -> np.ndarray:
        """Which of these candidates [1, n, D] would be called: not known, and within the budget; [m]."""
        left = {key: len(values) for key, values in self._known.items()}
        free = []
        for key in _keys(unit):
            free.append(left.get(key, 0) > 0)
            left[key] = left.get(key, 0) - 1
        return np.flatnonzero(~np.array(free, dtype=bool))[: self.left]

    def evaluate(self, unit: Array, wanted: np.ndarray | None = None) -> Evaluation:
        """Known candidates from memory, the others in index order while the budget lasts."""
        free: dict[int, tuple[Any, ...]] = {}
        if self._untold:
            for i, key in enumerate(_keys(unit)):
                if self._known.get(key) and (wanted is None or wanted[0, i]):
                    free[i] = self._known[key].pop(0)
            self._untold -= len(free)
        if not free:
            return super().evaluate(unit, wanted)
        count = unit.shape[1]
        rest = [i for i in range(count) if i not in free and (wanted is None or wanted[0, i])]
        f, g, h = (np.stack(column)[None] for column in zip(*free.values()))
        parts = [self._finish(f, g, h)]
        if rest and self.left > 0:
            parts.append(super().evaluate(unit[:, rest, :]))
        full = concat([*parts, absent(parts[0], 1)])
        place = np.full(count, full.f.shape[1] - 1)
        made = [*free, *(rest if len(parts) > 1 else [])]
        place[made] = np.arange(len(made))
        return full.map(lambda a: rows(a, place[None]))

    def _finish(self, f: Array, g: Array, h: Array, run: int | None = None) -> Evaluation:
        return Evaluation.of(f, g, h, *self.tolerances())

    def _call(self, x: Array) -> Evaluation:
        return self._finish(*self._padded(self.problems[0], x))

    def _padded(self, problem: Problem, x: Array) -> tuple[Array, Array, Array]:
        """What the function says of points [1, n, D], in the width of its constraints."""
        with np.errstate(all="ignore"):
            f, g, h = self.call(x[0])
            if self.log.layout is None and self._scout(len(f)):
                g, h = (np.full((len(f), n), np.nan) for n in self.log.counts)
        return f[None], g[None], h[None]

    def _scout(self, size: int) -> bool:
        """Look elsewhere when all of the first candidates failed: whether an answer came within the budget.

        An engine can only be told once it is known how many constraints there are.
        """
        while self.log.layout is None and self.log.planned < self.budget:
            unit = self._scouting.random((min(size, self.budget - self.log.planned), self.dim))
            x = self.to_box(self.kept(unit)[None])[0]
            self.charge(len(x))
            self._challenge(x, *self.call(x))
        return self.log.layout is not None

    def _challenge(self, x: np.ndarray, f: np.ndarray, g: np.ndarray, h: np.ndarray) -> None:
        """Let points [n, D] beside the search compete for the best."""
        ev = self._finish(f[None], g[None], h[None])
        self.feasible_best.challenge(x[None], ev)
        self.score_best.challenge(x[None], ev)


def _keys(unit: np.ndarray) -> list[bytes]:
    """What identifies each candidate of the one run."""
    return [row.tobytes() for row in np.ascontiguousarray(unit[0] + 0.0)]


class Session:
    """A run in progress."""

    facts: Mapping[str, Any] = {}  # what run.json has to say of this kind of session

    @np.errstate(all="ignore")
    def __init__(self, request: Request, caller: Caller, report: Callable[[Session], None] | None = None) -> None:
        self.request, self.caller, self.report = request, caller, report
        self.log, self.stopping = caller.log, caller.stopping
        self.folder: RunFolder | None = None
        self.nit = 0
        self.between = False  # whether a generation is complete and the next not begun
        self.anew = False  # whether the search was begun anew on the way
        self.state: Callable[[], bytes | None] = lambda: None  # where the search stands, for the folder
        self.notes: list[str] = list(request.notes)
        if report is not None:
            caller.tick = lambda: report(self)
        if request.known is not None:
            self.log.declare(request.known.g.shape[1], request.known.h.shape[1])
        self.evaluator, self.engine = prepare(request, self.log, self.call)
        caller.charge = self.evaluator.charge

    def keep_in(self, folder: RunFolder) -> None:
        """Keep everything in a folder, and take from it what an interrupted run left there."""
        self.folder = folder
        self.notes += folder.notes
        folder.attach(self.log)
        self.caller.clocked = folder.clocked
        self.caller.begun = len(folder.past)

    @np.errstate(all="ignore")  # ours, whatever the caller set: the function and the callback keep theirs
    def run(self) -> MinimizeResult:
        """Search until something ends it; always a result, but for errors, which carry it."""
        with self._heard():
            try:
                with closing(self):
                    self._ended(self._search)
                    if self.request.repeats:
                        self._ended(partial(call_again, self))
                    return self._finished()
            except BaseException as error:  # of the search, or of the folder that could not be closed
                self._hand_over(error)
                raise

    def _ended(self, calls: Callable[[], None]) -> None:
        """Make calls, and note why they ended."""
        try:
            calls()
        except StopRun as stop:
            self.stopping.end(stop.reason, stop.detail)
        except KeyboardInterrupt:
            self.between = False  # the streams may have moved on: where the search stands is not known
            self.stopping.end("interrupt")
        finally:
            getattr(self.report, "close", lambda: None)()  # clears its line

    def close(self) -> None:
        """Let go of workers and files, while signals are still heard here."""
        try:
            self.caller.backend.close()
        finally:
            if self.folder is not None:
                self.folder.close()

    def _hand_over(self, error: BaseException) -> None:
        """Attach the result so far to an error, unless that is what failed."""
        self.stopping.end("error", f"{type(error).__name__} ended the run")
        with suppress(Exception):
            error.result = self.result()  # type: ignore[attr-defined]

    def _finished(self) -> MinimizeResult:
        """The result at the end, which the folder keeps too."""
        self.stopping.end("budget" if len(self.log) >= self.request.budget else "finished")
        result = self.result()
        if self.folder is not None:
            if self.between:
                self.folder.generation(self.state, last=True)
            self.folder.finish(self.log, result.summary())
        return result

    @contextmanager
    def _heard(self) -> Iterator[None]:
        """Ctrl-C is noted, and acted on between two calls; a second one also ends the call at hand."""
        say = "meco: stopping after the evaluation at hand; again to abandon it"
        with noted(interrupting(), say, waiting=lambda: self.stopping.reason is None) as heard:
            self.stopping.interrupted = heard
            yield

    def _search(self) -> None:
        while not self._known_enough():
            try:
                return self.engine.run(self.evaluator, self._after_generation)
            except LayoutChanged:
                self._begin_anew()

    def _begin_anew(self) -> None:
        """A new search for the constraints that there really are, which knows what the first one was told."""
        self.anew = True
        self.evaluator, self.engine = prepare(self.request, self.log, self.call, self.log.usable())
        self.evaluator.charge(self.log.planned)
        self.caller.charge = self.evaluator.charge

    def call(self, x: np.ndarray) -> Values:
        """What the function says of points [n, D]."""
        self.between = False
        return self.caller(x)

    def _known_enough(self) -> bool:
        """Whether a point known beforehand already is what the run should stop at."""
        if self.request.known is None or not self.stopping.watches_answers:
            return False
        ev = self.request.known.evaluation(*self.request.tolerances(self.log))
        return any(self.stopping.answered(f, ok) for f, ok in zip(ev.f[0].tolist(), ev.feasible[0].tolist()))

    def _after_generation(self) -> bool:
        self.nit += 1
        self.between = True
        if self.folder is not None:
            self.folder.traced(len(self.log), self.engine.trace)  # first: what comes before the state is not repeated
            self.folder.generation(self.state)
        if not self.log.caught_up:  # nobody wants to be told again what an interrupted run told
            return False
        if self.report is not None:
            self.report(self)
        return self.stopping.after_generation(self.result, self.engine.converged)

    def result(self) -> MinimizeResult:
        """The result so far."""
        seen = self.evaluator.feasible_best.held is not None and self.nit > 0
        trace = self.evaluator.trace_of() if seen else {}
        return make_result(
            self.request, self.log, self.stopping.reason or "running", detail=self.stopping.detail, nit=self.nit,
            trace=trace, notes=[*self.notes, *self.evaluator.notes, *self._untried()],
            engine=self.engine, evaluator=self.evaluator,
        )  # fmt: skip

    def _untried(self) -> list[str]:
        """Starting points for which there was no room."""
        if self.request.x0 is None or self.stopping.reason is None:
            return []
        tried = {entry.x.tobytes() for entry in self.log.entries.values()}
        known = set() if self.request.known is None else {row.tobytes() for row in self.request.known.x}
        missing = sum(row.tobytes() not in tried | known for row in self.request.x0)
        said = f"{missing} of the {len(self.request.x0)} starting points were not tried (population or budget)"
        return [said] if missing else []
