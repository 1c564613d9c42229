"""The state of a training in one file of arrays and JSON, written atomically; no pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from meco.errors import DamagedFile, MissingData
from meco.files.atomic import replace_file
from meco.files.npz import read_npz
from meco.files.schema import check_form, parse_json

CHECKPOINT_FORMAT = 1
MAX_CONTENT_BYTES = 1 << 32  # replay memories of many policies are large
STATE_ENTRY = "state.json"  # the entry that holds the JSON, as bytes


def write_checkpoint(path: Path, arrays: Mapping[str, np.ndarray], state: Mapping[str, Any]) -> None:
    """Write arrays and a JSON state to a file of a folder that exists; a kill leaves the old file or the new one."""
    text = json.dumps({"format": CHECKPOINT_FORMAT, **state}).encode()
    entries = {**arrays, STATE_ENTRY: np.frombuffer(text, np.uint8)}
    with replace_file(path, fsync=True) as file:
        np.savez(file, **entries)  # type: ignore[arg-type]


def read_checkpoint(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the state of a checkpoint; MissingData without the file, DamagedFile where it is another thing."""
    if not path.is_file():
        raise MissingData(f"there is no checkpoint {path}; start the training without resuming")
    try:
        arrays = read_npz(path, str(path), MAX_CONTENT_BYTES)
        state = parse_json(arrays.pop(STATE_ENTRY).tobytes(), STATE_ENTRY)
        check_form(state, {"format": int}, STATE_ENTRY)
    except (DamagedFile, KeyError) as error:
        raise DamagedFile(f"{path} is not a readable checkpoint ({error}); delete it and train again") from error
    if state.get("format") != CHECKPOINT_FORMAT:
        found = state.get("format")
        raise DamagedFile(f"{path} is a checkpoint of format {found}; this version reads {CHECKPOINT_FORMAT}")
    return arrays, state
