"""Event logs as tests need them: cut, compared, and made by workers in simulated time."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

from meco.run.log import FILE_NAME, encode, read_events


def events_of(folder: Path) -> list[list[Any]]:
    """The events of a run folder."""
    return read_events(folder / FILE_NAME)[0]


def what_happened(folder: Path) -> list[list[Any]]:
    """Asks, answers, known points and budgets: all that a search depends on."""
    kept = []
    for kind, *content in events_of(folder):
        if kind == "tell":
            kept.append([kind, content[0], *content[2:]])  # without seconds
        elif kind in ("ask", "known", "budget"):
            kept.append([kind, *content])
    return kept


def cut_log(source: Path, target: Path, events: int, torn: bytes = b"") -> None:
    """A folder whose log ends after so many events of another one, as after a kill in the middle of a write."""
    target.mkdir(parents=True)
    lines = [encode(event) for event in events_of(source)[:events]]
    (target / FILE_NAME).write_bytes(b"".join(lines) + torn)


class SimulatedWorkers:
    """Workers in simulated time: of the calls under way that with the least hash of its number ends first."""

    chunks, streams = 1, True

    def __init__(self, call: Any, width: int) -> None:
        self.call, self.width = call, width
        self.out: dict[int, np.ndarray] = {}

    @property
    def free(self) -> int:
        return self.width - len(self.out)

    def submit(self, number: int, points: np.ndarray) -> None:
        self.out[number] = points

    def collect(self, stopping: Any) -> list[Any]:
        stopping.raise_if_over()
        number = min(self.out, key=lambda n: random.Random(n).random())
        return [(number, *self.call(number, self.out.pop(number)))]

    def close(self) -> None:
        pass
