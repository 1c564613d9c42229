"""Optimizer: the loop is yours. Ask for points, evaluate them wherever you like, tell their values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from meco.core.arrays import to_numpy
from meco.core.capabilities import Cooperation, find_capability
from meco.core.memory import DoesNotFit
from meco.errors import DamagedFile, InvalidInput, MecoError, warn_user
from meco.methods import DEFAULT
from meco.options import Method, Tolerances, Workers
from meco.read_numbers import read_whole_number
from meco.result import Result
from meco.run.async_search import AsyncSearch, check_asynchronous
from meco.run.calling.answers import Answer, Fault, check_finite, make_failed_answer
from meco.run.calling.blas_threads import one_thread
from meco.run.folder.optimizer_state import STATE_FORMAT, ToldPoints, read_state
from meco.run.folder.search_state import SearchState, fingerprint_inputs, make_record, unpack_state
from meco.run.generation_search import GenerationSearch
from meco.run.log.equality_defaults import EqualityDefaults
from meco.run.log.evaluation_columns import stack_rows
from meco.run.log.evaluation_log import Entry, EvaluationLog, PriorEvaluations
from meco.run.make_result import list_many_constraints, make_result
from meco.run.request import (
    Request,
    check_noise_length,
    make_request,
    options_from_inputs,
    tolerances_from_inputs,
    variables_from_inputs,
)
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
        check_noise_length(self.request)
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
        equalities = EqualityDefaults(known, by_arrival=pool.asynchronous)
        self.log = EvaluationLog(self.request.budget, equalities=equalities)
        self.log.declare_constraints(*counts, *_name_constraints(self.request, told))
        self.request.check_names(self.log)
        self._told_counts = told  # without the cheap ones, which are added here
        self.asynchronous = pool.asynchronous
        if self.asynchronous:
            check_asynchronous(self.request.method)
        self._outstanding: dict[int, np.ndarray] = {}  # points that were given out and not told yet, by number
        self._search: AsyncSearch | GenerationSearch = self._make_search(self.log)

    def _make_search(self, log: EvaluationLog, record: Any = None, nit: int = 0) -> AsyncSearch | GenerationSearch:
        """A search on this log: a new one, or that of a record after so many generations."""
        kind: Any = AsyncSearch if self.asynchronous else GenerationSearch
        return kind(self.request, log, record=record, nit=nit)

    @property
    def variables(self) -> Variables:
        """The variables in their order: variables.as_dict(x) is a point by name."""
        return self.request.variables

    @property
    def done(self) -> bool:
        """Whether the budget is spent and everything has been told."""
        return self._search.done

    @property
    def nit(self) -> int:
        """Generations, or answers that were learnt from where points are asked one by one."""
        return self._search.nit

    @property
    def pending(self) -> np.ndarray:
        """Points that were given out and not told yet: [m, D]."""
        return np.array([self._outstanding[n] for n in sorted(self._outstanding)]).reshape(-1, self.request.dim)

    @np.errstate(all="ignore")
    @one_thread()
    def ask(self, n: int | None = None) -> np.ndarray:
        """Up to n points to evaluate [m, D]: at most the rest of this generation, none when all are out.

        With asynchronous=True n points (batch unless given), whatever is outstanding; fewer where the budget ends.
        """
        if n is not None and int(n) < 0:
            raise InvalidInput(f"ask for 0 or more points; got {n}")
        count = self.request.options.get("batch", 1) if n is None and self.asynchronous else n
        found: list[tuple[int, np.ndarray]] = []
        while (count is None or len(found) < int(count)) and (next_point := self._search.propose()) is not None:
            found.append(next_point)
        self._outstanding |= dict(found)
        return np.array([x for _, x in found]).reshape(-1, self.request.dim)

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
        for k, number in enumerate(numbers):
            values = (float(f[k, 0]), g[k], h[k])
            point = self._outstanding.pop(number)
            self.log.add_answer(*self._make_entry(number, point, values, lost=bool(lost[k]), errors=errors[k]))
        for number in numbers:
            self._search.accept_answer(number)
        list_many_constraints(self.request, self.log)

    def learn(self, x: np.ndarray, f: np.ndarray, g: np.ndarray, h: np.ndarray) -> None:
        """Learn from x [n, D] of other searches, f [n], g [n, p], h [n, q]; without effect where the method cannot."""
        cooperation, evaluator = find_capability(self._search.loop.engine, Cooperation), self._search.loop.evaluator
        if cooperation is not None and self.nit:
            known = PriorEvaluations(x, f, g, h)
            ev = known.to_evaluation(*self.request.resolve_tolerances(self.log))
            cooperation.learn(evaluator.box.pin(x)[None], ev)

    def diversify(self, u: float) -> None:
        """Differ, by u in [0, 1), from other searches of the same points; without effect where the method cannot."""
        cooperation = find_capability(self._search.loop.engine, Cooperation)
        if cooperation is not None and self.nit:
            cooperation.diversify(np.array([u]))

    def _make_entry(
        self, number: int, x: np.ndarray, values: tuple[Any, Any, Any], *, lost: bool, errors: np.ndarray
    ) -> tuple[Entry, str]:
        """What was told of x [D] as the log keeps it, and why it failed, or ""; errors [1 + C] or [0]."""
        answer = make_failed_answer(Fault.TOLD, "") if lost else check_finite(Answer(*values))
        g_names, h_names = _name_constraints(self.request, self._told_counts)
        answer = answer._replace(g_names=g_names, h_names=h_names)
        if answer.fault is Fault.NONE and not np.isnan(errors).any():
            answer = answer._replace(errors=errors)
        return Entry.of(number, self.nit, 0, x, answer), answer.reason

    def _find_numbers(self, points: np.ndarray) -> list[int]:
        """Under which numbers these points [m, D] were given out; InvalidInput for one that was not, or is told."""
        waiting: dict[bytes, list[int]] = {}
        for number in sorted(self._outstanding):
            waiting.setdefault((self._outstanding[number] + 0.0).tobytes(), []).append(number)
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
        history = self._search.loop.evaluator.history
        trace = {name: rows[:, 0] for name, rows in history.collect_trace().items()} if self.nit else {}
        reason = "budget" if self.done else "running"
        return make_result(
            self.request, self.log, reason, nit=self.nit, trace=trace, notes=self.request.notes, loop=self._search.loop
        )

    def __reduce__(self) -> Any:
        """No pickle and no copy: what a search holds of other libraries cannot be carried."""
        raise CannotPickle(
            "an Optimizer cannot be pickled or copied; search.state() is all that Optimizer.from_state() needs to go on"
        )

    def state(self) -> dict[str, Any]:
        """Everything needed to go on later, as arrays and text: np.savez(path, **search.state()).

        The state is the history, the inputs and what was told, and where the search was when it last knew all of
        it: from_state() tells again what came later, or everything where the method cannot be saved. An asynchronous
        search then proposes other points than this one would have.
        """
        p, q = self.log.counts
        numbers = sorted(self.log.entries)
        f, g, h = self.log.values(numbers)
        inputs = self.request.describe_inputs() | {"n_ineq": p, "n_eq": q, "format": STATE_FORMAT}
        inputs["asynchronous"] = self.asynchronous
        x = np.array([self.log.entries[n].x for n in numbers]).reshape(-1, self.request.dim)
        state: dict[str, Any] = {"inputs": json.dumps(inputs), "number": np.array(numbers, dtype=np.int64)}
        if any(self.log.entries[n].errors.size for n in numbers):
            state["se"] = stack_rows([self.log.entries[n].errors for n in numbers], 1 + p + q)
        state |= {"x": x, "f": f, "g": g, "h": h, "order": np.array(list(self.log.entries), dtype=np.int64)}
        state |= {"open_x": self.pending, "open_number": np.array(sorted(self._outstanding), dtype=np.int64)}
        if self.request.known is not None:
            state |= {f"known_{key}": value for key, value in self.request.known._asdict().items()}
        if self.log.equalities.fixed is not None:
            state["default_eq"] = self.log.equalities.fixed
        memory, covered, nit = self._search.saved
        record = None if memory is None else make_record(memory, self._search.loop.evaluator, nit)
        if record is not None:
            saved = SearchState(record, covered, nit, 0, fingerprint_inputs(self.request.describe_inputs()), "")
            state["search"] = np.frombuffer(saved.to_bytes(), dtype=np.uint8)
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, Any], method: Any = None, cheap: Any = None) -> Optimizer:
        """An optimizer that goes on where state() was taken; state may be a dict or a loaded npz file.

        A method with options that were objects, such as a policy or a rule, must be given again, and so must functions:
        those of cheap.
        """
        inputs, told, outstanding, known = read_state(state)
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
                evaluated=known,
                seed=inputs["seed"],
                tolerances=tolerances_from_inputs(inputs),
                workers=Workers(batch=batch, asynchronous=inputs["asynchronous"]),
                cheap=cheap,
                noise=inputs.get("noise"),
            )
            search._restore_equalities(state)
            if search.asynchronous:
                search._resume_asynchronous(told, outstanding)
            else:
                search._resume_generations(told, outstanding, state.get("search"))
        except (MecoError, TypeError) as error:
            raise DamagedFile(f"this state cannot be continued: {error}") from error
        return search

    def _restore_equalities(self, state: Mapping[str, Any]) -> None:
        """Take over the default tolerances of equalities that the state holds; DamagedFile where they do not fit."""
        if "default_eq" not in state:
            return
        fixed = np.array(state["default_eq"], dtype=np.float64)
        if fixed.shape != (self.log.counts[1],) or not (np.isfinite(fixed) & (fixed >= 0.0)).all():
            raise DamagedFile("default_eq does not fit the equalities")
        self.log.equalities.fixed = fixed

    def _resume_asynchronous(self, told: ToldPoints, outstanding: ToldPoints) -> None:
        """Learn from every answer in the order in which it was told, and count what is outstanding as proposed."""
        search: Any = self._search
        index = {n: k for k, n in enumerate(told.number.tolist())}
        search.replay_answers([self._recorded_entry(told, index[n]) for n in told.order.tolist()])
        search.restore_numbering({*told.number.tolist(), *outstanding.number.tolist()})
        for n, x, unit in zip(outstanding.number.tolist(), outstanding.x, search.evaluator.box.pin(outstanding.x)):
            self._outstanding[n] = x
            search.mark_outstanding(n, unit)

    def _resume_generations(self, told: ToldPoints, outstanding: ToldPoints, saved: np.ndarray | None) -> None:
        """Bring this new optimizer to where another one stood, from what that was told and the bytes of its search.

        Afterwards the log holds every answer of `told`, the search has learnt from them, and exactly the points of
        `outstanding` are out. saved None, or of no use: everything is told again. DamagedFile where the search asks
        for other points than these.
        """
        self._tell_again(told, self._restore_search(told, saved))
        self._give_out_again(outstanding)

    def _tell_again(self, told: ToldPoints, at: int) -> None:
        """Ask for points and tell their answers in the order of numbers, from the at-th answer on; leaves some asked.

        DamagedFile for answers to points that the search never asks for.
        """
        while at < len(told.number):
            self.ask()
            until = at + int(np.sum(told.number[at:] < self.log.planned))
            if until == at:
                count, left = len(told.number), len(told.number) - at
                raise DamagedFile(f"it holds values of {count} evaluations, of which {left} were never asked")
            part = slice(at, until)
            f, lost = told.f[part], told.lost[part]
            p, q = self._told_counts
            self.tell(told.x[part], f, told.g[part][:, :p], told.h[part][:, :q], lost, told.errors_of(part, p, q))
            at = until

    def _give_out_again(self, outstanding: ToldPoints) -> None:
        """Let exactly these points of the present generation be out; DamagedFile where they are not of it."""
        numbers = outstanding.number.tolist()
        unasked = self._outstanding.keys() - set(numbers)
        self._search.propose_again(len(unasked))  # type: ignore[union-attr]
        self._outstanding = {n: x for n, x in self._outstanding.items() if n not in unasked}
        while self._outstanding.keys() != set(numbers):
            found = self._search.propose()
            if found is None or found[0] not in numbers:
                raise DamagedFile(f"it says that {numbers} were given out, which this search does not propose")
            self._outstanding[found[0]] = found[1]

    def _recorded_entry(self, told: ToldPoints, k: int) -> Entry:
        """The k-th of the answers that were told, in the order of numbers, as the log keeps it."""
        values = (float(told.f[k]), told.g[k], told.h[k])
        lost, errors = bool(told.lost[k]), told.errors[k]
        return self._make_entry(int(told.number[k]), told.x[k], values, lost=lost, errors=errors)[0]

    def _restore_search(self, told: ToldPoints, saved: np.ndarray | None) -> int:
        """Replace log and search by those that were saved after some of these answers, and say after how many.

        saved [n] are the bytes of a SearchState. 0 where it is None, damaged, or not of these inputs and answers: then
        log and search stay as they are.
        """
        state = unpack_state(saved.tobytes()) if isinstance(saved, np.ndarray) and saved.dtype == np.uint8 else None
        if state is None or state.fingerprint != fingerprint_inputs(self.request.describe_inputs()):
            return 0
        log, count = EvaluationLog(self.request.budget, equalities=self.log.equalities), state.covered
        if not np.array_equal(told.number[:count], np.arange(count)):
            return 0
        log.declare_constraints(*self.log.counts)
        for n in log.reserve_numbers(count):
            log.add_recorded(self._recorded_entry(told, n))
        log.check_constraints()
        try:
            search = self._make_search(log, state.record, state.generation)
        except DoesNotFit:
            return 0
        self.log, self._search, self._outstanding = log, search, {}
        return count


def _add_cheap(request: Request, cheap: Any, pool: Workers) -> Request:
    """The request with constraints that cost nothing; itself where there are none."""
    if cheap is None:
        return request
    from meco.run.cheap_constraints import add_cheap_constraints, read_cheap

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
