"""From settings to a policy file: references, direct search, choice, and a record of all of it."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from meco.mdp.policy_store import LOG_SUFFIX, SUFFIX, save_policy
from meco.training.matches import crew
from meco.training.record import commit
from meco.training.references import NAMES
from meco.training.search import PolicySearch, record
from meco.training.search_config import SearchConfig


def produce(
    config: SearchConfig,
    folder: Path,
    processes: int = 1,
    resume: bool = False,
    stop: Callable[[], bool] = lambda: False,
    say: Callable[[str], Any] = print,
    command: str | None = None,
) -> bool:
    """Train and write the policy with its log; whether the training came to its end.

    A training that is stopped before leaves its checkpoint, and the policy that is best so far.
    """
    with crew(processes if config.device == "cpu" else 1) as call:
        search = PolicySearch(config, folder, call, say)
        if resume and search.checkpoint.is_file():
            search.resume()
        search.prepare()
        say(f"{len(search.train.matches)} matches to train on, {len(search.choose.matches)} to choose on")
        for name, score in zip(NAMES, search.choose.scores()):
            say(f"  {score:.3f}  {name}")
        done = search.run(stop)
        if not search.snapshots or search.snapshots[-1][0] < search.evolution.steps:
            search.judge()
        weights, choice = search.best()
    text = log_text(search, choice)
    path = folder / (config.name + SUFFIX)
    (folder / (config.name + LOG_SUFFIX)).write_bytes(text)
    known = {
        **record(search),
        **{"suite": "generated", "dim": list(config.dims)},
        "choice": choice,
        "command": command,
        "commit": commit(),
        "log_digest": hashlib.sha256(text).hexdigest(),
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }
    save_policy(path, weights, known)
    say(f"{path}: choose {choice['choose']:.4f}, own rule {choice['own_rule']:.4f}")
    return done


def log_text(search: PolicySearch, choice: dict[str, Any]) -> bytes:
    """The log as JSON lines: settings, iterations, choice. Times are left out: equal trainings, equal logs."""
    lines = [{"training": search.config.as_dict(), "engine": search.digest}, *search.rows, {"choice": choice}]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
