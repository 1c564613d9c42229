"""Games side by side on a device: one alone is a chain of kernels too small to fill it.

A game that can be interrupted after every turn is a generator, and one host thread gives every game under way its next
turn in turn, each on a CUDA stream of its own. What a game computes does not depend on who plays beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, Generic, TypeVar

from meco.errors import load_extra

G = TypeVar("G")
R = TypeVar("R")
MOST = 4  # games under way
SETTLING = 3  # first turns of a game, which make what games may share: nobody uses it before it is there


class InTurns(Generic[G, R]):
    """A function of a game that can also be had turn by turn."""

    def __init__(self, turns: Callable[[G], Generator[None, None, R]]) -> None:
        wraps(turns)(self)  # found again by its name in another process
        self.turns = turns

    def __call__(self, game: G) -> R:
        course = self.turns(game)
        while True:
            try:
                next(course)
            except StopIteration as end:
                return end.value

    def __reduce__(self) -> str:
        return self.turns.__qualname__


@dataclass(eq=False)
class UnderWay(Generic[R]):
    """A game, its stream, and how many turns it has made."""

    number: int
    course: Generator[None, None, R]
    stream: Any
    turns: int = 0


def in_turns(turns: Callable[[G], Generator[None, None, R]]) -> InTurns[G, R]:
    """The function that a generator of turns stands for."""
    return InTurns(turns)


def side_by_side(play: InTurns[G, R], games: Iterable[G], device: str, most: int = MOST) -> Iterator[R]:
    """What comes of the games, in their order; at most so many are under way at a time."""
    torch: Any = load_extra("torch", "train", "playing on a device")
    waiting, free = enumerate(games), [torch.cuda.Stream(device) for _ in range(most)]
    under_way: list[UnderWay[R]] = []
    done: dict[int, R] = {}
    following = 0
    while True:
        while free and (game := next(waiting, None)) is not None:
            under_way.append(UnderWay(game[0], play.turns(game[1]), free.pop()))
        if not under_way:
            return
        for one in list(under_way):
            with torch.cuda.stream(one.stream):
                try:
                    next(one.course)
                except StopIteration as end:
                    done[one.number] = end.value
                    under_way.remove(one)
                    free.append(one.stream)
            one.turns += 1
            if one.turns <= SETTLING:
                torch.cuda.synchronize(device)
        while following in done:
            yield done.pop(following)
            following += 1
