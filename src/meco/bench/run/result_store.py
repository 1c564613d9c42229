"""The results of a campaign in one SQLite file, written by the coordinator alone, each run once.

A folder holds it as it is, or packed: the same database with fewer curves, under xz.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from meco import __version__
from meco.bench.plan.experiment import Experiment
from meco.bench.plan.revise import join_experiments
from meco.bench.plan.run import Run
from meco.bench.run import packed
from meco.bench.run.campaign_folder import (
    STORE_FILE,
    StoreError,
    explain_sqlite_error,
    find_packed,
    has_store,
    write_atomically,
)
from meco.bench.run.run_record import RunRecord, check_record
from meco.bench.run.store_contents import StoreContents
from meco.core.platform import Platform
from meco.errors import DamagedFile, InvalidInput
from meco.files.lock import Lock
from meco.files.regular_files import check_regular
from meco.files.schema import check_form, parse_json

FORMAT = "5"  # of the tables below
VALUES = [f.name for f in fields(RunRecord) if f.name != "seed"]  # columns of runs, in this order
SCHEMA = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT)",
    f"CREATE TABLE runs (run TEXT PRIMARY KEY, {', '.join(VALUES)}) WITHOUT ROWID",
    "CREATE TABLE failures (run TEXT PRIMARY KEY, reason TEXT) WITHOUT ROWID",
    "CREATE TABLE experiments (name TEXT PRIMARY KEY, spec TEXT)",
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, facts TEXT)",
    "CREATE TABLE platforms (digest TEXT PRIMARY KEY, facts TEXT)",
)  # a run is named by its fields as JSON


def read_results(folder: str | os.PathLike[str]) -> StoreContents:
    """What a folder holds; InvalidInput without results, DamagedFile where they are damaged."""
    with ResultStore.open(folder) as store:
        return store.read_contents()


def write_packed(contents: StoreContents, path: Path) -> Path:
    """Write what reports need of these contents as one small file, over one that is there; its path."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    _create_tables(db, contents.meco)
    with ResultStore(db, path) as store:
        store.merge(packed.drop_unshown(contents))
        write_atomically(path, packed.compress_store(store.as_bytes()))
    return path


class ResultStore:
    """A database of results. open() gives that of a folder to read, open_campaign() to add to."""

    def __init__(self, db: sqlite3.Connection, path: Path, lock: Lock | None = None) -> None:
        """Over an open database; where it is not a store of ours it is closed.

        And InvalidInput or DamagedFile raised.
        """
        self.path, self._db = path, db
        self._lock = lock  # of a campaign, released with the store
        try:
            self._check_format()
        except UnicodeDecodeError as error:  # sqlite quotes what it cannot read
            self.close()
            raise DamagedFile(f"{self.path} is damaged: {error}") from error
        except BaseException:
            self.close()
            raise

    # -- opening -------------------------------------------------------------------------

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> ResultStore:
        """The results of a folder to read: its store, or the packed one, unpacked in memory, if that is all there is.

        A packed store that is archived counts. A folder without either, and a file that is not ours, are errors.
        """
        path = Path(folder) / STORE_FILE
        found = None if has_store(Path(folder)) else find_packed(Path(folder))
        if found is None:
            return cls(_open_to_read(path), path)
        path = found
        db = sqlite3.connect(":memory:", isolation_level=None)
        db.deserialize(packed.decompress_store(path))
        return cls(db, path)

    @classmethod
    def open_campaign(cls, folder: str | os.PathLike[str]) -> ResultStore:
        """A folder to add results to: made where it is missing, refused where it is not ours to add to.

        Where a folder has the packed store alone, its runs count as done: it is unpacked first. Holds the folder's
        lock until close(); a folder that another process holds is an error.
        """
        path = Path(folder) / STORE_FILE
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            check_regular(path.parent, [STORE_FILE])
            lock = Lock(path.with_name(".lock"))
        except OSError as error:
            raise StoreError(f"cannot write to the results folder {path.parent}: {error.strerror}") from error
        with contextlib.ExitStack() as undo:
            undo.callback(lock.release)
            if find_packed(path.parent) is not None and not has_store(path.parent):
                with cls.open(folder) as known:
                    _refuse_another_version(known.read_meta("meco"), path.parent)
                    write_atomically(path, known.as_bytes())
            db = sqlite3.connect(path, isolation_level=None, timeout=30)
            if _is_empty(db, path):
                _create_tables(db, __version__, path)
            store = undo.enter_context(cls(db, path, lock))
            _refuse_another_version(store.read_meta("meco"), path.parent)
            undo.pop_all()  # it is ours now
        return store

    def _check_format(self) -> None:
        """Refuse a file that is empty, of another format, or has other tables than SCHEMA."""
        if _is_empty(self._db, self.path):
            raise InvalidInput(
                f"{self.path.parent} holds no results yet: {self.path.name} is empty; give the command that began it"
            )
        try:
            made = self.read_meta("format")
        except sqlite3.DatabaseError as error:
            raise DamagedFile(f"{self.path} is not a results file of meco: {error}") from error
        if made != FORMAT:
            raise InvalidInput(
                f"{self.path} was written by meco {self.read_meta('meco')} in format {made}; this is meco "
                f"{__version__}, which reads format {FORMAT}. Use that version, or run the experiment into another "
                "folder"
            )
        found = {sql for (sql,) in self._db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        if found != set(SCHEMA):  # no view, no trigger: nothing that computes
            raise DamagedFile(f"{self.path} is not a results file of meco: its tables are others")

    def close(self) -> None:
        """Close the database and release the folder's lock; a second call does nothing."""
        self._db.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> ResultStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- writing -------------------------------------------------------------------------

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Inside the block all of it is written, or nothing; an error of SQLite is raised in our words."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield self._db
            self._db.execute("COMMIT")
        except BaseException as error:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise explain_sqlite_error(self.path, error) from error
            raise

    def add_runs(self, runs: Iterable[tuple[Run, RunRecord]]) -> None:
        """Keep the runs of a task, all or none; a run that is already there stays as it is."""
        with self._transaction() as db:
            for run, record in runs:
                name, values = _to_storable(run.to_json()), [_to_storable(getattr(record, v)) for v in VALUES]
                db.execute(f"INSERT OR IGNORE INTO runs VALUES (?{', ?' * len(VALUES)})", (name, *values))
                db.execute("DELETE FROM failures WHERE run = ?", (name,))

    def add_failures(self, runs: Iterable[Run], reason: str) -> None:
        """Keep why these runs have no result, all or none, in place of an earlier reason; none of them may have one."""
        with self._transaction() as db:
            rows = [(_to_storable(run.to_json()), _to_storable(reason)) for run in runs]
            db.executemany("INSERT OR REPLACE INTO failures VALUES (?, ?)", rows)

    def add_experiment(self, experiment: Experiment) -> None:
        """Say that the folder holds this experiment; one of the same name is joined with it."""
        known = {e.name: e for e in self.read_experiments()}
        if experiment.name in known:
            experiment = join_experiments(known[experiment.name], experiment)
        with self._transaction() as db:
            db.execute(
                "INSERT INTO experiments VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET spec = excluded.spec",
                (_to_storable(experiment.name), _to_storable(experiment.to_json())),
            )

    def add_session(self, name: str, session: dict[str, Any]) -> None:
        """Keep with what and where results were made."""
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?)", (_to_storable(name), json.dumps(session)))

    def add_platform(self, made: Platform) -> None:
        """Keep the facts of a platform that results are made on."""
        with self._transaction() as db:
            facts = json.dumps(dict(made.facts), sort_keys=True)
            db.execute("INSERT OR IGNORE INTO platforms VALUES (?, ?)", (_to_storable(made.digest), facts))

    def merge(self, other: StoreContents) -> int:
        """Add the results of another folder to this one; the number of runs that are new.

        A run that both have stays as it is here. InvalidInput for results of another version.
        """
        if other.meco != self.read_meta("meco"):
            raise InvalidInput(
                f"{self.path.parent} holds results of meco {self.read_meta('meco')}, and these are of meco "
                f"{other.meco}: results of two versions are not mixed"
            )
        before = self.count_runs()
        for digest, facts in other.platforms.items():
            self.add_platform(Platform(digest, facts))
        self.add_runs(other.runs.items())
        there = self.read_runs()
        for run, reason in other.failures.items():
            if run not in there:
                self.add_failures([run], reason)
        for experiment in other.experiments:
            self.add_experiment(experiment)
        for name, session in other.sessions.items():
            self.add_session(name, session)
        return self.count_runs() - before

    # -- reading -------------------------------------------------------------------------

    def read_contents(self) -> StoreContents:
        """Everything at once, as a report wants it; every row is checked, DamagedFile for one that is damaged."""
        try:
            for (said,) in self._db.execute("PRAGMA quick_check(1)"):
                if said != "ok":
                    raise DamagedFile(f"{self.path} is damaged: {said!r:.200}")
            made, runs = self.read_meta("meco") or "", dict(self.read_records())
            parts = self.read_failures(), self.read_experiments(), self.read_sessions(), self.read_platforms()
            return StoreContents(made, runs, *parts)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise DamagedFile(f"{self.path} is damaged: {error}") from error

    def as_bytes(self) -> bytes:
        """The whole database as the bytes of its file."""
        return self._db.serialize()

    def read_meta(self, name: str) -> str | None:
        """A fact about the store by name: "format", or "meco", the version that wrote it; None for other names.

        DamagedFile for what is no text.
        """
        found = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        if found and not isinstance(found[0], str):
            raise DamagedFile(f"{self.path} is damaged: its {name} is no text but {found[0]!r:.60}")
        return found[0] if found else None

    def read_runs(self) -> set[Run]:
        """The runs that are there."""
        return {Run.from_json(run) for (run,) in self._db.execute("SELECT run FROM runs")}

    def count_runs(self) -> int:
        """How many runs are there."""
        return self._db.execute("SELECT COUNT(*) FROM runs").fetchone()[0]

    def read_records(self) -> Iterator[tuple[Run, RunRecord]]:
        """Every run with what is kept of it, in an order that does not depend on how it was made."""
        for name, *row in self._db.execute("SELECT * FROM runs ORDER BY run"):
            run = Run.from_json(name)
            yield run, check_record(run.seed, dict(zip(VALUES, row)), f"{self.path}: {name!r:.80}")

    def read_failures(self) -> dict[Run, str]:
        """Why results are missing, by run."""
        rows = self._db.execute("SELECT * FROM failures ORDER BY run")
        return {Run.from_json(run): str(reason) for run, reason in rows}

    def read_experiments(self) -> list[Experiment]:
        """The experiments that were run into this folder, in that order."""
        return [
            Experiment.from_json(spec) for (spec,) in self._db.execute("SELECT spec FROM experiments ORDER BY rowid")
        ]

    def read_sessions(self) -> dict[str, dict[str, Any]]:
        """With what and where results were made, by the names of sessions; DamagedFile for what is no JSON object."""
        rows, where = self._db.execute("SELECT * FROM sessions ORDER BY id"), f"{self.path}: sessions"
        found = {str(name): parse_json(facts, where) for name, facts in rows}
        check_form(found, {str: dict}, where)
        return found

    def read_platforms(self) -> dict[str, dict[str, Any]]:
        """On what results were made, by the digests that runs name; DamagedFile for facts that are no texts."""
        rows, where = self._db.execute("SELECT * FROM platforms ORDER BY digest"), f"{self.path}: platforms"
        found = {str(digest): parse_json(facts, where) for digest, facts in rows}
        check_form(found, {str: {str: str}}, where)
        return found


def _open_to_read(path: Path) -> sqlite3.Connection:
    """A store to read, changed by nothing but what SQLite must do after a crash; an error where no file is."""
    if not path.exists():
        raise InvalidInput(
            f"{path.parent} holds no results: {STORE_FILE} is missing; meco reproduce or bench makes one"
        )
    if not path.is_file():
        raise DamagedFile(f"{path} is not read: it is no plain file")
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    target = path.resolve().as_uri() + ("?mode=rw" if writable else "?mode=ro&immutable=1")
    return sqlite3.connect(target, uri=True, isolation_level=None, timeout=30)


def _is_empty(db: sqlite3.Connection, path: Path) -> bool:
    """Whether nothing was ever written: the file is new, or its making was cut short.

    A file that SQLite cannot read closes db and is an error.
    """
    try:
        return db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0] == 0
    except sqlite3.Error as error:
        db.close()
        raise explain_sqlite_error(path, error) from error


def _create_tables(db: sqlite3.Connection, meco: str, path: Path | None = None) -> None:
    """Make the tables of a store for results of a version.

    Where that fails the file is removed and StoreError raised.
    """
    try:
        db.executescript("PRAGMA page_size = 8192; BEGIN;" + ";".join(SCHEMA) + ";")
        db.executemany("INSERT INTO meta VALUES (?, ?)", [("format", FORMAT), ("meco", _to_storable(meco))])
        db.execute("COMMIT")
    except sqlite3.Error as error:
        db.close()
        if path is None:
            raise
        with contextlib.suppress(OSError):
            path.unlink()
        raise explain_sqlite_error(path, error) from error


def _to_storable(value: Any) -> Any:
    """The value as SQLite keeps it: what UTF-8 cannot say is spelt out, as in our other files."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _refuse_another_version(stored: str | None, folder: Path) -> None:
    """InvalidInput for a folder whose results another version made."""
    if stored != __version__:
        raise InvalidInput(
            f"{folder} holds results of meco {stored}, and this is meco {__version__}: results of two versions "
            f"are not mixed. Choose another --out, or look at the old ones with: meco report {shlex.quote(str(folder))}"
        )
