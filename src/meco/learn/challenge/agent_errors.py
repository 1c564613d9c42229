"""Errors of agents, which are not ours: whose they are, and the line of their file where they happened."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meco.errors import InvalidInput, MecoError

PACKAGE = Path(__file__).resolve().parents[2]


@contextmanager
def blame_agent(name: str) -> Iterator[None]:
    """Inside the block what an agent raises becomes InvalidInput, which names the agent, its file and line.

    What we say of it ourselves stays as it is.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, MecoError) and _find_line(error) is None:
            raise
        said = str(error) if isinstance(error, MecoError) else f"{type(error).__name__}: {error}"
        where = _find_line(error)
        raise InvalidInput(f"the agent {name} failed{f' ({where})' if where else ''}: {said}") from error


def _find_line(error: BaseException) -> str | None:
    """The last line of a file outside this package where an error was on its way: "mine.py:3, in decide"."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if frame.lineno is not None and not frame.filename.startswith("<") and PACKAGE not in file.resolve().parents:
            return f"{file.name}:{frame.lineno}, in {frame.name}"
    return None
