"""Where official benchmark tables lie on this machine."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path

import numpy as np

from meco.errors import DamagedFile, MissingData


def user_folder() -> Path:
    """The folder for data of this user, by the platform's convention."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "meco"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "meco"
    return Path(os.environ.get("XDG_DATA_HOME", home / ".local" / "share")) / "meco"


def find(filename: str) -> Path | None:
    """The file in the folder MECO_DATA names, else in the user's data folder."""
    named = os.environ.get("MECO_DATA")
    folders = [Path(named)] if named else []
    for folder in [*folders, user_folder()]:
        if (folder / filename).is_file():
            return folder / filename
    return None


def load(filename: str, suite: str) -> dict[str, np.ndarray]:
    """The arrays of a table file, or an error that says how to get it."""
    path = find(filename)
    if path is None:
        raise MissingData(
            f"the official tables {filename} are not on this machine: run `meco data fetch {suite}`, "
            f"or set MECO_DATA to a folder that holds {filename}"
        )
    return _read(path, path.stat().st_mtime_ns, suite)


@lru_cache(maxsize=8)
def _read(path: Path, changed: int, suite: str) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except Exception as error:
        raise DamagedFile(
            f"{path} cannot be read as a table file ({error}); delete it and run `meco data fetch {suite}`"
        ) from error
