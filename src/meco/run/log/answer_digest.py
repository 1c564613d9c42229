"""A digest of the answers that a search was told: a saved state belongs to them."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping

from meco.run.log.evaluation_log import Entry

HEAD = struct.Struct("<QIHHd")


class AnswerDigest:
    """A digest of the first answers of a run, made as they come."""

    def __init__(self) -> None:
        self._total, self._count = hashlib.sha256(), 0

    def digest_first(self, entries: Mapping[int, Entry], count: int) -> str:
        """The digest of answers 0 to count - 1, of which only those new since the last time are read."""
        parts = []
        for number in range(self._count, count):
            e = entries[number]
            parts += [HEAD.pack(number, e.batch, e.attempt, e.fault, e.f), e.x.tobytes(), e.g.tobytes(), e.h.tobytes()]
        self._total.update(b"".join(parts))
        self._count = max(count, self._count)
        return self._total.hexdigest()
