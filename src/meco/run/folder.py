"""The folder of a run: the event log, a lock, and the result of the last process.

events.jsonl   everything that happened (log.py); a resumed run needs nothing else
result.json    the last result
calls          the folders of a program's calls
"""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from meco.errors import CannotWrite, DamagedFile, InvalidInput, MecoError
from meco.files.atomic import DRAFT_SUFFIX, write_json
from meco.files.lock import Lock
from meco.files.regular_files import check_regular
from meco.files.schema import Large, Maybe, check_form
from meco.options import Checkpoint
from meco.run.answer import Answer
from meco.run.log import (
    FILE_NAME,
    Event,
    EventLog,
    check_events,
    encode_answer,
    last_budget,
    library_versions,
    read_events,
)
from meco.run.scipy_compat import SEED_BITS

FORMAT = 4
OLD_FILE = "run.json"  # of a folder of meco 0.3
FILES = (FILE_NAME, "lock", "result.json", "result.json" + DRAFT_SUFFIX)
LEFT_BY_A_KILL = {"lock", FILE_NAME}  # of a run that was killed while it began

INPUTS_FORM: dict[str, Any] = {
    "variables": [
        {
            "low": Maybe(float),
            "high": Maybe(float),
            "unit": Maybe(str),
            "integer": bool,
            "log": bool,
            "categories": Maybe([object]),
            "ordered": Maybe(bool),
        }
    ],
    "variable_names": [str],
    "budget": int,
    "method": str,
    "seed": Large(SEED_BITS),
    "options": {str: object},
    "x0": Maybe([[float]]),
    "evaluated": Maybe({"x": [object], "f": [object], "g": [object], "h": [object]}),
    "tolerances": {"ineq": object, "eq": object, "keep_feasible": object, "names": [str]},
    "on_error": Maybe(str),
    "asynchronous": Maybe(bool),
    "cheap": Maybe({"ineq": [str], "eq": [str]}),
    "noise": Maybe(object),
}
BEGIN_FORM: dict[str, Any] = {
    "format": int,
    "versions": {"meco": str},
    "inputs": INPUTS_FORM,
    "budget": int,
    "source": Maybe(
        {
            "kind": str,
            "folder": str,
            "options": {"vectorized": bool, "workers": Maybe(int), "timeout": Maybe(float)},
            "evaluated": Maybe(str),
            "cheap": Maybe(str),
        }
    ),
    "function": Maybe(str),
}


class RunFolder:
    """The open folder of one run; use RunFolder.open()."""

    def __init__(self, path: Path, begin: dict[str, Any], events: list[Event], log: EventLog, lock: Lock) -> None:
        self.path, self.begin, self.events = path, begin, events  # events of earlier processes
        self.notes: list[str] = []
        self.broken = False  # whether something could not be written: then nothing more is
        self._log, self._lock = log, lock

    @classmethod
    def open(
        cls,
        checkpoint: Checkpoint,
        inputs: dict[str, Any],
        source: dict[str, Any] | None = None,
        function: str | None = None,
    ) -> RunFolder:
        """A new folder, or that of an earlier run with the same inputs, locked until close().

        source is how the command line called the function, and `function` a digest of its source code.
        InvalidInput for a folder of other things, CannotWrite where nothing can be written there.
        """
        path = resolve_folder(checkpoint.folder)
        with report_write_errors(path):
            if path.exists() and not path.is_dir():
                raise InvalidInput(f"checkpoint must be a folder, but {path} is a file")
            path.mkdir(parents=True, exist_ok=True)
            refuse_old(path)
            if not (path / FILE_NAME).exists() and any(p.name not in LEFT_BY_A_KILL for p in path.iterdir()):
                raise InvalidInput(f"{path} holds other files; a run needs a new or empty folder")
            check_regular(path, FILES)
            lock = Lock(path / "lock")
            try:
                return cls._open_locked(path, checkpoint, inputs, {"source": source, "function": function}, lock)
            except BaseException:
                lock.release()
                raise

    @classmethod
    def _open_locked(
        cls, path: Path, checkpoint: Checkpoint, inputs: dict[str, Any], called: dict[str, Any], lock: Lock
    ) -> RunFolder:
        """The folder behind its lock; logs the beginning of a new run."""
        events, size = read_events(path / FILE_NAME)
        if events and not checkpoint.resume:
            held = f"{path} holds a run already"
            raise InvalidInput(
                f"{held}; Checkpoint(folder, resume=True) continues it, or name another folder"
            ).on_command_line(f"{held}; `meco resume {shlex.quote(str(path))}` continues it, or name another folder")
        log = EventLog(path / FILE_NAME, size, fsync=checkpoint.fsync)
        try:
            if events:
                begin = check_begin(path, events)
                check_same_inputs(path, begin["inputs"], inputs)
                if inputs["budget"] < (last_budget(events) or 0):
                    had = f"the run in {path} has a budget of {last_budget(events)}"
                    raise InvalidInput(f"{had}; it can be raised, not lowered: got {inputs['budget']}")
            else:
                begin = {
                    "format": FORMAT, "versions": library_versions(), "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
                    "place": fingerprint_folder(path), "inputs": inputs, "budget": inputs["budget"], **called,
                }  # fmt: skip
                log.add(["begin", begin], sync=checkpoint.fsync)
            folder = cls(path, begin, events, log, lock)
        except BaseException:
            log.close()
            raise
        if events and None not in (begin["function"], called["function"]) and begin["function"] != called["function"]:
            folder.notes.append("the source of fun is not that of the recorded answers, which count all the same")
        return folder

    def add(self, event: Event, *, sync: bool = False) -> None:
        """Append an event; CannotWrite where that fails, and nothing more is written."""
        if self.broken:
            return
        with self._guard():
            self._log.add(event, sync=sync)

    def write_result(self, result: dict[str, Any]) -> None:
        """Write result.json."""
        if self.broken:
            return
        with self._guard():
            write_json(self.path / "result.json", result, fsync=self._log.fsync)

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Inside the block an OSError marks the folder as broken and becomes CannotWrite."""
        try:
            yield
        except OSError as error:
            self.broken = True
            with report_write_errors(self.path):
                raise error

    def close(self) -> None:
        """Close the log, and release the folder, in every case."""
        try:
            with suppress(OSError) if self.broken else self._guard():
                self._log.close()
        finally:
            self._lock.release()


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


def resolve_folder(given: Any) -> Path:
    """The absolute path of the folder, wherever the function may go later; InvalidInput for what is no path."""
    try:
        return Path(given).absolute()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"checkpoint must be the path of a folder; got {given!r:.60}") from error


def refuse_old(path: Path) -> None:
    """InvalidInput for a folder of meco 0.3, which cannot be resumed."""
    if (path / OLD_FILE).exists() and not (path / FILE_NAME).exists():
        said = f"{path} was made by meco 0.3 and cannot be resumed: start a new run in another folder with "
        raise InvalidInput(f"{said}evaluated=<that folder>").on_command_line(
            f"{said}--evaluated {shlex.quote(str(path))}"
        )


def check_begin(path: Path, events: Sequence[Event]) -> dict[str, Any]:
    """What the first event says; DamagedFile where it says nothing that makes sense."""
    file = path / FILE_NAME
    if not events or events[0][0] != "begin" or len(events[0]) != 2 or not isinstance(events[0][1], dict):
        raise DamagedFile(f"{file} does not begin with the inputs of a run")
    begin: dict[str, Any] = events[0][1]
    check_form(begin, {"format": int, "versions": {"meco": str}}, str(file))
    if begin["format"] != FORMAT:
        raise DamagedFile(
            f"{file} has format {begin['format']}, of meco {begin['versions']['meco']}; this reads {FORMAT}"
        )
    check_form(begin, BEGIN_FORM, str(file))
    if not begin["inputs"]["variables"] or begin["budget"] < 1:
        raise DamagedFile(f"{file} does not describe a run: its bounds or budget make no sense")
    check_events(events, len(begin["inputs"]["variables"]), str(file))
    return begin


def read_run(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], list[Event]] | None:
    """The beginning and all events of a run folder, which is only read; None where it holds no run.

    The budget of the inputs is that which the run had last.
    """
    path = Path(folder)
    try:
        events, _ = read_events(path / FILE_NAME)
    except OSError as error:  # no name that a file could have
        raise InvalidInput(f"{str(path)!r:.60} is no folder: {error.strerror}") from error
    if not events:
        return None
    begin = check_begin(path, events)
    return begin | {"inputs": begin["inputs"] | {"budget": last_budget(events)}}, events


def log_confirmation(folder: str, calls: Sequence[tuple[np.ndarray, Answer, float]]) -> None:
    """Log calls that confirm() made of points of a finished run: x, answer and seconds each.

    They are for readers; replay ignores them. Nothing is written where the folder is gone or in use.
    """
    path = Path(folder)
    with suppress(OSError, MecoError):
        lock = Lock(path / "lock")
        try:
            events, size = read_events(path / FILE_NAME)
            with closing(EventLog(path / FILE_NAME, size)) as log:
                for x, answer, seconds in calls if events else ():
                    log.add(["confirm", x.tolist(), round(seconds, 6), *encode_answer(answer)])
        finally:
            lock.release()


def fingerprint_folder(path: Path) -> str:
    """What tells this folder on this machine from a copy of it elsewhere, which may come from a stranger."""
    there = path.resolve()
    return hashlib.sha256(f"{platform.node()} {there} {there.stat().st_ino}".encode("utf-8", "replace")).hexdigest()


def digest_source(fun: Any, *constraints: Any) -> str | None:
    """A digest of the source code of a function and its constraints; None where it is not at hand."""
    digest = hashlib.sha256()
    try:
        for each in (fun, *constraints):
            parts = each.fingerprint_parts() if hasattr(each, "fingerprint_parts") else [each]
            for part in parts:
                while not inspect.isroutine(part) and (inner := _inner(part)) is not None:
                    part = inner
                text = part if isinstance(part, (str, bytes)) else inspect.getsource(part)
                digest.update(text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace"))
    except (OSError, TypeError):
        return None
    return digest.hexdigest()


def _inner(fun: Any) -> Any:
    """The function inside partials, bound arguments and SciPy's objects; None of others."""
    return next((found for name in ("values", "fun", "func") if callable(found := getattr(fun, name, None))), None)


# -- inputs of a resumed run ---------------------------------------------------------------------------


def check_same_inputs(path: Path, recorded: Mapping[str, Any], inputs: Mapping[str, Any]) -> None:
    """InvalidInput, with what can be done, where inputs other than the budget are not those recorded."""
    for key in sorted({*recorded, *inputs} - {"budget"}):
        before, now = recorded.get(key), inputs.get(key)
        if _as_json(before) == _as_json(now):
            continue
        said = describe_change(key, before, now, recorded.get("variable_names") or ())
        if key == "fun":
            raise InvalidInput(
                f"the run in {path} is of another function: {said}; its answers do not count for another one: use the "
                "same function or another folder"
            )
        said = f"the run in {path} is of another problem or set-up: {said}; use the same inputs, another folder, or "
        raise InvalidInput(f"{said}evaluated=<that folder>").on_command_line(
            f"{said}--evaluated {shlex.quote(str(path))}"
        )


def _as_json(value: Any) -> Any:
    """A value as it is after a round trip through JSON, in a form in which nan equals nan."""
    if isinstance(value, Mapping):
        return {str(key): _as_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(each) for each in value]
    return "nan" if isinstance(value, float) and value != value else value


def describe_change(key: str, before: Any, now: Any, names: Sequence[str]) -> str:
    """Which of the inputs is another one, and what it was; names are those of the recorded run's variables."""
    if key == "variables" and isinstance(before, list) and isinstance(now, list):
        return _describe_variables(before, now, names)
    if key == "variable_names" and before and now:
        return f"its variables are {', '.join(before):.60}, here they are {', '.join(now):.60}"
    if key == "evaluated":
        counts = [0 if each is None else len(each["f"]) for each in (before, now)]
        return f"it knew {counts[0]} evaluated points, here there are {counts[1]}" + (
            "" if counts[0] != counts[1] else " others"
        )
    path = []
    while isinstance(before, Mapping) and isinstance(now, Mapping):
        path.append(next(name for name in (*before, *now) if before.get(name) != now.get(name)))
        before, now = before.get(path[-1]), now.get(path[-1])
    key += f" ({'.'.join(path)})" if path else ""
    return f"its {key} is {before!r:.60}, here it is {now!r:.60}"


def _describe_variables(before: list[Any], now: list[Any], names: Sequence[str]) -> str:
    """How many variables there are, or the first that differs."""
    if len(before) != len(now):
        return f"it has {len(before)} variables, here there are {len(now)}"
    at = next(i for i, (old, new) in enumerate(zip(before, now)) if old != new)
    name = names[at] if len(names) == len(before) else f"x{at + 1}"
    return f"its variables differ: {name} is {_show_variable(before[at])}, here it is {_show_variable(now[at])}"


def _show_variable(variable: Mapping[str, Any]) -> str:
    """A recorded variable in a few words."""
    kinds = [kind for kind in ("integer", "log", "ordered") if variable.get(kind)]
    if variable.get("categories"):
        return f"one of {', '.join(map(str, variable['categories'])):.60}" + " (ordered)" * ("ordered" in kinds)
    unit = f" {variable['unit']}" if variable.get("unit") else ""
    ends = ["no limit" if variable[end] is None else f"{variable[end]:g}" for end in ("low", "high")]
    return f"{ends[0]} to {ends[1]}{unit}" + (f" ({', '.join(kinds)})" if kinds else "")
