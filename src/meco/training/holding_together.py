"""Trainings from held controls, one or several: on a device their runs of one shape share a lockstep.

There a game takes as long whatever its width, within limits, so five trainings take little longer than one. One
generator serves all runs of a game, so a training beside others comes out otherwise than alone with the same seed,
though not in distribution. On a CPU row b is run b alone, and so is a training.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from meco.mdp.quantile import Outcomes
from meco.training.holding import Course, Game, Plan, played
from meco.training.holding_search import HoldingConfig, HoldingSearch, Say, Wanted, write_chosen
from meco.training.judging import Verdict, judged
from meco.training.matches import crew

Call = Callable[..., Iterable[Any]]
Stop = Callable[[], bool]
SEPARATOR = ": "  # between the name of a training and that of its candidate


def produce_holding(
    configs: Sequence[HoldingConfig], folder: Path, processes: int, stop: Stop, say: Say, command: str | None
) -> bool:
    """Train, choose for each on the choose families alone, write policies with logs; whether it came to the end.

    The trainings differ in nothing but names, seeds and rewards.
    """
    with crew(processes) as call:
        searches = [HoldingSearch(config, folder, say) for config in configs]
        say(f"{len(searches[0].matches)} matches to train on")
        if not trained(searches, call, stop):
            return False
        verdict = everyone_judged(searches, call)
    for search in searches:
        write_chosen(search, own_part(verdict, search.config.name), command)
    return True


def trained(searches: Sequence[HoldingSearch], call: Call = map, stop: Stop = lambda: False) -> bool:
    """Every round of every training; whether it came to the end."""
    for number in range(searches[0].config.rounds):
        wanted = [search.wanted(number) for search in searches]
        began, found = time.monotonic(), _played(wanted, call)
        for place in range(len(wanted[0].drawn)):
            if stop():
                return False
            for search, own, courses in zip(searches, wanted, next(found)):
                search.learn(own, place, courses)
            if (place + 1) % 10 == 0:
                told = f"{place + 1} of {len(wanted[0].drawn)} games, {time.monotonic() - began:.0f} s"
                searches[0].say(f"round {number + 1}: {told}")
        for search in searches:
            search.fit(number)
    return True


def _played(wanted: Sequence[Wanted], call: Call) -> Iterator[list[list[Course]]]:
    """Shape after shape, what came of the games of each training."""
    shapes = [list(_in_lockstep(parts)) for parts in zip(*(each.parts for each in wanted))]
    courses = iter(call(played, [merged([game for _, game in games]) for shape in shapes for games in shape]))
    for shape in shapes:
        found: list[list[Course]] = [[] for _ in wanted]
        for games in shape:
            for (who, _), course in zip(games, apart(next(courses), [game for _, game in games])):
                found[who].append(course)
        yield found


def _in_lockstep(parts: Sequence[Sequence[Game]]) -> Iterator[list[tuple[int, Game]]]:
    """The games of one shape, by training, as groups to be played as one; on a CPU each alone."""
    named = [[(who, game) for game in games] for who, games in enumerate(parts)]
    if any(game.device == "cpu" for games in parts for game in games):
        yield from ([each] for games in named for each in games)
    else:
        longest = max(map(len, named))
        yield from ([games[k] for games in named if k < len(games)] for k in range(longest))


def merged(games: Sequence[Game]) -> Game:
    """Games of one shape as one; each run still follows the policies of its own game."""
    first = np.cumsum([0, *(len(game.policies) for game in games)])
    bases = [np.where(g.plan.base < 0, -1.0, g.plan.base + at) for g, at in zip(games, first)]
    plans = [g.plan._replace(base=base) for g, base in zip(games, bases)]
    return games[0]._replace(
        matches=[m for g in games for m in g.matches],
        seeds=[s for g in games for s in g.seeds],
        policies=[p for g in games for p in g.policies],
        plan=Plan(*(np.concatenate(each) for each in zip(*plans))),
    )


def apart(course: Course, games: Sequence[Game]) -> Iterator[Course]:
    """What came of each of the games that were played as one."""
    ends = np.cumsum([0, *(len(game.matches) for game in games)])
    for a, b in pairwise(ends):
        yield Course(Outcomes(*(part[a:b] for part in course.final)), course.states[a:b])


def everyone_judged(searches: Sequence[HoldingSearch], call: Call = map) -> Verdict:
    """The candidates of all trainings beside constants, the own rule and random controls, on the choose families."""
    c = searches[0].config
    each = {(s.config.name, name): policy for s in searches for name, policy in s.candidates().items()}
    named = {_full(*key): policy for key, policy in each.items()}
    return judged(named, searches[0].judging_matches("choose"), c.judge_seeds, call, c.device, c.lockstep)


def own_part(verdict: Verdict, name: str) -> Verdict:
    """The verdict without the candidates of other trainings, under their short names."""
    mine = _full(name, "")
    kept = [k for k, each in enumerate(verdict.names) if SEPARATOR not in each or each.startswith(mine)]
    outcomes = Outcomes(*(part[:, kept] for part in verdict.outcomes))
    names = tuple(verdict.names[k].removeprefix(mine) for k in kept)
    return Verdict(names, verdict.matches, outcomes, verdict.quantiles[:, kept])


def _full(training: str, candidate: str) -> str:
    return training + SEPARATOR + candidate
