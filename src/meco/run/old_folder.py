"""Run folders of meco 0.3: `meco export` and evaluated= read them until 0.5. They cannot be resumed.

run.json holds the inputs. evals.bin is little-endian: a head of 32 bytes (magic, format, zeros), then frames: mark,
kind, bytes of content, content, CRC-32. Kind 1 is a call: number u64, batch u32, fault u16, attempt u16, p, q and
number of its names u32 each, then x [D], f, g [p], h [q] in f64. Kind 2 gives names to the constraints of the calls
after it, as JSON; kind 3 has the standard errors of the call after it: number u64, then f, g and h in f64.
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from meco.errors import DamagedFile
from meco.files.regular_files import read_regular
from meco.files.schema import Large, Maybe, check_form, read_json
from meco.run.answer import Answer, Fault
from meco.run.layout import Answers
from meco.run.scipy_compat import SEED_BITS

MAGIC, FORMAT = b"MECOLOG\n", 3
HEADER = MAGIC + FORMAT.to_bytes(2, "little") + bytes(22)
MARK = b"\xfeMEC"
FRAME = struct.Struct("<4sII")
HEAD = struct.Struct("<QIHHIII")
NUMBER = struct.Struct("<Q")
CALL, NAMES, ERRORS = 1, 2, 3
LARGEST_LOG_BYTES = 1 << 32

Names = tuple[tuple[str, ...], tuple[str, ...]]

RUN_JSON_FORM: dict[str, Any] = {
    "format": int,
    "versions": {"meco": str},
    "inputs": {
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
        "evaluated": Maybe({"count": int, "sha256": str}),
        "tolerances": {"ineq": object, "eq": object, "keep_feasible": object, "names": [str]},
        "on_error": Maybe(str),
        "asynchronous": Maybe(bool),
        "cheap": Maybe({"ineq": [str], "eq": [str]}),
        "noise": Maybe(object),
    },
    "source": Maybe(
        {
            "kind": str,
            "folder": str,
            "options": {"vectorized": bool, "workers": Maybe(int), "timeout": Maybe(float)},
            "evaluated": Maybe(str),
            "cheap": Maybe(str),
        }
    ),
    "function": Maybe(str),  # fingerprint of the function and its constraints
    "threads": Maybe(int),
    "other_threads": Maybe([int]),  # with which the run went on
    "extended_at": Maybe(int),  # answers that were there when the budget was last made larger
}


def read_old_folder(path: Path) -> tuple[dict[str, Any], Answers]:
    """What run.json says, and the answers; damaged records are left out, with a warning on standard error."""
    file = path / "run.json"
    run_json = read_json(file)
    check_form(run_json, {"format": int, "versions": {"meco": str}}, str(file))
    if run_json["format"] != FORMAT:
        raise DamagedFile(f"{path} was made by meco {run_json['versions']['meco']}, whose format is not read")
    check_form(run_json, RUN_JSON_FORM, str(file))
    inputs = run_json["inputs"]
    if not inputs["variables"] or inputs["budget"] < 1:
        raise DamagedFile(f"{file} does not describe a run: its bounds or budget make no sense")
    answers = Answers(len(inputs["tolerances"]["names"]) or None)
    calls, damaged = _read_calls(path / "evals.bin", inputs)
    asynchronous = bool(inputs.get("asynchronous"))
    for number in calls if asynchronous else sorted(calls):
        attempt, x, answer = calls[number]
        answers.enter(number, attempt, x, answer)
    if damaged:
        print(f"meco: {damaged} damaged places of {path} are left out", file=sys.stderr)
    return run_json | {"inputs": inputs | {"evaluated": None}}, answers


def _read_calls(path: Path, inputs: dict[str, Any]) -> tuple[dict[int, tuple[int, np.ndarray, Answer]], int]:
    """Attempt, x and answer of every intact call by number, in the order of the file; and the damaged places."""
    try:
        content = read_regular(path, LARGEST_LOG_BYTES)
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise DamagedFile(f"cannot read {path}: {error.strerror}") from error
    calls: dict[int, tuple[int, np.ndarray, Answer]] = {}
    names: list[Names] = [((), ())]
    errors: dict[int, np.ndarray] = {}
    damaged = int(bool(content) and not content.startswith(HEADER))
    for kind, block in _split_frames(content):
        if kind == ERRORS and len(block) >= NUMBER.size and len(block) % 8 == 0:
            errors[NUMBER.unpack_from(block)[0]] = np.frombuffer(block, dtype="<f8", offset=NUMBER.size).astype(float)
            continue
        found = _decode_names(block) if kind == NAMES else None
        call = _decode_call(block, names, inputs) if kind == CALL else None
        if found is not None:
            names += [] if found in names else [found]
        elif call is None:
            damaged += 1
        else:
            number, attempt, x, answer = call
            se = errors.get(number)
            fits = se is not None and se.size == 1 + answer.g.size + answer.h.size and np.isfinite(se).all()
            calls.setdefault(number, (attempt, x, answer._replace(se=np.abs(se)) if fits else answer))  # type: ignore[arg-type]
    return calls, damaged


def _decode_call(
    content: bytes, names: list[Names], inputs: dict[str, Any]
) -> tuple[int, int, np.ndarray, Answer] | None:
    """Number, attempt, x and answer in a call's content; None where its names were lost or it is none of this run."""
    try:
        number, _, fault, attempt, p, q, named = HEAD.unpack_from(content)
        values = np.frombuffer(content, dtype="<f8", offset=HEAD.size).astype(np.float64)
        kind, known = Fault(fault), names[named]
    except (struct.error, ValueError, IndexError):
        return None
    dim = values.size - 1 - p - q
    g_names, h_names = known if named or dim < 0 else (("",) * p, ("",) * q)
    if dim != len(inputs["variables"]) or number >= inputs["budget"] or (len(g_names), len(h_names)) != (p, q):
        return None
    x, f, g, h = values[:dim], float(values[dim]), values[dim + 1 : dim + 1 + p], values[dim + 1 + p :]
    return number, attempt, x, Answer(f, g, h, g_names, h_names, kind)


def _decode_names(content: bytes) -> Names | None:
    """The names of constraints in a frame; None where these are no names."""
    try:
        g_names, h_names = json.loads(content)
        found = tuple(g_names), tuple(h_names)
    except (ValueError, TypeError, RecursionError):
        return None
    return found if all(isinstance(name, str) for part in found for name in part) else None


def _split_frames(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and content of each intact frame, in order; (0, b"") for a damaged stretch."""
    at = len(HEADER)
    while at < len(content):
        mark, kind, size = FRAME.unpack_from(content, at) if at + FRAME.size <= len(content) else (b"", 0, 0)
        end = at + FRAME.size + size
        if mark == MARK and content[end : end + 4] == struct.pack("<I", zlib.crc32(content[at:end])):
            yield kind, content[at + FRAME.size : end]
            at = end + 4
        else:
            yield 0, b""
            at = content.find(MARK, at + 1)
            if at < 0:
                return
