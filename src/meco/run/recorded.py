"""What a run folder holds, read and never written: for export, reports and evaluated=."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from meco.errors import InvalidInput
from meco.run.folder import OLD_FILE, read_run
from meco.run.layout import Answers
from meco.run.log import Event, answered_calls


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
