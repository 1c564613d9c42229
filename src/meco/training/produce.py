"""From settings to a policy file: references, direct search, choice, and a record of all of it."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from meco.errors import load_extra
from meco.files.atomic import write_bytes
from meco.mdp.network import Weights, packed
from meco.mdp.policy_store import LOG_SUFFIX, SUFFIX, save_policy
from meco.training.matches import crew
from meco.training.record import commit
from meco.training.references import NAMES
from meco.training.search import PolicySearch, first_weights, record
from meco.training.search_config import SearchConfig


class Learnt(NamedTuple):
    """What a learner leaves: a network of some kind, its log, how it was chosen, whether it came to its end."""

    weights: Weights
    kind: str
    rows: list[dict[str, Any]]
    choice: dict[str, Any]
    done: bool


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
        learnt = (searched if config.learner == "search" else q_learnt)(search, stop)
    text = log_text(search, learnt)
    path = folder / (config.name + SUFFIX)
    write_bytes(folder / (config.name + LOG_SUFFIX), text)
    known = {
        **record(search),
        "kind": learnt.kind,
        **{"suite": "generated", "dim": list(config.dims)},
        "choice": learnt.choice,
        "command": command,
        "commit": commit(),
        "log_digest": hashlib.sha256(text).hexdigest(),
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }
    save_policy(path, learnt.weights, known)
    say(f"{path}: choose {learnt.choice['choose']:.4f}, own rule {learnt.choice['own_rule']:.4f}")
    return learnt.done


def searched(search: PolicySearch, stop: Callable[[], bool]) -> Learnt:
    """By direct search, the best snapshot."""
    done = search.run(stop)
    if not search.snapshots or search.snapshots[-1][0] < search.evolution.steps:
        search.judge()
    weights, choice = search.best()
    return Learnt(weights, "correcting", search.rows, choice, done)


def q_learnt(search: PolicySearch, stop: Callable[[], bool]) -> Learnt:
    """By Double DQN, as it is at the end; it has no checkpoint and plays its rounds in this process."""
    load_extra("torch", "train", "Double DQN")
    from meco.training.search_ddqn import QSearch, QSettings

    c = search.config
    learner = QSearch(search.train, QSettings(c.iterations, c.width, c.hidden, seed=c.seed), search.say)
    weights = learner.run(stop)
    score = search.quantiles(packed(weights), search.choose, shape=learner.learner.shape, kind="greedy").mean()
    rule = search.score(first_weights(c))
    choice = {"choose": float(score), "own_rule": rule}
    return Learnt(weights, "greedy", learner.rows, choice, len(learner.rows) == c.iterations)


def log_text(search: PolicySearch, learnt: Learnt) -> bytes:
    """The log as JSON lines: settings, iterations, choice. Times are left out: equal trainings, equal logs."""
    lines = [{"training": search.config.as_dict(), "engine": search.digest}, *learnt.rows, {"choice": learnt.choice}]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
