"""MeCO as a driver of OpenMDAO: problem.driver = MecoDriver(budget=200, seed=1).

OpenMDAO finds it by the entry point openmdao_driver. AnalysisError, its word for a simulation that failed, is a failed
evaluation: it is told to the search and recorded as a case without success, and the run goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from meco import minimize
from meco.adapters.named_cheap import NamedCheap
from meco.adapters.pass_through import leave_run, run_and_leave
from meco.errors import InvalidInput, load_extra, warn_user
from meco.methods import DEFAULT
from meco.result import Result
from meco.variables import Variable, Variables

load_extra("openmdao.api", "openmdao", "meco.adapters.openmdao")
from openmdao.core.analysis_error import AnalysisError  # noqa: E402
from openmdao.core.driver import Driver, RecordingDebugging  # noqa: E402

UNBOUNDED = 1e30  # what OpenMDAO writes for a missing end, where it does not write infinity
TOLERANCE = 1e-8  # of constraints, as in SciPy's methods
LAST_TRIES = 3  # runs of the model at the answer, where it fails by chance


class Limit(NamedTuple):
    """One side of a constraint: sign * (values - bound), in the units of scaling, is at most 0, or is 0."""

    names: tuple[str, ...]  # of its values, for tables
    source: str  # name of the constraint
    elements: np.ndarray  # which of its values have this side
    bound: np.ndarray
    weight: np.ndarray  # sign and scale of the difference

    def differences(self, values: np.ndarray) -> dict[str, float]:
        """By how much each of these elements of values [n] is beyond this side, by name; at most 0 inside."""
        found = self.weight * (np.ravel(values)[self.elements] - self.bound)
        return dict(zip(self.names, found.tolist()))


class MecoDriver(Driver):
    """Any method of METHODS on a model with one objective, bounds and constraints; derivatives are not used.

    Options, as keywords or in driver.options:
        budget: runs of the model that the search may use, failures included; 50 for each variable unless given.
        seed, method, stop, checkpoint, noise: as in meco.minimize.
        tolerances: as in meco.minimize, in the scaled units of the constraints; 1e-8 unless given.
        cheap: a function of the design by name, {name: array in the units of add_design_var}, that costs nothing
            beside a run of the model: a number, a list or a dict of numbers that must be at most 0. The model is
            not run outside where a design inside can be found.
        start_at_current: begin at the values that the design variables have (True), or in the middle.

    driver.found is the meco.Result of the last run.
    """

    def __init__(self, **options: Any) -> None:
        """Say what this driver supports; options may be set later too."""
        super().__init__(**options)
        yes = ("optimization", "inequality_constraints", "equality_constraints", "linear_constraints")
        for name in (*yes, "two_sided_constraints", "integer_design_vars"):
            self.supports[name] = True
        for name in ("multiple_objectives", "gradients", "distributed_design_vars"):
            self.supports[name] = False
        self.found: Result | None = None
        self._case = {"success": 1, "msg": ""}
        self._good_outputs: np.ndarray | None = None
        self._sizes: dict[str, int] = {}  # of the design variables, which OpenMDAO gives to continuous ones alone

    def _declare_options(self) -> None:
        """Declare the options of the search with OpenMDAO; each is checked by what takes it."""
        self.options.declare("budget", default=None, desc="runs of the model; 50 for each variable unless given")
        self.options.declare("seed", default=None, desc="a whole number; drawn and recorded unless given")
        self.options.declare("method", default=DEFAULT, desc="a name of meco.METHODS, or meco.Method(name, ...)")
        self.options.declare(
            "tolerances", default=TOLERANCE, desc="of constraints in their scaled units; see meco.minimize"
        )
        self.options.declare("stop", default=None, desc='"feasible", "converged", seconds or meco.Stop')
        self.options.declare("checkpoint", default=None, desc="folder of the run, or meco.Checkpoint(folder, resume)")
        self.options.declare("noise", default=None, desc="whether runs of one design differ, or by how much")
        self.options.declare("cheap", default=None, desc="function of the design, at most 0, asked before a run")
        self.options.declare("start_at_current", types=bool, default=True, desc="begin at the present values")

    def _setup_driver(self, problem: Any) -> None:
        """Prepare for a problem; InvalidInput for several objectives, or one that is no scalar."""
        super()._setup_driver(problem)
        sizes = {name: int(meta["size"]) for name, meta in self._objs.items()}
        if sum(sizes.values()) > 1:
            found = ", ".join(f"{name} (size {size})" for name, size in sizes.items())
            raise InvalidInput(f"MecoDriver minimises one scalar objective; the model has {found}")

    def _get_name(self) -> str:
        """The name of its cases."""
        return "MeCO"

    def _get_recorder_metadata(self, case_name: str) -> dict[str, Any]:
        """What a recorder keeps of a case, and whether it succeeded."""
        return super()._get_recorder_metadata(case_name) | self._case

    def run(self) -> bool:
        """Search, leave the model at the best design, and say whether no feasible one was found."""
        self.result.reset()
        self._check_for_missing_objective()
        self._check_for_invalid_desvar_values()
        self.iter_count, self._good_outputs = 0, None
        variables, start = self._read_design_variables()
        equal, sides = self._read_constraints()
        names = ("budget", "seed", "method", "tolerances", "stop", "checkpoint", "noise")
        asked = {name: self.options[name] for name in names}
        x0 = start if self.options["start_at_current"] else None
        if (cheap := self.options["cheap"]) is not None:
            asked["cheap"] = NamedCheap(lambda x: cheap(self._split_design(x)), variables).as_argument()
        self.found = run_and_leave(
            lambda: minimize(lambda x: self._evaluate(x, sides, equal), variables, x0=x0, on_error="penalize", **asked)
        )
        self._run_at_answer(self.found)
        return not self.found.success

    def _read_design_variables(self) -> tuple[Variables, np.ndarray]:
        """The design variables, element by element, in their own units; and the values [D] that they have.

        InvalidInput where they cannot be searched.
        """
        each, start = [], []
        values = self.get_design_var_values(driver_scaling=False)
        for name, meta in self._designvars.items():
            present = np.ravel(values[name]).astype(np.float64)
            self._sizes[name] = present.size
            low, high = (_read_ends(meta, end, present.size) for end in ("lower", "upper"))
            integer = name in self._designvars_discrete
            for i, now in enumerate(present):
                try:
                    variable = Variable(low[i], high[i], meta["units"], integer=integer)
                except InvalidInput as error:
                    raise InvalidInput(
                        f"design variable {name!r}: {error}; add_design_var({name!r}, lower=..., upper=...)"
                    ) from error
                each.append(variable)
                start.append(min(max(now, variable.low), variable.high))
        if not each:
            raise InvalidInput("the model has no design variable: add_design_var(name, lower=..., upper=...)")
        return Variables(tuple(each)), np.array(start)

    def _read_constraints(self) -> tuple[list[Limit], list[Limit]]:
        """Equalities, and the finite sides of inequalities."""
        equal, sides = [], []
        for name, meta in self._cons.items():
            size = int(meta["size"])
            if meta["equals"] is not None:
                equal.append(_read_side(name, meta, size, "equals", 1.0, ""))
                continue
            both = all(np.isfinite(_read_ends(meta, end, size)).any() for end in ("lower", "upper"))
            for end, sign in (("lower", -1.0), ("upper", 1.0)):
                side = _read_side(name, meta, size, end, sign, f" ({end})" if both else "")
                if side.names:
                    sides.append(side)
        return equal, sides

    def _split_design(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """A design x [D] by the names of its variables, an array [size] each; discrete ones as integers."""
        design, at = {}, 0
        for name in self._designvars:
            value = x[at : at + self._sizes[name]]
            design[name] = np.round(value).astype(int) if name in self._designvars_discrete else value
            at += self._sizes[name]
        return design

    def _set_design(self, x: np.ndarray) -> None:
        """Put a design x [D], in the units of the design variables, into the model."""
        for name, value in self._split_design(x).items():
            self._set_design_var(name, value, units=self._designvars[name]["units"])

    def _run_model(self) -> None:
        """Run the model as a case of the recorder.

        One that failed is recorded as such, undone, and its error raised.
        """
        outputs = self._problem().model._outputs
        failure: AnalysisError | None = None
        with RecordingDebugging(self._get_name(), self.iter_count, self):
            self.iter_count += 1
            self._case = {"success": 1, "msg": ""}
            try:
                self._run_solve_nonlinear()
            except AnalysisError as error:
                failure, self._case = error, {"success": 0, "msg": str(error)}
        if failure is None:
            self._good_outputs = outputs.asarray(copy=True)
            return
        if self._good_outputs is not None:  # solvers begin where the model stands: not at what a failure left
            outputs.set_val(self._good_outputs)
        raise failure

    def _evaluate(self, x: np.ndarray, sides: list[Limit], equal: list[Limit]) -> Mapping[str, Any]:
        """One call of the model at x [D]: f, g and h by name, as the search takes them.

        AnalysisError is a failed evaluation; other errors leave the run.
        """
        try:
            self._set_design(x)
            self._run_model()
            objective = self.get_objective_values(driver_scaling=True)
            values = self.get_constraint_values(driver_scaling=False)
        except AnalysisError:
            raise
        except Exception as error:
            raise leave_run(error) from error
        found: dict[str, Any] = {"f": float(np.ravel(next(iter(objective.values())))[0])}
        for kind, limits in (("g", sides), ("h", equal)):
            found[kind] = {name: d for limit in limits for name, d in limit.differences(values[limit.source]).items()}
        return found

    def _run_at_answer(self, found: Result) -> None:
        """Run the model at the best design, as the last case; a warning where no run succeeded."""
        if found.evaluations.failed.all():
            warn_user("no run of the model succeeded: the model stands at no design")
            return
        for _ in range(LAST_TRIES):
            self._set_design(found.x)
            try:
                self._run_model()
                return
            except AnalysisError as error:
                said = str(error)
        warn_user(f"at its best design, in driver.found.x, the model failed {LAST_TRIES} times after the run: {said}")


def _read_ends(meta: Mapping[str, Any], end: str, size: int) -> np.ndarray:
    """Lower or upper ends of a variable or constraint for each element [size]; infinite where there is none."""
    given = meta[end]
    if given is None:
        return np.full(size, -np.inf if end == "lower" else np.inf)
    ends = np.broadcast_to(np.ravel(np.asarray(given, dtype=np.float64)), (size,))
    return np.where(np.abs(ends) >= UNBOUNDED, np.copysign(np.inf, ends), ends)


def _read_side(name: str, meta: Mapping[str, Any], size: int, end: str, sign: float, note: str) -> Limit:
    """One side of a constraint where it is finite; its scaler weighs the difference and never turns its sign."""
    bound = _read_ends(meta, end, size)
    scaler = meta["total_scaler"]
    weight = sign * np.abs(np.broadcast_to(np.ravel(1.0 if scaler is None else scaler), (size,)))
    at = np.flatnonzero(np.isfinite(bound))
    names = tuple(f"{name}{f'[{i}]' if size > 1 else ''}{note}" for i in at)
    return Limit(names, name, at, bound[at], weight[at])
