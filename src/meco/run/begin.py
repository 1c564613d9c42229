"""What a run begins with: no answers, and the search that its request names."""

from __future__ import annotations

from meco.core.capabilities import OwnLoop
from meco.methods import METHODS
from meco.run.equalities import EqualityDefaults
from meco.run.generations import Generations
from meco.run.layout import Answers
from meco.run.request import Request
from meco.run.search import Search


def make_answers(request: Request, *, asynchronous: bool = False) -> Answers:
    """An empty record of answers, with what the request says of their constraints."""
    equalities = EqualityDefaults(request.known, by_arrival=asynchronous)
    answers = Answers(len(request.constraint_names) or None, equalities)
    if request.known is not None:
        answers.declare(request.known.g.shape[1], request.known.h.shape[1])
    return answers


def make_search(request: Request, answers: Answers, *, asynchronous: bool = False) -> Search:
    """The search of a request: around an engine, or a library that calls the function itself."""
    if asynchronous:
        from meco.run.async_engine import AsyncEngine

        return AsyncEngine(request, answers)
    if OwnLoop in METHODS[request.method].offers:
        from meco.run.library import LibrarySearch

        return LibrarySearch(request, answers)
    return Generations(request, answers)
