"""Where a search stood after a generation: a small file that a resumed search is held to."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from meco.engines.engine import Engine
from meco.files.atomic import write_bytes
from meco.files.plain import read_plain
from meco.files.safetensors import LARGEST_FILE, parse_tensors, write_tensors


class Snapshot(NamedTuple):
    """Generations and calls made, where the random streams stand, and the surviving population."""

    generation: int
    nfev: int
    streams: str
    population: dict[str, np.ndarray]  # x [1, N, D] and f [1, N]; empty where the method keeps none

    @classmethod
    def of(cls, engine: Engine, generation: int, nfev: int) -> Snapshot:
        """The present state of a search."""
        population = engine.population
        kept = {} if population is None else {"x": population.x, "f": population.ev.f}
        return cls(generation, nfev, engine.task.rng.state(), kept)

    def difference(self, other: Snapshot) -> str | None:
        """The first thing in which another snapshot differs, to the last bit."""
        for name in ("generation", "nfev", "streams"):
            if getattr(self, name) != getattr(other, name):
                return name
        for name in {**self.population, **other.population}:
            mine, theirs = self.population.get(name), other.population.get(name)
            if mine is None or theirs is None or not np.array_equal(mine, theirs, equal_nan=True):
                return f"population ({name})"
        return None

    def write(self, path: Path) -> None:
        """A file that is complete at any moment: the safetensors layout, with a checksum."""
        texts = {"generation": str(self.generation), "nfev": str(self.nfev), "streams": self.streams}
        content = write_tensors(self.population, texts)
        write_bytes(path, zlib.crc32(content).to_bytes(4, "little") + content)


def read_snapshot(path: Path) -> Snapshot | None:
    """The snapshot in a file, or None when it is missing or damaged: the log is enough to resume."""
    try:
        content = read_plain(path, LARGEST_FILE)
        if zlib.crc32(content[4:]) != int.from_bytes(content[:4], "little"):
            return None
        population, texts = parse_tensors(content[4:], str(path))
        return Snapshot(int(texts["generation"]), int(texts["nfev"]), texts["streams"], population)
    except (OSError, ValueError, KeyError):
        return None
