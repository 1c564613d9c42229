"""Optimizer: the loop is yours. Ask for points, evaluate them wherever you like, tell their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from meco.answer.build import make_result
from meco.answer.table import Table
from meco.core.arrays import to_numpy
from meco.errors import DamagedFile, InvalidInput, MecoError, warn_user
from meco.files.schema import check_form
from meco.methods import DEFAULT, METHODS
from meco.options import Method, Tolerances, Workers
from meco.read_numbers import read_whole_number
from meco.result import Result
from meco.run.answer import Answer, Fault, check_finite, make_failed_answer
from meco.run.begin import make_answers, make_search
from meco.run.blas import one_thread
from meco.run.folder import FORMAT, INPUTS_FORM
from meco.run.log import Event, Events, check_events, library_versions
from meco.run.request import (
    Request,
    make_request,
    options_from_inputs,
    tolerances_from_inputs,
    variables_from_inputs,
)
from meco.run.run import Run
from meco.run.scipy_compat import explain_unknown_keywords
from meco.variables import HasEnds, Variables


class CannotPickle(MecoError, TypeError):
    """An object that pickle was given, and the way to keep it."""


class Optimizer:
    """Ask and tell for any method that can be asked, in the box and with constraint values.

    Points are arrays in the order of the variables, whether these have names or not; variables.as_dict(x) gives a
    point by name, and tell() takes it back as it is.

    Examples:
        >>> from meco import Optimizer
        >>> search = Optimizer([(-5, 5)] * 3, n_ineq=1, budget=300, method="SHADE-FR", seed=1)
        >>> while not search.done:
        ...     x = search.ask()
        ...     search.tell(x, (x**2).sum(axis=1), g=1.0 - x[:, :1])
        >>> search.result.feasible
        True
    """

    @explain_unknown_keywords
    @np.errstate(all="ignore")  # ours, whatever the caller set
    @one_thread()
    def __init__(
        self,
        bounds: Iterable[Any] | Variables | HasEnds,
        n_ineq: int = 0,
        n_eq: int = 0,
        *,
        budget: int | None = None,
        method: str | Method | Callable[..., Any] = DEFAULT,
        x0: Any = None,
        evaluated: Any = None,
        seed: Any = None,
        tolerances: float | dict[str, float] | Tolerances | None = None,
        workers: int | Workers = 1,
        cheap: Any = None,
        noise: bool | float | list[float] | dict[str, float] | None = None,
    ) -> None:
        """As minimize() takes them; n_ineq and n_eq are the numbers of constraints that tell() is given."""
        pool = Workers.read(workers)
        self.request = make_request(
            bounds,
            budget=budget,
            method=method,
            seed=seed,
            x0=x0,
            evaluated=evaluated,
            tolerances=tolerances,
            workers=pool,
            noise=noise,
        )
        self.request = _add_cheap(self.request, cheap, pool)
        for note in self.request.notes:
            warn_user(note)
        counts = (read_whole_number(n_ineq, "n_ineq", least=0), read_whole_number(n_eq, "n_eq", least=0))
        known, told = self.request.known, counts
        if self.request.cheap is not None:
            counts = told[0] + self.request.cheap.values.n_ineq, told[1] + self.request.cheap.values.n_eq
        if known is not None and (known.g.shape[1], known.h.shape[1]) != counts:
            raise InvalidInput(
                f"n_ineq and n_eq must be the numbers of constraints, as evaluated has them too, with cheap ones "
                f"last of either kind; got {n_ineq}, {n_eq}"
            )
        self._told_counts = told  # without the cheap ones, which are added here
        self.asynchronous = pool.asynchronous
        if self.asynchronous:
            from meco.run.async_engine import check_asynchronous

            check_asynchronous(self.request.method)
        elif not METHODS[self.request.method].has_ask:
            raise InvalidInput(
                f"{self.request.method} calls the problem itself and has no ask and tell; use minimize() or solve() "
                "with it"
            )
        self._begin(counts)

    def _begin(self, counts: tuple[int, int]) -> None:
        """Make the run, which has so many inequalities and equalities."""
        request = self.request
        self.answers = make_answers(request, asynchronous=self.asynchronous)
        request.check_noise()
        self.answers.declare(*counts, *_name_constraints(request, self._told_counts))
        request.check_names(self.answers)
        self._events = Events(keep=True)
        self._run = Run(
            request,
            lambda: make_search(request, self.answers, asynchronous=self.asynchronous),
            self.answers,
            self._events,
            asynchronous=self.asynchronous,
        )
        self._table = Table(self.answers, request.known, request.dim)

    @property
    def variables(self) -> Variables:
        """The variables in their order: variables.as_dict(x) is a point by name."""
        return self.request.variables

    @property
    def done(self) -> bool:
        """Whether the budget is spent and everything has been told."""
        return self.answers.calls >= self._run.budget and not self._run.pending

    @property
    def nit(self) -> int:
        """Generations, or answers that were learnt from where points are asked one by one."""
        return getattr(self._run.search, "iterations", len(self.answers))

    @property
    def pending(self) -> np.ndarray:
        """Points that were given out and not told yet: [m, D]."""
        calls = self._run.pending
        return np.array([calls[n].x for n in sorted(calls)]).reshape(-1, self.request.dim)

    @np.errstate(all="ignore")
    @one_thread()
    def ask(self, n: int | None = None) -> np.ndarray:
        """Up to n points to evaluate [m, D]: at most the rest of this generation, none when all are out.

        With asynchronous=True n points (batch unless given), whatever is outstanding; fewer where the budget ends.
        """
        if n is not None and int(n) < 0:
            raise InvalidInput(f"ask for 0 or more points; got {n}")
        count = self.request.options.get("batch", 1) if n is None and self.asynchronous else n
        found: list[np.ndarray] = []
        while (count is None or len(found) < int(count)) and (number := self._run.ask()) is not None:
            found.append(self._run.pending[number].x.copy())
        return np.array(found).reshape(-1, self.request.dim)

    @np.errstate(all="ignore")
    @one_thread()
    def tell(self, x: Any, f: Any = None, g: Any = None, h: Any = None, failed: Any = None, se: Any = None) -> None:
        """Values of points that were asked for, in any order: x [m, D], f [m], g [m, p], h [m, q].

        One point may come without its leading axis. failed marks points without values, True for all or [m]: f, g and
        h need not be given where nothing else is told, and their rows may be None there. What is not finite counts as
        failed too, but that nan beside a violated constraint is what was not computed: the rest is learnt from.
        The next generation begins when the last value is told. All of it is copied: the arrays stay yours. Points of
        named variables may be told as dicts too. Values of cheap constraints are not told: they are added here.
        se [m, 1 + p + q] are standard errors of f, g and h, or [m] where f is all there is; nan: not known of a point.
        """
        points = np.atleast_2d(_copy_numbers(self.variables.as_array(x), "x")) + 0.0
        count = len(points)
        if points.shape[1:] != (self.request.dim,):
            raise InvalidInput(f"x must have {self.request.dim} variables; got shape {np.shape(x)}")
        p, q = self._told_counts
        lost = _read_failed(failed, count)
        if f is None and g is None and h is None and not lost.all():
            raise InvalidInput("tell(x, f) needs values; of points that have none, tell(x, failed=True)")
        f, g, h = (_read_rows(part, lost, n, name) for part, n, name in ((f, 1, "f"), (g, p, "g"), (h, q, "h")))
        errors = np.zeros((count, 0)) if se is None else _read_rows(se, lost, 1 + p + q, "se")
        if (np.isinf(errors) | (errors < 0.0)).any():
            raise InvalidInput("se must be finite numbers, 0 or more")
        numbers = self._find_numbers(points)
        if self.request.cheap is not None:
            more = self.request.cheap.values.split_values(points)
            g, h = (np.concatenate(pair, axis=1) for pair in zip((g, h), more))
            errors = _widen_errors(errors, p, *more)
        told = []
        for k, number in enumerate(numbers):
            values = (float(f[k, 0]), g[k], h[k])
            told.append((number, self._make_answer(values, lost=bool(lost[k]), errors=errors[k]), 0.0))
        self._run.record(told)

    def learn(self, x: np.ndarray, f: np.ndarray, g: np.ndarray, h: np.ndarray) -> None:
        """Learn from x [n, D] of other searches, f [n], g [n, p], h [n, q]; without effect where the method cannot."""
        if self.nit:
            names = [("",) * np.shape(part)[1] for part in (g, h)]
            rows = zip(np.asarray(f, float), np.asarray(g, float), np.asarray(h, float))
            answers = [check_finite(Answer(float(a), b, c, *names)) for a, b, c in rows]
            self._run.know(np.asarray(x, dtype=np.float64), answers)

    def diversify(self, u: float) -> None:
        """Differ, by u in [0, 1), from other searches of the same points; without effect where the method cannot."""
        if self.nit:
            self._run.diversify(float(u))

    def _make_answer(self, values: tuple[Any, Any, Any], *, lost: bool, errors: np.ndarray) -> Answer:
        """What was told of a point; errors [1 + C] or [0]."""
        answer = make_failed_answer(Fault.TOLD, "") if lost else check_finite(Answer(*values))
        g_names, h_names = _name_constraints(self.request, self._told_counts)
        if not lost:
            answer = answer._replace(g_names=g_names or ("",) * answer.g.size, h_names=h_names or ("",) * answer.h.size)
        if answer.fault is Fault.NONE and not np.isnan(errors).any():
            answer = answer._replace(se=errors)
        return answer

    def _find_numbers(self, points: np.ndarray) -> list[int]:
        """Under which numbers these points [m, D] were given out; InvalidInput for one that was not, or is told."""
        waiting: dict[bytes, list[int]] = {}
        for number in sorted(self._run.pending):
            waiting.setdefault((self._run.pending[number].x + 0.0).tobytes(), []).append(number)
        numbers = []
        for point in points:
            match = waiting.get(point.tobytes())
            if not match:
                raise InvalidInput(
                    f"x = {np.array2string(point, threshold=8)} was not asked for, or was told already; tell each "
                    "point once and exactly as ask() gave it (points known beforehand go to evaluated=)"
                )
            numbers.append(match.pop(0))
        return numbers

    @property
    @one_thread()
    def result(self) -> Result:
        """The best point so far, also of an unfinished generation; made anew with every access.

        Before anything was told, and without evaluated= points, it is a placeholder: fun is nan, x a point inside the
        bounds that nobody evaluated.
        """
        reason = "budget" if self.done else "running"
        facts = self._run.search.facts()
        notes = [*self.request.notes, *facts.remarks]
        return make_result(self.request, self.answers, self._table, reason, facts=facts, notes=notes)

    def __reduce__(self) -> Any:
        """No pickle and no copy: what a search holds of other libraries cannot be carried."""
        raise CannotPickle(
            "an Optimizer cannot be pickled or copied; search.state() is all that Optimizer.from_state() needs to go on"
        )

    def state(self) -> dict[str, Any]:
        """Everything needed to go on later, for JSON: the inputs, and what happened since (meco.run.log)."""
        p, q = self.answers.counts
        inputs = self.request.describe_inputs() | {"n_ineq": p, "n_eq": q, "asynchronous": self.asynchronous}
        assert self._events.list is not None
        events = [list(event) for event in self._events.list]
        return {"format": FORMAT, "versions": library_versions(), "inputs": inputs, "events": events}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], method: Any = None, cheap: Any = None) -> Optimizer:
        """An optimizer that goes on where state() was taken.

        A method with options that were objects, such as a policy or a rule, must be given again, and so must functions:
        those of cheap.
        """
        inputs, events = _read_state(state)
        batch = inputs["options"].get("batch")
        if method is None:
            options = options_from_inputs(inputs)
            options.pop("batch", None)
            method = Method(inputs["method"], **options)
        free = _check_cheap_again(inputs, cheap)
        try:
            search = cls(
                variables_from_inputs(inputs),
                inputs["n_ineq"] - free[0],
                inputs["n_eq"] - free[1],
                budget=inputs["budget"],
                method=method,
                x0=inputs["x0"],
                evaluated=inputs["evaluated"],
                seed=inputs["seed"],
                tolerances=tolerances_from_inputs(inputs),
                workers=Workers(batch=batch, asynchronous=inputs["asynchronous"]),
                cheap=cheap,
                noise=inputs.get("noise"),
            )
            search._replay(events)
        except (MecoError, TypeError, ValueError, KeyError, IndexError) as error:
            raise DamagedFile(f"this state cannot be continued: {error}") from error
        return search

    @np.errstate(all="ignore")
    @one_thread()
    def _replay(self, events: Sequence[Event]) -> None:
        """Bring a new optimizer to where these events end."""
        self._run.replay(events)
        self._events.list = [list(event) for event in events]


def _read_state(state: Mapping[str, Any]) -> tuple[dict[str, Any], list[Event]]:
    """Inputs and events of a state; DamagedFile for anything else."""
    form = {"format": int, "inputs": INPUTS_FORM | {"n_ineq": int, "n_eq": int}, "events": [[object]]}
    try:
        held = dict(state)
    except (TypeError, ValueError) as error:
        raise DamagedFile(f"this is no state of an Optimizer: {error}") from error
    if "format" not in held or held["format"] != FORMAT:
        raise DamagedFile("this is no state of an Optimizer of meco 0.4: begin anew with evaluated= and what was told")
    check_form(held, form, "state")
    check_events(held["events"], len(held["inputs"]["variables"]), "state")
    return dict(held["inputs"]), list(held["events"])


def _add_cheap(request: Request, cheap: Any, pool: Workers) -> Request:
    """The request with constraints that cost nothing; itself where there are none."""
    if cheap is None:
        return request
    from meco.run.cheap import add_cheap_constraints, read_cheap

    free = read_cheap(cheap, request.variables)
    return add_cheap_constraints(request, free, vectorized=pool.vectorized) if free else request


def _name_constraints(request: Request, told: tuple[int, int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of inequalities and equalities: "" for those that are told, of which there are so many, then cheap ones."""
    if request.cheap is None:
        return (), ()
    named = request.cheap.values.describe()
    return ("",) * told[0] + (*named["ineq"],), ("",) * told[1] + (*named["eq"],)


def _check_cheap_again(inputs: Mapping[str, Any], cheap: Any) -> tuple[int, int]:
    """How many inequalities and equalities of a state are cheap; InvalidInput without their functions."""
    names = inputs.get("cheap") or {}
    if names and cheap is None:
        raise InvalidInput(
            f"the state has cheap constraints ({', '.join(names['ineq'] + names['eq'])}), which no file holds: give "
            "from_state(state, cheap=<the same>)"
        )
    return len(names.get("ineq", ())), len(names.get("eq", ()))


def _copy_numbers(values: Any, name: str) -> np.ndarray:
    """Numbers as a new float64 array; InvalidInput, which names them, for others."""
    try:
        return np.array(to_numpy(values), dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} must be numbers; got {values!r:.60}") from error


def _widen_errors(errors: np.ndarray, p: int, *more: np.ndarray) -> np.ndarray:
    """Standard errors [m, 1 + p + q] with 0 for further inequalities and equalities [m, ...]; none stay none."""
    if not errors.shape[1]:
        return errors
    zeros = [np.zeros_like(part) for part in more]
    return np.concatenate([errors[:, : 1 + p], zeros[0], errors[:, 1 + p :], zeros[1]], axis=1)


def _read_failed(failed: Any, count: int) -> np.ndarray:
    """Which of so many points failed [count], from True for all, or one flag each; InvalidInput for others."""
    lost = np.array(False if failed is None else failed, dtype=bool)
    if lost.shape not in ((), (count,)):
        raise InvalidInput(f"failed must be True, or one value for each of the {count} points; got shape {lost.shape}")
    return np.broadcast_to(lost, (count,))


def _read_rows(values: Any, lost: np.ndarray, width: int, name: str) -> np.ndarray:
    """Values [m, width] of one or several points, of which those that are lost [m] need none; None is nan for f.

    InvalidInput for other shapes.
    """
    count = len(lost)
    if values is None:
        if width and name != "f" and not lost.all():  # constraints alone: the objective was not computed
            raise InvalidInput(f"{name} must be told: {width} values for each point that has not failed")
        return np.full((count, width), np.nan)
    if isinstance(values, (list, tuple)) and len(values) == count:
        blank = np.full(np.shape(next((v for v in values if v is not None), [np.nan] * width)), np.nan)
        values = [blank if v is None and lost[k] else v for k, v in enumerate(values)]
    found = _copy_numbers(values, name)
    if found.size != count * width or (found.ndim > 1 and found.shape[0] != count):
        wanted = (count,) if name == "f" else (count, width)
        raise InvalidInput(f"{name} must have shape {wanted} for {count} points; got {found.shape}")
    return found.reshape(count, width)
