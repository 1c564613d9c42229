"""One run of minimize(): first candidates, search, stops, checkpoint and result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from meco.blackbox.answers import EvaluationFailed
from meco.blackbox.caller import Caller
from meco.blackbox.evaluation_log import Known
from meco.blackbox.request import Request
from meco.blackbox.result import MinimizeResult, make_outcome
from meco.blackbox.runfolder import RunFolder
from meco.blackbox.snapshot import Snapshot
from meco.blackbox.stopping import StopRun
from meco.blackbox.warm_start import ExactEvaluator
from meco.engines.engine import Engine, Task
from meco.methods import METHODS, build_engine
from meco.problems.problem import Problem
from meco.results import feasibility_first
from meco.rules.rule import order
from meco.streams import Streams

SCOUT = 0x5C  # sets the stream of later first candidates apart from the run's own


def prepare(
    request: Request, counts: tuple[int, int], formula: Callable[..., Any], extra: np.ndarray | None = None
) -> tuple[ExactEvaluator, Engine]:
    """An evaluator that knows what is known, and a fresh engine; the same request gives the same search.

    Points to try first, in the unit cube: x0, then known points from best to worst, then extra.
    """
    problem = Problem(
        "fun", request.lower, request.upper, *counts, formula,
        integrality=request.integrality, ineq_tol=request.ineq_tol, eq_tol=request.eq_tol,
    )  # fmt: skip
    evaluator = ExactEvaluator(problem, request.budget)
    first = [] if request.x0 is None else list(evaluator.place(request.x0))
    if request.known is not None:
        unit = evaluator.know(request.known)
        ev = request.known.evaluation(*request.tolerances)
        first += [unit[i] for i in order(feasibility_first(ev))[0] if not ev.failed[0, i]]
    first += [] if extra is None else list(extra)
    distinct = list({row.tobytes(): row for row in first}.values())
    task = Task.of(evaluator, Streams([request.seed]), x0=np.array(distinct) if distinct else None)
    return evaluator, build_engine(request.method, task, **request.options)


class Session:
    """A run in progress."""

    def __init__(self, request: Request, caller: Caller, report: Callable[[Session], None] | None = None) -> None:
        self.request, self.caller, self.report = request, caller, report
        self.ledger, self.stopping = caller.ledger, caller.stopping
        self.folder: RunFolder | None = None
        self.nit = 0
        self.between = False  # whether a generation is complete and the next not begun
        self.notes: list[str] = []
        if report is not None:
            caller.tick = lambda: report(self)
        if request.known is not None:
            self.ledger.declare(request.known.g.shape[1], request.known.h.shape[1])
        self.evaluator, self.engine = prepare(request, self.ledger.counts or (0, 0), self._formula)

    def keep_in(self, folder: RunFolder) -> None:
        """Keep everything in a folder, and take from it what an interrupted run left there."""
        self.folder = folder
        self.notes += folder.notes
        folder.attach(self.ledger)
        self.caller.clocked = folder.clocked

    def run(self) -> MinimizeResult:
        """Search until something ends it; always a result, but for errors."""
        try:
            if not self._known_enough() and (self.request.known is not None or self._scout()):
                self._search()
        except StopRun as stop:
            self.stopping.end(stop.reason, stop.detail)
        except KeyboardInterrupt:
            self.between = False  # the streams may have moved on: where the search stands is not known
            self.stopping.end("interrupt")
        except EvaluationFailed as error:
            error.result = self.result()
            raise
        finally:
            close = getattr(self.report, "close", None)
            if close is not None:
                close()
        self.stopping.end("budget" if len(self.ledger) >= self.request.budget else "finished")
        result = self.result()
        if self.folder is not None:
            if self.between:
                self.folder.generation(self.nit, self._snapshot, last=True)
            self.folder.finish(self.ledger, result.summary())
        return result

    def _known_enough(self) -> bool:
        """Whether a point known beforehand already is what the run should stop at."""
        if self.request.known is None or not self.stopping.watches_answers:
            return False
        ev = self.request.known.evaluation(*self.request.tolerances)
        return any(self.stopping.answered(f, ok) for f, ok in zip(ev.f[0].tolist(), ev.feasible[0].tolist()))

    def _snapshot(self) -> Snapshot:
        return Snapshot.of(self.engine, self.nit, len(self.ledger))

    def _formula(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        self.between = False
        f, g, h = self.caller(x[0])
        return f[None], g[None], h[None]

    def _scout(self) -> bool:
        """Have first candidates evaluated until an answer tells how many constraints there are.

        The search proper then begins anew, proposes the same candidates, and finds them known.
        """
        unit = self._first_candidates()
        more = np.random.default_rng([self.request.seed, SCOUT])
        tried: list[tuple[np.ndarray, ...]] = []
        while True:
            unit = unit[: self.request.budget - self.ledger.planned]
            if len(unit) == 0:
                return False  # every evaluation of the budget failed
            x = self.evaluator.to_box(unit[None])[0]
            values = self.caller(x)
            tried.append((unit, x, *values))
            if np.isfinite(values[0]).any():
                break
            unit = more.random(unit.shape)
        self._begin(tried)
        return True

    def _first_candidates(self) -> np.ndarray:
        """What the engine asks first; for a library that cannot be asked, x0 or the centre of the box."""
        if METHODS[self.request.method].asked:
            return self.engine.ask()[0]
        if self.request.x0 is not None:
            return self.evaluator.place(self.request.x0[:1])
        return np.full((1, self.request.dim), 0.5)

    def _begin(self, tried: list[tuple[np.ndarray, ...]]) -> None:
        """A fresh engine for the number of constraints found, with the first candidates known and paid for."""
        assert self.ledger.counts is not None
        p, q = self.ledger.counts
        unit, x, f = (np.concatenate([part[i] for part in tried]) for i in range(3))
        g, h = (np.full((len(f), n), np.nan) for n in (p, q))
        g[-len(tried[-1][2]) :], h[-len(tried[-1][2]) :] = tried[-1][3], tried[-1][4]
        extra = None if len(tried) == 1 else unit[np.isfinite(f)]
        self.evaluator, self.engine = prepare(self.request, self.ledger.counts, self._formula, extra)
        self.evaluator.know(Known(x, f, g, h), unit)
        self.evaluator.charge(self.ledger.planned)

    def _search(self) -> None:
        self.caller.charge = self.evaluator.charge
        size = getattr(self.engine, "size", None) or 0
        if size > self.request.budget:
            self.notes.append(
                f"the budget of {self.request.budget} is below the population of {size}: only initial points were tried"
            )
        if self.evaluator.left > 0:
            self.engine.run(self.evaluator, self._after_generation)
        elif METHODS[self.request.method].asked:  # the first candidates took it all: one generation, for the trace
            unit = self.engine.ask()
            self.engine.tell(unit, self.evaluator.evaluate(unit))
            self.evaluator.note(self.engine.population, self.engine.trace())
            self._after_generation()

    def _after_generation(self) -> bool:
        self.nit += 1
        self.between = True
        if self.folder is not None:
            self.folder.generation(self.nit, self._snapshot)
        if not self.ledger.caught_up:  # nobody wants to be told again what an interrupted run told
            return False
        if self.report is not None:
            self.report(self)
        return self.stopping.after_generation(self.result)

    def result(self) -> MinimizeResult:
        """The result so far."""
        seen = self.evaluator.feasible_best.held is not None and self.nit > 0
        trace = self.evaluator.results(self.request.method, [self.request.seed])[0].trace if seen else {}
        notes = self.notes + self._untried()
        return make_outcome(
            self.request, self.ledger, self.stopping.reason or "running",
            detail=self.stopping.detail, nit=self.nit, trace=trace, notes=notes, engine=self.engine,
        )  # fmt: skip

    def _untried(self) -> list[str]:
        """Starting points for which there was no room."""
        if self.request.x0 is None or self.stopping.reason is None:
            return []
        tried = {entry.x.tobytes() for entry in self.ledger.entries.values()}
        known = set() if self.request.known is None else {row.tobytes() for row in self.request.known.x}
        missing = sum(row.tobytes() not in tried | known for row in self.request.x0)
        count = len(self.request.x0)
        return [f"{missing} of the {count} starting points were not tried (population or budget)"] if missing else []
