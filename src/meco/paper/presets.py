"""Every training the paper needs, as data: which policies, on which problems, with which settings.

"10d", "loo50" and "split-..." are the paper's trainings as printed, with seeds that were fixed before any was trained;
"ablation" has the other decodings and rewards, "reading-..." the trainings under another reading of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from meco.core.registry import Registry
from meco.errors import UnknownName
from meco.paper.config import TrainingConfig
from meco.paper.meco import PRINTED_SEEDS
from meco.paper.reading import PRINTED_READING, READINGS
from meco.problems.suite import SUITES

HELD_OUT = ("C07", "C08", "C10", "C11", "C14", "C23", "C24", "C28")  # of the fixed split
SEEDS_PER_FOLDS = 100  # fold k of seed s trains with seed 100 s + k, so that no two folds draw alike

Preset = Callable[[int], list[TrainingConfig]]  # from a seed


def list_problems_without(suite: str, held_out: Sequence[str]) -> tuple[str, ...]:
    """The problems of a suite but for those held out; UnknownName for one that is not of it, and for another suite."""
    known = _list_suite(suite)
    for name in held_out:
        if name not in known:
            raise UnknownName(f"problem of {suite}", name, known)
    return tuple(p for p in known if p not in held_out)


def _list_suite(suite: str) -> tuple[str, ...]:
    """The problems of a suite; UnknownName for another one."""
    if suite not in SUITES:
        raise UnknownName("suite", suite, SUITES)
    return SUITES[suite]


def make_leave_one_out_configs(prefix: str, seed: int = 1, **settings: Any) -> list[TrainingConfig]:
    """Leave one out: a policy per problem of the suite, trained on all the others."""
    suite = settings.get("suite", "cec2017")
    return [
        _make_config(
            f"{prefix}-{left_out}",
            SEEDS_PER_FOLDS * seed + number,
            problems=list_problems_without(suite, [left_out]),
            **settings,
        )
        for number, left_out in enumerate(_list_suite(suite), 1)
    ]


def _make_config(name: str, seed: int, **settings: Any) -> TrainingConfig:
    """A training of that name and seed; settings by their flat names."""
    return TrainingConfig.from_dict({"name": name, "seed": seed, **settings})


def _make_all_problems_configs(seed: int, prefix: str = "meco", **settings: Any) -> list[TrainingConfig]:
    """For transfer to other suites: all 28 problems, 10 variables."""
    return [_make_config(f"{prefix}-10d", seed, dim=10, **settings)]


def _make_split_configs(seed: int, dim: int, name: str = "split", **settings: Any) -> list[TrainingConfig]:
    """The fixed split: all problems but those held out."""
    problems = list_problems_without("cec2017", HELD_OUT)
    return [_make_config(f"meco-{name}-{dim}d", seed, dim=dim, problems=problems, **settings)]


def _make_ablation_configs(seed: int) -> list[TrainingConfig]:
    """The decodings AA and CA at 10, 50, 100 variables; the rewards r1, r2, r1 + r2 at 10, 30, 50, 100."""
    decodings = [_make_split_configs(seed, dim, kind, decoder=kind) for kind in ("aa", "ca") for dim in (10, 50, 100)]
    rewards = [
        _make_split_configs(seed, dim, name, reward=kind)
        for name, kind in (("r1", "r1"), ("r2", "r2"), ("r1r2", "r1+r2"))
        for dim in (10, 30, 50, 100)
    ]
    return [config for configs in (*decodings, *rewards) for config in configs]


def make_reading_configs(seed: int, reading: str) -> list[TrainingConfig]:
    """loo50 and 10d under a reading, by its name; the policies are called meco-READING-..."""
    prefix, settings = f"meco-{reading}", asdict(READINGS[reading])
    folds = make_leave_one_out_configs(f"{prefix}-loo50", seed, dim=50, **settings)
    return [*folds, *_make_all_problems_configs(seed, prefix, **settings)]


AS_RELEASED = {  # what the authors' release does otherwise, as far as it is a setting here
    **asdict(READINGS["release"]), "decoder": "threshold", "q_output": "sigmoid", "f_star": "zero", "learn_from": 16,
    "lr_schedule": "cosine", "max_norm": 1.0, "shade": "release",
}  # fmt: skip


def make_released_configs(seed: int) -> list[TrainingConfig]:
    """loo50 and 10d with the settings of the authors' release."""
    folds = make_leave_one_out_configs("meco-released-loo50", seed, dim=50, **AS_RELEASED)
    return [*folds, *_make_all_problems_configs(seed, "meco-released", **AS_RELEASED)]


def _with_seed_in_names(make: Preset) -> Preset:
    """The same trainings, where the first of PRINTED_SEEDS has the plain names and every other seed says its number."""

    def make_named(seed: int) -> list[TrainingConfig]:
        return make(seed) if seed == PRINTED_SEEDS[0] else _name_seed(make(seed), seed)

    return make_named


_TRAININGS: dict[str, Preset] = {
    "10d": _make_all_problems_configs,
    "loo50": lambda seed: make_leave_one_out_configs("meco-loo50", seed, dim=50),
    **{f"split-{dim}d": partial(_make_split_configs, dim=dim) for dim in (10, 30, 50, 100)},
    "ablation": _make_ablation_configs,
    "released": make_released_configs,
    **{f"reading-{name}": partial(make_reading_configs, reading=name) for name in READINGS if name != PRINTED_READING},
}
PRESETS: Registry[Preset] = Registry(
    "training preset", {name: _with_seed_in_names(make) for name, make in _TRAININGS.items()}
)


def make_configs_for_seeds(make: Preset, seeds: Sequence[int]) -> list[TrainingConfig]:
    """The policies of a preset for each seed; with several seeds the names say which, unless the preset's do."""
    found = [(seed, make(seed)) for seed in seeds]
    names = [c.name for _, configs in found for c in configs]
    if len(set(names)) == len(names):
        return [c for _, configs in found for c in configs]
    return [c for seed, configs in found for c in _name_seed(configs, seed)]


def _name_seed(configs: Sequence[TrainingConfig], seed: int) -> list[TrainingConfig]:
    """The same trainings under names that say their seed."""
    return [replace(c, name=f"{c.name}-seed{seed}") for c in configs]


def select_configs(configs: Sequence[TrainingConfig], names: Sequence[str]) -> list[TrainingConfig]:
    """Some of the policies, by name and in that order: a share of the folds for one process. UnknownName for others."""
    known = {c.name: c for c in configs}
    for name in names:
        if name not in known:
            raise UnknownName("policy of this training", name, known)
    return [known[name] for name in names]
