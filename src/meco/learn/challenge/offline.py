"""Episodes as an offline data set: what was seen, done and earned at every decision, as arrays in npz files.

A file holds E episodes of one shape of problem (equal D, budget and numbers of constraints) and T decisions:
    s [E, T + 1, F]               features, the last row after the last decision
    points [E, T + 1, 64, 6]      tokens of points, where sets are asked for
    constraints [E, T + 1, C, 5]  tokens of constraints, likewise
    actions [E, T, 2]             theta and share
    rewards [E, T]                change of the quantile among the run's first points
    f, nu, feasible [E]           where the episode ended
    problem, behaviour [E]        names; seed [E]; dim, budget, n_ineq, n_eq once
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from meco import __version__
from meco.files.atomic import write_bytes
from meco.learn.challenge.agents import Agent
from meco.learn.challenge.judging import JudgedProblem, check_actions
from meco.learn.challenge.observation import (
    CONSTRAINT_NAMES,
    POINT_NAMES,
    Observation,
    constraint_tokens,
    point_tokens,
)
from meco.learn.tr.episode import TrustRegionEpisode
from meco.policies.features import FEATURES
from meco.tr.steered import SEARCH_FEATURES

OFFLINE_FORMAT = 1
CHANCE_STREAM = 7  # of the behaviours' own draws, beside the seed of an episode


def record_batch(
    problems: Sequence[JudgedProblem], seeds: Sequence[int], ways: Sequence[tuple[str, Agent]], *, sets: bool
) -> dict[str, Any]:
    """Episodes in lockstep on problems of one shape, each under its own behaviour, as the arrays of a file.

    problems, seeds and ways have one entry for each episode; with sets, tokens of every moment are among the arrays.
    """
    episode = TrustRegionEpisode([p.problem for p in problems], seeds, problems[0].budget)
    s, over = np.asarray(episode.reset()), False
    chance = np.random.default_rng([int(seeds[0]), CHANCE_STREAM])
    seen, done_actions, rewards = [s], [], []
    tokens: dict[str, list[np.ndarray]] = {"points": [], "constraints": []}

    def note_tokens() -> None:
        """Keep the sets of the present moment."""
        if sets:
            tokens["points"].append(point_tokens(episode).astype(np.float32))
            tokens["constraints"].append(constraint_tokens(episode).astype(np.float32))

    note_tokens()
    each = {id(agent): agent for _, agent in ways}
    mine = {key: np.array([b for b, (_, agent) in enumerate(ways) if id(agent) == key]) for key in each}
    for key, agent in each.items():
        agent.begin(len(mine[key]))
    while not over:
        u = chance.random((len(s), 2))
        actions = np.empty((len(s), 2))
        for key, at in mine.items():
            observed = Observation(s[at], episode.features.names, u[at], episode, at)
            actions[at] = check_actions(each[key].act(observed), len(at))
        found, r, done = episode.step(actions)
        s, over = np.asarray(found), bool(done.all())
        seen.append(s)
        done_actions.append(actions)
        rewards.append(r)
        note_tokens()
    end = episode.best_outcomes()
    first = problems[0].problem
    arrays: dict[str, Any] = {
        "s": np.stack(seen, axis=1).astype(np.float32),
        "actions": np.stack(done_actions, axis=1).astype(np.float32),
        "rewards": np.stack(rewards, axis=1),
        "f": end.f, "nu": end.nu, "feasible": end.feasible,
        "problem": np.array([p.problem.name for p in problems]), "behaviour": np.array([name for name, _ in ways]),
        "seed": np.array(seeds, dtype=np.int64), "dim": first.dim, "budget": problems[0].budget,
        "n_ineq": first.n_ineq, "n_eq": first.n_eq,
    }  # fmt: skip
    return arrays | {name: np.stack(parts, axis=1) for name, parts in tokens.items() if parts}


def record_episodes(
    out: Path,
    problems: Sequence[JudgedProblem],
    ways: Sequence[tuple[str, Agent]],
    seed: int,
    *,
    sets: bool,
    report: Callable[[str], Any] = lambda line: None,
) -> list[Path]:
    """Write a file for each shape of problem, every problem under every behaviour, and episodes.json about them.

    Makes the folder and replaces files of these names; seeds count up from `seed`. The .npz files come back.
    """
    out.mkdir(parents=True, exist_ok=True)
    groups: dict[Any, list[JudgedProblem]] = {}
    for problem in problems:
        groups.setdefault(problem.shape, []).append(problem)
    files, first = [], seed
    for number, group in enumerate(groups.values()):
        rows = [(problem, way) for problem in group for way in ways]
        seeds = list(range(first, first + len(rows)))
        first += len(rows)
        arrays = record_batch([p for p, _ in rows], seeds, [way for _, way in rows], sets=sets)
        packed = io.BytesIO()
        np.savez_compressed(packed, **arrays)
        files.append(out / f"episodes-{number:04d}.npz")
        write_bytes(files[-1], packed.getvalue())
        report(f"{files[-1].name}: {len(rows)} episodes of {group[0].problem.dim} variables")
    about = {
        "format": OFFLINE_FORMAT, "meco": __version__, "files": [path.name for path in files], "episodes": first - seed,
        "features": FEATURES[SEARCH_FEATURES].names, "points": POINT_NAMES, "constraints": CONSTRAINT_NAMES,
        "controls": ["theta", "share"], "behaviours": [name for name, _ in ways], "seed": seed,
    }  # fmt: skip
    write_bytes(out / "episodes.json", json.dumps(about, indent=1).encode())
    return files
