"""One random stream per run, so run 3 of a batch draws what run 3 alone would draw."""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np

from meco.core.arrays import Array
from meco.errors import InvalidInput, load_extra

# Streams of one seed beside the run's own, [seed, number]: all different, and never changed, or seeds search otherwise.
CONTROLLER_STREAM = 0xC0  # a controller's random numbers
UNTRAINED_STREAM = 0x75  # the weights of a policy that was never trained
SCOUT_STREAM = 0x5C  # points that look for a first answer
CHANCE_STREAM = 0xD1  # what chance does to the values of a problem


class Streams:
    """Independent NumPy generators, one for each seed; draws come stacked as [B, ...].

    xp and device say where the numbers go after they are drawn, so a run on torch
    tensors uses the very draws of the NumPy run.
    """

    remembers = ("positions",)

    def __init__(self, seeds: Iterable[int], xp: Any = np, device: Any = None) -> None:
        """A generator for each seed, at its beginning; InvalidInput without seeds or for negative ones."""
        self.seeds = tuple(int(s) for s in seeds)
        if not self.seeds:
            raise InvalidInput("at least one seed is needed; got none")
        if min(self.seeds) < 0:
            raise InvalidInput(f"seeds must be 0 or more; got {min(self.seeds)}")
        self.xp, self.device = xp, device
        self._generators = [np.random.default_rng(s) for s in self.seeds]

    @property
    def runs(self) -> int:
        """Number of runs B."""
        return len(self.seeds)

    def uniform(self, *shape: int) -> Array:
        """Uniform numbers in [0, 1): [B, *shape]; moves every stream."""
        block = np.empty((self.runs, *shape))
        for row, generator in zip(block, self._generators):
            generator.random(out=row)
        return self._to_device(block)

    def normal(self, *shape: int) -> Array:
        """Standard normal numbers: [B, *shape]; moves every stream."""
        block = np.empty((self.runs, *shape))
        for row, generator in zip(block, self._generators):
            generator.standard_normal(out=row)
        return self._to_device(block)

    def generator(self, run: int) -> np.random.Generator:
        """The generator of one run, for engines that draw as they go."""
        return self._generators[run]

    def select(self, runs: Iterable[int]) -> Streams:
        """The streams of the runs at these indices, shared: a draw moves them here too."""
        part, chosen = copy(self), list(runs)
        part.seeds = tuple(self.seeds[b] for b in chosen)
        part._generators = [self._generators[b] for b in chosen]
        return part

    def spawn(self, purpose: int) -> Streams:
        """Other streams of the same runs, for a purpose (a constant above) whose draws must not move these."""
        other = Streams(self.seeds, self.xp, self.device)
        other._generators = [np.random.default_rng([seed, purpose]) for seed in self.seeds]
        return other

    def state(self) -> str:
        """Where every stream stands, as JSON text for restore()."""
        return json.dumps([g.bit_generator.state for g in self._generators])

    def restore(self, state: str) -> None:
        """Go back to where state() was taken; raises ValueError where the number of runs differs."""
        for generator, saved in zip(self._generators, json.loads(state), strict=True):
            generator.bit_generator.state = saved

    @property
    def positions(self) -> np.ndarray:
        """Where every stream stands, as numbers: [B, 6], two of 128 bits in halves, and what is left of a draw."""
        rows = []
        for generator in self._generators:
            now = generator.bit_generator.state
            wide = [part for key in ("state", "inc") for part in divmod(now["state"][key], 1 << 64)]
            rows.append([*wide, now["has_uint32"], now["uinteger"]])
        return np.array(rows, dtype=np.uint64)

    @positions.setter
    def positions(self, numbers: np.ndarray) -> None:
        """Go back to earlier positions [B, 6]."""
        for generator, (high, low, inc_high, inc_low, some, rest) in zip(self._generators, numbers.tolist()):
            generator.bit_generator.state = {
                "bit_generator": "PCG64", "state": {"state": (high << 64) + low, "inc": (inc_high << 64) + inc_low},
                "has_uint32": some, "uinteger": rest,
            }  # fmt: skip

    def _to_device(self, block: np.ndarray) -> Array:
        """The numbers [B, ...] in the library and on the device of these streams."""
        if self.xp is np:
            return block
        return self.xp.asarray(block, dtype=self.xp.float64, device=self.device)


class DeviceStreams:
    """One torch generator on the device for a whole batch: for throughput, not for single-run reproduction."""

    def __init__(self, seed: int, runs: int, device: str) -> None:
        """The runs are numbered from seed on; MissingExtra without torch."""
        torch = load_extra("torch", "train", "drawing on a device")
        xp = load_extra("array_api_compat.torch", "train", "drawing on a device")
        self.seeds = tuple(range(seed, seed + runs))
        self._seed = seed
        self.runs, self.xp, self.device = runs, xp, device
        self._generator = torch.Generator(device=device).manual_seed(seed)
        self._torch = torch

    def uniform(self, *shape: int) -> Array:
        """Uniform numbers in [0, 1): [B, *shape] on the device; moves the one generator."""
        return self._torch.rand(
            (self.runs, *shape), generator=self._generator, device=self.device, dtype=self._torch.float64
        )

    def normal(self, *shape: int) -> Array:
        """Standard normal numbers: [B, *shape] on the device; moves the one generator."""
        return self._torch.randn(
            (self.runs, *shape), generator=self._generator, device=self.device, dtype=self._torch.float64
        )

    def select(self, runs: Iterable[int]) -> DeviceStreams:
        """Numbers for so many runs, whichever they are, from the same generator, which moves here too."""
        part = copy(self)
        part.runs = len(list(runs))
        part.seeds = tuple(range(self._seed, self._seed + part.runs))
        return part

    def spawn(self, purpose: int) -> DeviceStreams:
        """Other streams of the same runs, for a purpose whose draws must not move these."""
        other = DeviceStreams(self._seed, self.runs, self.device)
        other._generator.manual_seed(int(np.random.SeedSequence([self._seed, purpose]).generate_state(1)[0]))
        return other
