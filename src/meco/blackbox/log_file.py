"""The log of a run: an append-only file of fixed-size binary records, each with its own checksum.

Little-endian. A header of 32 bytes (magic, format, flags, D, p, q, CRC-32), then records of
number u64, batch u32, fault u16, attempt u16, x [D], f, g [p], h [q] in f64, CRC-32, zero u32.
Any record can be lost without harm to the others, and the same run always gives the same bytes.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from meco.blackbox.answers import Fault
from meco.blackbox.evaluation_log import Entry
from meco.errors import DamagedFile

MAGIC = b"MECOLOG\n"
FORMAT = 1
HEADER = struct.Struct("<8sHHIIIII")
HEAD = struct.Struct("<QIHH")
NUMBER = struct.Struct("<d")
TAIL = struct.Struct("<II")
PATIENCE = 0.05  # seconds that a record may wait for company before it is handed to the system


class Layout(NamedTuple):
    """Widths of a record; decided is false while no well-formed answer has told p and q."""

    dim: int
    n_ineq: int = 0
    n_eq: int = 0
    decided: bool = False

    @property
    def size(self) -> int:
        """Bytes of a record."""
        return HEAD.size + 8 * (self.dim + 1 + self.n_ineq + self.n_eq) + TAIL.size

    def header(self) -> bytes:
        """The first bytes of the file."""
        return _sealed(FORMAT, int(self.decided), self.dim, self.n_ineq, self.n_eq)

    @classmethod
    def parse(cls, content: bytes) -> Layout | None:
        """The layout that a file begins with, or None when its header is damaged."""
        if len(content) < HEADER.size:
            return None
        _, version, decided, dim, n_ineq, n_eq, _, _ = HEADER.unpack(content[: HEADER.size])
        if content[: HEADER.size] != _sealed(version, decided, dim, n_ineq, n_eq):
            return None
        if version > FORMAT:
            raise DamagedFile(f"the log has format {version}; this version of meco reads up to {FORMAT}")
        return cls(dim, n_ineq, n_eq, bool(decided))

    def encode(self, entry: Entry) -> bytes:
        """One record."""
        g = entry.g if entry.g.size == self.n_ineq else np.full(self.n_ineq, np.nan)
        h = entry.h if entry.h.size == self.n_eq else np.full(self.n_eq, np.nan)
        body = b"".join((
            HEAD.pack(entry.number, entry.batch, entry.fault, entry.attempt),
            entry.x.tobytes(), NUMBER.pack(entry.f), g.tobytes(), h.tobytes(),
        ))  # fmt: skip
        return body + TAIL.pack(zlib.crc32(body), 0)

    def decode(self, record: bytes) -> Entry | None:
        """The entry in a record, or None when it is damaged."""
        body, (crc, zero) = record[: -TAIL.size], TAIL.unpack(record[-TAIL.size :])
        if zlib.crc32(body) != crc or zero:
            return None
        number, batch, fault, attempt = HEAD.unpack(body[: HEAD.size])
        values = np.frombuffer(body, dtype="<f8", offset=HEAD.size).astype(np.float64)
        x, f, rest = values[: self.dim], float(values[self.dim]), values[self.dim + 1 :]
        return Entry(number, batch, attempt, Fault(fault), x, f, rest[: self.n_ineq], rest[self.n_ineq :])


def _sealed(*fields: int) -> bytes:
    """A header with its checksum."""
    return HEADER.pack(MAGIC, *fields, zlib.crc32(HEADER.pack(MAGIC, *fields, 0, 0)), 0)


class Journal:
    """Appends records. What is written survives the end of the process; with fsync, that of the machine."""

    def __init__(self, path: Path, layout: Layout, fsync: bool = False) -> None:
        self.path, self.layout, self.fsync = path, layout, fsync
        self._waiting: list[bytes] = []
        self._since = 0.0
        self._open()

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(self.path, flags, 0o666)
        if os.fstat(self._descriptor).st_size == 0:
            os.write(self._descriptor, self.layout.header())

    def append(self, entry: Entry) -> None:
        """Add a record; a slow simulation's answer is handed over at once, quick ones in groups."""
        now = time.monotonic()
        self._waiting.append(self.layout.encode(entry))
        if now - self._since > PATIENCE:
            self.flush(sync=False)
            self._since = now

    def flush(self, sync: bool = True) -> None:
        """Hand everything over to the system, and to the disk where that was asked for."""
        if self._waiting:
            _write_all(self._descriptor, b"".join(self._waiting))
            self._waiting.clear()
        if sync and self.fsync:
            os.fsync(self._descriptor)

    def rewrite(self, layout: Layout, entries: Iterable[Entry]) -> None:
        """Replace the whole file at once."""
        self._waiting.clear()
        os.close(self._descriptor)
        write_log(self.path, layout, entries, self.fsync)
        self.layout = layout
        self._open()

    def close(self) -> None:
        """Flush and let go of the file."""
        if self._descriptor >= 0:
            self.flush()
            os.close(self._descriptor)
            self._descriptor = -1


def write_log(path: Path, layout: Layout, entries: Iterable[Entry], fsync: bool = False) -> None:
    """A complete log under a temporary name, then renamed: the old or the new one is there at any moment."""
    draft = path.with_name(path.name + ".new")
    with open(draft, "wb") as file:
        file.write(layout.header())
        for entry in entries:
            file.write(layout.encode(entry))
        file.flush()
        if fsync:
            os.fsync(file.fileno())
    os.replace(draft, path)


class Reading(NamedTuple):
    """What a log held, and how many records of it were unusable."""

    layout: Layout | None
    entries: list[Entry]  # in the order of the file
    damaged: int


def read_log(path: Path, fallback: Layout | None = None) -> Reading:
    """Every intact record; fallback says how wide records are when the header is damaged."""
    content = path.read_bytes() if path.exists() else b""
    layout = Layout.parse(content)
    damaged = 0
    if layout is None:
        damaged = int(bool(content) or (fallback is not None and fallback.decided))  # something was there
        layout = fallback
    if layout is None:
        return Reading(None, [], damaged)
    size = layout.size
    entries: dict[int, Entry] = {}
    for start in range(HEADER.size, len(content), size):
        record = content[start : start + size]
        entry = layout.decode(record) if len(record) == size else None
        if entry is None:
            damaged += 1
        else:
            entries.setdefault(entry.number, entry)
    return Reading(layout, list(entries.values()), damaged)


def _write_all(descriptor: int, block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[os.write(descriptor, view) :]
