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
from meco.blackbox.evaluation_log import Entry, EvaluationLog, Known
from meco.blackbox.habits import given_seed, refuse_unknown
from meco.blackbox.request import make_request
from meco.blackbox.result import MinimizeResult, make_result
from meco.blackbox.session import prepare
from meco.blackbox.tolerances import EQ_TOL, INEQ_TOL
from meco.errors import DamagedFile, InvalidInput
from meco.methods import DEFAULT

STATE_FORMAT = 1
REPEATED = ("budget", "method", "seed", "x0", "integrality", "ineq_tol", "eq_tol")  # inputs that are JSON as they are


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
        seed: Any = None,
        x0: Any = None,
        evaluated: Any = None,
        integrality: Any = None,
        eq_tol: Any = EQ_TOL,
        ineq_tol: Any = INEQ_TOL,
        constraint_names: Any = None,
        **unknown: Any,
    ) -> None:
        if unknown:
            seed = given_seed(seed, unknown)
            refuse_unknown(Optimizer.__init__, unknown)
        self.request = make_request(
            bounds, budget=budget, method=method, seed=seed, integrality=integrality, x0=x0, evaluated=evaluated,
            constraint_names=constraint_names, ineq_tol=ineq_tol, eq_tol=eq_tol, policy=policy, pop_size=pop_size,
            batch=batch,
        )  # fmt: skip
        for note in self.request.notes:
            warnings.warn(note, stacklevel=2)
        counts = (int(n_ineq), int(n_eq))
        known = self.request.known
        if min(counts) < 0 or (known is not None and (known.g.shape[1], known.h.shape[1]) != counts):
            raise InvalidInput(
                f"n_ineq and n_eq must be the numbers of constraints, as evaluated has them too; got {n_ineq}, {n_eq}"
            )
        self.log = EvaluationLog(self.request.budget)
        self.log.declare(*counts)
        self.evaluator, self.engine = prepare(self.request, self.log, self._told)
        self.nit = 0
        self._next()

    def _next(self) -> None:
        """Candidates of the next generation; one that holds known points only passes by itself."""
        self._points, self._numbers = np.zeros((0, self.request.dim)), range(0)
        self._out = 0  # how many of the points were given out
        while self.evaluator.left > 0 and not len(self._points):
            self._unit = self.engine.ask()
            self._points = self.evaluator.to_box(self._unit)[0][self.evaluator.needed(self._unit)]
            self._numbers = self.log.plan(len(self._points))
            if not len(self._points):
                self._finish()

    def _finish(self) -> None:
        """Hand a complete generation to the engine."""
        self.engine.tell(self._unit, self.evaluator.evaluate(self._unit))
        self.evaluator.note(self.engine.population, self.engine.trace())
        self.nit += 1
        self.log.review()

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

    def tell(self, x: Any, f: Any, g: Any = None, h: Any = None, failed: Any = None) -> None:
        """Values of points that were asked for, in any order: x [m, D], f [m], g [m, p], h [m, q].

        One point may come without its leading axis. failed [m] marks points without values; what is
        not finite counts as failed too. The next generation begins when the last value is told.
        """
        points = np.atleast_2d(np.asarray(to_numpy(x), dtype=np.float64)) + 0.0
        count = len(points)
        if points.shape[1:] != (self.request.dim,):
            raise InvalidInput(f"x must have {self.request.dim} variables; got shape {np.shape(x)}")
        p, q = self.log.counts
        f, g, h = _rows(f, count, 1, "f"), _rows(g, count, p, "g"), _rows(h, count, q, "h")
        lost = np.zeros(count, dtype=bool) if failed is None else np.atleast_1d(np.asarray(failed, dtype=bool))
        if lost.shape != (count,):
            raise InvalidInput(f"failed must have one value for each of the {count} points; got shape {lost.shape}")
        for k, i in enumerate(self._places(points)):
            answer = checked(Answer(float(f[k, 0]), g[k], h[k]))
            answer = failure(Fault.RAISED, "told as failed") if lost[k] else answer
            self.log.take(Entry.of(self._numbers[i], self.nit, 0, self._points[i], answer), answer.reason)
        if len(self._points) and all(n in self.log.entries for n in self._numbers):
            self._finish()
            self._next()

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
        trace = self.evaluator.results(self.request.method, [self.request.seed])[0].trace if self.nit else {}
        reason = "budget" if self.done else "running"
        return make_result(
            self.request, self.log, reason, nit=self.nit, trace=trace, notes=self.request.notes, engine=self.engine
        )

    def state(self) -> dict[str, Any]:
        """Everything needed to go on later, as arrays and text: np.savez(path, **search.state()).

        The state is the history: the inputs, and what was told. from_state() tells it again.
        """
        p, q = self.log.counts
        numbers = sorted(self.log.entries)
        f, g, h = self.log.values(numbers)
        inputs = self.request.facts() | {"n_ineq": p, "n_eq": q, "format": STATE_FORMAT, "out": self._out}
        x = np.array([self.log.entries[n].x for n in numbers]).reshape(-1, self.request.dim)
        state: dict[str, Any] = {"inputs": json.dumps(inputs), "number": np.array(numbers, dtype=np.int64)}
        state |= {"x": x, "f": f, "g": g, "h": h}
        if self.request.known is not None:
            state |= {f"known_{key}": value for key, value in self.request.known._asdict().items()}
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, Any], policy: Any = None) -> Optimizer:
        """An optimizer that goes on where state() was taken; state may be a dict or a loaded npz file.

        A policy that was given as an object must be given again.
        """
        try:
            inputs = json.loads(str(state["inputs"]))
            if inputs["format"] > STATE_FORMAT:
                raise DamagedFile(f"the state has format {inputs['format']}; this version reads up to {STATE_FORMAT}")
            x, f, g, h = (np.asarray(state[key], dtype=np.float64) for key in ("x", "f", "g", "h"))
            number = np.asarray(state["number"])
            known = tuple(np.asarray(state[f"known_{key}"]) for key in Known._fields) if inputs["evaluated"] else None
            options = inputs["options"] | ({} if policy is None else {"policy": policy})
            search = cls(
                list(zip(inputs["lower"], inputs["upper"])), inputs["n_ineq"], inputs["n_eq"], evaluated=known,
                constraint_names=inputs["constraint_names"] or None, **options, **{k: inputs[k] for k in REPEATED},
            )  # fmt: skip
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise DamagedFile(f"this is not the state of an Optimizer: {error!r}") from error
        at = 0
        while at < len(x):
            search.ask()
            part = slice(at, at + int(np.sum(number[at:] < search._numbers.stop)))
            search.tell(x[part], f[part], g[part], h[part], failed=~np.isfinite(f[part]))
            at = part.stop
        search._out = inputs["out"]
        return search


def _rows(values: Any, count: int, width: int, name: str) -> np.ndarray:
    """Values [count, width]; one point may come without its leading axis, one constraint without its last."""
    if values is None:
        if width:
            raise InvalidInput(f"{name} must be told: {width} values for each point")
        return np.zeros((count, 0))
    found = np.asarray(to_numpy(values), dtype=np.float64)
    if found.size != count * width or (found.ndim > 1 and found.shape[0] != count):
        raise InvalidInput(f"{name} must have shape ({count}, {width}) for {count} points; got {found.shape}")
    return found.reshape(count, width)
