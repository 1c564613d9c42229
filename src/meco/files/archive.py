"""Archives of a release: its stored runs and policies, checked by SHA-256 before anything in them is read.

results/archive/0.3.0-runs.sqlite.xz, 0.3.0-policies.tar.xz, SHA256SUMS
"""

from __future__ import annotations

import hashlib
import io
import lzma
import re
import tarfile
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from meco.errors import DamagedFile
from meco.files.regular_files import read_regular

ARCHIVE_FOLDER = "archive"  # in a results folder
SUMS = "SHA256SUMS"  # a line for each archive: digest, two blanks, name
LARGEST_SUMS, LARGEST_ARCHIVE = 1 << 20, 1 << 25  # bytes
LARGEST_CONTENT = 1 << 27  # bytes, unpacked
TAR = ".tar.xz"  # how an archive of files ends


class DamagedArchive(DamagedFile):
    """An archive that is not the one that SHA256SUMS lists, or cannot be unpacked."""


def find_archives(folder: Path, ending: str) -> list[Path]:
    """The archives VERSION-ending in the archive of a results folder, the newest version first."""
    found = (folder / ARCHIVE_FOLDER).glob(f"*-{ending}")
    return sorted(found, key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)], reverse=True)


def read_archive(path: Path) -> bytes:
    """The bytes of an archive; DamagedArchive unless their SHA-256 is the one in SHA256SUMS beside it."""
    content = read_regular(path, LARGEST_ARCHIVE)
    sums = path.with_name(SUMS)
    try:
        lines = read_regular(sums, LARGEST_SUMS).decode("utf-8", errors="replace").splitlines()
    except OSError as error:
        raise DamagedArchive(f"{path} is not read: there is no {SUMS} beside it") from error
    known = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    if path.name not in known:
        raise DamagedArchive(f"{path} is not read: {SUMS} beside it does not list it")
    if hashlib.sha256(content).hexdigest() != known[path.name]:
        raise DamagedArchive(f"{path} is damaged: its SHA-256 is not the one in {SUMS}")
    return content


def read_members(path: Path) -> MappingProxyType[str, bytes]:
    """The files in a .tar.xz archive by name; DamagedArchive for a damaged one, OSError without one.

    An archive that did not change is read once.
    """
    found = path.stat()
    return _read_members(path, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=4)
def _read_members(path: Path, size: int, changed_ns: int) -> MappingProxyType[str, bytes]:
    """The files in an archive; size and time of change make a changed one be read again."""
    try:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        content = unpacker.decompress(read_archive(path), LARGEST_CONTENT)
        if not unpacker.eof:
            raise DamagedArchive(f"{path} is damaged: it is cut short, or more than {LARGEST_CONTENT} bytes unpacked")
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            files = [(member.name, archive.extractfile(member)) for member in archive if member.isfile()]
            return MappingProxyType({name: file.read() for name, file in files if file is not None})
    except (lzma.LZMAError, EOFError, tarfile.TarError) as error:
        raise DamagedArchive(f"{path} is damaged: {error}") from error


def is_archived(path: Path) -> bool:
    """Whether a path ARCHIVE.tar.xz/NAME leads into an archive."""
    return path.parent.name.endswith(TAR) and path.parent.is_file()


def read_file(path: Path, largest: int) -> bytes:
    """The content of a plain file of at most so many bytes, or of ARCHIVE.tar.xz/NAME; OSError without one."""
    if not is_archived(path):
        return read_regular(path, largest)
    try:
        return read_members(path.parent)[path.name]
    except KeyError:
        raise FileNotFoundError(f"{path.parent} has no {path.name}") from None
