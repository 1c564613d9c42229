"""Plain files: bytes on a disk, read up to a limit, and never written through a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from meco.errors import DamagedFile, InvalidInput


@contextmanager
def open_regular(path: Path, largest: int) -> Iterator[IO[bytes]]:
    """A file to read; a pipe or a device, which may never end, and what is too large are refused.

    A link to a file is followed: reading leaves it as it is. A missing file is an OSError.
    """
    at_once = getattr(os, "O_NONBLOCK", 0)  # opening a pipe would wait for its writer
    descriptor = os.open(path, os.O_RDONLY | at_once | getattr(os, "O_BINARY", 0))
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise DamagedFile(f"{path} is not read: it is no plain file")
        if found.st_size > largest:
            raise DamagedFile(f"{path} is not read: it has {found.st_size} bytes, and at most {largest} are expected")
        with open(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def read_regular(path: Path, largest: int) -> bytes:
    """The content of a plain file of at most so many bytes, as open_regular() opens it."""
    with open_regular(path, largest) as file:
        return file.read()


def check_regular(folder: Path, names: Iterable[str]) -> None:
    """Refuse files to be written in a folder that are links, pipes or folders: what lies behind is not ours.

    Missing ones are fine.
    """
    for name in names:
        try:
            mode = os.lstat(folder / name).st_mode
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(mode):
            raise InvalidInput(f"{folder / name} is no plain file, and nothing is written through it; remove it")
