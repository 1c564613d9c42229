"""The results of a campaign in one SQLite file, written by the coordinator alone, each run once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from meco import __version__
from meco.errors import DamagedFile, InvalidInput
from meco.experiments.plan.experiment import Experiment, Run
from meco.experiments.plan.forms import SESSION
from meco.experiments.run import checksums
from meco.experiments.run.compact import read_compact
from meco.experiments.run.folder import COMPACT, STORE, StoreError, has_store, unwritten
from meco.experiments.run.record import Record, checked_record
from meco.experiments.run.results import Results
from meco.files.lock import Lock
from meco.files.plain import check_plain
from meco.files.schema import check, parse_json

FORMAT = "3"  # of the tables below
VALUES = [f.name for f in fields(Record) if f.name != "seed"]
SCHEMA = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT)",
    f"CREATE TABLE runs (run TEXT PRIMARY KEY, {', '.join(VALUES)}) WITHOUT ROWID",
    "CREATE TABLE failures (run TEXT PRIMARY KEY, reason TEXT) WITHOUT ROWID",
    "CREATE TABLE experiments (name TEXT PRIMARY KEY, spec TEXT)",
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, facts TEXT)",
)  # a run is named by its fields as JSON


def read_results(folder: str | os.PathLike[str]) -> Results:
    """What a folder holds: all of the store, or the compact file where that is all there is."""
    compact = Path(folder) / COMPACT
    if compact.exists() and not has_store(Path(folder)):
        return read_compact(compact)
    with Store(folder) as store:
        return store.results()


class Store:
    """A results folder. Open it to read; campaign() opens it to write."""

    def __init__(self, folder: str | os.PathLike[str], create: bool = False) -> None:
        self.folder = Path(folder)
        self.path = self.folder / STORE
        self._lock: Lock | None = None
        self._db = sqlite3.connect(self.path, isolation_level=None, timeout=30) if create else self._open()
        try:
            if create and self._empty():
                self._create()
            self._check()
        except UnicodeDecodeError as error:  # sqlite quotes what it cannot read
            self.close()
            raise DamagedFile(f"{self.path} is damaged: {error}") from error
        except BaseException:
            self.close()
            raise

    @classmethod
    def campaign(cls, folder: str | os.PathLike[str]) -> Store:
        """A folder to add results to: made where it is missing, refused where it is not ours to add to.

        Where a folder has the compact file alone its runs count as done: the new store begins with them.
        """
        path = Path(folder)
        try:
            path.mkdir(parents=True, exist_ok=True)
            check_plain(path, [STORE])
            lock = Lock(path / ".lock")
        except OSError as error:
            raise StoreError(f"cannot write to the results folder {path}: {error.strerror}") from error
        try:
            known = read_compact(path / COMPACT) if (path / COMPACT).exists() and not has_store(path) else None
            if known is not None:
                _refuse_another_version(known.meco, path)
            store = cls(path, create=True)
        except BaseException:
            lock.release()
            raise
        store._lock = lock
        try:
            _refuse_another_version(store.meta("meco"), path)
            with store._writing() as db:
                checksums.cover(db)
            if known is not None:
                store.merge(known)
        except BaseException:
            store.close()
            raise
        return store

    # -- opening -------------------------------------------------------------------------

    def _empty(self) -> bool:
        """Whether nothing was ever written: the file is new, or its making was cut short."""
        try:
            return self._db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0] == 0
        except sqlite3.Error as error:
            raise unwritten(self.folder, error) from error

    def _create(self) -> None:
        try:
            self._db.executescript("PRAGMA page_size = 8192; BEGIN;" + ";".join((*SCHEMA, checksums.SCHEMA)) + ";")
            self._db.executemany("INSERT INTO meta VALUES (?, ?)", [("format", FORMAT), ("meco", __version__)])
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(OSError):
                self.path.unlink()
            raise unwritten(self.folder, error) from error

    def _open(self) -> sqlite3.Connection:
        if not self.path.exists():
            raise InvalidInput(f"{self.folder} holds no results: {STORE} is missing; meco reproduce or bench makes one")
        if not self.path.is_file():
            raise DamagedFile(f"{self.path} is not read: it is no plain file")
        writable = os.access(self.path, os.W_OK) and os.access(self.folder, os.W_OK)
        target = self.path.resolve().as_uri() + ("?mode=rw" if writable else "?mode=ro&immutable=1")
        return sqlite3.connect(target, uri=True, isolation_level=None, timeout=30)

    def _check(self) -> None:
        if self._empty():
            raise InvalidInput(f"{self.folder} holds no results yet: {STORE} is empty; give the command that began it")
        try:
            made = self.meta("format")
        except sqlite3.DatabaseError as error:
            raise DamagedFile(f"{self.path} is not a results file of meco: {error}") from error
        if made != FORMAT:
            raise InvalidInput(
                f"{self.path} was written by meco {self.meta('meco')} in format {made}; this is meco {__version__}, "
                f"which reads format {FORMAT}. Use that version, or run the experiment into another folder"
            )
        found = {sql for (sql,) in self._db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        if not set(SCHEMA) <= found <= {*SCHEMA, checksums.SCHEMA}:  # no view, no trigger: nothing that computes
            raise DamagedFile(f"{self.path} is not a results file of meco: its tables are others")

    def close(self) -> None:
        """Let go of the file and of the folder."""
        self._db.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- writing -------------------------------------------------------------------------

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is written, or nothing."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield self._db
            self._db.execute("COMMIT")
        except BaseException as error:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise unwritten(self.folder, error) from error
            raise

    def add(self, runs: Iterable[tuple[Run, Record]]) -> None:
        """Keep the runs of a task, all or none; a run that is already there stays as it is."""
        with self._writing() as db:
            for run, record in runs:
                row = (run.to_json(), *(getattr(record, v) for v in VALUES))
                checksums.put(db, "runs", row, keep=True)
                db.execute("DELETE FROM failures WHERE run = ?", row[:1])

    def fail(self, runs: Iterable[Run], reason: str) -> None:
        """Keep why there is no result."""
        with self._writing() as db:
            for run in runs:
                checksums.put(db, "failures", (run.to_json(), reason))

    def plan(self, experiment: Experiment) -> None:
        """Say that the folder holds this experiment, so that the report knows what to show."""
        known = {e.name: e for e in self.experiments()}
        if experiment.name in known:
            experiment = known[experiment.name].joined(experiment)
        with self._writing() as db:
            row = [checksums.told(text) for text in (experiment.name, experiment.to_json())]
            db.execute(
                "INSERT INTO experiments VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET spec = excluded.spec", row
            )
            checksums.note(db, "experiments", row)

    def session(self, name: str, facts: dict[str, Any]) -> None:
        """Keep with what and where results were made."""
        with self._writing() as db:
            checksums.put(db, "sessions", (name, json.dumps(facts)))

    def merge(self, other: Results) -> int:
        """Take over the results of another folder, of the same version; returns the number of new runs."""
        if other.meco != self.meta("meco"):
            raise InvalidInput(
                f"{self.folder} holds results of meco {self.meta('meco')}, and these are of meco {other.meco}: "
                "results of two versions are not mixed"
            )
        before = self.count()
        self.add(other.runs.items())
        there = self.done()
        for run, reason in other.failures.items():
            if run not in there:
                self.fail([run], reason)
        for experiment in other.experiments:
            self.plan(experiment)
        for name, facts in other.sessions.items():
            self.session(name, facts)
        return self.count() - before

    # -- reading -------------------------------------------------------------------------

    def results(self) -> Results:
        """Everything at once, as a report wants it; every row is checked."""
        try:
            for (said,) in self._db.execute("PRAGMA quick_check(1)"):
                if said != "ok":
                    raise DamagedFile(f"{self.path} is damaged: {said!r:.200}")
            made, runs = self.meta("meco") or "", dict(self.records())
            return Results(made, runs, self.failures(), self.experiments(), self.sessions(), digest(runs))
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise DamagedFile(f"{self.path} is damaged: {error}") from error

    def _rows(self, table: str, order: str) -> Iterable[Sequence[Any]]:
        """Every row of a table, as it was written."""
        rows = self._db.execute(f"SELECT * FROM {table} ORDER BY {order}")
        return checksums.verified(self._db, table, rows, self.path)

    def meta(self, name: str) -> str | None:
        """A fact about the store: its format, the version that wrote it."""
        found = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        if found and not isinstance(found[0], str):
            raise DamagedFile(f"{self.path} is damaged: its {name} is no text but {found[0]!r:.60}")
        return found[0] if found else None

    def done(self) -> set[Run]:
        """The runs that are there."""
        return {Run.from_json(run) for (run,) in self._db.execute("SELECT run FROM runs")}

    def count(self) -> int:
        """How many runs are there."""
        return self._db.execute("SELECT COUNT(*) FROM runs").fetchone()[0]

    def records(self) -> Iterator[tuple[Run, Record]]:
        """Every run with what is kept of it, in an order that does not depend on how it was made."""
        for name, *row in self._rows("runs", "run"):
            run = Run.from_json(name)
            yield run, checked_record(run.seed, dict(zip(VALUES, row)), f"{self.path}: {name!r:.80}")

    def failures(self) -> dict[Run, str]:
        """Why results are missing, by run."""
        return {Run.from_json(run): str(reason) for run, reason in self._rows("failures", "run")}

    def experiments(self) -> list[Experiment]:
        """The experiments that were run into this folder, in that order."""
        return [Experiment.from_json(spec) for _, spec in self._rows("experiments", "rowid")]

    def sessions(self) -> dict[str, dict[str, Any]]:
        """With what and where results were made."""
        found = {str(name): parse_json(facts, f"{self.path}: sessions") for name, facts in self._rows("sessions", "id")}
        check(found, {str: SESSION}, f"{self.path}: sessions")
        return found

    def digest(self) -> str:
        """A hash of every result: equal for campaigns that found the same, however they ran."""
        return digest(dict(self.records()))


def digest(runs: Mapping[Run, Record]) -> str:
    """A hash of every result in the order of the store; the time that runs took is not in it."""
    total = hashlib.sha256()
    for run, record in runs.items():
        kept = [getattr(record, v) for v in VALUES if v != "seconds"]
        total.update(f"{run.to_json()} {kept}".encode())
    return total.hexdigest()


def _refuse_another_version(made: str | None, folder: Path) -> None:
    if made != __version__:
        raise InvalidInput(
            f"{folder} holds results of meco {made}, and this is meco {__version__}: results of two versions "
            f"are not mixed. Choose another --out, or look at the old ones with: meco report {folder}"
        )
