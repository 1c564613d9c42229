"""Matches: a generated problem at a budget, many of them played in lockstep and judged by their best points."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import Array, to_numpy
from meco.core.engine import Engine, Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.problem import Problem
from meco.core.streams import DeviceStreams, Streams
from meco.device.cuda_graphs import recorder
from meco.errors import InvalidInput
from meco.learn.tr.quantile import TENTHS, Outcomes
from meco.problems.generated import GENERATED, MissionFamily, make_batch

Make = Callable[[Task], Engine]  # how a search is built


class Match(NamedTuple):
    """A generated problem at a budget."""

    family: str
    seed: int
    dim: int
    budget: int

    @property
    def problem(self) -> Problem:
        """The problem itself."""
        return _drawn(self.family, self.seed, self.dim)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """What matches in lockstep have in common: D, budget, inequalities, equalities."""
        return (self.dim, self.budget, *GENERATED[self.family].counts(self.dim))

    @property
    def cost(self) -> float:
        """About how long it takes, beside others."""
        return self.budget * (self.dim + 5.0) ** 1.7


@lru_cache(maxsize=4096)
def _drawn(family: str, seed: int, dim: int) -> Problem:
    return make_batch(family, [seed], dim)[0]


# where matches are played: D and evaluations per variable
Layout = Sequence[tuple[int, int]]


def read_layout(text: str) -> list[tuple[int, int]]:
    """A layout as text, such as "5:50,10:100"."""
    found = [re.fullmatch(r"([1-9]\d*):([1-9]\d*)", place.strip()) for place in text.split(",")]
    if None in found:
        raise InvalidInput(f'a layout is D and evaluations per variable, such as "5:50,10:100"; got {text!r}')
    return [(int(place[1]), int(place[2])) for place in found if place]


def drawn_matches(chosen: str, layout: Layout, each: int, families: Sequence[str] = (), first: int = 1) -> list[Match]:
    """So many problems of every family of a set, or of some, at every place of a layout.

    A mission has its own D, and as many problems as the other families.
    """
    found = []
    for family in (f for f in GENERATED.values() if f.set == chosen and (not families or f.name in families)):
        places = [(family.dim, per) for _, per in layout] if isinstance(family, MissionFamily) else layout
        for place, (dim, per) in enumerate(places):
            seeds = range(first + place * each, first + (place + 1) * each)
            found += [Match(family.name, seed, dim, per * dim) for seed in seeds]
    return found


def in_lockstep(matches: Iterable[Match]) -> list[list[int]]:
    """Places of the matches that can be played together, the costliest group first."""
    groups: dict[Any, list[int]] = {}
    each = list(matches)
    for place, match in enumerate(each):
        groups.setdefault(match.shape, []).append(place)
    return sorted(groups.values(), key=lambda places: -each[places[0]].cost)


class Copies:
    """Streams of some runs, handed to several copies of them: copies of a run differ in nothing that is drawn."""

    def __init__(self, streams: Any, count: int) -> None:
        self._streams, self._count = streams, count
        self.xp, self.device = streams.xp, streams.device
        self.seeds, self.runs = tuple(streams.seeds) * count, streams.runs * count
        self.generators = getattr(streams, "generators", ())  # of a device, for recordings

    def uniform(self, *shape: int) -> Array:
        """Uniform numbers in [0, 1): [B, *shape], copy after copy."""
        return self.xp.concat([self._streams.uniform(*shape)] * self._count, axis=0)

    def normal(self, *shape: int) -> Array:
        """Standard normal numbers: [B, *shape], copy after copy."""
        return self.xp.concat([self._streams.normal(*shape)] * self._count, axis=0)

    def spawn(self, purpose: int) -> Copies:
        """Other streams of the same runs."""
        return Copies(self._streams.spawn(purpose), self._count)


def play(matches: Sequence[Match], seeds: Sequence[int], make: Make, copies: int = 1, device: str = "cpu") -> Outcomes:
    """Searches on matches of one shape, a seed each, in several copies: best points at each tenth, [copies * M, 10].

    Copies of a match come one after the other: row c * M + m. On "cpu" they are NumPy's, and row b is run b alone;
    elsewhere torch's, where one generator serves all.
    """
    streams: Any = Streams(seeds) if device == "cpu" else DeviceStreams(int(seeds[0]), len(seeds), device)
    rng = Copies(streams, copies)
    budget = matches[0].budget
    with np.errstate(all="ignore"):
        evaluator = Evaluator.on([m.problem for m in matches] * copies, budget, rng.runs, rng.xp, rng.device)
        loop = Loop(make(Task.of(evaluator, rng)), evaluator, recorder(rng), traced=False)  # type: ignore[arg-type]
        found: list[list[np.ndarray]] = []
        while evaluator.left:
            loop.step()
            while len(found) < TENTHS * (budget - evaluator.left) // budget:
                held = evaluator.history.feasible_best.point
                assert held is not None
                found.append([to_numpy(part)[:, 0].copy() for part in (held.f, held.nu, held.feasible)])
    return Outcomes(*(np.stack(parts, axis=-1) for parts in zip(*found)))
