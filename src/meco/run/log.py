"""The event log of a run: everything that its search depends on, in the order in which it happened.

A line is a JSON array of the CRC-32 of an event's text, and the event:

    ["begin", inputs]                                            what was asked for
    ["ask", number, x, retry_of]                                 a call; retry_of: the failed call of the same point
    ["tell", number, seconds, fault, reason, f, g, h, names, se, where]
    ["known", x, f, g, h]                                        a point that another search evaluated
    ["diversify", u]                                             the next ask is to differ from those of others
    ["budget", calls]                                            the budget was raised
    ["tolerances", eq]                                           of equalities without one of their own, fixed here
    ["state", number, {..}]                                      for readers alone
    ["end", reason]                                              a process ended the run here
    ["confirm", x, seconds, fault, ..]                           a call that confirm() made, as in `tell`

`tell` repeats what the function returned, not what became of it: names is null or the names of g and h; se is null or
the standard errors. A torn last line is dropped; a damaged line before it is an error that names the line.
"""

from __future__ import annotations

import json
import os
import platform
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import meco
from meco.errors import DamagedFile
from meco.files.regular_files import read_regular
from meco.run.answer import NO_VALUES, Answer, Fault

FILE_NAME = "events.jsonl"
PYTHON_VERSION = platform.python_version()
LARGEST_LOG_BYTES = 1 << 36
SLOW_SECONDS = 1.0  # calls that take longer are worth waiting for the disk

Event = list[Any]
_encode_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def encode(event: Event) -> bytes:
    """An event as a line."""
    text = _encode_json(event).encode()
    return b'["%08x",%s]\n' % (zlib.crc32(text), text)


def decode(line: bytes) -> Event:
    """The event of a line without its end; ValueError for a damaged one."""
    text = line[12:-1]
    if line[:12] != b'["%08x",' % zlib.crc32(text) or line[-1:] != b"]":
        raise ValueError("wrong checksum")
    event = json.loads(text)
    if not isinstance(event, list) or not event:
        raise ValueError("no event")
    return event


def read_events(path: Path) -> tuple[list[Event], int]:
    """The events of a file and the bytes they take; a torn last line is left out, [] and 0 without a file.

    DamagedFile, with the number of the line, for damage before the last line.
    """
    try:
        content = read_regular(path, LARGEST_LOG_BYTES)
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise DamagedFile(f"cannot read {path}: {error.strerror}") from error
    lines = content.split(b"\n")
    events, size = [], 0
    for number, line in enumerate(lines[:-1], 1):
        try:
            events.append(decode(line))
        except (ValueError, RecursionError):
            if any(lines[number:]):
                raise DamagedFile(
                    f"{path}, line {number} is damaged: keep the lines before it in a new folder to go on from there"
                ) from None
            break
        size += len(line) + 1
    return events, size


def encode_answer(answer: Answer) -> list[Any]:
    """The end of a `tell` event: fault, reason, f, g, h, names, se and where."""
    named = any(answer.g_names) or any(answer.h_names)
    return [
        int(answer.fault), answer.reason, answer.f, answer.g.tolist(), answer.h.tolist(),
        [answer.g_names, answer.h_names] if named else None, answer.se.tolist() if answer.se.size else None,
        answer.where,
    ]  # fmt: skip


def decode_answer(content: list[Any]) -> Answer:
    """The answer in the end of a `tell` event."""
    fault, reason, f, g, h, names, se, where = content
    g_names, h_names = (("",) * len(g), ("",) * len(h)) if names is None else (tuple(names[0]), tuple(names[1]))
    return Answer(
        float(f), np.array(g, float), np.array(h, float), g_names, h_names, Fault(fault), reason, None, where,
        NO_VALUES if se is None else np.array(se, float),
    )  # fmt: skip


class EventLog:
    """Appends events to a file; a write that fails leaves whole lines alone."""

    def __init__(self, path: Path, size: int, *, fsync: bool = False) -> None:
        """Open the file, cut to its first `size` bytes; fsync waits for the disk after every answer."""
        self.path, self.fsync, self._size = path, fsync, size
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(path, flags, 0o666)
        try:
            if os.fstat(self._descriptor).st_size != size:
                os.ftruncate(self._descriptor, size)
        except BaseException:
            self.close()
            raise

    def add(self, event: Event, *, sync: bool = False) -> None:
        """Append an event, which the operating system has when this returns; with sync, the disk.

        OSError where it cannot be written: the file then ends before it.
        """
        view = memoryview(encode(event))
        size = self._size + len(view)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
            if sync or (self.fsync and event[0] == "tell"):
                os.fsync(self._descriptor)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise
        self._size = size

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)


class Events:
    """Events in memory, of a run without a folder."""

    def __init__(self, *, keep: bool = False) -> None:
        """keep remembers them."""
        self.list: list[Event] | None = [] if keep else None

    def add(self, event: Event, *, sync: bool = False) -> None:
        """Remember an event, where that was asked for."""
        if self.list is not None:
            self.list.append(event)

    def close(self) -> None:
        """Nothing is open."""


def check_events(events: Sequence[Event], dim: int, where: str) -> None:
    """DamagedFile, with the number of the line, for the first event that no run of D variables writes."""
    pending: dict[int, int] = {}  # fault of calls that were not made again, -1 while there is no answer
    calls = 0
    for line, (kind, *content) in enumerate(events, 1):
        try:
            if kind == "ask":
                number, x, retry_of, *difference = content
                right = number == calls and len(x) == dim and _are_numbers(x) and _are_numbers(difference)
                right = right and (retry_of is None or pending.pop(retry_of, -1) >= 0)
                calls, pending[number] = calls + 1, -1
            elif kind == "tell":
                number, seconds, fault, reason, f, g, h, names, se, place = content
                right = pending.get(number) == -1 and _are_numbers([seconds, f, *g, *h, *(se or ())])
                right = right and isinstance(reason, str) and isinstance(place, str)
                right = right and (se is None or len(se) == 1 + len(g) + len(h))
                if names is not None:
                    right = right and [len(part) for part in names] == [len(g), len(h)]
                    right = right and all(isinstance(name, str) for part in names for name in part)
                pending[number] = int(Fault(fault))
            elif kind == "known":
                x, f, g, h = content
                right = len(x) == dim and _are_numbers([*x, f, *g, *h])
            elif kind == "budget":
                right = type(content[0]) is int and content[0] > 0
            elif kind == "tolerances":
                right = _are_numbers(content[0])
            elif kind == "diversify":
                right = _are_numbers(content)
            else:
                right = kind in ("begin", "state", "end", "confirm")
        except (TypeError, ValueError, KeyError, IndexError):
            right = False
        if not right:
            raise DamagedFile(f"{where}, line {line} says what no run does: {[kind, *content]!s:.80}")


def _are_numbers(values: Sequence[Any]) -> bool:
    """Whether all of these are real numbers, nan and infinity among them."""
    return all(type(value) in (float, int) for value in values)


def last_budget(events: Iterable[Event]) -> int | None:
    """The budget that events end with; None without any."""
    found = None
    for kind, *content in events:
        if kind == "begin":
            found = content[0]["budget"]
        elif kind == "budget":
            found = content[0]
    return found


def answered_calls(events: Iterable[Event]) -> Iterator[tuple[int, int, list[float], Answer, float]]:
    """Number, attempt, x, answer and seconds of every answered call, in the order of the answers."""
    asked: dict[int, tuple[int, list[float]]] = {}
    for kind, *content in events:
        if kind == "ask":
            before = asked.get(content[2]) if content[2] is not None else None
            asked[content[0]] = (0 if before is None else before[0] + 1), content[1]
        elif kind == "tell":
            attempt, x = asked[content[0]]
            yield content[0], attempt, x, decode_answer(content[2:10]), content[1]


def library_versions() -> dict[str, str]:
    """What a run depended on; its log holds these names."""
    return {"meco": meco.__version__, "python": PYTHON_VERSION, "numpy": np.__version__}
