"""Signals, heard in one place: noted when they come, and acted on between two steps."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def noted(signals: Sequence[int] = STOPPING, say: str = "") -> Iterator[Callable[[], bool]]:
    """The first signal is only noted, for work that looks at the note between two steps; a second one interrupts.

    say is written to standard error when the first one comes.
    """
    heard: list[int] = []

    def note(number: int, frame: Any) -> None:
        heard.append(number)
        if len(heard) > 1:
            raise KeyboardInterrupt
        if say:
            with suppress(OSError):
                os.write(2, f"{say}\n".encode())

    with _handled(signals, note):
        yield lambda: bool(heard)


@contextmanager
def raising(error: Callable[[int], BaseException]) -> Iterator[None]:
    """Ctrl-C and SIGTERM both raise an error made of the signal's number, once.

    A terminal and most job schedulers send the signal to every process of the group, and
    `timeout` even twice to the first: what comes later must not disturb the way out.
    """

    def stop(number: int, frame: Any) -> None:
        for each in STOPPING:
            signal.signal(each, signal.SIG_IGN)
        raise error(number)

    with _handled(STOPPING, stop):
        yield


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM does whatever Ctrl-C does at that moment."""

    def interrupt(number: int, frame: Any) -> None:
        now = signal.getsignal(signal.SIGINT)
        if callable(now):
            now(number, frame)

    with _handled((signal.SIGTERM,), interrupt):
        yield


def ours_to_handle() -> bool:
    """Whether Ctrl-C is still Python's own: an application that handles it itself is left alone."""
    here = threading.current_thread() is threading.main_thread()
    return here and signal.getsignal(signal.SIGINT) is signal.default_int_handler


@contextmanager
def _handled(signals: Sequence[int], handler: Callable[[int, Any], None]) -> Iterator[None]:
    """A handler while the block lasts; only the main thread can hear, elsewhere nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
