"""A run folder as it is read: what run.json says and what the log holds, touching nothing."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import meco
from meco.errors import DamagedFile, InvalidInput
from meco.files.atomic import write_json
from meco.files.schema import Large, Maybe, check_form, read_json
from meco.run.log.equality_defaults import EqualityDefaults
from meco.run.log.evaluation_log import ConstraintsChanged, Entry, EvaluationLog, replay_batch
from meco.run.log.log_file import FORMAT, read_log
from meco.run.scipy_compat import SEED_BITS

RUN_JSON_FORM: dict[str, Any] = {
    "format": int,
    "versions": {"meco": str},
    "inputs": {
        "variables": [
            {
                "low": Maybe(float),
                "high": Maybe(float),
                "unit": Maybe(str),
                "integer": bool,
                "log": bool,
                "categories": Maybe([object]),
                "ordered": Maybe(bool),
            }
        ],
        "variable_names": [str],
        "budget": int,
        "method": str,
        "seed": Large(SEED_BITS),
        "options": {str: object},
        "x0": Maybe([[float]]),
        "evaluated": Maybe({"count": int, "sha256": str}),
        "tolerances": {"ineq": object, "eq": object, "keep_feasible": object, "names": [str]},
        "on_error": Maybe(str),
        "asynchronous": Maybe(bool),
        "cheap": Maybe({"ineq": [str], "eq": [str]}),
        "noise": Maybe(object),
    },
    "source": Maybe(
        {
            "kind": str,
            "folder": str,
            "options": {"vectorized": bool, "workers": Maybe(int), "timeout": Maybe(float)},
            "evaluated": Maybe(str),
            "cheap": Maybe(str),
        }
    ),
    "function": Maybe(str),  # fingerprint of the function and its constraints
    "threads": Maybe(int),
    "other_threads": Maybe([int]),  # with which the run went on
    "extended_at": Maybe(int),  # answers that were there when the budget was last made larger
}


def write_run_json(path: Path, run_json: dict[str, Any], *, fsync: bool = False) -> None:
    """Write run.json into the folder, whole or not at all; with fsync it is on the disk by then."""
    write_json(path / "run.json", run_json, fsync=fsync)


def read_run_json(path: Path) -> dict[str, Any] | None:
    """What run.json of a folder says, or None where there is none.

    DamagedFile for another thing or another format, InvalidInput for what cannot be a path.
    """
    file = path / "run.json"
    try:
        if not file.exists():
            return None
    except OSError as error:  # no name that a file could have
        raise InvalidInput(f"{str(path)!r:.60} is no folder: {error.strerror}") from error
    run_json = read_json(file)
    check_form(run_json, {"format": int, "versions": {"meco": str}}, str(file))
    if run_json["format"] != FORMAT:
        raise DamagedFile(f"{path} was made by meco {run_json['versions']['meco']}; this is {meco.__version__}")
    check_form(run_json, RUN_JSON_FORM, str(file))
    if not run_json["inputs"]["variables"] or run_json["inputs"]["budget"] < 1:
        raise DamagedFile(f"{file} does not describe a run: its bounds or budget make no sense")
    return run_json


def fingerprint_folder(path: Path) -> str:
    """What tells this folder on this machine from a copy of it elsewhere, which may come from a stranger."""
    there = path.resolve()
    return hashlib.sha256(f"{platform.node()} {there} {there.stat().st_ino}".encode("utf-8", "replace")).hexdigest()


class RecordedRun(NamedTuple):
    """What a run folder holds."""

    run_json: dict[str, Any]
    log: EvaluationLog
    damaged: int  # places of the log that could not be read


def load_run(folder: str | os.PathLike[str]) -> RecordedRun:
    """What run.json says, every call, and the count of damaged places of a folder, without touching it.

    InvalidInput where it is no run folder, DamagedFile where run.json is damaged.
    """
    path = Path(folder)
    run_json = read_run_json(path)
    if run_json is None:
        raise InvalidInput(f"{path} is not the folder of a run: it has no run.json")
    found = read_log(path / "evals.bin", run_json)
    inputs, asynchronous = run_json["inputs"], bool(run_json["inputs"].get("asynchronous"))
    equalities = EqualityDefaults(by_arrival=asynchronous)
    log = EvaluationLog(inputs["budget"], len(inputs["tolerances"]["names"]) or None, equalities=equalities)
    replay_recorded(log, found.entries, asynchronous=asynchronous)
    if found.damaged and not log.constraints_checked:  # of the first nine, some are lost
        log.relearn_constraints()
    return RecordedRun(run_json, log, found.damaged)


def replay_recorded(log: EvaluationLog, entries: Iterable[Entry], *, asynchronous: bool) -> None:
    """Enter recorded answers into a log, as their run was told them."""
    for batch in _group_batches(entries, asynchronous=asynchronous):
        with suppress(ConstraintsChanged, InvalidInput):  # either ends a search, not its record
            replay_batch(log, batch)


def _group_batches(entries: Iterable[Entry], *, asynchronous: bool) -> Iterator[Iterable[Entry]]:
    """Answers that a run was told together: those of a batch of calls, or each by itself, in the order recorded."""
    if asynchronous:
        return ([entry] for entry in entries)
    by_number = sorted(entries, key=lambda entry: entry.number)
    return (batch for _, batch in groupby(by_number, key=lambda entry: entry.batch))
