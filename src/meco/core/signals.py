"""Signals, heard in one place: noted when they come, and acted on between two steps."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
REPEAT_SECONDS = 0.3  # seconds within which a second signal is the first one again
EXIT_SECONDS = 5.0  # seconds for which nothing disturbs the way out that a signal has begun
_heard_at = float("-inf")  # when a signal was last noted


@contextmanager
def note_signals(
    signals: Sequence[int] = STOP_SIGNALS, message: str = "", pending: Callable[[], bool] = lambda: True
) -> Iterator[Callable[[], bool]]:
    """The first signal is only noted, for work that looks at the note between two steps; a later one interrupts.

    Gives a function that tells whether one came. message is written to standard error when the first one comes. Only
    while that one is pending, not acted on yet, can a later one do more, and not at once: `timeout` and terminals send
    the same signal twice.
    """
    heard: list[float] = []

    def note(number: int, frame: Any) -> None:
        global _heard_at
        heard.append(time.monotonic())
        _heard_at = heard[0]
        if len(heard) > 1:
            if heard[-1] - heard[0] > REPEAT_SECONDS and pending():
                raise KeyboardInterrupt
        elif message:
            with suppress(OSError):
                os.write(2, f"{message}\n".encode())

    with _install_handler(signals, note):
        yield lambda: bool(heard)


@contextmanager
def raise_on_signals(error: Callable[[int], BaseException]) -> Iterator[None]:
    """Ctrl-C and SIGTERM both raise an error made of the signal's number, once.

    A terminal and most job schedulers send the signal to every process of the group, and
    `timeout` even twice to the first: what comes later must not disturb the way out.
    """

    def stop(number: int, frame: Any) -> None:
        for each in STOP_SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise error(number)

    with _install_handler(STOP_SIGNALS, stop):
        yield


@contextmanager
def treat_sigterm_as_interrupt() -> Iterator[None]:
    """SIGTERM does what Ctrl-C does, also where Ctrl-C is ignored, as in the background.

    Where a signal has already ended the work, the result is on its way out, and later signals leave it alone:
    this is for a command, after which its process ends.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    heard = STOP_SIGNALS if usual else (signal.SIGTERM,)
    try:
        with _install_handler(heard, _interrupt):
            yield
    finally:
        if time.monotonic() - _heard_at <= EXIT_SECONDS and threading.current_thread() is threading.main_thread():
            for number in heard:
                signal.signal(number, signal.SIG_IGN)


def _interrupt(number: int, frame: Any) -> None:
    """A handler that interrupts, unless an earlier signal has already begun to end the work."""
    global _heard_at
    if time.monotonic() - _heard_at > EXIT_SECONDS:
        _heard_at = time.monotonic()
        raise KeyboardInterrupt


def interrupt_signals() -> tuple[int, ...]:
    """Signals that would raise KeyboardInterrupt here and now: what an application handles itself is left to it."""
    if threading.current_thread() is not threading.main_thread():
        return ()
    return tuple(s for s in STOP_SIGNALS if signal.getsignal(s) in (signal.default_int_handler, _interrupt))


@contextmanager
def _install_handler(signals: Sequence[int], handler: Callable[[int, Any], None]) -> Iterator[None]:
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
