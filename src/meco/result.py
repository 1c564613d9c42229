"""What a run hands back, from minimize() and solve() alike: one frozen record with the names of SciPy's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meco.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

    from meco.evaluations import Evaluations
    from meco.variables import Variables

READABLE = (  # as result["fun"], in this order
    "x", "design", "fun", "f", "success", "feasible", "status", "message", "nu", "maxcv", "score", "constraints",
    "multipliers", "limits", "minima", "nfev", "nit", "evaluations", "trace", "run", "paper", "repeated",
    "probability",
)  # fmt: skip
SHOWN = ("message", "success", "status", "fun", "x", "maxcv", "constraints", "nfev", "nit")
SUCCESS_PROBABILITY = 0.95  # with which noisy calls must say that x is feasible, for success
EQUALITY_ERRORS = 2.0  # standard errors by which the mean of an equality may miss its tolerance
MOST_LISTED = 10_000  # limits that result.json has all of
SHOWN_OF_RUN = ("policy", "evidence", "nfail", "starts", "stop_reason", "seed")


class ConstraintValue(NamedTuple):
    """One constraint at x: its value, how far it is violated, and how far it may be."""

    value: float
    violation: float
    tolerance: float


class LimitPrice(NamedTuple):
    """What a limit costs at x: a constraint, or a bound that a variable lies at.

    multiplier is what f would fall by for each unit that the limit is moved outwards, to first order: g <= 1 instead
    of g <= 0, a bound one unit further out, h = 1 instead of h = 0. 0 means that the limit does not hold f back.
    one_percent is the same for one percent of the limit: of the bound (of the range where the bound is 0), or of a
    constraint whose limit is known, since it was given by name with lb or ub; None where it is not. Both are None where
    the points around x do not tell, and reason says why.
    """

    name: str  # of the constraint, or of the variable
    kind: str  # inequality, equality, lower bound or upper bound
    multiplier: float | None = None
    one_percent: float | None = None
    reason: str = ""

    @property
    def is_bound(self) -> bool:
        """Whether it is a bound of a variable, not a constraint."""
        return self.kind not in ("inequality", "equality")

    @property
    def label(self) -> str:
        """What tables call it."""
        return f"{self.name}, {self.kind}" if self.is_bound else self.name


class LimitPrices(tuple[LimitPrice, ...]):
    """What the limits cost, one record each; printed, a line for each that holds f back, or of which nobody knows."""

    __slots__ = ()

    @property
    def holding(self) -> list[LimitPrice]:
        """Those that hold f back, or of which nobody knows."""
        return [limit for limit in self if limit.multiplier != 0.0]

    def __str__(self) -> str:
        """A line for each limit that holds f back, or of which nothing is known."""
        limits = self.holding
        if not limits:
            return "no limit holds f back" if self else "no limits"
        wide = max(len(limit.label) for limit in limits)
        rows = [
            f"  {limit.label:<{wide}}  "
            + (
                f"not known: {limit.reason}"
                if limit.multiplier is None
                else f"{limit.multiplier:.4g} for each unit"
                + ("" if limit.one_percent is None else f", {limit.one_percent:.4g} for 1 %")
            )
            for limit in limits
        ]
        return "\n".join(["what f would fall by if a limit were eased, to first order:", *rows])


class Minimum(NamedTuple):
    """A place where starts of the search ended: its design, its objective, and how many of them came to it."""

    x: np.ndarray
    f: float
    starts: int


class Point(NamedTuple):
    """One point with its objective, its total violation nu, and whether it is feasible."""

    x: np.ndarray
    f: float
    nu: float
    feasible: bool


@dataclass(frozen=True, eq=False)
class PaperMetrics:
    """What the paper's own figures are made of.

    x_score has the least f + nu of all evaluated points. snapshot is the best survivor of any generation, feasibility
    first; final has the least f + nu of the last population.
    """

    x_score: np.ndarray
    snapshot: Point
    final: Point
    final_score: float


@dataclass(frozen=True, eq=False)
class RunFacts:
    """How the run went, and what it depended on."""

    method: str = ""
    seed: int = 0
    problem: str = ""  # of a suite
    variables: Variables | None = None  # of a user's function
    tolerances: tuple[Any, Any] = (0.0, 0.0)  # of inequalities and equalities
    stop_reason: str = ""  # budget, max_time, target, feasible, converged, callback, interrupt, workers or finished
    budget: int = 0
    nfail: int = 0  # calls that failed
    failures: Mapping[str, int] = field(default_factory=dict)  # these by kind
    starts: int = 1  # how often the search began, where the method begins again by itself
    evidence: str = ""  # in a sentence: how many separate starts there were, and how alike their ends are
    versions: Mapping[str, str] = field(default_factory=dict)
    constraint_names: tuple[str, ...] = ()  # as the function has them, "" where it gives none
    notes: tuple[str, ...] = ()
    folder: str = field(default="", repr=False)  # that keeps the run, "" without one

    @property
    def policy(self) -> str:
        """The policy that steered the search: name, digest and reading; "" where none did."""
        return self.versions.get("policy", "")


class NothingKept(InvalidInput, AttributeError):
    """A column of evaluations that a run has not kept."""


class NoEvaluations:
    """What runs on benchmark problems have in place of evaluations: no rows, and columns that say so when read."""

    def __getattr__(self, name: str) -> Any:
        """NothingKept for a column."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise NothingKept("runs on benchmark problems keep no evaluations to show; minimize() keeps them")

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "<no evaluations: runs on benchmark problems keep none>"


@dataclass(frozen=True, eq=False)
class Result(Mapping[str, Any]):
    """The best point of a run, and everything that was found on the way.

    Attributes:
        x: The best design with every g <= 0; if there is none the best within the tolerances, or the one that
            violates least. Categories stand in it by their places; design has them by name.
        fun: Its objective, also as f.
        success: Whether x keeps every constraint within the tolerances, also as feasible.
        message: In words: what stopped the run, what was found, what went wrong.
        nu: Sum of the violations at x.
        maxcv: Largest violation at x, without tolerance.
        score: Least f + nu of all evaluated points: the number of the paper's CEC2017 tables.
        constraints: Name -> value, violation and tolerance of each constraint at x.
        limits: What each constraint, and each bound that x lies at, costs there: its Lagrange multiplier, what one
            percent more would bring, or why that cannot be told. Empty while the run goes on.
        minima: The answer, then the other distinct points at which finished starts of the search ended, best first: x,
            f and how many of the starts ended there, within 1 % of the range of each variable. A start was finished
            where the search began again or converged. Empty while the run goes on, and where none was.
        nfev: Calls made.
        nit: Generations.
        evaluations: Every evaluation, as columns; without any, which they say when read, of runs on benchmark problems.
        trace: Per generation: nfev, f, nu, feasible, feasible_share; what the method adds, such as theta and delta of
            TR, action and eps of MeCO.
        run: Method, seed, why it stopped, failures, versions, notes.
        paper: Survivors, as the paper's own figures take them; None of runs on a user's function.
        repeated: Of a noisy run, or a result that was confirmed: calls of x, mean and spread of f, and the spread of
            constraints.
        probability: Of a noisy run: how likely x keeps every inequality, by the means of its calls (a bound where x was
            called once); success means at least 0.95. None where calls of one point do not differ.
    """

    x: np.ndarray
    fun: float
    success: bool
    message: str = ""
    nu: float = float("nan")
    maxcv: float = float("nan")
    score: float = float("nan")
    constraints: Mapping[str, ConstraintValue] = field(default_factory=dict)
    limits: LimitPrices = field(default_factory=LimitPrices)
    minima: tuple[Minimum, ...] = ()
    nfev: int = 0
    nit: int = 0
    evaluations: Evaluations = field(default=None)  # type: ignore[assignment]
    trace: Mapping[str, np.ndarray] = field(default_factory=dict)
    run: RunFacts = field(default_factory=RunFacts)
    paper: PaperMetrics | None = None
    repeated: Mapping[str, Any] | None = None
    probability: float | None = None

    def __post_init__(self) -> None:
        """Set the evaluations of a run that keeps none."""
        if self.evaluations is None:
            object.__setattr__(self, "evaluations", NoEvaluations())

    __eq__, __hash__ = object.__eq__, object.__hash__  # a result is itself: arrays have no single truth

    @property
    def f(self) -> float:
        """The objective at x."""
        return self.fun

    @property
    def design(self) -> dict[str, Any]:
        """x by the names of its variables (x1, x2 ... without names): numbers, whole numbers, categories."""
        labels = [f"x{i + 1}" for i in range(len(self.x))]
        return dict(zip(labels, self.x.tolist())) if self.run.variables is None else self.run.variables.design(self.x)

    @property
    def feasible(self) -> bool:
        """Whether x keeps every constraint within the tolerances."""
        return self.success

    @property
    def multipliers(self) -> dict[str, float | None] | None:
        """Lagrange multiplier of each constraint at x by name, None where it cannot be told; see limits.

        None while the run goes on, and of runs on benchmark problems.
        """
        found = {each.name: each.multiplier for each in self.limits if each.kind in ("inequality", "equality")}
        return found if self.limits or (self.run.stop_reason not in ("", "running") and self.evaluations) else None

    @property
    def status(self) -> int:
        """0 feasible, 1 nothing feasible was found (of a noisy run: not surely), 2 no evaluation succeeded."""
        return 0 if self.success else 1 if np.isfinite(self.fun) else 2

    def __getitem__(self, name: str) -> Any:
        """SciPy's other way to read a result: result["fun"]; KeyError for a name that no field has."""
        if name not in READABLE:
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(READABLE)

    def __len__(self) -> int:
        return len(READABLE)

    def __repr__(self) -> str:
        """The fields that most users read, a line each or more, without evaluations and trace."""
        width = max(map(len, (*SHOWN, *SHOWN_OF_RUN)))
        rows = [(name, getattr(self, name)) for name in SHOWN] + [(n, getattr(self.run, n)) for n in SHOWN_OF_RUN]
        variables = self.run.variables
        labels = (
            variables.labels(units=True) if variables and (variables.names or variables.categorical.any()) else None
        )
        texts = [
            (
                name,
                _format_point(variables, value, labels, width + 2)
                if name == "x" and labels
                else _format_value(value, width + 2),
            )
            for name, value in rows
        ]
        return "\n".join(f"{name:>{width}}: {text}" for name, text in texts if text not in ("", "nan"))

    def plot(self, path: str | Path | None = None) -> Any:
        """Best f, violation, each constraint and the trust-region radius as a matplotlib figure.

        Saved as .svg, .png or .pdf where a path is given. InvalidInput for results of solve(), which keep no
        evaluations.
        """
        from meco.plot.run import plot_run
        from meco.plot.style import save

        self._require_evaluations()
        figure = plot_run(self)
        if path is not None:
            save(figure, path)
        return figure

    def report(self, path: str | Path, title: str = "", author: str = "", notes: str = "") -> Path:
        """Write a page of this run that needs nothing beside itself, with your title, name and notes where given.

        It says what the answer is, how sure it is and what limits it, then how the search went. Gives its path; a
        file that is there is replaced.
        """
        from meco.plot.run_page import write_report

        self._require_evaluations()
        return write_report(self, path, title, author, notes)

    def _repr_html_(self) -> str:
        """The printed result as HTML, for notebooks."""
        from html import escape

        rows = (line.partition(": ") for line in str(self).splitlines())
        cells = "".join(
            f"<tr><th style='text-align:left'>{escape(name.strip())}</th>"
            f"<td style='text-align:left;white-space:pre-wrap'>{escape(text or name)}</td></tr>"
            for name, _, text in rows
        )
        return f"<table>{cells}</table>"

    def _require_evaluations(self) -> None:
        """InvalidInput for a result of solve(), which has no evaluations: any column says so."""
        _ = self.evaluations.f

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """Every evaluation as CSV with a header: written to a path, over what is there, or returned as text."""
        from meco.files.atomic import open_output
        from meco.run.csv_table import format_csv

        if path is None:
            return format_csv(self)
        with open_output(path) as file:
            file.write(format_csv(self))
        return None

    def to_frame(self) -> Any:
        """Every evaluation as a pandas DataFrame, where pandas is installed."""
        from meco.run.csv_table import make_data_frame

        return make_data_frame(self)

    def summary(self) -> dict[str, Any]:
        """The result without its evaluations and trace, ready for JSON: result.json of a run folder has these keys.

        Of more than MOST_LISTED limits only those that hold f back, or of which nothing is known, as print() has them.
        """
        names = (*SHOWN, "feasible", "nu", "score", "multipliers", "repeated", "probability")
        found: dict[str, Any] = {name: getattr(self, name) for name in names}
        found["design"] = self.design
        found["minima"] = [each._asdict() for each in self.minima]
        limits = self.limits if len(self.limits) <= MOST_LISTED else self.limits.holding
        records: dict[str, Any] = {"limits": [_describe_record(each) for each in limits]}
        records["constraints"] = {name: _describe_record(each) for name, each in self.constraints.items()}
        found |= dict.fromkeys(records)  # in their places
        if self.run.variables is not None:  # names and units of x, in its order
            labels, each_variable = self.run.variables.labels(), self.run.variables.each
            found["variables"] = [{"name": n, "unit": v.unit} for n, v in zip(labels, each_variable)]
        facts = {
            key: value
            for key, value in vars(self.run).items()
            if key not in ("variables", "tolerances", "constraint_names")
        }
        return {key: to_json_types(value) for key, value in {**found, **facts}.items()} | records


def is_feasible_in_mean(result: Result) -> bool:
    """Whether x keeps every constraint by the means of noisy calls, though not with the probability of a success.

    That may be any, 0 too, where it underflows: the constraints decide. A probability above 0 is told only of points
    that keep the equalities, within their tolerances and EQUALITY_ERRORS.
    """
    if result.success or result.probability is None or result.repeated is None or result.evaluations is None:
        return False
    each, n_ineq = list(result.constraints.values()), result.evaluations.g.shape[1]
    if any(c.violation > c.tolerance for c in each[:n_ineq]):
        return False
    errors = np.asarray(result.repeated["constraint_spread"])[n_ineq:] / math.sqrt(result.repeated["calls"])
    within = [c.violation <= c.tolerance + EQUALITY_ERRORS * e for c, e in zip(each[n_ineq:], errors.tolist())]
    return result.probability > 0.0 or all(within)


def format_probability(probability: float) -> str:
    """A probability with three digits, rounded down: 0.9499 is below 0.95 and must not read as it, nor 0.9999 as 1."""
    return f"{math.floor(1000.0 * probability) / 1000.0:.3f}"


def describe_doubt(probability: float) -> str:
    """What there is to say of a point that is feasible in the mean, and by how much that is not sure."""
    return (
        f"feasible in the mean, with probability {format_probability(probability)}, "
        f"below the {SUCCESS_PROBABILITY:g} that success asks for: more calls would settle it"
    )


def describe_excess(found: ConstraintValue) -> str:
    """How far a constraint is over, and whether that is tolerated; nothing where it is not over."""
    if found.violation <= 0:
        return ""
    within = f", within the tolerance of {found.tolerance:.3g}" if found.violation <= found.tolerance else ""
    return f" over by {found.violation:.3g}{within}"


def _describe_record(each: ConstraintValue | LimitPrice) -> dict[str, Any]:
    """A record of numbers and texts by name, in types that JSON knows; quick, as there may be very many."""
    fields = zip(each._fields, each)
    return {k: v if type(v) is float and math.isfinite(v) else to_json_types(v) for k, v in fields}


def to_json_types(value: Any) -> Any:
    """The same in types that JSON knows; numbers that are not finite become null, other objects stay."""
    kind = type(value)
    if kind is float:  # most of what very many constraints have to tell
        return value if math.isfinite(value) else None
    if kind is str or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(k): to_json_types(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_types(v) for v in value]
    if isinstance(value, np.ndarray):
        return to_json_types(value.tolist())
    if isinstance(value, np.generic):
        return to_json_types(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def _format_point(variables: Any, x: np.ndarray, labels: list[str], indent: int) -> str:
    """A point x [D] as repr() shows it where variables have names: a line each, indented by so many spaces."""
    rows = zip(labels, variables.each, x)
    return ("\n" + " " * indent).join(f"{label}: {variable.show(value)}" for label, variable, value in rows)


def _format_value(value: Any, indent: int) -> str:
    """A field of a result as repr() shows it: str() of it, but constraints by name a line each.

    Lines after the first are indented by so many spaces; a violated constraint says by how much.
    """
    if isinstance(value, Mapping):
        rows = [f"{name}: {found.value + 0.0:.6g}{describe_excess(found)}" for name, found in value.items()]
        return ("\n" + " " * indent).join(rows)
    return str(value)
