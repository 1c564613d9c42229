"""A run folder as it is read: what run.json says and what the log holds, touching nothing."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import meco
from meco.errors import DamagedFile, InvalidInput
from meco.files.atomic import write_json
from meco.files.schema import Maybe, check, read_json
from meco.run.log.evaluation_log import ConstraintsChanged, Entry, EvaluationLog, replay_batch
from meco.run.log.log_file import FORMAT, read_log

RUN_JSON_FORM: dict[str, Any] = {
    "format": int,
    "versions": {"meco": str},
    "inputs": {
        "variables": [{"low": float, "high": float, "unit": Maybe(str), "integer": bool, "log": bool}],
        "variable_names": [str],
        "budget": int,
        "method": str,
        "seed": int,
        "options": {str: object},
        "x0": Maybe([[float]]),
        "evaluated": Maybe({"count": int, "sha256": str}),
        "tolerances": {"ineq": object, "eq": object, "keep_feasible": object, "names": [str]},
        "on_error": Maybe(str),
        "asynchronous": Maybe(bool),
    },
    "source": Maybe(
        {
            "kind": str,
            "folder": str,
            "options": {"vectorized": bool, "workers": Maybe(int), "timeout": Maybe(float)},
            "evaluated": Maybe(str),
        }
    ),
    "threads": Maybe(int),
    "other_threads": Maybe([int]),  # with which the run went on
}


def write_run_json(path: Path, facts: dict[str, Any], fsync: bool = False) -> None:
    """Write run.json."""
    write_json(path / "run.json", facts, fsync)


def read_run_json(path: Path) -> dict[str, Any] | None:
    """What run.json says, or None where there is none."""
    file = path / "run.json"
    try:
        if not file.exists():
            return None
    except OSError as error:  # no name that a file could have
        raise InvalidInput(f"{str(path)!r:.60} is no folder: {error.strerror}") from error
    facts = read_json(file)
    check(facts, {"format": int, "versions": {"meco": str}}, str(file))
    if facts["format"] != FORMAT:
        raise DamagedFile(f"{path} was made by meco {facts['versions']['meco']}; this is {meco.__version__}")
    check(facts, RUN_JSON_FORM, str(file))
    if not facts["inputs"]["variables"] or facts["inputs"]["budget"] < 1:
        raise DamagedFile(f"{file} does not describe a run: its bounds or budget make no sense")
    return facts


def folder_fingerprint(path: Path) -> str:
    """What tells this folder on this machine from a copy of it elsewhere, which may come from a stranger."""
    there = path.resolve()
    return hashlib.sha256(f"{platform.node()} {there} {there.stat().st_ino}".encode("utf-8", "replace")).hexdigest()


def load_run(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], EvaluationLog, int]:
    """Facts, every call and the count of damaged places of a folder, without touching it."""
    path = Path(folder)
    facts = read_run_json(path)
    if facts is None:
        raise InvalidInput(f"{path} is not the folder of a run: it has no run.json")
    found = read_log(path / "evals.bin", facts)
    log = EvaluationLog(facts["inputs"]["budget"], len(facts["inputs"]["tolerances"]["names"]) or None)
    for batch in _group_batches(found.entries, bool(facts["inputs"].get("asynchronous"))):
        with suppress(ConstraintsChanged, InvalidInput):  # either ends a search, not its record
            replay_batch(log, batch)
    if found.damaged and not log.constraints_checked:  # of the first nine, some are lost
        log.relearn_constraints()
    return facts, log, found.damaged


def _group_batches(entries: Iterable[Entry], asynchronous: bool) -> Iterator[Iterable[Entry]]:
    """Answers that a run was told together: those of a batch of calls, or each by itself, in the order recorded."""
    if asynchronous:
        return ([entry] for entry in entries)
    by_number = sorted(entries, key=lambda entry: entry.number)
    return (batch for _, batch in groupby(by_number, key=lambda entry: entry.batch))
