"""The checked order behind both doors: the box, the points at hand, the budget and the method."""

from __future__ import annotations

import hashlib
import operator
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from meco.core.capabilities import Batching
from meco.core.problem import check_bounds
from meco.errors import InvalidInput
from meco.methods import DEFAULT, METHODS
from meco.run.log.evaluation_log import EvaluationLog, Evaluations, Known
from meco.run.scipy_compat import read_names, read_seed
from meco.run.tolerances import EQ_TOL, INEQ_TOL, Tolerance, check_names, read_tolerance, resolved, strictest

if TYPE_CHECKING:
    from meco.run.constraints import Row
    from meco.run.log_scale import LogScale

MOST_NUMBERS = 100_000_000  # in a population
WIDEST = 1e300  # of a box: arithmetic with wider ones overflows


@dataclass(frozen=True, eq=False)
class Request:
    """What a run is asked to do; everything here is checked, and written to run.json."""

    lower: np.ndarray  # [D]
    upper: np.ndarray
    budget: int
    method: str
    seed: int
    integrality: np.ndarray | None = None  # [D] bool
    options: dict[str, Any] = field(default_factory=dict)  # for the engine: pop_size, policy
    x0: np.ndarray | None = None  # [n, D]
    known: Known | None = None
    names: tuple[str, ...] = ()
    ineq_tol: Tolerance = INEQ_TOL
    eq_tol: Tolerance = EQ_TOL
    notes: tuple[str, ...] = ()  # what the user should know before the first evaluation
    logarithmic: np.ndarray | None = None  # [D] bool: variables on a logarithmic scale
    repeats: int = 0  # calls of the best point that are made again at the end
    keep: bool | tuple[str, ...] = False  # constraints that must never be violated: True for all, or names
    hard: tuple[str, ...] = ()  # labels of separate constraints that must never be violated
    rows: tuple[Row, ...] = ()  # linear constraints

    @property
    def dim(self) -> int:
        """Number of variables."""
        return self.lower.size

    def tolerances(self, log: EvaluationLog) -> tuple[Any, Any]:
        """Of inequalities and equalities: a number, or an array [p], [q] by the names that the log knows."""
        if isinstance(self.ineq_tol, float) and isinstance(self.eq_tol, float):
            return self.ineq_tol, self.eq_tol
        names, p = log.names(self.names), log.counts[0]
        return resolved(self.ineq_tol, names[:p], "ineq_tol"), resolved(self.eq_tol, names[p:], "eq_tol")

    @property
    def strictest(self) -> tuple[float, float]:
        """The smallest tolerance of inequalities and equalities, for methods that know only one."""
        if isinstance(self.ineq_tol, float) and isinstance(self.eq_tol, float):
            return self.ineq_tol, self.eq_tol
        return strictest(self.ineq_tol, "ineq_tol"), strictest(self.eq_tol, "eq_tol")

    def scale(self) -> LogScale | None:
        """What takes variables on a logarithmic scale to the box and back."""
        if self.logarithmic is None:
            return None
        from meco.run.log_scale import LogScale

        return LogScale(self.logarithmic, self.lower, self.upper)

    def facts(self) -> dict[str, Any]:
        """The same in JSON, to the last bit."""
        known = None if self.known is None else {"count": len(self.known.f), "sha256": _digest(self.known)}
        return {
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "integrality": None if self.integrality is None else self.integrality.tolist(),
            "budget": self.budget,
            "method": self.method,
            "seed": self.seed,
            "options": {key: _described(value) for key, value in self.options.items()},
            "x0": None if self.x0 is None else self.x0.tolist(),
            "evaluated": known,
            "constraint_names": list(self.names),
            "ineq_tol": self.ineq_tol,
            "eq_tol": self.eq_tol,
            "log": None if self.logarithmic is None else self.logarithmic.tolist(),
            "repeats": self.repeats or None,
            "keep_feasible": list(self.keep) if isinstance(self.keep, tuple) else self.keep or None,
        }


def make_request(
    bounds: Any,
    *,
    budget: int | None = None,
    method: str = DEFAULT,
    seed: Any = None,
    integrality: Any = None,
    x0: Any = None,
    evaluated: Any = None,
    constraint_names: Sequence[str] | None = None,
    ineq_tol: Any = INEQ_TOL,
    eq_tol: Any = EQ_TOL,
    at_once: int = 1,
    log: Any = None,
    repeats: Any = None,
    **options: Any,
) -> Request:
    """Check everything that can be checked before an evaluation is spent.

    at_once is how many points can be evaluated side by side: the batch, where a method has one and none is given.
    """
    lower, upper = read_bounds(bounds)
    budget = whole_number(50 * lower.size if budget is None else budget, "budget")
    method = METHODS.resolve(method)
    if options.get("pop_size") is not None:
        options["pop_size"] = whole_number(options["pop_size"], "pop_size")
        if options["pop_size"] * lower.size > MOST_NUMBERS:
            raise InvalidInput(f"pop_size is too large for {lower.size} variables; got {options['pop_size']}")
    if options.get("batch") is not None or Batching in METHODS[method].offers:
        options["batch"] = whole_number(at_once if options.get("batch") is None else options["batch"], "batch")
        if min(options["batch"], budget) * lower.size > MOST_NUMBERS:
            raise InvalidInput(f"batch is too large for {lower.size} variables; got {options['batch']}")
    whole = read_integrality(integrality, lower.size)
    if whole is not None:
        lower, upper = _whole_bounds(lower, upper, whole)
    known = None if evaluated is None else read_known(evaluated, lower, upper)
    names = () if constraint_names is None else read_names(constraint_names)
    allowed: dict[str, Any] = {
        "ineq_tol": read_tolerance(ineq_tol, "ineq_tol"),
        "eq_tol": read_tolerance(eq_tol, "eq_tol"),
    }
    _check_names(names, known, allowed)
    return Request(
        lower,
        upper,
        budget,
        method,
        read_seed(seed),
        whole,
        {key: value for key, value in options.items() if value is not None},
        None if x0 is None else read_points(x0, lower, upper, whole, "x0"),
        known,
        names,
        **allowed,
        notes=_warnings(method, lower.size, budget + (0 if known is None else len(known.f))),
        logarithmic=None if log is None else _log_scale(log, lower, upper, whole),
        repeats=0 if repeats is None else _read_repeats(repeats, budget),
    )


def _log_scale(log: Any, lower: np.ndarray, upper: np.ndarray, whole: np.ndarray | None) -> np.ndarray | None:
    from meco.run.log_scale import read_log

    return read_log(log, lower, upper, whole)


def _read_repeats(repeats: Any, budget: int) -> int:
    """Further calls of the best point, for which the budget must leave room."""
    count = whole_number(repeats, "repeats", least=0)
    if 2 * count >= budget:
        raise InvalidInput(f"repeats must be less than half of the budget of {budget}; got {count}")
    return count


def _check_names(names: tuple[str, ...], known: Known | None, allowed: Mapping[str, Tolerance]) -> None:
    """Refuse names that contradict each other, the known values, or the tolerances."""
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"constraint_names has {name!r} twice")
    if known is not None and names and len(names) != known.g.shape[1] + known.h.shape[1]:
        raise InvalidInput(
            f"constraint_names has {len(names)} names, but evaluated has {known.g.shape[1]} inequalities and "
            f"{known.h.shape[1]} equalities"
        )
    for keyword, tolerance in allowed.items() if names else ():
        check_names(tolerance, names, keyword)


def _warnings(method: str, dim: int, points: int) -> tuple[str, ...]:
    """What is known to go badly: models of D variables need some points before they foresee anything."""
    record = METHODS[method]
    if record.least_budget is None or points >= record.least_budget(dim):
        return ()
    return (
        f"{points} evaluations are few for {dim} variables: {method} first looks at {2 * dim + 1} points and needs "
        f"{record.least_budget(dim)} or more to search; give a larger budget, or fewer variables",
    )


def read_bounds(bounds: Any) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds from pairs, an array [D, 2], or an object with lb and ub."""
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        low, high = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
        return _checked(low, high)
    try:
        pairs = np.array(bounds, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"bounds must be one (low, high) pair of numbers per variable; got {bounds!r:.60}"
        ) from error
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.shape[0] == 0:
        turned = " (is it transposed?)" if pairs.ndim == 2 and pairs.shape[0] == 2 else ""
        raise InvalidInput(
            f"bounds must be one (low, high) pair per variable, shape (D, 2); got shape {pairs.shape}{turned}"
        )
    return _checked(pairs[:, 0], pairs[:, 1])


def _checked(lower: Any, upper: Any) -> tuple[np.ndarray, np.ndarray]:
    low, high = check_bounds(lower, upper, "bounds")
    with np.errstate(over="ignore"):
        for i in np.flatnonzero(~(high - low < WIDEST)):
            raise InvalidInput(f"bounds of variable {i} are too far apart: {low[i]} and {high[i]}")
    return low, high


def read_integrality(mask: Any, dim: int) -> np.ndarray | None:
    """Which variables are whole numbers, [D], or None when none is."""
    if mask is None:
        return None
    found = np.asarray(mask)
    if found.ndim == 0:
        found = np.full(dim, bool(found))
    if found.shape != (dim,) or found.dtype.kind not in "biu" or not np.isin(found, (0, 1)).all():
        raise InvalidInput(f"integrality must be {dim} values True (whole numbers) or False; got {mask!r:.60}")
    return found.astype(bool) if found.any() else None


def _whole_bounds(low: np.ndarray, high: np.ndarray, whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of integer variables moved inwards to whole numbers."""
    inner_low, inner_high = np.where(whole, np.ceil(low), low), np.where(whole, np.floor(high), high)
    for i in np.flatnonzero(inner_low > inner_high):
        raise InvalidInput(f"integer variable {i} has no whole number between its bounds {low[i]} and {high[i]}")
    return inner_low, inner_high


def read_points(points: Any, lower: np.ndarray, upper: np.ndarray, whole: np.ndarray | None, name: str) -> np.ndarray:
    """Points [n, D] inside the box, or an error that names the first that is not."""
    try:
        found = np.array(points, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} must be numbers, shape (D,) or (n, D); got {points!r:.60}") from error
    found = found[None] if found.ndim == 1 else found
    if found.ndim != 2 or found.shape[1] != lower.size:
        raise InvalidInput(
            f"{name} must have {lower.size} variables, shape (D,) or (n, D); got shape {np.shape(points)}"
        )
    inside = (found >= lower) & (found <= upper)
    for row, i in np.argwhere(~inside):
        raise InvalidInput(
            f"{name}: variable {i} of point {row} is {found[row, i]}, outside its bounds [{lower[i]}, {upper[i]}]"
        )
    if whole is not None:
        for row, i in np.argwhere((found != np.round(found)) & whole):
            raise InvalidInput(f"{name}: variable {i} of point {row} must be a whole number; got {found[row, i]}")
    return found + 0.0  # no negative zeros


def read_known(evaluated: Any, lower: np.ndarray, upper: np.ndarray) -> Known:
    """Already evaluated points: (X, F, G, H), a dict of these, a result's evaluations, or a run folder."""
    if isinstance(evaluated, (str, os.PathLike)):
        from meco.run.folder.reader import load_run

        _, log, _ = load_run(evaluated)
        good = [entry.number for entry in log.entries.values() if entry.good]
        if not good:
            raise InvalidInput(f"the run in {evaluated} holds no successful evaluation")
        parts: list[Any] = [[log.entries[n].x for n in good], *log.values(good)]
    elif isinstance(evaluated, Evaluations):
        parts = [getattr(evaluated, key)[~evaluated.failed] for key in ("x", "f", "g", "h")]
    elif isinstance(evaluated, Mapping):
        parts = [evaluated.get(key, evaluated.get(key.upper())) for key in ("x", "f", "g", "h")]
    elif isinstance(evaluated, (tuple, list)) and 2 <= len(evaluated) <= 4:
        parts = [*evaluated, None, None][:4]
    else:
        raise InvalidInput(
            "evaluated must be (X, F), (X, F, G), (X, F, G, H), a dict with x, f, g, h, a result's evaluations, "
            f"or the folder of a run; got {evaluated!r:.60}"
        )
    x = read_points(parts[0], lower, upper, None, "evaluated points")
    try:
        f, g, h = (_column(part, len(x)) for part in parts[1:])
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"evaluated: {error}") from error
    if f.shape[1] != 1:
        raise InvalidInput(f"evaluated: {len(x)} points need {len(x)} values of f; got shape {f.shape}")
    return Known(x, f[:, 0], g, h)


def _column(values: Any, count: int) -> np.ndarray:
    if values is None:
        return np.zeros((count, 0))
    found = np.array(values, dtype=np.float64)
    if found.ndim == 0 and count == 1:
        found = found[None]
    found = found[:, None] if found.ndim == 1 and found.shape[0] == count else found
    found = found[None] if found.ndim == 1 and count == 1 else found
    if found.ndim != 2 or found.shape[0] != count:
        raise ValueError(f"{count} points need {count} rows of values; got shape {found.shape}")
    return found


def whole_number(value: Any, name: str, least: int = 1) -> int:
    """A whole number that is not too small, however it was written."""
    try:
        number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except TypeError as error:
        raise InvalidInput(f"{name} must be a whole number; got {value!r}") from error
    if number < least:
        raise InvalidInput(f"{name} must be at least {least}; got {number}")
    return number


def _digest(known: Known) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in known)).hexdigest()


def _described(value: Any) -> Any:
    """An option as JSON; a policy object by what it says of itself."""
    if isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    metadata = getattr(value, "metadata", None) or {}
    return f"{type(value).__name__} {metadata.get('digest', '')}".strip()
