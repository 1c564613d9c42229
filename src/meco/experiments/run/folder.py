"""A results folder on disk: the lock of the one that writes, the archive, and what goes wrong with either."""

from __future__ import annotations

import contextlib
import lzma
import sqlite3
from pathlib import Path
from typing import Any

from meco.errors import DamagedFile, InvalidInput, MecoError

FILE = "results.sqlite"
PACKED = FILE + ".xz"


class StoreError(MecoError, OSError):
    """The results could not be written; what was written before is whole."""

    def __str__(self) -> str:
        return str(self.args[0])


def only_packed(folder: Path) -> bool:
    """Whether a folder holds its results as an archive alone; an empty file does not hide it."""
    path = folder / FILE
    return (folder / PACKED).exists() and not (path.exists() and path.stat().st_size > 0)


def unpack_beside(folder: Path) -> bool:
    """Unpack the archive of a folder that holds nothing else; returns whether there was one to unpack."""
    alone = only_packed(folder)
    if alone:
        unpack(folder / PACKED, folder / FILE)
    return alone


def unpack(packed: Path, target: Path) -> None:
    """The whole store out of its archive, or nothing of it."""
    half = target.with_name(FILE + ".part")
    try:
        half.write_bytes(lzma.decompress(packed.read_bytes()))
        half.replace(target)
    except lzma.LZMAError as error:
        raise DamagedFile(f"{packed} is damaged: {error}") from error
    except OSError as error:
        with contextlib.suppress(OSError):
            half.unlink()
        raise StoreError(f"cannot unpack {packed} into {target.parent}: {error.strerror}") from error


def locked(folder: Path) -> Any:
    """Hold a folder while this process lives; the system lets go of a dead process's hold."""
    try:
        handle = open(folder / ".lock", "a")  # noqa: SIM115
    except OSError as error:
        raise StoreError(f"cannot write to {folder}: {error.strerror}") from error
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        raise InvalidInput(f"another campaign is writing to {folder}; wait for it, or choose another --out") from None
    except (ImportError, OSError):  # no such locks on this system: SQLite still keeps the file whole
        pass
    return handle


def unwritten(folder: Path, error: sqlite3.Error) -> MecoError:
    """What a failed write means for the user."""
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_NOTADB":
        return DamagedFile(f"{folder / FILE} is not a results file of meco: {error}")
    if name == "SQLITE_FULL" or name.startswith("SQLITE_IOERR"):
        why = "the disk is full or does not take more data"
    else:
        why = str(error)
    return StoreError(
        f"cannot write results to {folder}: {why} ({error}). What was written before is whole; "
        "make room and give the same command to go on"
    )
