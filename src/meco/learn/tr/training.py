"""Rounds of held controls, a fit after each, and the choice among what they gave: the training of MeCO-TR's policy."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from meco.core.process_pool import process_map
from meco.engines.es.maes import native_size
from meco.errors import InvalidInput, UnknownName
from meco.files.atomic import write_bytes
from meco.files.source_digest import source_digest
from meco.learn.checkpoint import read_checkpoint, write_checkpoint
from meco.learn.engine_digest import engine_digest
from meco.learn.settings import Settings
from meco.learn.tr.judging import Verdict, judged
from meco.learn.tr.matches import Match, drawn_matches, in_lockstep, read_layout
from meco.learn.tr.quantile import Outcomes
from meco.learn.tr.regression import Regression, Samples, fitted
from meco.learn.tr.rollouts import (
    ALTERNATIVES,
    Course,
    Game,
    Plan,
    drawn_plan,
    own_quantiles,
    played,
    score_gains,
)
from meco.learn.training_record import commit
from meco.policies.features import FEATURES
from meco.policies.network import Weights, packed, q_values
from meco.policies.policy import Choosing
from meco.policies.store import LOG_SUFFIX, SUFFIX, save_policy
from meco.problems.generated import GENERATED
from meco.tr.steered import DECISIONS, SEARCH_FEATURES

WIDEST = 48  # runs of one game on a CPU: more share their fate with too many others
HOLDING_REWARDS = ("quantile", "score")
MARGINS = (0.0, 0.05, 0.1)  # by which what a network values most on the whole is preferred: candidates of the choice
PROPOSERS = ("models improve", "strategy improves", "balance of improvements", "strategy behind")
# features hidden from the networks; runs of the next round follow the first of these
UNSEEN: dict[str, tuple[str, ...]] = {"without proposers": PROPOSERS, "with every feature": ()}
Call = Callable[..., Iterable[Any]]
Say = Callable[[str], Any]


@dataclass(frozen=True)
class HoldingConfig(Settings):
    """Settings of a training from held controls."""

    name: str = "meco-tr"
    hidden: int = 48
    steps: int = 4000  # of a fit
    rounds: int = 2
    runs: int = 750  # of each shape and round, about
    least: int = 24  # runs of each match and round
    families: tuple[str, ...] = ()  # to train and to choose on; the sets' own unless given
    layout: str = "2:50,5:50,10:50,20:50,5:20,10:20,10:100,5:200"  # D and evaluations per variable
    problems: int = 6  # of each train family, at each place of the layout
    judges: int = 4  # of each choose family, at each place of the layout
    judge_seeds: int = 2
    width: int = 4096  # runs in lockstep, at most
    seed: int = 1
    reward: str = "quantile"  # or "score": what f + nu fell by, much as the paper rewards
    device: str = "cpu"

    choices: ClassVar = {"reward": HOLDING_REWARDS}
    minimums: ClassVar = dict.fromkeys(
        ("hidden", "steps", "rounds", "runs", "least", "problems", "judges", "judge_seeds", "width"), 1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for family in self.families:
            if family not in GENERATED:
                raise UnknownName("family of generated problems", family, GENERATED)
        self.places  # noqa: B018 - refuses what cannot be read

    @property
    def lockstep(self) -> int:
        """Runs of one game, at most; on a CPU, where row b is run b alone, as few as share the work among processes."""
        return min(self.width, WIDEST) if self.device == "cpu" else self.width

    @property
    def places(self) -> list[tuple[int, int]]:
        """Where it trains and chooses: D and evaluations per variable."""
        return read_layout(self.layout)


class Drawn(NamedTuple):
    """Runs of one shape: match, what is held and seed of each [B], and their plan."""

    match: np.ndarray
    plan: Plan
    held: np.ndarray
    seeds: list[int]


class Fitted(NamedTuple):
    """A network, and what is known of its fit."""

    name: str
    weights: Weights
    known: dict[str, Any]


class HoldingSearch:
    """A training that can be stopped after any game and goes on to the same policy."""

    def __init__(self, config: HoldingConfig, folder: Path, say: Say = print) -> None:
        self.config, self.folder, self.say = config, Path(folder), say
        self.folder.mkdir(parents=True, exist_ok=True)
        self.matches = drawn_matches("train", config.places, config.problems, config.families)
        if not self.matches or not self.judging_matches():
            raise InvalidInput("families must name some to train on and some to choose on; see meco list generated")
        if len(self.matches) < 2:
            raise InvalidInput("a training needs at least two problems, one to learn from and one to stop by; got 1")
        self.samples: list[Samples] = []
        self.fits: list[Fitted] = []
        self.references: dict[int, Any] = {}  # outcomes of the first round, by match

    def run(self, call: Call = map, stop: Callable[[], bool] = lambda: False) -> bool:
        """Every round and its fit; whether it came to the end."""
        for number in range(self.config.rounds):
            if not self.round(number, call, stop):
                return False
            self.fit(number)
        return True

    def round(self, number: int, call: Call = map, stop: Callable[[], bool] = lambda: False) -> bool:
        """Play the games of a round, or take them from the folder where they were played before."""
        rng = np.random.default_rng([self.config.seed, number])
        drawn = [self._drawn(group, rng) for group in in_lockstep(self.matches)]
        newest = self.fits[-1].weights if self.fits else None
        facts = self._facts(newest)
        paths = [self.folder / f"{self.config.name}.round{number}.{place}.npz" for place in range(len(drawn))]
        known = [_known(path, facts) for path in paths]
        parts = [[] if found else self._parts(some, newest) for some, found in zip(drawn, known)]
        courses = iter(call(played, [game for games in parts for game in games]))
        began = time.monotonic()
        for place, (some, found) in enumerate(zip(drawn, known)):
            if stop():
                return False
            final, states = found or _together([next(courses) for _ in parts[place]])
            if not found:
                write_checkpoint(paths[place], {"states": states, **final._asdict()}, facts)
            self.samples.append(Samples(states, some.held, self._rewards(final, some.match), some.match))
            if (place + 1) % 10 == 0:
                self.say(f"round {number + 1}: {place + 1} of {len(drawn)} shapes, {time.monotonic() - began:.0f} s")
        return True

    def _facts(self, newest: Weights | None) -> dict[str, Any]:
        """What games that were played before must agree in: settings, engine, problems, and whom the runs follow."""
        followed = None if newest is None else hashlib.sha256(packed(newest).tobytes()).hexdigest()
        problems = source_digest(["meco.problems.generated"], ["meco.problems"])
        return {"config": self.config.as_dict(), "engine": engine_digest(), "problems": problems, "followed": followed}

    def fit(self, number: int) -> None:
        """Networks for all samples so far: the one that runs follow, and after the last round those to choose from."""
        c, whole = self.config, Samples(*(np.concatenate(parts) for parts in zip(*self.samples)))
        last = number + 1 == c.rounds
        for seen, names in list(UNSEEN.items())[: None if last else 1]:
            hidden = tuple(FEATURES[SEARCH_FEATURES].names.index(name) for name in names)
            settings = Regression(c.hidden, c.steps, seed=c.seed, device=c.device, unseen=hidden)
            made = Fitted(f"round {number + 1}, {seen}", *fitted(whole, ALTERNATIVES, settings))
            self.fits.append(made)
            self.say(f"{made.name}: error {made.known['error']:.4f}, {made.known['without']:.4f} without a network")

    def _rewards(self, final: Outcomes, match: np.ndarray) -> np.ndarray:
        """What the runs of these matches [B] earned: [B]."""
        if self.config.reward == "score":
            return score_gains(final, [self.matches[i] for i in match])
        return own_quantiles(final, match, self.references)

    def _drawn(self, group: list[int], rng: np.random.Generator) -> Drawn:
        """Runs of the matches of one shape."""
        first = self.matches[group[0]]
        match = np.repeat(np.array(group), max(self.config.least, self.config.runs // len(group)))
        decisions = int(first.budget / max(native_size(first.dim), first.budget / DECISIONS))
        plan, held = drawn_plan(rng, len(match), decisions, follow=bool(self.fits))
        return Drawn(match, plan, held, rng.integers(2**40, size=len(match)).tolist())

    def _parts(self, some: Drawn, newest: Weights | None) -> list[Game]:
        """The runs as games that are not too wide."""
        followed, size = [Choosing(newest)] if newest else [], self.config.lockstep
        return [
            Game(
                [self.matches[i] for i in some.match[k : k + size]], some.seeds[k : k + size], followed,
                Plan(*(each[k : k + size] for each in some.plan)), self.config.device,
            )
            for k in range(0, len(some.match), size)
        ]  # fmt: skip

    def judging_matches(self) -> list[Match]:
        """Matches of the choose families that candidates are compared on."""
        return drawn_matches("choose", self.config.places, self.config.judges, self.config.families)

    def judge(self, call: Call = map) -> Verdict:
        """The networks of the last round with every margin beside constants, the own rule and random controls."""
        c = self.config
        return judged(self.candidates(), self.judging_matches(), c.judge_seeds, call, c.device, c.lockstep)

    def candidates(self) -> dict[str, Choosing]:
        """What the choice is among, by name: a margin draws a network towards what it finds best on the whole."""
        found = {}
        for made in self.fits[-len(UNSEEN) :]:
            usual = best_on_the_whole(made.weights, self.samples)
            for margin in MARGINS:
                b2 = made.weights.b2.copy()
                b2[usual] += margin
                found[f"{made.name}, margin {margin:g}"] = Choosing(made.weights._replace(b2=b2))
        return found


def best_on_the_whole(weights: Weights, samples: Sequence[Samples]) -> int:
    """The alternative that a network values most, each shape of each round counted alike."""
    return int(np.argmax(np.mean([q_values(weights, part.s).mean(axis=0) for part in samples], axis=0)))


def _known(path: Path, facts: dict[str, Any]) -> Course | None:
    """What came of a game that was played before, under the same facts."""
    if not path.is_file():
        return None
    arrays, state = read_checkpoint(path)
    if not facts.items() <= state.items():
        return None
    return Course(Outcomes(*(arrays[name] for name in Outcomes._fields)), arrays["states"])


def _together(courses: Sequence[Course]) -> Course:
    """What came of a game that was played in parts."""
    final = Outcomes(*(np.concatenate(each) for each in zip(*(course.final for course in courses))))
    return Course(final, np.concatenate([course.states for course in courses]))


def produce_holding(
    config: HoldingConfig, folder: Path, processes: int, stop: Callable[[], bool], say: Say, command: str | None
) -> bool:
    """Train, choose on the choose families alone, and write the policy with its log; whether it came to the end."""
    with process_map(processes) as call:
        search = HoldingSearch(config, folder, say)
        say(f"{len(search.matches)} matches to train on")
        if not search.run(call, stop) or stop():
            return False
        verdict = search.judge(call)
    write_chosen(search, verdict, command)
    return True


def write_chosen(search: HoldingSearch, verdict: Verdict, command: str | None) -> None:
    """The candidate that is best on the choose families, as a policy with its log."""
    config, folder, say = search.config, search.folder, search.say
    candidates = search.candidates()
    name = max(candidates, key=verdict.score)
    for line in verdict.lines():
        say(line)
    lines = [
        {"training": config.as_dict(), "engine": engine_digest()},
        *({"network": made.name} | made.known for made in search.fits),
    ]
    lines.append({"choice": name, "choose": dict(zip(verdict.names, verdict.scores.round(6).tolist()))})
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
    write_bytes(folder / (config.name + LOG_SUFFIX), text)
    save_policy(folder / (config.name + SUFFIX), candidates[name].weights, record(search, verdict, name, command, text))
    say(f"{config.name}{SUFFIX}: {name}, {verdict.score(name):.4f} on the choose families")


def record(search: HoldingSearch, verdict: Verdict, name: str, command: str | None, log: bytes) -> dict[str, Any]:
    """What the policy file says of its making."""
    return {
        "features": SEARCH_FEATURES,
        "controls": ALTERNATIVES.name,
        "kind": "choosing",
        "decisions": DECISIONS,
        "families": {"train": _families(search.matches), "choose": _families(verdict.matches)},
        "engine": engine_digest(),
        "seed": search.config.seed,
        "training": search.config.as_dict(),
        **{"suite": "generated", "dim": sorted({dim for dim, _ in search.config.places})},
        "choice": {"candidate": name, "choose": verdict.score(name), "own_rule": verdict.score("own rule")},
        "command": command,
        "commit": commit(),
        "log_digest": hashlib.sha256(log).hexdigest(),
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }


def _families(matches: Iterable[Match]) -> list[str]:
    return sorted({m.family for m in matches})
