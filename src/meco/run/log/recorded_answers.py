"""What an interrupted run was told and its continuation has not asked for yet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from meco.errors import InvalidInput

if TYPE_CHECKING:
    from meco.run.log.evaluation_log import Entry


class RecordedAnswers:
    """Recorded entries by number, each given back once; empty once all of them were, or where there was no such run.

    same_within [D]: how far apart points may lie that count as the same; None: their bits must be equal.
    """

    def __init__(self, entries: Iterable[Entry] = (), same_within: np.ndarray | None = None) -> None:
        self.entries = {entry.number: entry for entry in entries}
        self.same_within = same_within

    def __len__(self) -> int:
        return len(self.entries)

    def pop(self, number: int, x: np.ndarray) -> Entry | None:
        """Take out the entry of this number; None where there is none.

        Raises InvalidInput where it was recorded at another point than x [D].
        """
        entry = self.entries.pop(number, None)
        if entry is None:
            return None
        same = entry.x.tobytes() == x.tobytes() or (
            self.same_within is not None and (abs(entry.x - x) <= self.same_within).all()
        )
        if not same:
            raise InvalidInput(
                f"the run's log does not fit: evaluation {number} was made at another point than this search asks for "
                "(other inputs, or another version of a library or number of its threads); start a new run with "
                "evaluated=<the run's folder>"
            )
        return entry

    def without(self, told: Iterable[Entry]) -> RecordedAnswers:
        """Another record that lacks these entries; this one stays as it is."""
        gone = {entry.number for entry in told}
        rest = (entry for number, entry in self.entries.items() if number not in gone)
        return RecordedAnswers(rest, self.same_within)
