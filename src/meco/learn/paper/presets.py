"""Every training the paper needs, as data: which policies, on which problems, with which settings.

The shipped policies are rewarded by the decrease of f + nu and chosen among seeds on their training problems.
"paper-..." are the paper's own trainings, for comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from meco.core.registry import Registry
from meco.errors import UnknownName
from meco.learn.paper.config import TrainingConfig
from meco.problems.suite import SUITES

HELD_OUT = ("C07", "C08", "C10", "C11", "C14", "C23", "C24", "C28")  # of the fixed split
SHIPPED_SETTINGS: dict[str, Any] = {"reward": "score"}  # what the shipped policies change of the paper's settings
SEEDS_PER_FOLDS = 100  # fold k of seed s trains with seed 100 s + k, so that no two folds draw alike

Preset = Callable[[int], list[TrainingConfig]]  # from a seed


def problems_without(suite: str, held_out: Sequence[str]) -> tuple[str, ...]:
    """The problems of a suite but for those held out, which must be of it."""
    for name in held_out:
        if name not in SUITES[suite]:
            raise UnknownName(f"problem of {suite}", name, SUITES[suite])
    return tuple(p for p in SUITES[suite] if p not in held_out)


def leave_one_out_configs(prefix: str, seed: int = 1, **settings: Any) -> list[TrainingConfig]:
    """Leave one out: a policy per problem of the suite, trained on all the others."""
    suite = settings.get("suite", "cec2017")
    return [
        _make_config(
            f"{prefix}-{left_out}",
            SEEDS_PER_FOLDS * seed + number,
            problems=problems_without(suite, [left_out]),
            **settings,
        )
        for number, left_out in enumerate(SUITES[suite], 1)
    ]


def _make_config(name: str, seed: int, **settings: Any) -> TrainingConfig:
    """A training of that name and seed; settings by their flat names."""
    return TrainingConfig.from_dict({"name": name, "seed": seed, **settings})


def _all_problems_configs(seed: int, name: str = "meco-10d", **settings: Any) -> list[TrainingConfig]:
    """For transfer to other suites: all 28 problems, 10 variables."""
    return [_make_config(name, seed, dim=10, **settings)]


def _split_configs(seed: int, dim: int, name: str = "split", **settings: Any) -> list[TrainingConfig]:
    """The fixed split: all problems but those held out."""
    problems = problems_without("cec2017", HELD_OUT)
    return [_make_config(f"meco-{name}-{dim}d", seed, dim=dim, problems=problems, **settings)]


def _ablation_configs(seed: int) -> list[TrainingConfig]:
    """The decodings AA and CA at 10, 50, 100 variables; the rewards r1, r2, r1 + r2 at 10, 30, 50, 100."""
    decodings = [_split_configs(seed, dim, kind, decoder=kind) for kind in ("aa", "ca") for dim in (10, 50, 100)]
    rewards = [
        _split_configs(seed, dim, name, reward=kind)
        for name, kind in (("r1", "r1"), ("r2", "r2"), ("r1r2", "r1+r2"))
        for dim in (10, 30, 50, 100)
    ]
    return [config for configs in (*decodings, *rewards) for config in configs]


PRESETS: Registry[Preset] = Registry(
    "training preset",
    {
        "10d": lambda seed: _all_problems_configs(seed, **SHIPPED_SETTINGS),
        "loo50": lambda seed: leave_one_out_configs("meco-loo50", seed, dim=50, **SHIPPED_SETTINGS),
        **{f"split-{dim}d": partial(_split_configs, dim=dim, **SHIPPED_SETTINGS) for dim in (10, 30, 50, 100)},
        "ablation": _ablation_configs,
        "paper-10d": lambda seed: _all_problems_configs(seed, "meco-paper-10d"),
        "paper-loo50": lambda seed: leave_one_out_configs("meco-paper-loo50", seed, dim=50),
        **{f"paper-split-{dim}d": partial(_split_configs, dim=dim, name="paper-split") for dim in (10, 30, 50, 100)},
    },
)


def configs_for_seeds(make: Preset, seeds: Sequence[int]) -> list[TrainingConfig]:
    """The policies of a preset for each seed; with several seeds the names say which."""
    if len(seeds) == 1:
        return make(seeds[0])
    return [replace(c, name=f"{c.name}-seed{seed}") for seed in seeds for c in make(seed)]


def select_configs(configs: Sequence[TrainingConfig], names: Sequence[str]) -> list[TrainingConfig]:
    """Some of the policies, by name and in that order: a share of the folds for one process; others are errors."""
    known = {c.name: c for c in configs}
    for name in names:
        if name not in known:
            raise UnknownName("policy of this training", name, known)
    return [known[name] for name in names]
