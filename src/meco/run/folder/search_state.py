"""The state of a search after a generation, so that a resumed one goes on from there and is not repeated.

The state is a cache: evaluations are never in it, and where it is missing, damaged, of other versions or of other
answers than the log has, the search is repeated from the log, as it is for methods that cannot be saved.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from meco.core.capabilities import SavedState, find_capability
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.memory import DoesNotFit, Record, capture_state, flatten_state, restore_state
from meco.errors import DamagedFile
from meco.files.safetensors import LARGEST_TENSORS_BYTES, pack_tensors, parse_tensors
from meco.methods import METHODS
from meco.run.engine_search import make_search
from meco.run.function_source import PointCaller, ValueLookup
from meco.run.log.evaluation_log import EvaluationLog
from meco.run.make_result import library_versions
from meco.run.request import Request

TRACE = "trace."
DIGEST_BYTES = hashlib.sha256().digest_size


class SearchState(NamedTuple):
    """The record of a search that was told the first `covered` answers of a run, and what it belongs to."""

    record: Record
    covered: int
    generation: int
    batch: int  # of the next calls
    fingerprint: str  # digest of what the search depends on: the inputs, and the versions of libraries
    answers: str  # digest of the answers that it was told

    def to_bytes(self) -> bytes:
        """One block of bytes for unpack_state(): a digest, then the safetensors layout."""
        facts = {key: str(value) for key, value in self._asdict().items() if key != "record"}
        content = pack_tensors(self.record, facts, exact=True)
        return hashlib.sha256(content).digest() + content


def unpack_state(content: bytes) -> SearchState | None:
    """The state in a block of bytes, or None where it is none: then the search is repeated."""
    if (
        not DIGEST_BYTES < len(content) <= LARGEST_TENSORS_BYTES
        or hashlib.sha256(content[DIGEST_BYTES:]).digest() != content[:DIGEST_BYTES]
    ):
        return None
    try:
        record, facts = parse_tensors(content[DIGEST_BYTES:], "the state", exact=True)
        covered, generation, batch = (max(0, int(facts[key])) for key in ("covered", "generation", "batch"))
        return SearchState(record, covered, generation, batch, facts["fingerprint"], facts["answers"])
    except (DamagedFile, ValueError, KeyError):
        return None


def fingerprint_inputs(inputs: Mapping[str, Any]) -> str:
    """A digest of all that a search depends on beside its answers: a saved state of another one is not used."""
    text = json.dumps([inputs, library_versions()], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


# -- a search as a record, and back ------------------------------------------------------------------


def capture_search(loop: Loop) -> Any:
    """What the search knows between a tell and the next ask, without copies; None where that cannot be saved."""
    saved = find_capability(loop.engine, SavedState)
    if saved is None:
        return None
    return capture_state({"engine": saved.part, "evaluator": loop.evaluator, "streams": loop.engine.task.rng})


def make_record(memory: Any, evaluator: Evaluator, generations: int) -> Record | None:
    """What capture_search() gave as arrays by name, with the trace of so many generations.

    None where something in it is no array.
    """
    try:
        record = flatten_state(memory)
    except (DoesNotFit, TypeError, ValueError):
        return None
    trace = evaluator.history.collect_trace()
    return record | {TRACE + name: rows[:generations] for name, rows in trace.items()}


def can_save_search(request: Request) -> bool:
    """Whether the method's record says that its search can be saved."""
    return SavedState in METHODS[request.method].offers


def restore_search(request: Request, log: EvaluationLog, record: Record, call: PointCaller) -> Loop:
    """The search of a record, on a log that holds the answers it was told; DoesNotFit where it is of another search.

    A rehearsal of one generation, in which every value is 0, gives everything its place.
    """

    def zeros(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f, g and h of points [n, D], all 0."""
        p, q = log.counts
        return np.zeros(len(x)), np.zeros((len(x), p)), np.zeros((len(x), q))

    if not can_save_search(request):
        raise DoesNotFit("the method cannot be saved")
    rehearsed = make_search(request, log, ValueLookup(zeros))
    rehearsed.run(lambda: True)
    engine, evaluator = rehearsed.engine, rehearsed.evaluator
    trace = {name.removeprefix(TRACE): rows for name, rows in record.items() if name.startswith(TRACE)}
    _check_trace(trace, evaluator.history.collect_trace())
    rest = {name: rows for name, rows in record.items() if not name.startswith(TRACE)}
    saved = find_capability(engine, SavedState)
    assert saved is not None
    restore_state({"engine": saved.part, "evaluator": evaluator, "streams": engine.task.rng}, rest)
    evaluator.history.replace_trace(trace)
    source: Any = evaluator.source  # a FunctionSource, as make_search gave it
    return Loop(engine, evaluator.with_source(source.with_call(call)))


def _check_trace(trace: Record, like: Mapping[str, np.ndarray]) -> None:
    """DoesNotFit for a trace of other names or shapes than this search makes."""
    forms = {name: (rows.dtype, rows.shape[1:]) for name, rows in trace.items()}
    lengths = {len(rows) if rows.ndim else 0 for rows in trace.values()}
    if forms != {name: (rows.dtype, rows.shape[1:]) for name, rows in like.items()} or len(lengths) != 1:
        raise DoesNotFit("the trace is that of another method")
