"""What a run folder holds, read and never written: for export, reports and evaluated=."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from meco.answer.build import make_result
from meco.answer.table import Table
from meco.errors import InvalidInput
from meco.methods import DEFAULT, METHODS
from meco.result import Result
from meco.run.folder import OLD_FILE, read_run
from meco.run.layout import Answers
from meco.run.log import Event, answered_calls
from meco.run.request import make_request, tolerances_from_inputs, variables_from_inputs
from meco.run.search import Facts
from meco.run.stop import STOP_MESSAGES


class Recorded(NamedTuple):
    """The beginning, the answers in one layout, and the events of a run."""

    begin: Mapping[str, Any]  # format, versions, source, ..
    inputs: Mapping[str, Any]
    answers: Answers
    seconds: dict[int, float]  # of each call, by number
    events: list[Event]  # [] of a folder of meco 0.3


def read_recorded(folder: str | os.PathLike[str]) -> Recorded:
    """A run folder of this version or of meco 0.3; InvalidInput where it holds no run."""
    path = Path(folder)
    try:
        old = (path / OLD_FILE).exists()
    except OSError as error:  # no name that a file could have
        raise InvalidInput(f"{str(path)!r:.60} is no folder: {error.strerror}") from error
    found = read_run(path)
    if found is None and old:
        from meco.run.old_folder import read_old_folder

        begin, answers = read_old_folder(path)
        return Recorded(begin, begin["inputs"], answers, {}, [])
    if found is None:
        raise InvalidInput(f"{path} is not the folder of a run: it has no events.jsonl")
    begin, events = found
    answers = make_recorded_answers(begin["inputs"])
    seconds = {}
    for event in events:
        if event[0] == "tolerances":
            answers.equalities.fixed = np.array(event[1], dtype=np.float64)
    for number, attempt, x, answer, spent in answered_calls(events):
        answers.enter(number, attempt, np.array(x, dtype=np.float64), answer)
        seconds[number] = spent
    return Recorded(begin, begin["inputs"], answers, seconds, events)


def make_recorded_answers(inputs: Mapping[str, Any]) -> Answers:
    """An empty record of the answers of a run with these inputs."""
    answers = Answers(len(inputs["tolerances"]["names"]) or None)
    known = inputs.get("evaluated")
    if known and "f" in known:
        p, q = (len(known[key][0]) if known[key] else 0 for key in ("g", "h"))
        answers.declare(p, q)
    return answers


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


def compose_page(recorded: Recorded, *, refresh: float | None = None) -> str:
    """The page of a run as HTML, which a browser loads again after so many seconds."""
    from meco.bench.report.run_page import compose_run_page

    text = compose_run_page(make_recorded_result(recorded))
    again = "" if refresh is None else f'<meta http-equiv="refresh" content="{refresh:g}">'
    return text.replace("<head>", f"<head>{again}", 1)
