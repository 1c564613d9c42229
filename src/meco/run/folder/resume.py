"""A session in a run folder: it goes on where an interrupted one was, and writes down now and then where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meco.core.loop import Loop
from meco.core.memory import DoesNotFit
from meco.errors import MecoError
from meco.files.safetensors import LARGEST_TENSORS_BYTES
from meco.run.calling.caller import Caller
from meco.run.folder.search_state import (
    SearchState,
    as_record,
    can_be_saved,
    fingerprint,
    remembered,
    restored,
    unpacked,
)
from meco.run.log.answer_digest import AnswerDigest
from meco.run.log.evaluation_log import EvaluationLog, LayoutChanged

if TYPE_CHECKING:
    from meco.run.session import Session


@np.errstate(all="ignore")
def resumed(session: Session, content: bytes) -> tuple[EvaluationLog, Caller, Loop, int] | None:
    """The log, caller, search and generations of an interrupted run; None where it has to be repeated from its log.

    That is so where no state was saved, or one of another run, and where an earlier answer is what this session is to
    stop at.
    """
    state = saved_search(session, content)
    if state is None:
        return None
    try:
        log = session.log.fork(session.log.past[number] for number in range(state.covered))
        if not log.reviewed or AnswerDigest().of(log.entries, state.covered) != state.answers:
            return None
        caller = session.make_caller(log, state.batch)
        loop = restored(session.request, log, state.record, caller)
    except (KeyError, LayoutChanged, DoesNotFit, MecoError):  # an answer is missing, or it is the state of another run
        return None
    return None if caller.would_end() else (log, caller, loop, state.generation)


def saved_search(session: Session, content: bytes) -> SearchState | None:
    """The saved state, where it is one of this very run."""
    state = unpacked(content)
    return state if state is not None and state.fingerprint == _fingerprint(session) else None


def state_of(session: Session, covered: int, answers: str, batch: int = 0) -> bytes | None:
    """Where a session's search is after so many answers; nothing where it is too large or cannot be saved."""
    if not can_be_saved(session.request):
        return None
    memory = remembered(session.loop)
    record = None if memory is None else as_record(memory, session.evaluator, session.nit)
    if record is None:
        return None
    content = SearchState(record, covered, session.nit, batch, _fingerprint(session), answers).packed()
    return content if len(content) <= LARGEST_TENSORS_BYTES else None


def _fingerprint(session: Session) -> str:
    assert session.folder is not None
    return fingerprint(session.folder.facts["inputs"])
