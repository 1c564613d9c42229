"""A result in words: what stopped the run, what was found, what went wrong; in the user's names and units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from meco.blackbox.answers import WORDS, Fault
from meco.blackbox.calls import REASONS
from meco.blackbox.evaluation_log import EvaluationLog

if TYPE_CHECKING:
    from meco.blackbox.result import MinimizeResult

FREQUENT = 0.1  # share of failed evaluations from which the message speaks of them


def message(result: MinimizeResult, log: EvaluationLog, detail: str) -> str:
    """All there is to say, in sentences."""
    calls = f"{result.nfev} evaluation{'' if result.nfev == 1 else 's'}"
    said = [f"Stopped after {calls}: {detail or REASONS[result.stop_reason]}.", *_found(result)]
    if result.nfail and result.nfail >= FREQUENT * result.nfev:
        kinds = [
            f"{count} {WORDS[fault]}" + (f" (first: {log.first_reason[fault]})" if fault in log.first_reason else "")
            for fault, count in log.faults.most_common()
            if fault is not Fault.NONE
        ]
        said.append(f"{result.nfail} of {result.nfev} evaluations failed: {'; '.join(kinds)}.")
    said.extend(note[0].upper() + note[1:] + "." for note in result.notes)
    return " ".join(said)


def _found(result: MinimizeResult) -> list[str]:
    if result.status == 2:
        return ["No evaluation succeeded; x is only a point inside the bounds."]
    if result.status == 1:
        hurt = {name: c["violation"] for name, c in result.constr.items() if c["violation"] > c["tolerance"]}
        worst = max(hurt, key=lambda name: hurt[name])
        return [
            "No feasible point was found; this x violates the constraints least in sum "
            f"({len(hurt)} of {len(result.constr)} violated, worst: {worst} by {hurt[worst]:.6g})."
        ]
    said = [f"Best feasible f = {result.fun:.10g}."]
    inequalities = list(result.constr.items())[: result.evaluations.g.shape[1]]
    worst, over = max(inequalities, key=lambda pair: pair[1]["violation"], default=("", {"violation": 0.0}))
    if over["violation"] > 0:
        said.append(f"No point has every inequality at 0 or below: {worst} is{excess(over)}.")
    return said


def excess(found: Mapping[str, float]) -> str:
    """How far a constraint is over, and whether that is tolerated; nothing where it is not over."""
    over, allowed = found["violation"], found["tolerance"]
    if over <= 0:
        return ""
    return f" over by {over:.3g}" + (f", within the tolerance of {allowed:.3g}" if over <= allowed else "")
