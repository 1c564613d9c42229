"""Official benchmark tables: where they lie, and how they are read.

The numbers are not part of the package. `MECO_DATA` names a folder that holds them, or
`meco data fetch` brings them into the user's data folder.
"""

from __future__ import annotations

import os
import sys
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from meco.errors import DamagedFile, MissingData

Shapes = Mapping[str, tuple[int, ...]]


def user_folder() -> Path:
    """The folder for data of this user, by the convention of the platform."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "meco"


def find(filename: str) -> Path | None:
    """The file in the folder of MECO_DATA, else in the user's data folder, else None."""
    named = os.environ.get("MECO_DATA")
    folders = [Path(named).expanduser()] if named else []
    for folder in (*folders, user_folder()):
        if (folder / filename).is_file():
            return folder / filename
    return None


def require(filename: str, how_to: str) -> Path:
    """The file's path; how_to is the command that brings it, named in the error."""
    path = find(filename)
    if path is None:
        raise MissingData(
            f"the official tables {filename} are not on this machine: run `{how_to}`, "
            f"or set MECO_DATA to a folder that holds {filename} (looked in {_looked_in()})"
        )
    return path


def load(filename: str, how_to: str, shapes: Shapes | None = None) -> dict[str, np.ndarray]:
    """Every array of an official file by key; shapes, where given, are keys and shapes it must have."""
    return read(require(filename, how_to), how_to, shapes)


def read(path: Path, how_to: str, shapes: Shapes | None = None) -> dict[str, np.ndarray]:
    """The arrays of one npz file, or an error that names the file and the way to a sound one."""
    again = f"fetch it again with `{how_to}`"
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive}
    except (OSError, ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DamagedFile(f"{path} is not a sound npz file ({error}); {again}") from error
    for key, shape in (shapes or {}).items():
        if key not in arrays:
            raise DamagedFile(f"{path} has no array {key!r}; {again}")
        if arrays[key].shape != tuple(shape):
            raise DamagedFile(f"{path}: {key} must have shape {tuple(shape)}; got {arrays[key].shape}; {again}")
    return arrays


def _looked_in() -> str:
    named = os.environ.get("MECO_DATA")
    return f"{named} and {user_folder()}" if named else f"{user_folder()}; MECO_DATA is not set"
