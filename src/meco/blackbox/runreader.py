"""A run folder as it is read: what run.json says and what the log holds, touching nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import meco
from meco.blackbox.evaluation_log import EvaluationLog
from meco.blackbox.log_file import FORMAT, read_log
from meco.errors import DamagedFile, InvalidInput


def read_facts(path: Path) -> dict[str, Any] | None:
    """What run.json says, or None where there is none."""
    if not (path / "run.json").exists():
        return None
    try:
        facts = json.loads((path / "run.json").read_text(encoding="utf-8"))
        facts["format"], facts["versions"]["meco"], facts["inputs"]["options"], facts["inputs"]["method"]
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFile(f"{path / 'run.json'} does not describe a run: {error!r}") from error
    if facts["format"] > FORMAT:
        raise DamagedFile(f"{path} was made by meco {facts['versions']['meco']}; this is {meco.__version__}")
    return facts


def load_run(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], EvaluationLog, int]:
    """Facts, every call and the count of damaged places of a folder, without touching it."""
    path = Path(folder)
    facts = read_facts(path)
    if facts is None:
        raise InvalidInput(f"{path} is not the folder of a run: it has no run.json")
    found = read_log(path / "evals.bin", facts)
    log = EvaluationLog(facts["inputs"]["budget"], len(facts["inputs"]["constraint_names"]) or None)
    for entry in sorted(found.entries, key=lambda e: e.number):
        log.take(entry, new=False)
    log.settle()
    return facts, log, found.damaged
