"""Random numbers of a search, all drawn before it begins and sent to a device together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meco.core.arrays import Array
from meco.core.streams import Streams


class PreparedStreams(Streams):
    """The draws of Streams for searches that make the same calls in the same order, one search after another.

    The first search draws as it goes, which tells the calls of the others. prepare() draws for the next search while
    the device still works on this one; begin() sends the numbers, once all results of this one have been read.
    """

    def __init__(self, runs: int, xp: Any, device: str) -> None:
        """Nothing is known of the calls before the first search has made them."""
        super().__init__(range(runs), xp, device)
        self._calls: list[tuple[bool, tuple[int, ...]]] = []  # normal or uniform, and the shape of each run's numbers
        self._rows: list[tuple[int, int]] = []  # where the numbers of each call begin, and how many a run has
        self._numbers = torch.empty(0, dtype=torch.float64, device=device)
        self._block = self._spare = torch.empty(0, dtype=torch.float64)  # to be sent, and the one sent before
        self._ready: tuple[int, ...] = ()  # the seeds whose numbers lie in the block to be sent
        self._next = 0  # number of the coming call

    def prepare(self, seeds: Iterable[int]) -> None:
        """Draw all numbers of runs with these seeds on the host, for the next begin().

        Does nothing before the calls are known, or where these seeds are prepared.
        """
        wanted = tuple(seeds)
        if not self._rows or wanted == self._ready:
            return
        block = self._block.numpy()
        for run, seed in enumerate(wanted):
            generator = np.random.default_rng(seed)
            for (normal, _), (first, count) in zip(self._calls, self._rows):
                at = first + run * count
                (generator.standard_normal if normal else generator.random)(out=block[at : at + count])
        self._ready = wanted

    def begin(self, seeds: Iterable[int]) -> None:
        """Begin a search of runs with these seeds: send its numbers, prepared or drawn now, to the device.

        The first search draws as it goes.
        """
        self.seeds = tuple(seeds)
        if self._calls and not self._rows:
            self._assign_ranges()
        self._next = 0
        if not self._rows:
            self._generators = [np.random.default_rng(seed) for seed in self.seeds]
            return
        self.prepare(self.seeds)
        self._numbers.copy_(self._block, non_blocking=True)
        self._block, self._spare, self._ready = self._spare, self._block, ()  # the block on its way is left alone

    def rewind(self) -> None:
        """Give the same numbers once more, from the first call on; of no use in the first search."""
        self._next = 0

    def uniform(self, *shape: int) -> Array:
        """Uniform numbers [B, *shape]: prepared ones, or drawn now by the first search."""
        if self._rows:
            return self._next_prepared(normal=False, shape=shape)
        self._calls.append((False, shape))
        return super().uniform(*shape)

    def normal(self, *shape: int) -> Array:
        """Standard normal numbers [B, *shape]: prepared ones, or drawn now by the first search."""
        if self._rows:
            return self._next_prepared(normal=True, shape=shape)
        self._calls.append((True, shape))
        return super().normal(*shape)

    def _next_prepared(self, *, normal: bool, shape: tuple[int, ...]) -> Tensor:
        """The numbers [B, *shape] of the coming call, which must be the one that the first search made.

        Moves to the next.
        """
        assert self._calls[self._next] == (normal, shape), "a search asked for other numbers than the first one"
        first, count = self._rows[self._next]
        self._next += 1
        return self._numbers[first : first + self.runs * count].view(self.runs, *shape)

    def _assign_ranges(self) -> None:
        """Give each call its range of numbers, run by run, in host memory that the device can fetch by itself."""
        counts = [math.prod(shape) for _, shape in self._calls]
        starts = accumulate((self.runs * count for count in counts), initial=0)
        self._rows = list(zip(starts, counts))
        self._numbers = self._numbers.new_empty(self.runs * sum(counts))
        pinned = torch.device(self.device).type == "cuda"
        self._block, self._spare = (torch.empty_like(self._numbers, device="cpu", pin_memory=pinned) for _ in "ab")
