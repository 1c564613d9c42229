"""Direct policy search: the weights of a small network moved by the quantiles that its searches end with.

It starts at the engine's own rule, which a network of zeros leaves as it is, plays matches of the train families
alone, and is chosen among its snapshots on the choose families alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from meco.errors import DamagedFile, InvalidInput
from meco.files.schema import check
from meco.files.source_digest import source_digest
from meco.mdp.model_search import DECISIONS, SEARCH_CONTROLS, SEARCH_FEATURES, steered_search
from meco.mdp.network import NetworkShape, Weights, draw_weights, packed, unpacked
from meco.mdp.policy import KINDS
from meco.mdp.quantile import Outcomes
from meco.training.checkpoint import read_checkpoint, write_checkpoint
from meco.training.evolution import Evolution
from meco.training.matches import Match, drawn_matches, in_lockstep, play
from meco.training.references import Pool, make_pool, read_pool, write_pool
from meco.training.search_config import SearchConfig

ENGINE = ("meco.engines.model.trust_region_es", "meco.mdp.search_state", "meco.mdp.controller")
SEARCHED = ("meco.engines.model", "meco.engines.es")  # parts of the engine
Call = Callable[..., Iterable[Any]]


def engine_digest() -> str:
    """What the engine does that policies of this training steer; another digest, another engine."""
    return source_digest(ENGINE, SEARCHED)


class Round(NamedTuple):
    """Pairs of one task: matches of one shape with a seed each, and the weights [2 M, P] that play them."""

    matches: list[Match]
    seeds: list[int]
    weights: np.ndarray
    shape: NetworkShape
    device: str
    kind: str = "correcting"


def played(task: Round) -> Outcomes:
    """Best points at each tenth of the runs of a round, [2 M, 10]; one row of weights serves every run."""
    policy = KINDS[task.kind](unpacked(task.weights, task.shape))
    copies = 1 if task.weights.ndim == 1 else len(task.weights) // len(task.matches)
    return play(task.matches, task.seeds, partial(steered_search, policy), copies, task.device)


def first_weights(config: SearchConfig) -> np.ndarray:
    """A network whose outputs are 0: the engine's own rule; its hidden units are drawn by the seed."""
    drawn = draw_weights(np.random.default_rng(config.seed), config.shape)
    return packed(drawn._replace(w2=0.0 * drawn.w2, b2=0.0 * drawn.b2))


class PolicySearch:
    """A training that can be stopped after any iteration and goes on from its checkpoint to the same policy."""

    def __init__(self, config: SearchConfig, folder: Path | str, call: Call = map, say: Callable[[str], Any] = print):
        self.config, self.folder, self.call, self.say = config, Path(folder), call, say
        self.folder.mkdir(parents=True, exist_ok=True)
        self.evolution = Evolution.at(first_weights(config))
        self.rows: list[dict[str, Any]] = []
        self.snapshots: list[tuple[int, float, np.ndarray]] = []  # iteration, score on the choose families, weights
        self.digest = engine_digest()

    @property
    def checkpoint(self) -> Path:
        """Where the training stands."""
        return self.folder / f"{self.config.name}.checkpoint.npz"

    def prepare(self) -> None:
        """Find or make the references of the train and of the choose families."""
        c = self.config
        places = [(dim, per) for per in c.per_variable for dim in c.dims if per <= 50 or dim <= 10]
        self.train = self._pool("train", drawn_matches("train", places, c.problems, c.families)).telling()
        judged = drawn_matches("choose", places[: len(c.dims)], c.judges, c.families)
        self.choose = self._pool("choose", judged).telling()
        if not self.train.matches or not self.choose.matches:
            raise InvalidInput("no problem is left whose controls differ more than its seeds; draw more problems")

    def _pool(self, chosen: str, matches: list[Match]) -> Pool:
        seeds = list(range(1, 1 + self.config.reference_seeds))  # the same for every training
        facts = {"engine": self.digest, "seeds": seeds, "device": self.config.device}
        facts["matches"] = [list(m) for m in matches]
        path = self.folder / f"references-{chosen}.npz"
        if path.is_file():
            return read_pool(path, facts)
        began = time.monotonic()
        steps = iter(range(10, 101, 10))
        due = [next(steps)]

        def report(share: float) -> None:
            if 100 * share >= due[0]:
                self.say(f"references of the {chosen} families: {share:4.0%}, {time.monotonic() - began:.0f} s")
                due[0] = next(steps, 1000)

        widest = 48 if self.config.device == "cpu" else 4096
        pool = make_pool(matches, seeds, self.call, self.config.device, widest, report)
        write_pool(path, pool, facts)
        return pool

    def run(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Train until the last iteration, or until stop() says so; whether it came to the end."""
        c, began = self.config, time.monotonic()
        before = self.evolution.steps
        while self.evolution.steps < c.iterations:
            if stop():
                return False
            row = self.iterate()
            if self.evolution.steps % c.judged_every == 0 or self.evolution.steps == c.iterations:
                row["choose"] = self.judge()
            self.rows.append(row)
            self.save()
            self.say(self._line(row, (time.monotonic() - began) / (self.evolution.steps - before)))
        return True

    def _line(self, row: dict[str, Any], pace: float) -> str:
        judged = f", choose {row['choose']:.4f} (own rule {self.rule:.4f})" if "choose" in row else ""
        left = pace * (self.config.iterations - self.evolution.steps)
        done = f"iteration {row['iteration']}: quantile {row['quantile']:.4f}{judged}"
        return f"{done}, {pace:.1f} s each, {left:.0f} s left"

    def iterate(self) -> dict[str, Any]:
        """One iteration: play the pairs, step up the slope."""
        c, step = self.config, self.evolution.steps
        rng = np.random.default_rng([c.seed, step])
        rounds = self._drawn(rng)
        e = rng.standard_normal((sum(len(places) for places in rounds), self.evolution.mean.size))
        tasks, first = [], 0
        for places in rounds:
            part = e[first : first + len(places)]
            seeds = rng.integers(2**40, size=len(places)).tolist()
            matches = [self.train.matches[i] for i in places]
            tasks.append(Round(matches, seeds, self.evolution.pairs(part, c.sigma), c.shape, c.device))
            first += len(places)
        halves: list[tuple[np.ndarray, np.ndarray]] = []
        for places, found in zip(rounds, self.call(played, tasks)):
            q = self.train.quantile([*places, *places], found)[:, -1]
            halves.append((q[: len(places)], q[len(places) :]))
        upper, lower = (np.concatenate(part) for part in zip(*halves))
        rate = c.rate * (1.0 - 0.9 * step / c.iterations)
        self.evolution = self.evolution.after(e, np.concatenate([upper, lower]), c.sigma, rate)
        spread = float(np.std(upper - lower))
        return {"iteration": step + 1, "quantile": float((upper + lower).mean() / 2), "spread": spread}

    def _drawn(self, rng: np.random.Generator) -> list[list[int]]:
        """Places of the matches of an iteration, task by task: groups drawn by how many matches they have."""
        groups = in_lockstep(self.train.matches)
        sizes = np.array([len(g) for g in groups], dtype=float)
        count = max(1, self.config.pairs // self.config.width)
        chosen = np.sort(rng.choice(len(groups), size=count, p=sizes / sizes.sum()))  # the costliest first
        return [rng.choice(groups[g], size=self.config.width, replace=True).tolist() for g in chosen]

    def judge(self) -> float:
        """The present weights on the choose families, and a snapshot of them."""
        if not self.snapshots:
            rule = first_weights(self.config)
            self.snapshots.append((0, self.score(rule), rule))
        found = self.score(self.evolution.mean)
        self.snapshots.append((self.evolution.steps, found, self.evolution.mean.copy()))
        return found

    @property
    def rule(self) -> float:
        """What the engine's own rule scores on the choose families."""
        return self.snapshots[0][1]

    def score(self, weights: np.ndarray, pool: Pool | None = None) -> float:
        """Mean final quantile of a network on a pool, the choose families unless given."""
        return float(self.quantiles(weights, pool or self.choose).mean())

    def quantiles(
        self,
        weights: np.ndarray,
        pool: Pool,
        seeds: Iterable[int] = (7, 8),
        shape: NetworkShape | None = None,
        kind: str = "correcting",
    ) -> np.ndarray:
        """Final quantiles of a network: [N, S], a row for each match of the pool, a column for each seed."""
        each, size = list(seeds), 24 if self.config.device == "cpu" else 4096
        groups = [g[k : k + size] for g in in_lockstep(pool.matches) for k in range(0, len(g), size)]
        tasks = [
            Round(
                [pool.matches[i] for i in g],
                [10_000 * seed + i for i in g],
                weights,
                shape or self.config.shape,
                self.config.device,
                kind,
            )
            for g in groups
            for seed in each
        ]
        q = np.empty((len(pool.matches), len(each)))
        for k, found in enumerate(self.call(played, tasks)):
            g = groups[k // len(each)]
            q[g, k % len(each)] = pool.quantile(g, found)[:, -1]
        return q

    def best(self) -> tuple[Weights, dict[str, Any]]:
        """The snapshot that is best on the choose families, and what is known of the choice."""
        candidates = [(str(step), score, weights) for step, score, weights in self.snapshots]
        later = candidates[(len(candidates) + 1) // 2 :]
        if len(later) > 1:  # the middle of the later ones is less noisy than any of them
            middle = np.mean([weights for _, _, weights in later], axis=0)
            candidates.append(("middle", self.score(middle), middle))
        name, score, weights = max(candidates, key=lambda c: c[1])
        scores = {each: found for each, found, _ in candidates}
        known = {"snapshot": name, "choose": score, "own_rule": self.rule, "candidates": scores}
        return unpacked(weights, self.config.shape), known

    def save(self) -> None:
        """Write the checkpoint."""
        steps, scores, weights = zip(*self.snapshots) if self.snapshots else ((), (), ())
        arrays = {name: value for name, value in self.evolution._asdict().items() if name != "steps"}
        arrays["snapshots"] = np.array(weights).reshape(len(weights), self.evolution.mean.size)
        state = {
            "config": self.config.as_dict(),
            "engine": self.digest,
            "steps": self.evolution.steps,
            "rows": self.rows,
            "judged": [list(steps), list(scores)],
        }
        write_checkpoint(self.checkpoint, arrays, state)

    def resume(self) -> None:
        """Go on from the checkpoint, which must be of the same training and engine."""
        arrays, state = read_checkpoint(self.checkpoint)
        settings = state.get("config")
        same = (
            isinstance(settings, dict) and {**settings, "iterations": self.config.iterations} == self.config.as_dict()
        )
        if not same or state.get("engine") != self.digest:
            raise InvalidInput(f"{self.checkpoint} belongs to a training with other settings or another engine")
        try:
            check(state, {"config": dict, "steps": int, "rows": [dict], "judged": [[object]]}, "its state")
            self.evolution = Evolution(arrays["mean"], arrays["first"], arrays["second"], state["steps"])
            self.rows = state["rows"]
            self.snapshots = list(zip(*state["judged"], arrays["snapshots"]))
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedFile(f"{self.checkpoint} does not hold this training ({error}); train anew") from error


def record(search: PolicySearch) -> dict[str, Any]:
    """What the policy file says of its making."""
    families = {
        chosen: sorted({m.family for m in pool.matches})
        for chosen, pool in (("train", search.train), ("choose", search.choose))
    }
    return {
        "features": SEARCH_FEATURES,
        "controls": SEARCH_CONTROLS,
        "decisions": DECISIONS,
        "families": families,
        "engine": search.digest,
        "seed": search.config.seed,
        "training": search.config.as_dict(),
    }
