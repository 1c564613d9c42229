"""What a run hands back: SciPy's OptimizeResult in shape, with all that constraints and failures add."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import meco
from meco.blackbox.answers import WORDS, Fault
from meco.blackbox.calls import REASONS
from meco.blackbox.evaluation_log import EvaluationLog, Evaluations
from meco.blackbox.request import Request
from meco.engines.engine import Engine

FREQUENT = 0.1  # share of failed evaluations from which the message speaks of them
SHOWN = ("message", "success", "status", "fun", "x", "maxcv", "constr", "nfev", "nit", "nfail", "stop_reason", "seed")


class MinimizeResult(dict):
    """A dict whose keys are attributes too, as SciPy's OptimizeResult is.

    x, fun              the best design, feasibility first; never None
    success, feasible   whether it keeps every constraint within the tolerances
    status              0 feasible, 1 nothing feasible was found, 2 no evaluation succeeded
    message             in words: what stopped the run, what was found, what went wrong
    maxcv               largest violation, without tolerance
    constr              name -> {"value", "violation"} of each constraint at x
    nfev, nfail, nit    calls made, calls that failed, generations
    failures            kind of failure -> count
    stop_reason         budget, max_time, target, feasible, callback, interrupt, workers or finished
    evaluations         every evaluation, as columns
    trace               per generation: nfev, f, nu, feasible, feasible_share; for learned methods action and eps
    seed, method, versions, notes
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

    def plot(self, path: Any = None) -> Any:
        """Convergence, violation and trace as a matplotlib figure; saved where a path is given."""
        from meco.blackbox.pictures import plot_result

        return plot_result(self, path)

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
    engine: Engine | None = None,
) -> MinimizeResult:
    """The result of everything the log holds."""
    every = log.columns(request.dim, request.known, *request.tolerances)
    if len(every):
        at = every.leader
        x, fun, feasible = every.x[at].copy(), float(every.f[at]), bool(every.feasible[at])
        usable = not every.failed[at]
    else:
        x = (request.lower + request.upper) / 2 if request.x0 is None else request.x0[0].copy()
        fun, feasible, usable = float("nan"), False, False
        if request.integrality is not None:
            x = np.where(request.integrality, np.floor(x), x)
    constr = _constraints(log.names(request.names), every, at) if len(every) else {}
    worst = max((c["violation"] for c in constr.values()), default=0.0) if usable else float("nan")
    result = MinimizeResult(
        x=x,
        fun=fun if usable else float("nan"),
        success=feasible,
        status=0 if feasible else 1 if usable else 2,
        message="",
        nfev=len(log),
        nit=nit,
        maxcv=worst,
        feasible=feasible,
        constr=constr,
        stop_reason=reason,
        nfail=sum(log.faults.values()),
        failures={fault.name.lower(): count for fault, count in sorted(log.faults.items())},
        evaluations=every,
        trace=dict(trace or {}),
        seed=request.seed,
        method=request.method,
        versions=versions() | _policy(engine),
        notes=list(notes),
    )
    result["message"] = _message(result, log, detail)
    return result


def versions() -> dict[str, str]:
    """What a run depended on."""
    return {"meco": meco.__version__, "python": platform.python_version(), "numpy": np.__version__}


def _policy(engine: Engine | None) -> dict[str, str]:
    """Which policy steered the search, where one did."""
    told = {} if engine is None else engine.steered_by()
    return {"policy": f"{told.get('name', '')} {told['digest'][:12]}".strip()} if "digest" in told else {}


def _constraints(names: Sequence[str], every: Evaluations, at: int) -> dict[str, dict[str, float]]:
    """Value and violation of each constraint, inequalities first."""
    values = np.concatenate([every.g[at], every.h[at]])
    over = np.concatenate([np.maximum(every.g[at], 0.0), np.abs(every.h[at])])
    return {n: {"value": float(v), "violation": float(c)} for n, v, c in zip(_distinct(names), values, over)}


def _distinct(names: Sequence[str]) -> list[str]:
    """The same names, numbered where one comes twice."""
    seen: dict[str, int] = {}
    made = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return made


def _message(result: MinimizeResult, log: EvaluationLog, detail: str) -> str:
    calls = f"{result.nfev} evaluation{'' if result.nfev == 1 else 's'}"
    said = [f"Stopped after {calls}: {detail or REASONS[result.stop_reason]}."]
    if result.status == 0:
        said.append(f"Best feasible f = {result.fun:.10g}.")
    elif result.status == 1:
        worst = max(result.constr, key=lambda name: result.constr[name]["violation"])
        said.append(
            "No feasible point was found; this x violates the constraints least in sum "
            f"(worst: {worst} by {result.maxcv:.6g})."
        )
    else:
        said.append("No evaluation succeeded; x is only a point inside the bounds.")
    if result.nfail and result.nfail >= FREQUENT * result.nfev:
        kinds = [
            f"{count} {WORDS[fault]}" + (f" (first: {log.first_reason[fault]})" if fault in log.first_reason else "")
            for fault, count in log.faults.most_common()
            if fault is not Fault.NONE
        ]
        said.append(f"{result.nfail} of {result.nfev} evaluations failed: {'; '.join(kinds)}.")
    said.extend(note[0].upper() + note[1:] + "." for note in result.notes)
    return " ".join(said)


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
        rows = [f"{k}: {v['value']:.6g}" + (f" (over by {v['violation']:.3g})" if v["violation"] > 0 else "")
                for k, v in value.items()]  # fmt: skip
        return ("\n" + " " * indent).join(rows) or "none"
    return str(value)
