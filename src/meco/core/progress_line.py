"""A line that tells how far something is: rewritten in place on a terminal, written now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class ProgressLine:
    """On standard error unless out is given; every is the least seconds between two lines, less on a terminal."""

    def __init__(self, every: float, live_every: float = 0.2, out: TextIO | None = None) -> None:
        """Seconds between lines: live_every on a terminal, every elsewhere; the clock starts now."""
        self._out = sys.stderr if out is None else out
        self.live, self._drawn = self._out.isatty(), False
        self._wait = live_every if self.live else every
        self._begun = self._shown = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._begun

    @property
    def due(self) -> bool:
        """Whether it is time for another line."""
        return time.monotonic() - self._shown >= self._wait

    def show(self, text: str) -> None:
        """Write the line, over the last one on a terminal; due counts from now."""
        self._shown, self._drawn = time.monotonic(), True
        self._write(f"\r\x1b[K{text}" if self.live else f"{text}\n")

    def end(self) -> None:
        """Leave the last line where it is: what follows begins a new one. Nothing off a terminal."""
        self._finish("\n")

    def clear(self) -> None:
        """Take the last line away. Nothing off a terminal."""
        self._finish("\r\x1b[K")

    def _finish(self, text: str) -> None:
        """Write text, which ends the line, if one stands on a terminal."""
        if self.live and self._drawn:
            self._write(text)
            self._drawn = False

    def _write(self, text: str) -> None:
        """Write text and flush."""
        self._out.write(text)
        self._out.flush()


def format_duration(seconds: float) -> str:
    """Seconds, 0 or more, as 0:42, 12:05 or 3:07:00."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
