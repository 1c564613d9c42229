"""A run folder: inputs, the log of every call, the search's state, and the result, so that nothing is lost.

run.json         inputs, versions, seed, names of the constraints
evals.bin        the log (see journal.py); all that a resumed run needs besides run.json
times.bin        number u64, clock time f64, seconds f64 of each call, beside the log: never compared
failures.jsonl   number and reason of each failed call
state.bin        where the search stood after a generation (see snapshot.py); a resumed run must arrive at the same
result.json      the result of the last session
"""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import meco
from meco.blackbox.answers import Fault
from meco.blackbox.evaluation_log import Entry, Ledger
from meco.blackbox.log_file import Journal, Layout, read_log, write_log
from meco.blackbox.snapshot import Snapshot, read_snapshot
from meco.errors import DamagedFile, InvalidInput
from meco.files.lock import Lock

FORMAT = 1
CLOCK = struct.Struct("<Qdd")
OURS = {"lock", "run.json.new"}  # what a run that was killed while it began may leave
STATE_EVERY = 0.2  # seconds; the state is a check, the log is what resumes


@dataclass(frozen=True)
class Checkpoint:
    """Where to keep a run. fsync waits for the disk each generation, against a failing machine."""

    folder: str | os.PathLike[str]
    fsync: bool = False


class RunFolder:
    """The open folder of one run; use RunFolder.open()."""

    def __init__(self, path: Path, facts: dict[str, Any], lock: Lock, fsync: bool) -> None:
        self.path, self.facts, self.lock, self.fsync = path, facts, lock, fsync
        self.past: list[Entry] = []
        self._order: list[int] = []  # numbers as they stand in the log
        self.notes: list[str] = []
        self.journal: Journal
        self._clock = open(path / "times.bin", "ab")  # noqa: SIM115 (closed by close())
        self._expected: Snapshot | None = None  # what an interrupted run left
        self._stated = -np.inf

    @classmethod
    def open(
        cls, checkpoint: Any, inputs: dict[str, Any], resume: bool, source: dict[str, Any] | None = None
    ) -> RunFolder:
        """A new folder, or the folder of an interrupted run with the same inputs."""
        mark = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
        path = Path(mark.folder)
        path.mkdir(parents=True, exist_ok=True)
        if read_facts(path) is None and any(p.name not in OURS for p in path.iterdir()):
            raise InvalidInput(f"{path} holds other files; a run needs a new or empty folder")
        lock = Lock(path / "lock")
        try:
            known = read_facts(path)
            if known is None:
                return cls._begin(path, inputs, source, lock, mark.fsync)
            if not resume:
                raise InvalidInput(
                    f"{path} holds a run already; pass resume=True to continue it, or name another folder"
                )
            _check_same(path, known, inputs)
            return cls._continue(path, known, lock, mark.fsync)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _begin(cls, path: Path, inputs: dict[str, Any], source: Any, lock: Lock, fsync: bool) -> RunFolder:
        facts = {
            "format": FORMAT,
            "versions": versions(),
            "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "inputs": inputs,
            "source": source,
            "constraints": None,
        }
        write_json(path / "run.json", facts, fsync)
        folder = cls(path, facts, lock, fsync)
        folder.journal = Journal(path / "evals.bin", Layout(len(inputs["lower"])), fsync)
        return folder

    @classmethod
    def _continue(cls, path: Path, facts: dict[str, Any], lock: Lock, fsync: bool) -> RunFolder:
        folder = cls(path, facts, lock, fsync)
        reading = read_log(path / "evals.bin", _layout(facts))
        layout = reading.layout or _layout(facts)
        if reading.damaged:
            folder.notes.append(
                f"the log {path / 'evals.bin'} was damaged: {reading.damaged} of its records "
                f"{'was' if reading.damaged == 1 else 'were'} dropped, {len(reading.entries)} are intact"
            )
            write_log(path / "evals.bin", layout, reading.entries, fsync)
        folder.past = reading.entries
        folder._order = [entry.number for entry in reading.entries]
        folder.journal = Journal(path / "evals.bin", layout, fsync)
        folder._expected = read_snapshot(path / "state.bin")
        return folder

    def attach(self, ledger: Ledger) -> None:
        """Feed the ledger what is known, and hear from it what is new."""
        ledger.past = {entry.number: entry for entry in self.past}
        layout, names = self.journal.layout, self.facts["constraints"]
        if layout.decided:
            ledger.declare(layout.n_ineq, layout.n_eq)
            if names is not None and any(names["ineq"] + names["eq"]):
                ledger.name(tuple(names["ineq"]), tuple(names["eq"]))
        elif ledger.counts is not None:  # told by points known beforehand
            self._shaped(ledger)
        ledger.keep, ledger.on_shape = self._keep, self._shaped

    def _keep(self, entry: Entry, reason: str) -> None:
        self.journal.append(entry)
        self._order.append(entry.number)
        if entry.fault is not Fault.NONE:
            line = {"number": entry.number, "fault": entry.fault.name.lower(), "reason": reason}
            with open(self.path / "failures.jsonl", "a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def _shaped(self, ledger: Ledger) -> None:
        """Number and names of the constraints are known now: the few records so far get their width."""
        assert ledger.counts is not None
        self.facts["constraints"] = {"ineq": list(ledger.g_names), "eq": list(ledger.h_names)}
        write_json(self.path / "run.json", self.facts, self.fsync)
        so_far = [*ledger.entries.values(), *ledger.past.values()]
        self._order = [entry.number for entry in so_far]
        self.journal.rewrite(Layout(self.journal.layout.dim, *ledger.counts, decided=True), so_far)

    def clocked(self, number: int, seconds: float) -> None:
        """Note how long a call took."""
        self._clock.write(CLOCK.pack(number, time.time(), seconds))

    def generation(self, number: int, snapshot: Callable[[], Snapshot], last: bool = False) -> None:
        """Make sure that everything so far is on disk, and now and then note where the search stands."""
        self.journal.flush()
        self._clock.flush()
        due = last or time.monotonic() - self._stated >= STATE_EVERY
        if not due and (self._expected is None or self._expected.generation != number):
            return
        state = snapshot()
        self._compare(state)
        if due:
            state.write(self.path / "state.bin")
            self._stated = time.monotonic()

    def _compare(self, state: Snapshot) -> None:
        """A resumed search that passes the stored state must agree with it to the last bit."""
        if self._expected is None or self._expected.generation != state.generation:
            return
        wrong = self._expected.difference(state)
        self._expected = None
        if wrong is not None:
            raise InvalidInput(
                f"{self.path}: the search arrived at another {wrong} than the interrupted one (another version of a "
                "library?); start a new run with evaluated=<this folder>"
            )

    def finish(self, ledger: Ledger, result: dict[str, Any]) -> None:
        """Write the result; the log gets its final order, which no number of workers or kills changes."""
        self.journal.flush()
        if not ledger.past and self._order != sorted(self._order):
            self.journal.rewrite(self.journal.layout, [ledger.entries[n] for n in sorted(ledger.entries)])
            self._order.sort()
        write_json(self.path / "result.json", result, self.fsync)

    def close(self) -> None:
        """Let go of the files."""
        self.journal.close()
        self._clock.close()
        self.lock.release()


def read_facts(path: Path) -> dict[str, Any] | None:
    """What run.json says, or None where there is none."""
    if not (path / "run.json").exists():
        return None
    try:
        facts = json.loads((path / "run.json").read_text(encoding="utf-8"))
        facts["format"], facts["versions"], facts["inputs"], facts["constraints"]
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFile(f"{path / 'run.json'} does not describe a run: {error!r}") from error
    if facts["format"] > FORMAT:
        raise DamagedFile(f"{path} was made by meco {facts['versions'].get('meco')}; this is {meco.__version__}")
    return facts


def load_run(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], list[Entry], Layout, int]:
    """Facts, entries by number, layout and count of damaged records of a folder, without touching it."""
    path = Path(folder)
    facts = read_facts(path)
    if facts is None:
        raise InvalidInput(f"{path} is not the folder of a run: it has no run.json")
    reading = read_log(path / "evals.bin", _layout(facts))
    return facts, sorted(reading.entries, key=lambda e: e.number), reading.layout or _layout(facts), reading.damaged


def _layout(facts: dict[str, Any]) -> Layout:
    dim, named = len(facts["inputs"]["lower"]), facts["constraints"]
    return Layout(dim) if named is None else Layout(dim, len(named["ineq"]), len(named["eq"]), decided=True)


def _check_same(path: Path, known: dict[str, Any], inputs: dict[str, Any]) -> None:
    made = known["versions"].get("meco")
    if made != meco.__version__:
        raise InvalidInput(
            f"the run in {path} was made by meco {made}; meco {meco.__version__} cannot continue it bit for bit: "
            "start a new run with evaluated=<that folder>"
        )
    for key in sorted({*known["inputs"], *inputs}):
        before, now = known["inputs"].get(key), inputs.get(key)
        if before != now:
            raise InvalidInput(
                f"the run in {path} is of another problem or set-up: its {key} is {before!r:.60}, here it is "
                f"{now!r:.60}; use the same inputs, another folder, or evaluated=<that folder>"
            )


def versions() -> dict[str, str]:
    """What a run depended on."""
    import platform

    return {"meco": meco.__version__, "python": platform.python_version(), "numpy": np.__version__}


def write_json(path: Path, content: Any, fsync: bool = False) -> None:
    """A JSON file, complete at any moment."""
    draft = path.with_name(path.name + ".new")
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(content, file, ensure_ascii=False, indent=1)
        file.write("\n")
        if fsync:
            file.flush()
            os.fsync(file.fileno())
    os.replace(draft, path)


def recorded_seed(checkpoint: Any) -> int | None:
    """The seed of the run in a folder, if there is one."""
    folder = checkpoint.folder if isinstance(checkpoint, Checkpoint) else checkpoint
    facts = read_facts(Path(folder))
    return None if facts is None else facts["inputs"].get("seed")
