"""Official benchmark tables: where they lie, and how they are read.

The numbers are not part of the package. `MECO_DATA` names a folder that holds them, or
`meco data fetch` brings them into the user's data folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from meco.errors import DamagedFile, MissingData
from meco.files.npz import read_npz

Shapes = Mapping[str, tuple[int, ...]]

TABLE_DIMS = (10, 30, 50, 100)  # of the official matrices
TABLE_FILES = {"cec2017": "cec2017c.npz", "rwco": "rwco.npz"}  # by suite

# suite -> key -> shape; the keys of rwco are the official file names without extension
TABLE_SHAPES: dict[str, Shapes] = {
    "cec2017": {
        **{f"shift_{k:02d}": (100,) for k in range(1, 12)},
        "shift_12_28": (100,),
        **{f"rotation_{part}_{d}": (d, d) for part in ("02", "05a", "05b", "12_28") for d in TABLE_DIMS},
    },
    "rwco": {
        **{f"FunctionPS1_{part}": (30, 30) for part in "GB"},
        **{f"FunctionPS1_{part}": (30,) for part in "PQ"},
        **{f"FunctionPS2_{part}": (38, 38) for part in "GB"},
        **{f"FunctionPS2_{part}": (38, 6) for part in "PQ"},
        **{f"FunctionPS11_{part}": (30, 30) for part in "GB"},
        **{f"FunctionPS11_{part}": (30,) for part in "PQ"},
        "FunctionPS14_linedata": (37, 6),
        "FunctionRM_feed": (7, 59),
        "FunctionRM_dairy": (14, 64),
    },
}


def user_data_folder() -> Path:
    """The folder for data of this user, by the convention of the platform; it need not exist."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "meco"


def find_table_file(filename: str) -> Path | None:
    """The file in the folder of MECO_DATA, else in the user's data folder, else None."""
    named = os.environ.get("MECO_DATA")
    folders = [Path(named).expanduser()] if named else []
    for folder in (*folders, user_data_folder()):
        if (folder / filename).is_file():
            return folder / filename
    return None


def require_table_file(filename: str, suite: str) -> Path:
    """The path of a suite's file; MissingData, which names both ways to get it, where it is not here."""
    path = find_table_file(filename)
    if path is None:
        raise MissingData(
            f"the official tables {filename} are not on this machine: run `meco data fetch {suite}`, "
            f"or set MECO_DATA to a folder that holds {filename} (looked in {_searched_folders()})"
        )
    return path


def load_tables(filename: str, suite: str) -> dict[str, np.ndarray]:
    """Every array of a suite's official file by key: load_tables("rwco.npz", "rwco").

    MissingData or DamagedFile without.
    """
    return read_tables(require_table_file(filename, suite), suite)


def read_tables(path: Path, suite: str) -> dict[str, np.ndarray]:
    """The arrays of one npz file by key; DamagedFile names the file and the way to a sound one."""
    again = f"fetch it again with `meco data fetch {suite}`"
    try:
        arrays = read_npz(path, str(path))
    except DamagedFile as error:
        raise DamagedFile(f"{path} is not a sound npz file ({error}); {again}") from error
    if problem := find_misfit(arrays, TABLE_SHAPES[suite]):
        raise DamagedFile(f"{path}: {problem}; {again}")
    return arrays


def find_misfit(arrays: Mapping[str, np.ndarray], shapes: Shapes) -> str:
    """The first array that is missing or has another shape than it must have; empty when all fit."""
    for key, shape in shapes.items():
        if key not in arrays:
            return f"there is no array {key!r}"
        if arrays[key].shape != tuple(shape):
            return f"{key} must have shape {tuple(shape)}; got {arrays[key].shape}"
    return ""


def _searched_folders() -> str:
    """Where tables are looked for, in words for an error."""
    named = os.environ.get("MECO_DATA")
    return f"{named} and {user_data_folder()}" if named else f"{user_data_folder()}; MECO_DATA is not set"
