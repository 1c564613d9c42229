"""What remains of one of the paper's trainings: the policy file, the training log beside it, and its picture."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from meco import __version__
from meco.errors import DamagedFile
from meco.files.atomic import write_bytes
from meco.gone import find_names
from meco.paper.config import TrainingConfig
from meco.paper.reading import RELAXED
from meco.paper.source_commit import source_commit
from meco.paper.store import LOG_SUFFIX, SUFFIX, save_policy

if TYPE_CHECKING:
    from meco.paper.training import Trained


def write_policy_and_log(folder: Path | str, trained: Trained, command: str | None = None) -> Path:
    """Write the log and the policy with its metadata, over older ones; the path of the policy. Makes the folder."""
    config, folder = trained.config, Path(folder)
    settings = config.as_dict()
    folder.mkdir(parents=True, exist_ok=True)
    text = format_log(config, trained.rows).encode()
    write_bytes(folder / (config.name + LOG_SUFFIX), text)
    metadata = {
        "suite": config.task.source,
        **{name: settings[name] for name in ("dim", "seed", "decoder", "best", "guide_order", "q_output", "problems")},
        "command": command,
        "commit": source_commit(),
        "log_digest": hashlib.sha256(text).hexdigest(),
        "training": settings,
        "versions": {
            "meco": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "torch": _installed_version("torch"),
        },
    }
    path = folder / (config.name + SUFFIX)
    save_policy(path, trained.weights, metadata)
    return path


def format_log(config: TrainingConfig, rows: Sequence[Mapping[str, Any]]) -> str:
    """The log as JSON lines: the settings, then an epoch per line. Times are left out: equal trainings, equal logs."""
    lines = [{"training": config.as_dict()}, *rows]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def read_log(path: Path | str) -> tuple[TrainingConfig, list[dict[str, Any]]]:
    """The settings and the epochs of a training log; an OSError without the file, DamagedFile for another one."""
    try:
        first, *rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
        left = find_names("training setting")  # logs of 0.3 have them
        old = {"best": RELAXED.best, "guide_order": RELAXED.guide_order}  # of logs that do not say it
        return TrainingConfig.from_dict(old | {k: v for k, v in first["training"].items() if k not in left}), rows
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFile(f"{path} is not a training log ({error})") from error


def draw_log(path: Path | str, picture: Path | str) -> None:
    """Draw a training log: return, loss, how often each action was taken, f + nu against the first epoch.

    Writes the picture, whose suffix says in which format.
    """
    from meco.plot.style import save
    from meco.plot.training import plot_training

    config, rows = read_log(path)
    title = f"{config.name}: {len(config.task.problems)} problems ({config.task.source}), D = {config.task.dim}"
    columns = {key: [row[key] for row in rows] for key in ("epoch", "reward", "loss", "actions")}
    figure = plot_training(
        title, columns["epoch"], columns["reward"], columns["loss"], np.array(columns["actions"]), relative_scores(rows)
    )
    save(figure, picture)


def relative_scores(rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """Per epoch the median over problems of log10 |f + nu|, less that of the first epoch: [n]; one row at least."""
    scores = np.array([[row["score"][name] for name in sorted(rows[0]["score"])] for row in rows], dtype=float)
    logs = np.log10(np.maximum(np.abs(scores), 1e-12))
    return np.nanmedian(logs - logs[0], axis=1)


def _installed_version(package: str) -> str | None:
    """The version of a package, None where it is not installed; imports nothing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
