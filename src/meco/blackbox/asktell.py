"""Optimizer: the loop is yours. Ask for points, evaluate them wherever you like, tell their values."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from meco.arrays import to_numpy
from meco.blackbox.answers import Answer, Fault, checked
from meco.blackbox.answers import failed as failure
from meco.blackbox.evaluation_log import Entry, EvaluationLog
from meco.blackbox.habits import given_seed, refuse_unknown
from meco.blackbox.optimizer_state import REPEATED, STATE_FORMAT, read_state, seal
from meco.blackbox.request import make_request, whole_number
from meco.blackbox.result import MinimizeResult, make_result
from meco.blackbox.search_state import SearchState, as_record, belonging, brought_back, remembered, unpacked
from meco.blackbox.session import prepare
from meco.blackbox.tolerances import EQ_TOL, INEQ_TOL
from meco.engines.memory import DoesNotFit
from meco.errors import DamagedFile, InvalidInput, MecoError
from meco.methods import DEFAULT
from meco.registry import later

NEVER_IDLE = later("blackbox.free_optimizer:FreeOptimizer")


class Optimizer:
    """Ask and tell for any method that can be asked, in the box and with constraint values.

    Examples:
        >>> from meco import Optimizer
        >>> search = Optimizer([(-5, 5)] * 3, n_ineq=1, budget=300, method="SHADE-FR", seed=1)
        >>> while not search.done:
        ...     x = search.ask()
        ...     search.tell(x, (x**2).sum(axis=1), g=1.0 - x[:, :1])
        >>> search.result.feasible
        True
    """

    asynchronous = False

    @np.errstate(all="ignore")  # ours, whatever the caller set
    def __init__(
        self,
        bounds: Any,
        n_ineq: int = 0,
        n_eq: int = 0,
        *,
        budget: int | None = None,
        method: str = DEFAULT,
        policy: Any = None,
        pop_size: int | None = None,
        batch: int | None = None,
        asynchronous: bool = False,
        seed: Any = None,
        x0: Any = None,
        evaluated: Any = None,
        integrality: Any = None,
        eq_tol: Any = EQ_TOL,
        ineq_tol: Any = INEQ_TOL,
        constraint_names: Any = None,
        log: Any = None,
        **unknown: Any,
    ) -> None:
        if asynchronous:
            self.__class__ = _never_idle(type(self))
        if unknown:
            seed = given_seed(seed, unknown)
            refuse_unknown(Optimizer.__init__, unknown)
        self.request = make_request(
            bounds, budget=budget, method=method, seed=seed, integrality=integrality, x0=x0, evaluated=evaluated,
            constraint_names=constraint_names, ineq_tol=ineq_tol, eq_tol=eq_tol, policy=policy, pop_size=pop_size,
            batch=batch, log=log,
        )  # fmt: skip
        for note in self.request.notes:
            warnings.warn(note, stacklevel=2)
        counts = (whole_number(n_ineq, "n_ineq", least=0), whole_number(n_eq, "n_eq", least=0))
        known = self.request.known
        if known is not None and (known.g.shape[1], known.h.shape[1]) != counts:
            raise InvalidInput(
                f"n_ineq and n_eq must be the numbers of constraints, as evaluated has them too; got {n_ineq}, {n_eq}"
            )
        self.log = EvaluationLog(self.request.budget)
        self.log.declare(*counts)
        self.nit = 0
        self._stood: tuple[Any, int, int] = (None, 0, 0)  # what the search knew when it was last told, see _stand()
        self._points, self._numbers = np.zeros((0, self.request.dim)), list[int]()
        self._begin()

    def _begin(self) -> None:
        self.evaluator, self.engine = prepare(self.request, self.log, self._told)
        self._next()

    def _next(self) -> None:
        """Candidates of the next generation; one that holds known points only passes by itself."""
        self._points, self._numbers = np.zeros((0, self.request.dim)), []
        self._out = 0  # how many of the points were given out
        while self.evaluator.left > 0 and not len(self._points):
            self._unit = self.engine.ask()
            self._points = self.evaluator.to_box(self._unit)[0][self.evaluator.needed(self._unit)]
            self._numbers = list(self.log.plan(len(self._points)))
            if not len(self._points):
                self._finish()

    def _finish(self) -> None:
        """Hand a complete generation to the engine."""
        self.engine.tell(self._unit, self.evaluator.evaluate(self._unit))
        self.evaluator.note(self.engine.population, self.engine.trace())
        self.nit += 1
        self.log.review()
        self._stand()

    def _stand(self) -> None:
        """Hold on to what the search knows, after how many answers and generations."""
        self._stood = remembered(self.evaluator, self.engine), len(self.log), self.nit

    def _told(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The values that were told, as the evaluator asks for them: it stays the one that counts."""
        return self.log.values(self._numbers)

    @property
    def done(self) -> bool:
        """Whether the budget is spent and everything has been told."""
        return self.evaluator.left <= 0

    @property
    def pending(self) -> np.ndarray:
        """Points that were given out and not told yet: [m, D]."""
        return self._points[self._open()].copy()

    def _open(self) -> list[int]:
        return [i for i in range(self._out) if self._numbers[i] not in self.log.entries]

    def ask(self, n: int | None = None) -> np.ndarray:
        """Up to n points to evaluate [m, D]: at most the rest of this generation, none when all are out."""
        if n is not None and int(n) < 0:
            raise InvalidInput(f"ask for 0 or more points; got {n}")
        until = len(self._points) if n is None else min(len(self._points), self._out + int(n))
        given = self._points[self._out : until].copy()
        self._out = until
        return given

    @np.errstate(all="ignore")
    def tell(self, x: Any, f: Any, g: Any = None, h: Any = None, failed: Any = None) -> None:
        """Values of points that were asked for, in any order: x [m, D], f [m], g [m, p], h [m, q].

        One point may come without its leading axis. failed [m] marks points without values; what is
        not finite counts as failed too. The next generation begins when the last value is told.
        All of it is copied: the arrays stay yours.
        """
        points = np.atleast_2d(_copied(x, "x")) + 0.0
        count = len(points)
        if points.shape[1:] != (self.request.dim,):
            raise InvalidInput(f"x must have {self.request.dim} variables; got shape {np.shape(x)}")
        p, q = self.log.counts
        f, g, h = _rows(f, count, 1, "f"), _rows(g, count, p, "g"), _rows(h, count, q, "h")
        lost = np.zeros(count, dtype=bool) if failed is None else np.atleast_1d(np.array(failed, dtype=bool))
        if lost.shape != (count,):
            raise InvalidInput(f"failed must have one value for each of the {count} points; got shape {lost.shape}")
        places = self._places(points)
        for k, i in enumerate(places):
            values = (float(f[k, 0]), g[k], h[k])
            self.log.take(*self._entry(self._numbers[i], self._points[i], values, bool(lost[k])))
        self._learn([self._numbers[i] for i in places])

    def _learn(self, numbers: list[int]) -> None:
        """Go on when the last answer of a generation has come."""
        if self._numbers and all(n in self.log.entries for n in self._numbers):
            self._finish()
            self._next()

    def _entry(self, number: int, x: np.ndarray, values: tuple[Any, Any, Any], lost: bool) -> tuple[Entry, str]:
        """What was told of a point as the log keeps it, and the reason where it failed."""
        answer = failure(Fault.RAISED, "told as failed") if lost else checked(Answer(*values))
        return Entry.of(number, self.nit, 0, x, answer), answer.reason

    def _places(self, points: np.ndarray) -> list[int]:
        """Which candidates these points are; all of them are found before any is entered."""
        waiting: dict[bytes, list[int]] = {}
        for i in self._open():
            waiting.setdefault((self._points[i] + 0.0).tobytes(), []).append(i)
        places = []
        for point in points:
            match = waiting.get(point.tobytes())
            if not match:
                raise InvalidInput(
                    f"x = {np.array2string(point, threshold=8)} was not asked for, or was told already; tell each "
                    "point once and exactly as ask() gave it (points known beforehand go to evaluated=)"
                )
            places.append(match.pop(0))
        return places

    @property
    def result(self) -> MinimizeResult:
        """The best point so far, also of an unfinished generation."""
        trace = self.evaluator.trace_of() if self.nit else {}
        reason = "budget" if self.done else "running"
        return make_result(
            self.request, self.log, reason, nit=self.nit, trace=trace, notes=self.request.notes, engine=self.engine,
            evaluator=self.evaluator,
        )  # fmt: skip

    def state(self) -> dict[str, Any]:
        """Everything needed to go on later, as arrays and text: np.savez(path, **search.state()).

        The state is the history, the inputs and what was told, and where the search stood when it last knew all of
        it: from_state() tells again what came later, or everything where the method cannot be saved.
        """
        p, q = self.log.counts
        numbers = sorted(self.log.entries)
        f, g, h = self.log.values(numbers)
        inputs = self.request.facts() | {"n_ineq": p, "n_eq": q, "format": STATE_FORMAT, "out": self._out}
        inputs["asynchronous"] = self.asynchronous
        x = np.array([self.log.entries[n].x for n in numbers]).reshape(-1, self.request.dim)
        state: dict[str, Any] = {"inputs": json.dumps(inputs), "number": np.array(numbers, dtype=np.int64)}
        state |= {"x": x, "f": f, "g": g, "h": h}
        if self.request.known is not None:
            state |= {f"known_{key}": value for key, value in self.request.known._asdict().items()}
        memory, covered, nit = self._stood
        record = None if memory is None else as_record(memory, self.evaluator, nit)
        if record is not None:
            stands = SearchState(record, covered, nit, 0, belonging(self.request.facts()), "")
            state["search"] = np.frombuffer(stands.packed(), dtype=np.uint8)
        return state | {"sha256": seal(state)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], policy: Any = None) -> Optimizer:
        """An optimizer that goes on where state() was taken; state may be a dict or a loaded npz file.

        A policy that was given as an object must be given again.
        """
        inputs, number, values, known = read_state(state)
        options: dict[str, Any] = inputs["options"] | ({} if policy is None else {"policy": policy})
        options |= {key: inputs.get(key) for key in REPEATED}
        try:
            search = cls(
                list(zip(inputs["lower"], inputs["upper"])), inputs["n_ineq"], inputs["n_eq"], evaluated=known,
                constraint_names=inputs["constraint_names"] or None, **options,
            )  # fmt: skip
            search._take_over(state, inputs["out"], number, *values)
        except (MecoError, TypeError) as error:
            raise DamagedFile(f"this state cannot be continued: {error}") from error
        return search

    def _take_over(self, state: Mapping[str, Any], out: int, number: np.ndarray, *values: np.ndarray) -> None:
        """Be where a state was taken, with so many points of the generation given out."""
        self._tell_again(self._go_on(state, number, *values), number, *values)
        if not 0 <= out <= len(self._points):
            raise DamagedFile(f"it says that {out} of {len(self._points)} points were given out")
        self._out = out

    def _go_on(self, state: Mapping[str, Any], number: np.ndarray, x: Any, f: Any, g: Any, h: Any) -> int:
        """Bring back a search that stood after some of these answers: how many, 0 where it has to be told them all."""
        search = state.get("search")
        stands = unpacked(search.tobytes()) if isinstance(search, np.ndarray) and search.dtype == np.uint8 else None
        if stands is None or stands.belongs != belonging(self.request.facts()):
            return 0
        log, count = EvaluationLog(self.request.budget), stands.covered
        if not np.array_equal(number[:count], np.arange(count)):
            return 0
        log.declare(*self.log.counts)
        for n in log.plan(count):
            log.take(*self._entry(n, x[n], (float(f[n]), g[n], h[n]), not np.isfinite(f[n])))
        log.review()
        try:
            evaluator, engine = brought_back(self.request, log, stands.record)
        except DoesNotFit:
            return 0
        self.log, self.evaluator, self.engine, self.nit = log, evaluator, engine, stands.generation
        evaluator.call = self._told
        self._stand()
        self._next()
        return stands.covered

    def _tell_again(self, at: int, number: np.ndarray, x: Any, f: Any, g: Any, h: Any) -> None:
        """Tell what was told before, from some answer on, generation by generation."""
        while at < len(x):
            self.ask()
            until = at + int(np.sum(number[at:] < self.log.planned))
            if until == at:
                raise DamagedFile(f"it holds values of {len(x)} evaluations, of which {len(x) - at} were never asked")
            part = slice(at, until)
            self.tell(x[part], f[part], g[part], h[part], failed=~np.isfinite(f[part]))
            at = until


def _never_idle(kind: type[Optimizer]) -> type[Optimizer]:
    """The kind that answers whoever is free; a class of somebody else's keeps what it has of its own."""
    free = NEVER_IDLE.load()
    if issubclass(kind, free):
        return kind
    return free if kind is Optimizer else type(kind.__name__, (kind, free), {"__doc__": kind.__doc__})


def _copied(values: Any, name: str) -> np.ndarray:
    """Numbers that are nobody else's."""
    try:
        return np.array(to_numpy(values), dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} must be numbers; got {values!r:.60}") from error


def _rows(values: Any, count: int, width: int, name: str) -> np.ndarray:
    """Values [count, width]; one point may come without its leading axis, one constraint without its last."""
    if values is None:
        if width:
            raise InvalidInput(f"{name} must be told: {width} values for each point")
        return np.zeros((count, 0))
    found = _copied(values, name)
    if found.size != count * width or (found.ndim > 1 and found.shape[0] != count):
        raise InvalidInput(f"{name} must have shape ({count}, {width}) for {count} points; got {found.shape}")
    return found.reshape(count, width)
