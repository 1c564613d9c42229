"""A checksum beside every row of a store: SQLite notices damage of its own structure, and not of what it holds."""

from __future__ import annotations

import math
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from meco.errors import DamagedFile

TABLE = "checksums"
SCHEMA = f"CREATE TABLE {TABLE} (row TEXT PRIMARY KEY, crc32 INTEGER) WITHOUT ROWID"
COVERED = ("runs", "failures", "experiments", "sessions")


def checksum(values: Sequence[Any]) -> int:
    """CRC-32 of a row as the store gives it back: nan is kept as nothing, true as 1."""
    return zlib.crc32(repr([_plain(v) for v in values]).encode("utf-8", "backslashreplace"))


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    return int(value) if isinstance(value, int) else value


def told(value: Any) -> Any:
    """The value as SQLite keeps it: what UTF-8 cannot say is spelt out, as in our other files."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def put(db: sqlite3.Connection, table: str, row: Sequence[Any], keep: bool = False) -> None:
    """Write a row, named by its first value, and its checksum; keep: a row that is there stays as it is."""
    verb, marks, row = ("IGNORE" if keep else "REPLACE"), ",".join("?" * len(row)), [told(v) for v in row]
    db.execute(f"INSERT OR {verb} INTO {table} VALUES ({marks})", row)
    note(db, table, row, keep)


def note(db: sqlite3.Connection, table: str, row: Sequence[Any], keep: bool = False) -> None:
    """Write the checksum of a row."""
    verb = "IGNORE" if keep else "REPLACE"
    db.execute(f"INSERT OR {verb} INTO {TABLE} VALUES (?, ?)", (f"{table}:{row[0]}", checksum(row)))


def cover(db: sqlite3.Connection) -> None:
    """Give checksums to the rows of a store that was begun without."""
    if not _has(db):
        db.execute(SCHEMA)
        for table in COVERED:
            for row in db.execute(f"SELECT * FROM {table}").fetchall():
                note(db, table, row)


def verified(db: sqlite3.Connection, table: str, rows: Iterable[Sequence[Any]], source: Any) -> Iterable[Sequence[Any]]:
    """The same rows, each found to be as it was written; those of a store without checksums as they are."""
    known = dict(db.execute(f"SELECT * FROM {TABLE}")) if _has(db) else None
    for row in rows:
        if known is not None and known.get(f"{table}:{row[0]}") != checksum(row):
            raise DamagedFile(f"{source} is damaged: {table} {row[0]!r:.60} is not as it was written")
        yield row


def _has(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = ?", (TABLE,)).fetchone()[0] > 0
