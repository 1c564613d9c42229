"""A session in a run folder: it goes on where an interrupted one was, and writes down now and then where it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meco.core.loop import Loop
from meco.core.memory import DoesNotFit
from meco.errors import MecoError
from meco.files.safetensors import LARGEST_TENSORS_BYTES
from meco.run.calling.caller import Caller
from meco.run.folder.search_state import (
    SearchState,
    can_save_search,
    capture_search,
    fingerprint_inputs,
    make_record,
    restore_search,
    unpack_state,
)
from meco.run.log.answer_digest import AnswerDigest
from meco.run.log.evaluation_log import ConstraintsChanged, EvaluationLog

if TYPE_CHECKING:
    from meco.run.session import Session


class ResumedSearch(NamedTuple):
    """The parts of a session as they were after so many generations."""

    log: EvaluationLog
    caller: Caller
    loop: Loop
    nit: int


@np.errstate(all="ignore")
def resume_search(session: Session, content: bytes) -> ResumedSearch | None:
    """The search of an interrupted run from its saved state; None where it has to be repeated from its log.

    That is so where no state was saved, or one of another run, and where an earlier answer is what this session is to
    stop at.
    """
    state = read_saved_search(session, content)
    if state is None:
        return None
    try:
        log = session.log.fork(session.log.unreplayed.entries[number] for number in range(state.covered))
        if not log.constraints_checked or AnswerDigest().digest_first(log.entries, state.covered) != state.answers:
            return None
        caller = session.make_caller(log, state.batch)
        loop = restore_search(session.request, log, state.record, caller)
    except (
        KeyError,
        ConstraintsChanged,
        DoesNotFit,
        MecoError,
    ):  # an answer is missing, or it is the state of another run
        return None
    return None if caller.would_stop() else ResumedSearch(log, caller, loop, state.generation)


def read_saved_search(session: Session, content: bytes) -> SearchState | None:
    """The state in these bytes; None where it is none, or of another run."""
    state = unpack_state(content)
    return state if state is not None and state.fingerprint == _fingerprint_session(session) else None


def pack_search(session: Session, covered: int, digest_answers: Callable[[], str], batch: int = 0) -> bytes | None:
    """The state of a session's search after `covered` answers, as bytes; digest_answers() is called for one alone.

    None where it is too large or cannot be saved.
    """
    if not can_save_search(session.request):
        return None
    memory = capture_search(session.loop)
    record = None if memory is None else make_record(memory, session.evaluator, session.nit)
    if record is None or sum(part.nbytes for part in record.values()) > LARGEST_TENSORS_BYTES:
        return None
    fingerprint = _fingerprint_session(session)
    content = SearchState(record, covered, session.nit, batch, fingerprint, digest_answers()).to_bytes()
    return content if len(content) <= LARGEST_TENSORS_BYTES else None


def _fingerprint_session(session: Session) -> str:
    """What a saved state of this session must carry: the fingerprint of its recorded inputs, whatever the budget."""
    assert session.folder is not None
    return fingerprint_inputs(session.folder.run_json["inputs"] | {"budget": 0})
