"""A run folder: inputs, the log of every call, the search's state, and the result, so that nothing is lost.

run.json         inputs, versions, seed, fingerprint of the function, threads of linear algebra
evals.bin        the log (see log_file.py); all that a resumed run needs besides run.json
times.bin        number u64, clock time f64, seconds f64 of each call, beside the log: never compared
failures.jsonl   number and reason of each failed call
state.bin        the search after a generation (see search_state.py): what came before is not repeated
extended.bin     the search where it went on with a larger budget
trace.jsonl      what the method did, now and then (see trace_file.py): to be looked at
result.json      the result of the last session
"""

from __future__ import annotations

import json
import os
import shlex
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import meco
from meco.errors import CannotWrite, DamagedFile, InvalidInput, MecoError
from meco.files.atomic import DRAFT_SUFFIX, write_bytes, write_json
from meco.files.lock import Lock
from meco.files.regular_files import check_regular, read_regular
from meco.files.safetensors import LARGEST_TENSORS_BYTES
from meco.options import Checkpoint
from meco.run.calling.blas_threads import count_search_threads
from meco.run.folder.changed_inputs import describe_change
from meco.run.folder.reader import fingerprint_folder, read_run_json, write_run_json
from meco.run.folder.trace_file import TraceFile
from meco.run.log.evaluation_log import Entry, EvaluationLog
from meco.run.log.log_file import FORMAT, LogContent, LogFile, read_log, write_log
from meco.run.make_result import library_versions

DURATION_ROW = struct.Struct("<Qdd")
FILES = (
    "lock", "run.json", "evals.bin", "times.bin", "failures.jsonl", "state.bin", "extended.bin", "trace.jsonl",
    "result.json",
)  # fmt: skip
LEFT_BY_A_KILL = {"lock", "run.json" + DRAFT_SUFFIX}  # what a run that was killed while it began may leave
STATE_COST_FACTOR = 50  # a state is written when this many times what the last one cost has passed


class RunFolder:
    """The open folder of one run; use RunFolder.open()."""

    def __init__(self, path: Path, run_json: dict[str, Any], lock: Lock, fsync: bool) -> None:
        """Read the log of a folder that is locked, repair it where it is damaged, and open its files to append."""
        self.path, self.run_json, self.lock, self.fsync = path, run_json, lock, fsync
        self.notes: list[str] = []  # of what was found when it was opened
        self.late_notes: list[str] = []  # of what happened since
        self._guard = WriteGuard(self)
        self.broken = False  # whether something could not be written: then nothing more is
        log = self._read_or_repair_log(path / "evals.bin")
        self.log_file = LogFile(path / "evals.bin", log.names, fsync=fsync)
        self.recorded = log.entries  # what an interrupted run was told
        self.log_order = [entry.number for entry in log.entries]  # as they stand in the log
        self._logged = list(log.entries)  # the same as they came, should the file be removed
        for name, ends in (("times.bin", _count_rows), ("failures.jsonl", _count_lines)):
            _cut_torn_row(path / name, ends)
        self._trace = TraceFile(path / "trace.jsonl", run_json["inputs"]["budget"])
        self._durations_file = open(path / "times.bin", "ab")  # noqa: SIM115 (closed by close())
        self._durations: list[tuple[int, float, float]] = []  # rows of times.bin to be written
        self._state_due = 0.0  # when the next state is to be written

    @classmethod
    def open(
        cls,
        checkpoint: Checkpoint,
        inputs: dict[str, Any],
        source: dict[str, Any] | None = None,
        function: str | None = None,
    ) -> RunFolder:
        """A new folder, or the folder of an interrupted run with the same inputs, locked until close().

        function is the fingerprint that a new run keeps.
        InvalidInput for a folder of other things, CannotWrite where nothing can be written there.
        """
        path = _resolve_folder(checkpoint.folder)
        if path.exists() and not path.is_dir():
            raise InvalidInput(f"checkpoint must be a folder, but {path} is a file")
        with report_write_errors(path):
            path.mkdir(parents=True, exist_ok=True)
            if read_run_json(path) is None and any(p.name not in LEFT_BY_A_KILL for p in path.iterdir()):
                raise InvalidInput(f"{path} holds other files; a run needs a new or empty folder")
            check_regular(path, (*FILES, *(name + DRAFT_SUFFIX for name in FILES)))
            lock = Lock(path / "lock")
            return cls._open_locked(path, checkpoint, inputs, {"source": source, "function": function}, lock)

    @classmethod
    def _open_locked(
        cls, path: Path, checkpoint: Checkpoint, inputs: dict[str, Any], called: dict[str, Any], lock: Lock
    ) -> RunFolder:
        """The folder behind its lock, which is released where this fails; writes run.json of a new run.

        InvalidInput where the folder holds a run that is not, or cannot be, resumed.
        """
        try:
            run_json = read_run_json(path)
            if run_json is None:
                run_json = {
                    "format": FORMAT, "versions": library_versions(), "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
                    "inputs": inputs, **called, "place": fingerprint_folder(path), "threads": count_search_threads(),
                }  # fmt: skip
                write_run_json(path, run_json, fsync=checkpoint.fsync)
            elif not checkpoint.resume:
                held = f"{path} holds a run already"
                raise InvalidInput(
                    f"{held}; Checkpoint(folder, resume=True) continues it, or name another folder"
                ).on_command_line(
                    f"{held}; `meco resume {shlex.quote(str(path))}` continues it, or name another folder"
                )
            else:
                _check_same_inputs(path, run_json, inputs)
            folder = cls(path, run_json, lock, checkpoint.fsync)
            if _is_of_other_version(run_json):
                folder._continue_other_version(inputs["budget"])
            elif inputs["budget"] > run_json["inputs"]["budget"]:
                folder._extend_budget(inputs["budget"])
            return folder
        except BaseException:
            lock.release()
            raise

    def _read_or_repair_log(self, path: Path) -> LogContent:
        """What an interrupted run left in its log; a damaged log is written anew without what is lost, with a note."""
        log = read_log(path, self.run_json)
        if not log.damaged:
            return log
        self.notes.append(
            f"the log {path} was damaged: what was in {log.damaged} places of it is dropped, "
            f"{len(log.entries)} are intact"
        )
        write_log(path, log.entries, fsync=self.fsync)
        return read_log(path)

    def _extend_budget(self, budget: int) -> None:
        """Let the run go on with a larger budget: from its saved state where that knows every answer.

        Without one a new search begins that knows them all. The points of a search depend on its budget, so neither is
        what a run with the larger budget from the beginning would have been.
        """
        from meco.run.folder.search_state import unpack_state

        content, told = self.read_saved_state(), len(self.recorded)
        state = unpack_state(content)
        kept = state is not None and state.covered == told
        with self._guard_writing():
            if kept:
                write_bytes(self.path / "extended.bin", content)
            else:
                for name in ("state.bin", "extended.bin"):
                    (self.path / name).unlink(missing_ok=True)
            self.run_json["inputs"]["budget"] = budget
            self.run_json["extended_at"] = told
            write_run_json(self.path, self.run_json, fsync=self.fsync)

    def _continue_other_version(self, budget: int) -> None:
        """Let a run of another version go on: a new search begins that knows every recorded answer."""
        self.notes.append(
            f"the run was begun by meco {self.run_json['versions']['meco']}: a search of meco {meco.__version__} "
            f"went on from its {len(self.recorded)} evaluations"
        )
        with self._guard_writing():
            for name in ("state.bin", "extended.bin"):
                (self.path / name).unlink(missing_ok=True)
            self.run_json["inputs"]["budget"] = budget
            self.run_json |= {"versions": library_versions(), "extended_at": len(self.recorded)}
            write_run_json(self.path, self.run_json, fsync=self.fsync)

    @property
    def extended_at(self) -> int:
        """Answers that were there when the budget was last made larger; 0 where it never was."""
        return self.run_json.get("extended_at") or 0

    def check_thread_count(self) -> str:
        """A warning where the run has not always had the same number of threads of linear algebra; else "".

        Another number is written to run.json: going on with the first one does not undo the points in between.
        """
        before, now, others = (
            self.run_json.get("threads"),
            count_search_threads(),
            self.run_json.get("other_threads") or [],
        )
        changed = None not in (before, now) and before != now
        if before is None or not (changed or others):
            return ""
        if changed and now not in others and len(self.recorded) < self.run_json["inputs"]["budget"]:
            self.run_json["other_threads"] = [*others, now]
            with self._guard_writing():
                write_run_json(self.path, self.run_json, fsync=self.fsync)
        with_others = f"goes on with {now}" if changed else f"went on with {', '.join(map(str, others))}"
        return (
            f"the run was begun with {before} thread{'s' * (before > 1)} of linear algebra and {with_others}: "
            "its points may differ from those of an uninterrupted run in their last bits"
            + (f" (OPENBLAS_NUM_THREADS={before} keeps them)" if changed and not others else "")
        )

    @property
    def function(self) -> str | None:
        """The fingerprint of the function that gave the recorded answers; None where none could be made."""
        return self.run_json.get("function")

    def keep_function(self, fingerprint: str | None) -> None:
        """Write to run.json that the run goes on with this function, whose answers were found to be the same."""
        self.run_json["function"] = fingerprint
        with self._guard_writing():
            write_run_json(self.path, self.run_json, fsync=self.fsync)

    def write_answer(self, entry: Entry) -> None:
        """Append a new answer to the log; CannotWrite where that fails, and nothing more is written."""
        with self._guard_writing():
            self.log_file.append(entry)
        self._logged.append(entry)
        self.log_order.append(entry.number)

    def write_failure(self, entry: Entry, reason: str) -> None:
        """Append why an answer cannot be used to failures.jsonl."""
        line = {"number": entry.number, "fault": entry.fault.name.lower(), "reason": reason}
        place = self.path / "failures.jsonl"
        with self._guard_writing(), open(place, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def note_duration(self, number: int, seconds: float) -> None:
        """Remember how many seconds a call took; written with the next generation."""
        self._durations.append((number, time.time(), seconds))

    def _flush_durations(self) -> None:
        """Append the durations that wait to their file."""
        rows, self._durations = self._durations, []
        self._durations_file.write(b"".join([DURATION_ROW.pack(*row) for row in rows]))
        self._durations_file.flush()

    def write_trace(self, nfev: int, trace: Callable[[], Mapping[str, Any]]) -> None:
        """Append what the method did to the trace, if a row is due; trace() is called only then."""
        with self._guard_writing():
            self._trace.note_if_due(nfev, trace)

    def save_generation(self, pack_state: Callable[[], bytes | None], *, force: bool = False) -> None:
        """Write everything so far, and the state of the search where that is due or forced.

        pack_state() is called only then; None from it saves nothing.
        """
        self.put_back_removed_files()
        with self._guard_writing():
            self._flush_durations()
        begun = time.monotonic()
        if begun < self._state_due and not force:
            return
        content = pack_state()
        if content is not None:
            with self._guard_writing():
                write_bytes(self.path / "state.bin", content)
        now = time.monotonic()
        self._state_due = now + STATE_COST_FACTOR * (now - begun)

    def put_back_removed_files(self) -> None:
        """Write log and run.json again where somebody removed them under the run, and note it."""
        with self._guard_writing():
            self.lock.renew()
            lost = [] if self.log_file.in_place else ["evals.bin"]
            if lost:
                self.log_file.rewrite(self._logged)
            if not (self.path / "run.json").exists():
                lost.append("run.json")
                write_run_json(self.path, self.run_json, fsync=self.fsync)
        for name in lost:
            self.late_notes.append(
                f"the file {name} was removed from {self.path} while the run went on, and was written again"
            )

    def read_saved_state(self, name: str = "state.bin") -> bytes:
        """The state that save_generation() wrote last, b"" without one.

        "extended.bin" is that of an extended budget.
        """
        try:
            return read_regular(self.path / name, LARGEST_TENSORS_BYTES)
        except (OSError, DamagedFile):
            return b""

    def write_result(self, log: EvaluationLog, result: dict[str, Any]) -> None:
        """Write the result; the log gets its final order, which no number of workers or kills changes."""
        with self._guard_writing():
            told_in_order = self.run_json["inputs"].get("asynchronous")  # then the order is part of what happened
            if not log.unreplayed and not told_in_order and self.log_order != sorted(self.log_order):
                entries = {entry.number: entry for entry in read_log(self.path / "evals.bin").entries}
                self.log_order = sorted(entries)
                self.log_file.rewrite(entries[n] for n in self.log_order)
            write_json(self.path / "result.json", result, fsync=self.fsync)

    def _guard_writing(self) -> WriteGuard:
        """A context for everything that is written: an OSError marks the folder as broken and becomes CannotWrite."""
        return self._guard

    def mark_broken(self) -> None:
        """Write nothing more, whatever comes."""
        self.broken = True

    def close(self) -> None:
        """Close the files, and release the folder, in every case."""
        try:
            with suppress(OSError) if self.broken else self._guard_writing():
                self.log_file.close()
        finally:
            with suppress(OSError, ValueError):  # times are a convenience, and may be closed
                self._flush_durations()
            with suppress(OSError):
                self._durations_file.close()
            self.lock.release()


def _cut_torn_row(path: Path, whole_bytes: Callable[[bytes], int]) -> None:
    """Cut a file back to its whole rows, which end after whole_bytes(content), where a kill tore the last one."""
    if path.exists():
        content = path.read_bytes()
        if (size := whole_bytes(content)) < len(content):
            os.truncate(path, size)


def _count_rows(content: bytes) -> int:
    """Bytes of whole rows of times.bin."""
    return len(content) - len(content) % DURATION_ROW.size


def _count_lines(content: bytes) -> int:
    """Bytes of whole lines."""
    return content.rfind(b"\n") + 1


class WriteGuard:
    """After a failure nothing more is written: what the log holds is then the beginning of the run."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Mark the folder as broken and raise CannotWrite in place of an OSError; others pass."""
        if isinstance(error, OSError):
            self.folder.mark_broken()
            with report_write_errors(self.folder.path):
                raise error


@contextmanager
def report_write_errors(path: Path) -> Iterator[None]:
    """Inside the block an OSError becomes CannotWrite, with the folder's name."""
    try:
        yield
    except MecoError:
        raise
    except OSError as error:
        raise CannotWrite(
            f"cannot write to the run folder {path}: {error.strerror or error}; what was written before is intact: "
            "make room or choose another folder, and resume"
        ) from error


def _resolve_folder(given: Any) -> Path:
    """The absolute path of the folder, wherever the function may go later; InvalidInput for what is no path."""
    try:
        return Path(given).absolute()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"checkpoint must be the path of a folder; got {given!r:.60}") from error


def _is_of_other_version(run_json: dict[str, Any]) -> bool:
    """Whether a run was made by a version that cannot be continued bit for bit."""
    return run_json["versions"]["meco"].split(".")[:2] != meco.__version__.split(".")[:2]


def _check_same_inputs(path: Path, recorded: dict[str, Any], inputs: dict[str, Any]) -> None:
    """InvalidInput, with what can be done, for a folder that this run cannot continue bit for bit."""
    for key in sorted({*recorded["inputs"], *inputs}):
        before, now = recorded["inputs"].get(key), inputs.get(key)
        if before != now and not (key == "budget" and now > before):
            said = describe_change(key, before, now, recorded["inputs"].get("variable_names") or ())
            if key == "fun":
                raise InvalidInput(
                    f"the run in {path} is of another function: {said}; its answers do not count for another one: use "
                    "the same function or another folder"
                )
            said = (
                f"the run in {path} is of another problem or set-up: {said}; use the same inputs, another folder, or "
            )
            raise InvalidInput(f"{said}evaluated=<that folder>").on_command_line(
                f"{said}--evaluated {shlex.quote(str(path))}"
            )


def read_recorded_inputs(folder: Any) -> dict[str, Any]:
    """Inputs of the run in a folder, for what a resuming caller leaves out; {} where there is no run."""
    run_json = read_run_json(_resolve_folder(folder))
    return {} if run_json is None else run_json["inputs"]
