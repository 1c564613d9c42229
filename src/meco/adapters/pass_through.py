"""Errors of a framework that must leave a run at once, where the search would take them for a failed evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class RunLeft(BaseException):
    """Carries an error past the search; no Exception, so that it is not taken for a failed evaluation."""


def leave_run(error: BaseException) -> RunLeft:
    """What to raise inside the function so that run_and_leave() raises this error outside."""
    return RunLeft(error)


def run_and_leave(run: Callable[[], T]) -> T:
    """What run() gives; an error that leave_run() carried out of it is raised as itself."""
    try:
        return run()
    except RunLeft as left:
        raise left.args[0] from left.args[0].__cause__
