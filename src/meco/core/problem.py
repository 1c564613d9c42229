"""A problem is a formula and its facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from meco.core.arrays import Array, namespace, stack_columns
from meco.core.categories import PLAIN_NUMBERS, VariableKinds
from meco.errors import InvalidInput

# x [..., D] -> f [...], the inequalities g <= 0 and the equalities h == 0, each a list or an array [..., n]
Formula = Callable[[Array], tuple[Array, Any, Any]]


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise f(x) in a box, subject to g(x) <= 0 and h(x) = 0 (paper eq. 1).

    The formula works for any leading shape and any array library, so one point [D],
    a population [N, D] and runs in lockstep [B, N, D] agree.
    """

    name: str
    lower: np.ndarray  # [D]
    upper: np.ndarray  # [D]
    n_ineq: int
    n_eq: int
    formula: Formula
    title: str = ""
    source: str = ""
    best_known: float | None = None
    known_x: np.ndarray | None = None  # a feasible good point
    x0: np.ndarray | None = None  # where its collection starts a search, [D]
    infeasible: bool = False  # known to have no feasible point at all
    integrality: np.ndarray | None = None  # [D] bool; None when every variable is continuous
    kinds: VariableKinds = PLAIN_NUMBERS  # variables on a logarithmic scale, and integers that are categories
    variables: tuple[str, ...] = ()  # names with units, e.g. "weld thickness (in)"
    constraint_names: tuple[str, ...] = ()  # inequalities first
    ineq_tol: float | np.ndarray = 0.0  # feasible means every g <= ineq_tol: one number, or one for each [p]
    eq_tol: float | np.ndarray = 1e-4  # and every |h| <= eq_tol, likewise [q]

    def __post_init__(self) -> None:
        """Check box, integers and tolerances, and keep them as arrays; InvalidInput for what cannot be."""
        lower, upper = check_bounds(self.lower, self.upper, self.name)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        if self.integrality is not None:
            object.__setattr__(self, "integrality", check_integrality(self.integrality, lower, upper, self.name))
        for key, count in (("ineq_tol", self.n_ineq), ("eq_tol", self.n_eq)):
            if np.ndim(getattr(self, key)):
                object.__setattr__(self, key, check_tolerances(getattr(self, key), count, f"{self.name}: {key}"))

    @property
    def dim(self) -> int:
        """Number of variables."""
        return self.lower.shape[0]

    @property
    def finite(self) -> bool:
        """Whether every value in the box is known to be a number: a formula tells up to which |x| in finite_within."""
        reach = max(np.abs(self.lower).max(), np.abs(self.upper).max())
        return bool(reach <= getattr(self.formula, "finite_within", -1.0))

    @property
    def draws(self) -> int:
        """Standard normal numbers that every call takes from chance; 0 where equal points have equal values."""
        return int(getattr(self.formula, "draws", 0))

    @property
    def strictest(self) -> tuple[float, float]:
        """The least tolerance of inequalities and of equalities, for methods that know only one of each."""
        return float(np.min(self.ineq_tol)), float(np.min(self.eq_tol))

    def raw(self, x: Array) -> tuple[Array, Array, Array]:
        """Objective and constraint values: x [..., D] -> f [...], g [..., p], h [..., q]; InvalidInput for another D.

        Values are what the formula gives, inf and nan included; nothing is counted here.
        """
        if isinstance(x, (list, tuple, float, int)):
            x = np.asarray(x, dtype=np.float64)
        if x.ndim == 0 or x.shape[-1] != self.dim:
            raise InvalidInput(
                f"{self.name} has {self.dim} variables, so x must have shape (..., {self.dim}); got {tuple(x.shape)}"
            )
        with np.errstate(all="ignore"):  # a degenerate point is a failed candidate, not a warning
            f, g, h = self.formula(x)
            g, h = stack_columns(g, f), stack_columns(h, f)
        if g.shape[-1] != self.n_ineq or h.shape[-1] != self.n_eq:
            raise InvalidInput(
                f"{self.name} declares {self.n_ineq} inequalities and {self.n_eq} equalities; "
                f"its formula gave {g.shape[-1]} and {h.shape[-1]}"
            )
        return f, g, h

    def disturbed(self, x: Array, z: Array) -> tuple[Array, Array, Array]:
        """What calls at x [..., D] answer when chance gives the normal numbers z [..., draws]; raw(x) is the truth.

        InvalidInput for a problem that draws nothing.
        """
        if not self.draws:
            raise InvalidInput(f"{self.name} takes nothing from chance: raw(x) is what every call answers")
        formula: Any = self.formula
        f, g, h = formula.disturbed(x, z)
        return f, g, h

    def __repr__(self) -> str:
        return f"<Problem {self.name}: {self.dim} variables, {self.n_ineq} inequalities, {self.n_eq} equalities>"


def check_bounds(lower: Any, upper: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The box as two float vectors [D] that cannot be written to. Raises InvalidInput, with the first bad variable."""
    low, high = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
    if low.ndim != 1 or low.shape != high.shape or low.size == 0:
        raise InvalidInput(
            f"{name}: bounds must be two vectors of equal length, at least 1; got shapes {low.shape} and {high.shape}"
        )
    for i, (a, b) in enumerate(zip(low, high)):
        if not (np.isfinite(a) and np.isfinite(b)):
            raise InvalidInput(f"{name}: bounds of variable {i} must be finite; got ({a}, {b})")
        if a > b:
            raise InvalidInput(f"{name}: lower bound of variable {i} is above its upper bound: {a} > {b}")
    low.flags.writeable = high.flags.writeable = False
    return low, high


def check_integrality(mask: Any, lower: np.ndarray, upper: np.ndarray, name: str) -> np.ndarray:
    """Which variables are integers [D]. Raises InvalidInput where one has no integer between its bounds."""
    integer = np.asarray(mask, dtype=bool)
    if integer.shape != lower.shape:
        raise InvalidInput(f"{name}: integrality must have {lower.size} values; got shape {integer.shape}")
    for i in np.flatnonzero(integer & (np.ceil(lower) > np.floor(upper))):
        raise InvalidInput(f"{name}: integer variable {i} has no whole number between {lower[i]} and {upper[i]}")
    return integer


def check_tolerances(tolerances: Any, count: int, what: str) -> np.ndarray:
    """A tolerance for each of count constraints [count], not to be written to. Raises InvalidInput; what names them."""
    values = np.array(tolerances, dtype=np.float64)
    if values.shape != (count,) or count == 0:
        raise InvalidInput(f"{what} must be a number, or {count} of them; got shape {values.shape}")
    values.flags.writeable = False
    return values


def problem(
    name: str,
    bounds: Sequence[tuple[float, float]],
    best: float | None = None,
    counts: tuple[int, int] | None = None,
    **fields: Any,
) -> Callable[[Formula], Problem]:
    """Turn a formula into a Problem; the first line of its docstring becomes the title.

    counts is (inequalities, equalities); left out, they are read off one evaluation at the centre. best is the best
    known objective; other fields are those of Problem.
    """

    def make_problem(formula: Formula) -> Problem:
        """The problem of this formula."""
        low, high = _read_pairs(bounds, name)
        n_ineq, n_eq = counts or _count_constraints(formula, (low + high) / 2)
        title = (formula.__doc__ or name).strip().partition("\n")[0]
        return Problem(name, low, high, n_ineq, n_eq, formula, best_known=best, **{"title": title, **fields})

    return make_problem


def _read_pairs(bounds: Any, name: str) -> np.ndarray:
    """Pairs (low, high) as two rows [2, D]; InvalidInput for anything else, such as Variables."""
    try:
        pairs = np.array(bounds, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{name}: bounds of a problem are (low, high) pairs of numbers; integers are marked by integrality=[True, "
            "False, ...]. For names, logarithms and categories give a plain function and its bounds to minimize()"
        ) from error
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InvalidInput(f"{name}: bounds of a problem are (low, high) pairs, shape (D, 2); got shape {pairs.shape}")
    return pairs.T


def _count_constraints(formula: Formula, x: np.ndarray) -> tuple[int, int]:
    """Inequalities and equalities of a formula, by its values at a point x [D]."""
    with np.errstate(all="ignore"):
        f, g, h = formula(x)
    return stack_columns(g, f).shape[-1], stack_columns(h, f).shape[-1]


def round_half_away(x: Array) -> Array:
    """Nearest integer as a float, halves away from zero: the rounding of the official benchmark codes; nan stays."""
    xp = namespace(x)
    return xp.sign(x) * xp.floor(xp.abs(x) + 0.5)
