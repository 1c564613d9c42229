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
NEVER = float("-inf")
_way_out_begun = NEVER  # when a signal last ended work


@contextmanager
def note_signals(
    signals: Sequence[int] = STOP_SIGNALS, message: str = "", pending: Callable[[], bool] = lambda: True
) -> Iterator[Callable[[], bool]]:
    """The first signal is only noted, for work that looks at the note between two steps; a later one interrupts.

    Gives a function that tells whether one came. message is written to standard error when the first one comes. Only
    while that one is pending, not acted on yet, can a later one do more, and not at once: `timeout` and terminals send
    the same signal twice. For the same reason the end of the block waits until such a second one would have come.
    """
    heard: list[float] = []
    ended = False

    def note(number: int, frame: Any) -> None:
        heard.append(time.monotonic())
        if len(heard) > 1:
            if heard[-1] - heard[0] > REPEAT_SECONDS and pending() and not ended:
                raise KeyboardInterrupt
        elif message:
            with suppress(OSError):
                os.write(2, f"{message}\n".encode())

    with _install_handler(signals, note):
        try:
            yield lambda: bool(heard)
        finally:
            ended = True
            if heard:
                _begin_way_out()
                time.sleep(max(0.0, heard[0] + REPEAT_SECONDS - time.monotonic()))


@contextmanager
def raise_on_signals(error: Callable[[int], BaseException]) -> Iterator[None]:
    """Inside the block Ctrl-C and SIGTERM raise error(number of the signal), once; later ones are ignored.

    A terminal and most job schedulers send the signal to every process of the group, and `timeout` even twice to
    the first: what comes later must not disturb the way out.
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
    global _way_out_begun
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    _way_out_begun = NEVER  # whatever ended an earlier command
    with _install_handler(STOP_SIGNALS if usual else (signal.SIGTERM,), _interrupt, lambda: _way_out_begun > NEVER):
        yield


def _interrupt(number: int, frame: Any) -> None:
    """Raise KeyboardInterrupt, unless an earlier signal has already begun to end the work."""
    if time.monotonic() - _way_out_begun > EXIT_SECONDS:
        _begin_way_out()
        raise KeyboardInterrupt


def _begin_way_out() -> None:
    """Remember that a signal ends the work from now on."""
    global _way_out_begun
    _way_out_begun = time.monotonic()


def interrupt_signals() -> tuple[int, ...]:
    """Signals that would raise KeyboardInterrupt here and now: what an application handles itself is left to it."""
    if threading.current_thread() is not threading.main_thread():
        return ()
    return tuple(s for s in STOP_SIGNALS if signal.getsignal(s) in (signal.default_int_handler, _interrupt))


@contextmanager
def _install_handler(
    signals: Sequence[int], handler: Callable[[int, Any], None], ignore_later: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """Handle signals so inside the block; nothing in another thread than the main one.

    Afterwards each signal has its handler of before, or none where ignore_later() says so: at once, without a moment in
    which the one of before could hear it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {}
    try:
        for number in signals:  # a signal may interrupt this too
            before[number] = signal.getsignal(number)
            signal.signal(number, handler)
        yield
    finally:
        ignored = ignore_later()
        for number, old in before.items():
            signal.signal(number, signal.SIG_IGN if ignored else old)
