"""Where a search stands after a generation, so that a resumed one goes on from there and is not repeated.

The state is a cache: evaluations are never in it, and where it is missing, damaged, of other versions or of other
answers than the log has, the search is repeated from the log, as it is for methods that cannot be saved.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from meco.blackbox.evaluation_log import Entry, EvaluationLog, tell_batch
from meco.blackbox.request import Request
from meco.blackbox.result import versions
from meco.blackbox.session import WarmStartEvaluator, prepare
from meco.engines.engine import Engine
from meco.engines.memory import DoesNotFit, Record, can_be_saved, captured, flattened, put_back
from meco.errors import DamagedFile
from meco.files.safetensors import LARGEST_FILE, parse_tensors, write_tensors

TRACE = "trace."
SEAL = hashlib.sha256().digest_size
HEAD = struct.Struct("<QIHHd")


class SearchState(NamedTuple):
    """The record of a search that was told the first `covered` answers of a run, and what it belongs to."""

    record: Record
    covered: int
    generation: int
    batch: int  # of the next calls
    belongs: str  # digest of what the search depends on: the inputs, and the versions of libraries
    answers: str  # digest of the answers that it was told

    def packed(self) -> bytes:
        """One block of bytes under a digest: the safetensors layout."""
        facts = {key: str(value) for key, value in self._asdict().items() if key != "record"}
        content = write_tensors(self.record, facts, exact=True)
        return hashlib.sha256(content).digest() + content


def unpacked(content: bytes) -> SearchState | None:
    """The state in a block of bytes, or None where it is none: then the search is repeated."""
    if not SEAL < len(content) <= LARGEST_FILE or hashlib.sha256(content[SEAL:]).digest() != content[:SEAL]:
        return None
    try:
        record, facts = parse_tensors(content[SEAL:], "the state", exact=True)
        covered, generation, batch = (max(0, int(facts[key])) for key in ("covered", "generation", "batch"))
        return SearchState(record, covered, generation, batch, facts["belongs"], facts["answers"])
    except (DamagedFile, ValueError, KeyError):
        return None


def belonging(inputs: Mapping[str, Any]) -> str:
    """A digest of all that a search depends on beside its answers."""
    text = json.dumps([inputs, versions()], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


class AnswerDigest:
    """A digest of the first answers of a run, made as they come."""

    def __init__(self) -> None:
        self._total, self._count = hashlib.sha256(), 0

    def of(self, entries: Mapping[int, Entry], count: int) -> str:
        """The digest of answers 0 to count - 1."""
        parts = []
        for number in range(self._count, count):
            e = entries[number]
            parts += [HEAD.pack(number, e.batch, e.attempt, e.fault, e.f), e.x.tobytes(), e.g.tobytes(), e.h.tobytes()]
        self._total.update(b"".join(parts))
        self._count = max(count, self._count)
        return self._total.hexdigest()


# -- a search as a record, and back ------------------------------------------------------------------


def remembered(evaluator: WarmStartEvaluator, engine: Engine) -> Any:
    """What the search knows between a tell and the next ask, without copies; None where that cannot be saved."""
    if not can_be_saved(engine):
        return None
    return captured({"engine": engine, "evaluator": evaluator, "streams": engine.task.rng})


def as_record(memory: Any, evaluator: WarmStartEvaluator, generations: int) -> Record | None:
    """The same as arrays, with the trace of so many generations; None where something in it is no array."""
    try:
        record = flattened(memory)
    except (DoesNotFit, TypeError, ValueError):
        return None
    return record | {TRACE + name: rows[:generations] for name, rows in evaluator.trace().items()}


def packed_search(
    evaluator: WarmStartEvaluator, engine: Engine, nit: int, covered: int, batch: int, belongs: str, answers: str
) -> bytes | None:
    """The state of a search after so many generations and answers; nothing where it is too large or cannot be saved."""
    memory = remembered(evaluator, engine)
    record = None if memory is None else as_record(memory, evaluator, nit)
    if record is None:
        return None
    content = SearchState(record, covered, nit, batch, belongs, answers).packed()
    return content if len(content) <= LARGEST_FILE else None


def brought_back(request: Request, log: EvaluationLog, record: Record) -> tuple[WarmStartEvaluator, Engine]:
    """The search of a record, on a log that holds the answers it was told; DoesNotFit where it is of another search.

    A rehearsal of one generation, in which every value is 0, gives everything its place.
    """

    def zeros(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        p, q = log.counts
        return np.zeros(len(x)), np.zeros((len(x), p)), np.zeros((len(x), q))

    evaluator, engine = prepare(request, log, zeros)
    if not can_be_saved(engine):
        raise DoesNotFit("the method cannot be saved")
    engine.run(evaluator, lambda: True)
    trace = {name.removeprefix(TRACE): rows for name, rows in record.items() if name.startswith(TRACE)}
    _check_trace(trace, evaluator.trace())
    rest = {name: rows for name, rows in record.items() if not name.startswith(TRACE)}
    put_back({"engine": engine, "evaluator": evaluator, "streams": engine.task.rng}, rest)
    evaluator.take_trace(trace)
    return evaluator, engine


def _check_trace(trace: Record, like: Mapping[str, np.ndarray]) -> None:
    forms = {name: (rows.dtype, rows.shape[1:]) for name, rows in trace.items()}
    lengths = {len(rows) if rows.ndim else 0 for rows in trace.values()}
    if forms != {name: (rows.dtype, rows.shape[1:]) for name, rows in like.items()} or len(lengths) != 1:
        raise DoesNotFit("the trace is that of another method")


def tell_again(log: EvaluationLog, entries: Iterable[Entry]) -> None:
    """Enter the first answers of a run as it was told them; a log that holds none yet."""
    for _, batch in groupby(entries, key=lambda entry: entry.batch):
        tell_batch(log, batch)
