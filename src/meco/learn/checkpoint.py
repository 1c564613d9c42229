"""Where a training stands, in one file that appears whole or not at all: arrays and JSON, no pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from meco.errors import DamagedFile, MissingData
from meco.files.atomic import replacing
from meco.files.npz import read_npz
from meco.files.schema import check, parse_json

FORMAT = 1
LARGEST_CONTENT = 1 << 32  # bytes; replay memories of many policies are large
STATE = "state.json"  # the entry that holds the JSON, as bytes


def write_checkpoint(path: Path, arrays: Mapping[str, np.ndarray], state: Mapping[str, Any]) -> None:
    """Write arrays and a JSON state; a kill at any moment leaves the old file or the new one."""
    text = json.dumps({"format": FORMAT, **state}).encode()
    entries = {**arrays, STATE: np.frombuffer(text, np.uint8)}
    with replacing(path, fsync=True) as file:
        np.savez(file, **entries)  # type: ignore[arg-type]


def read_checkpoint(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the state of a checkpoint."""
    if not path.is_file():
        raise MissingData(f"there is no checkpoint {path}; start the training without resuming")
    try:
        arrays = read_npz(path, str(path), LARGEST_CONTENT)
        state = parse_json(arrays.pop(STATE).tobytes(), STATE)
        check(state, {"format": int}, STATE)
    except (DamagedFile, KeyError) as error:
        raise DamagedFile(f"{path} is not a readable checkpoint ({error}); delete it and train anew") from error
    if state.get("format") != FORMAT:
        raise DamagedFile(f"{path} is a checkpoint of format {state.get('format')}; this version reads {FORMAT}")
    return arrays, state
