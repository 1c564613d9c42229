"""The result of a run folder, without its function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from meco.answer.build import make_result
from meco.answer.table import Table
from meco.methods import DEFAULT, METHODS
from meco.result import Result
from meco.run.log import Event
from meco.run.recorded import Recorded
from meco.run.request import make_request, tolerances_from_inputs, variables_from_inputs
from meco.run.search import Facts
from meco.run.stop import STOP_MESSAGES


def make_recorded_result(recorded: Recorded) -> Result:
    """The result of what a folder holds; without the cheap and linear constraints that functions told."""
    inputs = recorded.inputs
    method = inputs["method"] if inputs["method"] in METHODS else DEFAULT
    request = make_request(
        variables_from_inputs(inputs),
        budget=inputs["budget"],
        method=method,
        seed=inputs["seed"],
        x0=inputs["x0"],
        evaluated=inputs.get("evaluated"),
        tolerances=tolerances_from_inputs(inputs),
        noise=inputs.get("noise"),
    )
    table = Table(recorded.answers, request.known, request.dim)
    trace = _collect_states(recorded.events)
    facts = Facts(iterations=len(trace.get("nfev", ())), trace=trace)
    ended = recorded.events[-1] if recorded.events else ["end", "finished"]
    reason = ended[1] if ended[0] == "end" and ended[1] in STOP_MESSAGES else "running"
    result = make_result(replace(request, method=method), recorded.answers, table, reason, facts=facts)
    return replace(result, run=replace(result.run, method=inputs["method"]))


def _collect_states(events: Sequence[Event]) -> dict[str, np.ndarray]:
    """Numbers that the search told of itself, [n] by name, beside the calls so far."""
    states = [(event[1], event[2]) for event in events if event[0] == "state" and event[2]]
    names = set.intersection(*(set(state) for _, state in states)) if states else set()
    found = {name: np.array([state[name] for _, state in states], dtype=np.float64) for name in sorted(names)}
    return {"nfev": np.array([number for number, _ in states]), **found} if states else {}
