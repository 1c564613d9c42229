"""The results of a campaign in one SQLite file, written by the coordinator alone, each run once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import lzma
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from meco import __version__
from meco.errors import DamagedFile, InvalidInput
from meco.experiments.plan.comparison import full_name
from meco.experiments.plan.experiment import Experiment, Place, Run
from meco.experiments.run.folder import FILE, PACKED, StoreError, locked, only_packed, unpack, unpack_beside, unwritten
from meco.experiments.run.record import Record

FORMAT = "2"  # of the tables below
UNSEEDED = "1"  # the format before: a failure did not say its seed; read as it is, upgraded for writing
ANY_SEED = -1  # of a failure that does not say its seed
VALUES = [f.name for f in fields(Record) if f.name != "seed"]
FAILURES = """CREATE TABLE failures (contender INT, place INT, seed INT, reason TEXT,
                       PRIMARY KEY (contender, place, seed)) WITHOUT ROWID"""
SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE contenders (id INTEGER PRIMARY KEY, method TEXT, options TEXT, UNIQUE (method, options));
CREATE TABLE places (id INTEGER PRIMARY KEY, problem TEXT, dim INT, instance TEXT, budget INT,
                     UNIQUE (problem, dim, instance, budget));
CREATE TABLE runs (contender INT, place INT, seed INT, {", ".join(VALUES)},
                   PRIMARY KEY (contender, place, seed)) WITHOUT ROWID;
{FAILURES};
CREATE TABLE experiments (name TEXT PRIMARY KEY, spec TEXT);
CREATE TABLE sessions (id TEXT PRIMARY KEY, facts TEXT);
"""
NAMED = "SELECT c.method, c.options, p.problem, p.dim, p.instance, p.budget"
JOINED = "JOIN contenders c ON c.id = r.contender JOIN places p ON p.id = r.place"


class Store:
    """A results folder. Open it to read; campaign() opens it to write."""

    def __init__(self, folder: str | os.PathLike[str], create: bool = False) -> None:
        self.folder = Path(folder)
        self.path = self.folder / FILE
        self._lock: Any = None
        self._unpacked: tempfile.TemporaryDirectory[str] | None = None
        self._db = sqlite3.connect(self.path, isolation_level=None, timeout=30) if create else self._open()
        try:
            if create and self._empty():
                self._create()
            self._check()
        except BaseException:
            self.close()
            raise

    @classmethod
    def campaign(cls, folder: str | os.PathLike[str]) -> Store:
        """A folder to add results to: made where it is missing, refused where it is not ours to add to."""
        path = Path(folder)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make the results folder {path}: {error.strerror}") from error
        lock = locked(path)
        unpacked = False
        try:
            unpacked = unpack_beside(path)
            store = cls(path, create=True)
            store._lock = lock
            store._make_ours()
        except BaseException:
            lock.close()
            if unpacked:
                (path / FILE).unlink(missing_ok=True)
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
            self._db.executescript("PRAGMA page_size = 8192; BEGIN;" + SCHEMA)
            self._db.executemany("INSERT INTO meta VALUES (?, ?)", [("format", FORMAT), ("meco", __version__)])
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(OSError):
                self.path.unlink()
            raise unwritten(self.folder, error) from error

    def _make_ours(self) -> None:
        """Refuse results of another version; bring the tables of an older format up to date."""
        made = self.meta("meco")
        if made != __version__:
            self.close()
            raise InvalidInput(
                f"{self.folder} holds results of meco {made}, and this is meco {__version__}: results of two versions "
                f"are not mixed. Choose another --out, or look at the old ones with: meco report {self.folder}"
            )
        if self.meta("format") == UNSEEDED:
            with self._writing() as db:
                db.execute("ALTER TABLE failures RENAME TO unseeded")
                db.execute(FAILURES)
                db.execute(f"INSERT INTO failures SELECT contender, place, {ANY_SEED}, reason FROM unseeded")
                db.execute("DROP TABLE unseeded")
                for name, spec in db.execute("SELECT name, spec FROM experiments").fetchall():
                    plan = Experiment.from_json(spec)
                    if name.startswith("bench-"):  # comparisons were named without instance and budget
                        plan = replace(plan, name=full_name(name, plan.instance, plan.budget))
                        row = (plan.name, plan.to_json(), name)
                        db.execute("UPDATE experiments SET name = ?, spec = ? WHERE name = ?", row)
                db.execute("UPDATE meta SET value = ? WHERE name = 'format'", (FORMAT,))

    def _open(self) -> sqlite3.Connection:
        path = self.path
        if only_packed(self.folder):
            self._unpacked = tempfile.TemporaryDirectory(prefix="meco-")
            path = Path(self._unpacked.name) / FILE
            try:
                unpack(self.folder / PACKED, path)
            except BaseException:
                self._unpacked.cleanup()
                raise
        if not path.exists():
            raise InvalidInput(f"{self.folder} holds no results: {FILE} is missing; meco reproduce or bench makes one")
        writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
        target = path.resolve().as_uri() + ("?mode=rw" if writable else "?mode=ro&immutable=1")
        return sqlite3.connect(target, uri=True, isolation_level=None, timeout=30)

    def _check(self) -> None:
        if self._empty():
            raise InvalidInput(f"{self.folder} holds no results yet: {FILE} is empty; give the command that began it")
        try:
            made = self.meta("format")
        except sqlite3.DatabaseError as error:
            raise DamagedFile(f"{self.path} is not a results file of meco: {error}") from error
        if made not in (FORMAT, UNSEEDED):
            raise InvalidInput(
                f"{self.path} was written by meco {self.meta('meco')} in format {made}; this is meco {__version__}, "
                f"which reads format {FORMAT}. Use that version, or run the experiment into another folder"
            )

    def close(self) -> None:
        """Let go of the file and of the folder."""
        self._db.close()
        if self._lock is not None:
            self._lock.close()
        if self._unpacked is not None:
            self._unpacked.cleanup()

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
                who, where = self._ids(db, run)
                row = (who, where, run.seed, *(getattr(record, v) for v in VALUES))
                db.execute(f"INSERT OR IGNORE INTO runs VALUES ({','.join('?' * len(row))})", row)
                _forget_failures(db, who, where, run.seed)

    def fail(self, runs: Iterable[Run], reason: str) -> None:
        """Keep why there is no result."""
        with self._writing() as db:
            for run in runs:
                who, where = self._ids(db, run)
                _forget_failures(db, who, where, run.seed)
                db.execute("INSERT INTO failures VALUES (?, ?, ?, ?)", (who, where, run.seed, reason))

    def plan(self, experiment: Experiment) -> None:
        """Say that the folder holds this experiment, so that the report knows what to show."""
        known = {e.name: e for e in self.experiments()}
        if experiment.name in known:
            experiment = known[experiment.name].joined(experiment)
        with self._writing() as db:
            row = (experiment.name, experiment.to_json())
            db.execute(
                "INSERT INTO experiments VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET spec = excluded.spec", row
            )

    def session(self, name: str, facts: dict[str, Any]) -> None:
        """Keep with what and where results were made."""
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?)", (name, json.dumps(facts)))

    def _ids(self, db: sqlite3.Connection, run: Run) -> tuple[int, int]:
        """The numbers of a run's contender and place, given out where they are new."""
        return _number(db, "contenders", ("method", "options"), run[:2]), _number(
            db, "places", Place._fields, run.place
        )

    def merge(self, other: Store) -> int:
        """Take over what another folder of the same version holds; returns the number of new runs."""
        if other.meta("meco") != self.meta("meco"):
            raise InvalidInput(
                f"{other.folder} holds results of meco {other.meta('meco')} and {self.folder} of meco "
                f"{self.meta('meco')}: results of two versions are not mixed"
            )
        before = self.count()
        self.add(other.records())
        there = self.done()
        there |= {run._replace(seed=ANY_SEED) for run in there}
        for run, reason in other.failures().items():
            if run not in there:
                self.fail([run], reason)
        for experiment in other.experiments():
            self.plan(experiment)
        for name, facts in other.sessions().items():
            self.session(name, facts)
        return self.count() - before

    def pack(self) -> Path:
        """Write the whole store compressed beside itself, as the repository keeps it."""
        packed = self.folder / PACKED
        if self._unpacked is not None:
            raise InvalidInput(f"{self.folder} is packed already: it holds {PACKED} and no {FILE}")
        half = packed.with_name(PACKED + ".part")
        try:
            self._db.execute("VACUUM")
            with self._writing():  # nobody else changes the file while it is read
                whole = self.path.read_bytes()
            half.write_bytes(lzma.compress(whole, preset=9))
            half.replace(packed)
        except sqlite3.Error as error:
            raise unwritten(self.folder, error) from error
        except StoreError:
            raise
        except OSError as error:
            with contextlib.suppress(OSError):
                half.unlink()
            raise StoreError(f"cannot write {packed}: {error.strerror}; nothing of it was kept") from error
        return packed

    # -- reading -------------------------------------------------------------------------

    def meta(self, name: str) -> str | None:
        """A fact about the store: its format, the version that wrote it."""
        found = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return found[0] if found else None

    def done(self) -> set[Run]:
        """The runs that are there."""
        rows = self._db.execute(f"{NAMED}, r.seed FROM runs r {JOINED}")
        return {Run(m, o, Place(*where), seed) for m, o, *where, seed in rows}

    def count(self) -> int:
        """How many runs are there."""
        return self._db.execute("SELECT COUNT(*) FROM runs").fetchone()[0]

    def records(self) -> Iterator[tuple[Run, Record]]:
        """Every run with what is kept of it, in an order that does not depend on how it was made."""
        order = "ORDER BY c.method, c.options, p.problem, p.dim, p.instance, p.budget, r.seed"
        for row in self._db.execute(
            f"{NAMED}, r.seed, {', '.join('r.' + v for v in VALUES)} FROM runs r {JOINED} {order}"
        ):
            method, options, *where = row[:6]
            values: dict[str, Any] = dict(zip(VALUES, row[7:]))
            values = {k: float("nan") if v is None and k != "feasible_at" else v for k, v in values.items()}
            values |= {k: bool(values[k]) for k in ("feasible", "snapshot_feasible")}
            yield Run(method, options, Place(*where), row[6]), Record(row[6], **values)

    def failures(self) -> dict[Run, str]:
        """Why results are missing, by run; one of ANY_SEED stands for runs that an older meco did not tell apart."""
        seed = ANY_SEED if self.meta("format") == UNSEEDED else "r.seed"
        rows = self._db.execute(f"{NAMED}, {seed}, r.reason FROM failures r {JOINED}")
        return {Run(m, o, Place(*where), seed): reason for m, o, *where, seed, reason in rows}

    def experiments(self) -> list[Experiment]:
        """The experiments that were run into this folder, in that order."""
        specs = self._db.execute("SELECT spec FROM experiments ORDER BY rowid").fetchall()
        return [self._settled(Experiment.from_json(spec)) for (spec,) in specs]

    def _settled(self, experiment: Experiment) -> Experiment:
        """User problems in the version that ran last, where an older plan does not say which: no file is opened."""
        latest = "SELECT dim, instance FROM places WHERE problem = ? ORDER BY id DESC LIMIT 1"
        ran = {name: self._db.execute(latest, (name,)).fetchone() for name in experiment.files}
        versions = {name: row for name, row in ran.items() if row} | dict(experiment.versions)
        shown = tuple(p for p in experiment.problems if p not in experiment.files or p in versions)
        return replace(experiment, versions=versions, problems=shown)

    def sessions(self) -> dict[str, dict[str, Any]]:
        """With what and where results were made."""
        return {name: json.loads(facts) for name, facts in self._db.execute("SELECT * FROM sessions ORDER BY id")}

    def digest(self) -> str:
        """A hash of every result: equal for campaigns that found the same, however they ran."""
        total = hashlib.sha256()
        for run, record in self.records():
            kept = [getattr(record, v) for v in VALUES if v != "seconds"]
            total.update(repr((run, kept)).encode())
        return total.hexdigest()


def _number(db: sqlite3.Connection, table: str, names: Sequence[str], values: Sequence[Any]) -> int:
    """The number of a row, which is added where it is new."""
    match = " AND ".join(f"{n} = ?" for n in names)
    found = db.execute(f"SELECT id FROM {table} WHERE {match}", tuple(values)).fetchone()
    if found:
        return found[0]
    marks = ",".join("?" * len(names))
    made = db.execute(f"INSERT INTO {table} ({','.join(names)}) VALUES ({marks})", tuple(values))
    assert made.lastrowid is not None
    return made.lastrowid


def _forget_failures(db: sqlite3.Connection, who: int, where: int, seed: int) -> None:
    """There is news of a run: what was said of it before no longer counts."""
    db.execute(
        "DELETE FROM failures WHERE contender = ? AND place = ? AND seed IN (?, ?)", (who, where, seed, ANY_SEED)
    )
