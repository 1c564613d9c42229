"""A results folder on disk: its two files, whole or not at all, and what goes wrong with them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from meco.errors import DamagedFile, MecoError
from meco.files.archive import find_archives
from meco.files.atomic import write_bytes, write_text

STORE_FILE = "results.sqlite"  # what a campaign writes
PACKED_FILE = "runs.sqlite.xz"  # the same in little room


class StoreError(MecoError, OSError):
    """The results could not be written; what was written before is whole."""

    def __str__(self) -> str:
        return str(self.args[0])


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write the whole file or none of it, over one that is there; StoreError where the disk refuses."""
    try:
        write_text(path, content) if isinstance(content, str) else write_bytes(path, content)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}; nothing of it was kept") from error


def has_store(folder: Path) -> bool:
    """Whether anything was ever written to the store of a folder."""
    path = folder / STORE_FILE
    return path.exists() and path.stat().st_size > 0


def find_packed(folder: Path) -> Path | None:
    """The packed store of a folder, or that of the newest release in its archive; None without either."""
    path = folder / PACKED_FILE
    return path if path.exists() else next(iter(find_archives(folder, PACKED_FILE)), None)


def explain_sqlite_error(path: Path, error: sqlite3.Error) -> MecoError:
    """The error to raise for a failed write to a store: what it means for the user, and the way out."""
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_NOTADB":
        return DamagedFile(f"{path} is not a results file of meco: {error}")
    full = name == "SQLITE_FULL" or name.startswith("SQLITE_IOERR")
    why = f"the disk is full or does not take more data ({error})" if full else str(error)
    return StoreError(
        f"cannot write results to {path.parent}: {why}. What was written before is whole; "
        "make room and give the same command to go on"
    )
