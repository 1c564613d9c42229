"""A session in a run folder: it goes on where an interrupted one stood, and notes now and then where it stands."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from meco.blackbox.evaluation_log import EvaluationLog, LayoutChanged
from meco.blackbox.runfolder import RunFolder
from meco.blackbox.search_state import (
    AnswerDigest,
    SearchState,
    belonging,
    brought_back,
    packed_search,
    tell_again,
    unpacked,
)
from meco.blackbox.session import Session
from meco.engines.memory import DoesNotFit
from meco.errors import MecoError

NEAR = 1e-6  # of a variable's range, within which another number of threads proposes the same point


def keep(session: Session, folder: RunFolder) -> None:
    """Keep a session in a folder, and take from it what an interrupted run left there."""
    session.keep_in(folder)
    warning = folder.other_threads()
    if warning:
        session.caller.warn(warning)
        session.notes.append(warning)
        session.log.near = NEAR * (session.request.upper - session.request.lower)
    belongs = belonging(folder.facts["inputs"])
    state = unpacked(folder.state())
    stood = state if state is not None and state.belongs == belongs else None
    if session.facts.get("asynchronous"):  # it goes on by itself: its answers are told in the order recorded
        free: Any = session
        free.stands, free.state = stood, partial(free.stands_at, belongs)
        return
    if stood is not None:
        go_on(session, stood)
    session.state = partial(_state, session, belongs, AnswerDigest())


def _state(session: Session, belongs: str, answers: AnswerDigest) -> bytes | None:
    """Where the search of a session stands; nothing while the constraints are not settled, or cannot be saved."""
    log = session.log
    if session.anew or not log.reviewed or len(log) != log.planned:
        return None
    digest = answers.of(log.entries, len(log))
    return packed_search(
        session.evaluator, session.engine, session.nit, len(log), session.caller.batch, belongs, digest
    )


@np.errstate(all="ignore")
def go_on(session: Session, state: SearchState) -> bool:
    """Bring a session where the state says; where that is not possible it stays as it is, and repeats the search."""
    past, log = session.log.past, EvaluationLog(session.request.budget, session.log.total)
    if session.log.declared:
        log.declare(*session.log.counts)
    try:
        tell_again(log, [past[number] for number in range(state.covered)])
        if not log.reviewed or AnswerDigest().of(log.entries, state.covered) != state.answers:
            return False
        evaluator, engine = brought_back(session.request, log, state.record)
    except (KeyError, LayoutChanged, DoesNotFit, MecoError):  # an answer is missing, or it is the state of another run
        return False
    caller = session.caller
    watched, known = (caller.watched, caller.strict), vars(session.log).copy()
    session.log.adopt(log)
    if caller.would_end():  # an earlier answer is what this session is to stop at
        caller.watched, caller.strict = watched
        vars(session.log).update(known)
        return False
    evaluator.log, evaluator.call = session.log, session.call
    session.evaluator, session.engine, session.nit, caller.batch = evaluator, engine, state.generation, state.batch
    caller.charge = evaluator.charge
    session.between = True
    return True
