"""The log of a run: an append-only file of records, each of which says its own constraints and has its own checksum.

Ours and not a database's: any record can be lost or damaged without harm to the others, a record is on its
way in 3 microseconds, and the same run gives the same bytes however it was interrupted. SQLite repairs its
file as a whole or not at all, and a torn page takes its neighbours along.

Little-endian. A head of 32 bytes (magic, format, zeros), then frames: mark, kind, bytes of content, content,
CRC-32. Kind 1 is a call: number u64, batch u32, fault u16, attempt u16, p, q and number of its names u32 each,
then x [D], f, g [p], h [q] in f64. Kind 2 gives names to the constraints of the calls after it, as JSON; they are
numbered from 1 in the order of the file, and written in one piece with the first call that has them. Kind 3 has the
standard errors of the call after it: number u64, then f, g and h in f64.
"""

from __future__ import annotations

import json
import os
import struct
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from meco.errors import DamagedFile
from meco.files.atomic import replace_file
from meco.files.regular_files import read_regular
from meco.run.answer import Fault
from meco.run.log.evaluation_log import Entry

MAGIC = b"MECOLOG\n"
FORMAT = 3
HEADER = MAGIC + FORMAT.to_bytes(2, "little") + bytes(22)
MARK = b"\xfeMEC"
FRAME = struct.Struct("<4sII")
HEAD = struct.Struct("<QIHHIII")
CALL_FRAME = struct.Struct(FRAME.format + HEAD.format[1:])  # of a call's frame, in one piece
CHECK = struct.Struct("<I")
VALUE = struct.Struct("<d")
NUMBER = struct.Struct("<Q")
CALL, NAMES, ERRORS = 1, 2, 3
FLUSH_SECONDS = 0.05  # seconds that a record may wait for company before it is handed to the system
LARGEST_LOG_BYTES = 1 << 32  # bytes

Names = tuple[tuple[str, ...], tuple[str, ...]]


def _make_frame(kind: int, content: bytes) -> bytes:
    """Content as a frame of this kind, with its checksum."""
    block = FRAME.pack(MARK, kind, len(content)) + content
    return block + CHECK.pack(zlib.crc32(block))


class Encoder:
    """Turns entries into frames; names are written before the first call that has them."""

    def __init__(self, names: Iterable[Names] = ()) -> None:
        """names are those that the file already numbers, in their order."""
        self.numbers: dict[Names, int] = {((), ()): 0}
        for known in names:
            self.numbers.setdefault(known, len(self.numbers))

    def __call__(self, entry: Entry) -> bytes:
        """The frame of an entry, after that of its names where these are new; the bytes are the stored format."""
        number, batch, attempt, fault, x, f, g, h, g_names, h_names, errors = entry
        named, before = self._number_names((g_names, h_names)) if g_names or h_names else (0, b"")
        if errors.size:
            before += _make_frame(ERRORS, NUMBER.pack(number) + errors.tobytes())
        size = HEAD.size + VALUE.size * (x.size + 1 + g.size + h.size)
        head = CALL_FRAME.pack(MARK, CALL, size, number, batch, fault, attempt, g.size, h.size, named)
        block = b"".join((head, x.tobytes(), VALUE.pack(f), g.tobytes(), h.tobytes()))
        return before + block + CHECK.pack(zlib.crc32(block))

    def _number_names(self, names: Names) -> tuple[int, bytes]:
        """The number of these names, and the frame that gives it to them the first time, else b""."""
        if not any(map(any, names)):
            return 0, b""
        known = self.numbers.get(names)
        if known is not None:
            return known, b""
        self.numbers[names] = len(self.numbers)
        text = json.dumps(names, ensure_ascii=False).encode("utf-8", "backslashreplace")
        return self.numbers[names], _make_frame(NAMES, text)


def _decode_call(content: bytes, names: list[Names], run_json: dict[str, Any] | None) -> Entry | None:
    """The entry in a call's content, or None where its names were lost or it is none of this run."""
    try:
        number, batch, fault, attempt, p, q, named = HEAD.unpack_from(content)
        values = np.frombuffer(content, dtype="<f8", offset=HEAD.size).astype(np.float64)
        kind, known = Fault(fault), names[named]
    except (struct.error, ValueError, IndexError):
        return None
    dim = values.size - 1 - p - q
    g_names, h_names = known if named or dim < 0 else (("",) * p, ("",) * q)
    if dim < 0 or (len(g_names), len(h_names)) != (p, q):
        return None
    if run_json is not None and not (
        number < run_json["inputs"]["budget"] and dim == len(run_json["inputs"]["variables"])
    ):
        return None
    x, f, g, h = values[:dim], float(values[dim]), values[dim + 1 : dim + 1 + p], values[dim + 1 + p :]
    return Entry(number, batch, attempt, kind, x, f, g, h, g_names, h_names)


def _add_errors(entry: Entry, errors: np.ndarray | None) -> Entry:
    """The entry with its standard errors [1 + p + q]; without them where they do not fit or are not finite."""
    if errors is None or errors.size != 1 + entry.g.size + entry.h.size or not np.isfinite(errors).all():
        return entry
    return entry._replace(errors=np.abs(errors))


def _decode_names(content: bytes) -> Names | None:
    """The names of constraints in a frame, or None where these are no names."""
    try:
        g_names, h_names = json.loads(content)
        found = tuple(g_names), tuple(h_names)
    except (ValueError, TypeError, RecursionError):
        return None
    return found if all(isinstance(name, str) for part in found for name in part) else None


class LogFile:
    """Appends entries. What is written survives the end of the process; with fsync, that of the machine."""

    def __init__(self, path: Path, names: Iterable[Names] = (), *, fsync: bool = False) -> None:
        """Open the file to append, making it where it is missing; names are those that it already numbers."""
        self.path, self.fsync = path, fsync
        self._encode = Encoder(names)
        self._waiting: list[bytes] = []
        self._since = 0.0
        self._open()

    def _open(self) -> None:
        """Open the file for appending, and note its size: _write() cuts it back to that when it fails."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(self.path, flags, 0o666)
        self._size = os.fstat(self._descriptor).st_size
        if self._size == 0:
            self._write(HEADER)

    @property
    def in_place(self) -> bool:
        """Whether the file is still where it was opened."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._descriptor))
        except OSError:
            return False

    def append(self, entry: Entry) -> None:
        """Add a record; a slow simulation's answer is handed over at once, quick ones in groups."""
        now = time.monotonic()
        self._waiting.append(self._encode(entry))
        if now - self._since > FLUSH_SECONDS:
            self.flush(sync=False)
            self._since = now

    def _write(self, content: bytes) -> None:
        """Write all of it or, on a full disk or where a signal breaks it off, none of it; raises what broke it."""
        view = memoryview(content)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except BaseException:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(content)

    def flush(self, *, sync: bool = True) -> None:
        """Hand everything over to the system, and to the disk where that was asked for."""
        if self._waiting:
            self._write(b"".join(self._waiting))
            self._waiting.clear()
        if sync and self.fsync:
            os.fsync(self._descriptor)

    def rewrite(self, entries: Iterable[Entry]) -> None:
        """Replace the whole file by these entries at once; what waits is dropped."""
        self._waiting.clear()
        self.close(flush=False)
        self._encode = write_log(self.path, entries, fsync=self.fsync)
        self._open()

    def close(self, *, flush: bool = True) -> None:
        """Flush, unless told not to, and close the file, in every case; nothing where it is closed."""
        if self._descriptor < 0:
            return
        try:
            if flush:
                self.flush()
        finally:
            descriptor, self._descriptor = self._descriptor, -1  # closed once, also where that fails
            os.close(descriptor)


def write_log(path: Path, entries: Iterable[Entry], *, fsync: bool = False) -> Encoder:
    """Write a complete log in place of what was there; the encoder knows its names, for what is appended."""
    encode = Encoder()
    with replace_file(path, fsync=fsync) as file:
        file.write(HEADER)
        for entry in entries:
            file.write(encode(entry))
    return encode


class LogContent(NamedTuple):
    """What a log held: entries in the order of the file, names by number, and how many places were damaged."""

    entries: list[Entry]
    names: list[Names]
    damaged: int = 0


def read_log(path: Path, run_json: dict[str, Any] | None = None) -> LogContent:
    """Every intact record of a log; with what run.json holds, those that its run can have made.

    Empty without a file.
    """
    content = _read_content(path)
    entries: dict[int, Entry] = {}
    names: list[Names] = [((), ())]
    damaged = int(bool(content) and not content.startswith(HEADER))
    errors: dict[int, np.ndarray] = {}
    for kind, block in _split_frames(content):
        if kind == ERRORS and len(block) >= NUMBER.size and len(block) % VALUE.size == 0:
            errors[NUMBER.unpack_from(block)[0]] = np.frombuffer(block, dtype="<f8", offset=NUMBER.size).astype(float)
            continue
        entry = _decode_call(block, names, run_json) if kind == CALL else None
        found = _decode_names(block) if kind == NAMES else None
        if found is not None:
            if found not in names:  # written twice where the first call that has them had to be
                names.append(found)
        elif entry is None:
            damaged += 1
        else:
            entries.setdefault(entry.number, _add_errors(entry, errors.get(entry.number)))
    return LogContent(list(entries.values()), names[1:], damaged)


def _read_content(path: Path) -> bytes:
    """The bytes of a log file; b"" where there is no file, DamagedFile where it cannot be read."""
    try:
        return read_regular(path, LARGEST_LOG_BYTES)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise DamagedFile(f"cannot read {path}: {error.strerror}") from error


def _split_frames(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and content of each intact frame, in order; (0, b"") for a damaged stretch."""
    at = len(HEADER)
    while at < len(content):
        mark, kind, size = FRAME.unpack_from(content, at) if at + FRAME.size <= len(content) else (b"", 0, 0)
        end = at + FRAME.size + size
        if mark == MARK and content[end : end + CHECK.size] == CHECK.pack(zlib.crc32(content[at:end])):
            yield kind, content[at + FRAME.size : end]
            at = end + CHECK.size
        else:
            yield 0, b""
            at = content.find(MARK, at + 1)
            if at < 0:
                return
