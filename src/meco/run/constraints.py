"""Constraints as people write them: SciPy's objects, its old dicts, plain functions. SciPy is not imported."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from meco.errors import InvalidInput, warn_user
from meco.run.answer import GAVE_TOO_MANY, WrongForm, as_vector, check_constraint
from meco.run.call import label_names
from meco.variables import Variables

ROUNDING = 1e-12  # share of a row's terms by which its sum may be off


@dataclass(frozen=True, eq=False)
class LimitedValues:
    """lower <= values(x) <= upper, where equal limits mean an equality."""

    values: Callable[[np.ndarray], Any]
    lower: np.ndarray = field(default_factory=lambda: np.array(-np.inf))
    upper: np.ndarray = field(default_factory=lambda: np.array(0.0))
    label: str = ""  # of constraints whose place among all others the search must know
    hard: bool = False  # whether it must be kept at every evaluation: SciPy's keep_feasible
    named: bool = False  # whether the label is a name, which a single value has as it is
    rounded: bool = True  # whether linear values that are off a limit by rounding count as the limit

    def value_names(self, count: int, kind: str) -> tuple[str, ...]:
        """Names of so many values; kind is g (upper sides first) or h. "" where the constraint has no label.

        A constraint that is named calls a single value by its name, several with their number, and the sides of a value
        that has two "name (upper)" and "name (lower)".
        """
        if not self.named:
            return label_names(self.label, count, kind)
        _, _, equal, above, below = self.split_limits(self._count_all(count, kind))
        own = [self.label] if equal.size == 1 else [f"{self.label} {i}" for i in range(1, equal.size + 1)]
        if kind == "h":
            return tuple(name for name, wanted in zip(own, equal) if wanted)
        sides = ("upper", above), ("lower", below)
        both = above & below
        return tuple(
            f"{name} ({side})" if two else name
            for side, mask in sides
            for name, wanted, two in zip(own, mask, both)
            if wanted
        )

    def value_limits(self, count: int, kind: str) -> np.ndarray:
        """The limits of so many values, in the order of value_names()."""
        low, high, equal, above, below = self.split_limits(self._count_all(count, kind))
        return low[equal] if kind == "h" else np.concatenate([high[above], low[below]])

    def _count_all(self, count: int, kind: str) -> int:
        """How many values the function gives where so many inequalities (g) or equalities (h) come of them."""
        size = max(np.size(self.lower), np.size(self.upper))
        if size > 1 or kind == "h":
            return size if size > 1 else count
        sides = int(np.isfinite(self.lower).sum()) + int(np.isfinite(self.upper).sum())
        return count // sides if sides else count

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inequalities g <= 0 and equalities h = 0: x [D] -> g [p], h [q], or rows of x to rows of both.

        Unreadable for what are no numbers, ValueError for another number of rows, and whatever the function raises.
        """
        found = self.values(x)
        check_constraint(found)
        if x.ndim == 1:
            c = as_vector(found)
        else:
            c = np.asarray(found, dtype=np.float64)
            c = c[:, None] if c.ndim == 1 else c
            if c.shape[0] != x.shape[0]:
                raise ValueError(f"a constraint gave shape {np.shape(found)} for {x.shape[0]} rows (rows are points)")
        limits = max(np.size(self.lower), np.size(self.upper))
        if limits not in (1, c.shape[-1]):
            raise WrongForm(f"it gave {c.shape[-1]} {GAVE_TOO_MANY} {limits}: give lb and ub for each, or one for all")
        low, high, equal, above, below = self.split_limits(c.shape[-1])
        if self.rounded and isinstance(self.values, MatrixProduct):
            c = self.values.round_to_limits(c, x, low, high)
        g = np.concatenate([c[..., above] - high[above], low[below] - c[..., below]], axis=-1)
        return g, c[..., equal] - low[equal]

    def split_limits(self, count: int) -> tuple[np.ndarray, ...]:
        """Lower and upper limits, then which values are equalities, have an upper limit, have a lower one.

        [count] each.
        """
        low, high = np.broadcast_to(self.lower, (count,)), np.broadcast_to(self.upper, (count,))
        equal = low == high
        return low, high, equal, np.isfinite(high) & ~equal, np.isfinite(low) & ~equal


@dataclass(frozen=True, eq=False)
class LinearConstraint:
    """lb <= A x <= ub, as SciPy's object of this name, for those without SciPy.

    The model methods use the rows of A as they are. With keep_feasible no point outside of them is evaluated.
    """

    A: Any
    lb: Any = -np.inf
    ub: Any = np.inf
    keep_feasible: bool = False


class Row(NamedTuple):
    """A linear constraint slope x + offset <= 0, or = 0, by the name of its value."""

    name: str
    slope: np.ndarray  # [D]
    offset: float
    equal: bool
    hard: bool


def is_value_of(name: str, label: str) -> bool:
    """Whether a name is one that value_names() gives to the constraint of this label."""
    return re.fullmatch(rf"{re.escape(label)}( [gh]?\d+)?( \((upper|lower)\))?", name) is not None


def find_limits(constraints: Sequence[LimitedValues], names: Sequence[str], n_ineq: int) -> dict[str, float]:
    """The limits of values by name, where constraints with lb and ub have labels; the first n_ineq names are of g."""
    found: dict[str, float] = {}
    for item in constraints:
        for kind, own in (("g", names[:n_ineq]), ("h", names[n_ineq:])):
            count = sum(is_value_of(name, item.label) for name in own) if item.label else 0
            if count:
                found |= dict(zip(item.value_names(count, kind), item.value_limits(count, kind).tolist()))
    return found


def linear_rows(constraints: Sequence[Any]) -> list[Row]:
    """The rows of all linear constraints, in the order and with the names of their values."""
    found = []
    for item in constraints:
        if not isinstance(item.values, MatrixProduct):
            continue
        matrix = item.values.matrix
        low, high, equal, above, below = item.split_limits(len(matrix))
        g = np.concatenate([matrix[above], -matrix[below]]), np.concatenate([-high[above], low[below]])
        for kind, (slopes, offsets) in (("g", g), ("h", (matrix[equal], -low[equal]))):
            names = item.value_names(len(offsets), kind)
            found += [Row(n, a, float(b), kind == "h", item.hard) for n, a, b in zip(names, slopes, offsets)]
    return found


@dataclass(frozen=True)
class MatrixProduct:
    """Rows of A times x; x may be one point or rows of points."""

    matrix: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return x @ self.matrix.T

    def round_to_limits(self, values: np.ndarray, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Values [..., p] at x [..., D] that differ from a limit [p] by rounding alone are that limit.

        Points on a row would be feasible or not by chance otherwise, and the answer may lie on several.
        """
        off = ROUNDING * (np.abs(x) @ np.abs(self.matrix).T)
        for limit in (low, high):
            values = np.where(np.abs(values - limit) <= off, limit, values)
        return values


@dataclass(frozen=True)
class BoundArguments:
    """A function with fixed further arguments, its sign turned where asked."""

    fun: Callable[..., Any]
    args: tuple[Any, ...] = ()
    negated: bool = False

    def __call__(self, x: np.ndarray) -> Any:
        """fun(x, *args) at x [D] or rows of points, its sign turned where asked; raises what fun raises."""
        value = self.fun(x, *self.args)
        if not self.negated:
            return value
        check_constraint(value)
        return -(as_vector(value) if x.ndim == 1 else np.asarray(value, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class FunctionOfNames:
    """A user's function of a dict of named variables, called with a point [D] or rows of points [S, D]."""

    fun: Callable[..., Any]
    variables: Variables

    def __call__(self, x: np.ndarray, *args: Any) -> Any:
        return self.fun(self.variables.as_dict(x), *args)


def read_constraints(constraints: Any, variables: Variables) -> tuple[LimitedValues, ...]:
    """All constraints as functions x -> (g, h), in the order given; user functions get a dict of named variables.

    A dict of constraints, also in a list, gives each its name. () for None; InvalidInput for a form that is not known
    or limits that no point keeps.
    """
    if constraints is None:
        return ()
    found: list[LimitedValues] = []
    for i, item in enumerate(constraints if isinstance(constraints, (list, tuple)) else (constraints,)):
        if isinstance(item, Mapping) and not {"type", "fun"} & set(item):
            named = ((str(name), _read_constraint(c, str(name), variables)) for name, c in item.items())
            found += [replace(each, label=name, named=True) for name, each in named]
        else:
            found.append(_read_constraint(item, f"constraints[{i}]", variables))
    return tuple(found)


def _read_constraint(item: Any, where: str, variables: Variables) -> LimitedValues:
    """One constraint in any of its forms as limited values; where names it in errors."""
    lower, upper, dim = variables.lower, variables.upper, len(variables.each)
    if hasattr(item, "lb") and hasattr(item, "ub"):
        low, high = _read_limits(item, where)
        hard = bool(np.any(getattr(item, "keep_feasible", False)))
        if hasattr(item, "A"):
            matrix = item.A.toarray() if hasattr(item.A, "toarray") else item.A
            matrix = np.atleast_2d(np.array(matrix, dtype=np.float64))
            if matrix.shape[1] != dim or not np.isfinite(matrix).all():
                raise InvalidInput(f"{where}: A must be finite with {dim} columns; got shape {matrix.shape}")
            _check_reachable(matrix, low, high, lower, upper, where)
            return LimitedValues(MatrixProduct(matrix), low, high, where, hard)
        if callable(getattr(item, "fun", None)):
            return LimitedValues(_as_function_of_points(item.fun, variables), low, high, where if hard else "", hard)
        _check_reachable(np.eye(dim), low, high, lower, upper, where)
        return LimitedValues(MatrixProduct(np.eye(dim)), low, high, where, hard)  # bounds on x, given as a constraint
    if isinstance(item, Mapping):
        return _read_dict(item, where, variables)
    if callable(item):
        return LimitedValues(_as_function_of_points(item, variables))
    raise InvalidInput(
        f"{where} must be a NonlinearConstraint, a LinearConstraint, a dict with 'type' and 'fun', "
        f"or a function whose values must be <= 0; got {item!r:.60}"
    )


def _as_function_of_points(fun: Callable[..., Any], variables: Variables) -> Callable[..., Any]:
    """A user's function as one of points, whether or not it wants names."""
    return FunctionOfNames(fun, variables) if variables.names else fun


def _check_reachable(
    matrix: np.ndarray, low: np.ndarray, high: np.ndarray, lower: np.ndarray, upper: np.ndarray, where: str
) -> None:
    """Warn where no point between lower and upper [D] keeps low <= A x <= high."""
    with np.errstate(invalid="ignore"):  # 0 times an infinite bound
        ends = [np.where(matrix == 0.0, 0.0, matrix * side) for side in (lower, upper)]
    least, most = np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1)
    finite = [np.where(np.isfinite(side), np.abs(side), 0.0) for side in (lower, upper)]
    slack = 1e-9 * np.maximum(1.0, np.abs(matrix) @ np.maximum(*finite))
    for row in np.flatnonzero((least - slack > high) | (most + slack < low)):
        warn_user(
            f"{where}: row {row} of A x lies between {least[row]:.6g} and {most[row]:.6g} within the bounds, so no "
            "point keeps its limits"
        )


def _read_dict(item: Mapping[str, Any], where: str, variables: Variables) -> LimitedValues:
    """{"type": "ineq", "fun": c} means c(x) >= 0, "eq" means c(x) = 0; InvalidInput for other dicts."""
    kind, fun, args = item.get("type"), item.get("fun"), item.get("args", ())
    if kind not in ("ineq", "eq") or not callable(fun):
        raise InvalidInput(f"{where}: a dict needs 'type': 'ineq' (fun >= 0) or 'eq', and a callable 'fun'; got {item}")
    fun = _as_function_of_points(fun, variables)
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    if kind == "eq":
        return LimitedValues(BoundArguments(fun, args), np.array(0.0), np.array(0.0))
    return LimitedValues(BoundArguments(fun, args, negated=True))


def _read_limits(item: Any, where: str) -> tuple[np.ndarray, np.ndarray]:
    """lb and ub of a constraint as arrays; InvalidInput for nan, or a lower limit above the upper."""
    try:
        low, high = np.array(item.lb, dtype=np.float64), np.array(item.ub, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{where}: lb and ub must be numbers; got {item.lb!r:.60} and {item.ub!r:.60}") from error
    if low.size != high.size and 1 not in (low.size, high.size):
        raise InvalidInput(f"{where}: lb has {low.size} limits and ub {high.size}: give as many, or one for all")
    if np.isnan(low).any() or np.isnan(high).any() or (low > high).any():
        raise InvalidInput(f"{where}: every lower limit must be at most its upper limit; got lb={low}, ub={high}")
    return np.atleast_1d(low), np.atleast_1d(high)
