"""Batches of runs that a challenge has made already, in a file, so that a stopped one goes on where it was."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Batch(NamedTuple):
    """f, nu and feasible of its runs [3, B], and the seconds that each way took to decide, by way."""

    found: np.ndarray
    seconds: dict[str, float]


class KeptBatches:
    """Batches by a digest of everything that they depend on: a line of JSON each, appended as they are made.

    Without a file nothing is kept. A line that was torn, or that says something else, is a batch that was not made.
    """

    def __init__(self, file: Path | None = None) -> None:
        """Read what the file holds, where there is one; None keeps batches in memory alone."""
        self._file = file
        self._known: dict[str, Batch] = {}
        self.reused = 0
        if file is not None and file.is_file():
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                self._read(line)

    def _read(self, line: str) -> None:
        """Remember one line of the file, where it is whole; others are passed over."""
        try:
            row = json.loads(line)
            found = np.array(row["found"], dtype=np.float64)
            seconds = {str(way): float(spent) for way, spent in row["seconds"].items()}
            key = str(row["key"])
        except (ValueError, TypeError, KeyError, AttributeError):
            return
        if found.ndim == 2 and len(found) == 3:
            self._known[key] = Batch(found, seconds)

    def find(self, key: str, runs: int) -> Batch | None:
        """The batch of so many runs, counted as reused; None where it was not made yet."""
        batch = self._known.get(key)
        if batch is None or batch.found.shape[1] != runs:
            return None
        self.reused += runs
        return batch

    def add(self, key: str, batch: Batch) -> None:
        """Keep a batch that was made; it is appended to the file at once, whose folder is made."""
        self._known[key] = batch
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            row = {"key": key, "found": batch.found.tolist(), "seconds": batch.seconds}
            with self._file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")


def digest_facts(*facts: Any) -> str:
    """A sha256 of facts that JSON can hold: what a batch is known by."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
