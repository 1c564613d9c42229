"""What a run hands back: SciPy's OptimizeResult in shape, with all that constraints and failures add."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import meco
from meco.core.capabilities import Multipliers, Policed, offered
from meco.core.evaluation import Best
from meco.core.loop import Loop
from meco.run.calling.answers import WORDS, Fault
from meco.run.calling.caller import REASONS
from meco.run.log.evaluation_log import EvaluationLog, Evaluations
from meco.run.request import Request

if TYPE_CHECKING:
    from meco.figures.figure import Figure

PYTHON = platform.python_version()
FREQUENT = 0.1  # share of failed evaluations from which the message speaks of them
SHOWN = (
    "message",
    "success",
    "status",
    "fun",
    "x",
    "maxcv",
    "constr",
    "nfev",
    "nit",
    "nfail",
    "starts",
    "stop_reason",
    "seed",
)


class MinimizeResult(dict):
    """A dict whose keys are attributes too, as SciPy's OptimizeResult is.

    Attributes:
        x: The best design with every g <= 0; if there is none the best within the tolerances, or the one that
            violates least. Never None.
        fun: Its objective.
        success: Whether x keeps every constraint within the tolerances; also as feasible.
        status: 0 feasible, 1 nothing feasible was found, 2 no evaluation succeeded.
        message: In words: what stopped the run, what was found, what went wrong.
        maxcv: Largest violation, without tolerance.
        constr: Name -> {"value", "violation", "tolerance"} of each constraint at x.
        multipliers: Name -> Lagrange multiplier of each constraint at x: what f would fall by for each unit that the
            constraint is allowed more, as far as the models can tell. None while the run goes on, and of methods
            without models.
        repeated: With repeats=: calls of x, mean and spread (standard deviation) of f, constr_spread of constraints;
            fun and constr are means then. None elsewhere.
        nfev: Calls made; nfail of them failed, failures counts them by kind.
        nit: Generations.
        starts: How often the search began, where the method begins again by itself.
        stop_reason: budget, max_time, target, feasible, converged, callback, interrupt, workers or finished.
        evaluations: Every evaluation, as columns.
        trace: Per generation: nfev, f, nu, feasible, feasible_share; what the method adds, such as theta, share and
            delta of MeCO-TR, action and eps of MeCO.
        seed: Of the run, with method, bounds, versions and notes.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error

    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *self})

    def __repr__(self) -> str:
        width = max(map(len, SHOWN))
        lines = [f"{key:>{width}}: {_text(self[key], width + 2)}" for key in SHOWN if key in self]
        return "\n".join(lines)

    def plot(self, path: Any = None) -> Figure:
        """Convergence, each constraint and what the method did; written where a path is given: .svg, .png or .pdf."""
        from meco.figures.run import run_figure

        figure = run_figure(self)
        if path is not None:
            figure.save(path)
        return figure

    def report(self, path: Any) -> Any:
        """Write a page of this run that needs nothing beside itself: what was found, and how the search went."""
        return meco.write_report(self, path)

    def to_csv(self, path: Any = None) -> str | None:
        """Every evaluation as CSV with a header: written to a path, or returned as text."""
        from meco.run.csv_table import write_csv

        return write_csv(self, path)

    def to_frame(self) -> Any:
        """Every evaluation as a pandas DataFrame, where pandas is installed."""
        from meco.run.csv_table import as_frame

        return as_frame(self)

    def summary(self) -> dict[str, Any]:
        """The result without its evaluations and trace, ready for JSON."""
        left_out = ("evaluations", "trace")
        return {key: _plain(value) for key, value in self.items() if key not in left_out}


def make_result(
    request: Request,
    log: EvaluationLog,
    reason: str,
    *,
    detail: str = "",
    nit: int = 0,
    trace: Mapping[str, np.ndarray] | None = None,
    notes: Sequence[str] = (),
    loop: Loop | None = None,
    as_told: bool = False,
) -> MinimizeResult:
    """The result of everything the log holds."""
    allowed = request.tolerances(log)
    every = log.columns(request.dim, request.known, *allowed, as_told=as_told)
    found = _best(request, every, allowed)
    names = _distinct(log.names(request.names))
    constr = _constraints(names, found, *allowed) if every.best is not None else {}
    worst = max((c["violation"] for c in constr.values()), default=0.0) if found.usable else float("nan")
    prices = None if reason == "running" else _multipliers(loop, found)
    result = MinimizeResult(
        x=found.x,
        fun=found.f if found.usable else float("nan"),
        success=found.feasible,
        status=0 if found.feasible else 1 if found.usable else 2,
        message="",
        nfev=len(log),
        nit=nit,
        maxcv=worst,
        feasible=found.feasible,
        constr=constr,
        multipliers=None if prices is None else dict(zip(names, prices.tolist())),
        repeated=found.repeated,
        stop_reason=reason,
        nfail=sum(log.faults.values()),
        failures={fault.name.lower(): count for fault, count in sorted(log.faults.items())},
        evaluations=every,
        trace=dict(trace or {}),
        starts=int(trace["starts"][-1]) + 1 if trace and "starts" in trace else 1,
        seed=request.seed,
        method=request.method,
        bounds=np.stack([request.lower, request.upper], axis=1),
        versions=versions() | _policy(loop),
        notes=list(notes),
    )
    result["message"] = _message(result, log, detail)
    return result


def versions() -> dict[str, str]:
    """What a run depended on."""
    return {"meco": meco.__version__, "python": PYTHON, "numpy": np.__version__}


def _policy(loop: Loop | None) -> dict[str, str]:
    """Which policy steered the search, where one did."""
    policed = None if loop is None else offered(loop.engine, Policed)
    told = {} if policed is None else policed.policy
    return {"policy": f"{told.get('name', '')} {told['digest'][:12]}".strip()} if "digest" in told else {}


def _multipliers(loop: Loop | None, found: Best) -> np.ndarray | None:
    """Lagrange multipliers [C] at the best point, where the engine knows any."""
    multipliers = None if loop is None else offered(loop.engine, Multipliers)
    if loop is None or multipliers is None or not loop.engine.generation or not found.usable:
        return None
    try:
        return multipliers.at(loop.evaluator.box.to_unit(found.x[None]))[0]
    except np.linalg.LinAlgError:  # values too far apart for any model: a run's result does not hang on them
        return None


def _best(request: Request, every: Evaluations, allowed: tuple[Any, Any]) -> Best:
    if every.best is None:
        x = (request.lower + request.upper) / 2 if request.x0 is None else request.x0[0].copy()
        x = x if request.integrality is None else np.where(request.integrality, np.floor(x), x)
        return Best(x, float("nan"), np.zeros(0), np.zeros(0), False, False)
    if request.repeats:
        from meco.run.repeats import settled

        found = settled(every, allowed)
        if found is not None:
            spread, *others = found.spread
            said: dict[str, Any] = {"calls": found.calls, "mean": found.f, "spread": float(spread)}
            said["constr_spread"] = np.concatenate(others)
            return Best(found.x.copy(), found.f, found.g, found.h, found.feasible, True, said)
    return every.best._replace(x=every.best.x.copy())


def _constraints(names: Sequence[str], found: Best, *allowed: Any) -> dict[str, dict[str, float]]:
    """Value, violation and tolerance of each constraint, inequalities first."""
    g, h = found.g, found.h
    rows = zip(
        [*g.tolist(), *h.tolist()],
        [*np.maximum(g, 0.0).tolist(), *np.abs(h).tolist()],
        [limit for t, v in zip(allowed, (g, h)) for limit in (t + np.zeros(v.size)).tolist()],
    )
    keys = ("value", "violation", "tolerance")
    return {name: dict(zip(keys, row)) for name, row in zip(names, rows)}


def _distinct(names: Sequence[str]) -> list[str]:
    """The same names, numbered where one comes twice."""
    seen: dict[str, int] = {}
    made = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return made


def _message(result: MinimizeResult, log: EvaluationLog, detail: str) -> str:
    """All there is to say, in sentences."""
    calls = f"{result.nfev} evaluation{'' if result.nfev == 1 else 's'}"
    said = [f"Stopped after {calls}: {detail or REASONS[result.stop_reason]}.", *_found(result, log.counts[0])]
    if result.nfail and result.nfail >= FREQUENT * result.nfev:
        kinds = [
            f"{count} {WORDS[fault]}" + (f" (first: {log.first_reason[fault]})" if fault in log.first_reason else "")
            for fault, count in log.faults.most_common()
            if fault is not Fault.NONE
        ]
        said.append(f"{result.nfail} of {result.nfev} evaluations failed: {'; '.join(kinds)}.")
    said.extend(note[0].upper() + note[1:] + "." for note in result.notes)
    return " ".join(said)


def _found(result: MinimizeResult, n_ineq: int) -> list[str]:
    if result.status == 2:
        return ["No evaluation succeeded; x is only a point inside the bounds."]
    if result.status == 1:
        hurt = {name: c["violation"] for name, c in result.constr.items() if c["violation"] > c["tolerance"]}
        worst = max(hurt, key=lambda name: hurt[name])
        return [
            "No feasible point was found; this x violates the constraints least in sum "
            f"({len(hurt)} of {len(result.constr)} violated, worst: {worst} by {hurt[worst]:.6g})."
        ]
    said = [f"Best feasible f = {result.fun:.10g}{_mean_of(result)}."]
    inequalities = list(result.constr.items())[:n_ineq]
    worst, over = max(inequalities, key=lambda pair: pair[1]["violation"], default=("", {"violation": 0.0}))
    if over["violation"] > 0:
        said.append(f"No point has every inequality at 0 or below: {worst} is{excess(over)}.")
    return said


def _mean_of(result: MinimizeResult) -> str:
    """Of how many calls f is the mean, where the best point was called again."""
    again = result.repeated
    return (
        ""
        if again is None
        else f", the mean of {again['calls']} calls with a standard deviation of {again['spread']:.3g}"
    )


def excess(found: Mapping[str, float]) -> str:
    """How far a constraint is over, and whether that is tolerated; nothing where it is not over."""
    over, allowed = found["violation"], found["tolerance"]
    if over <= 0:
        return ""
    return f" over by {over:.3g}" + (f", within the tolerance of {allowed:.3g}" if over <= allowed else "")


def _plain(value: Any) -> Any:
    """The same in types that JSON knows; numbers that are not finite become null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def _text(value: Any, indent: int) -> str:
    if isinstance(value, dict):
        rows = [f"{name}: {found['value']:.6g}{excess(found)}" for name, found in value.items()]
        return ("\n" + " " * indent).join(rows) or "none"
    return str(value)
