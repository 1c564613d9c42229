"""MeCO: SHADE whose relaxation a policy sets (section 2.2); MeCO-u and MeCO-rand beside it (section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from meco.core.engine import Engine, Task
from meco.core.registry import LazyCallable
from meco.engines import ENGINES
from meco.paper.action import DECODERS
from meco.paper.controller import Controlled
from meco.paper.controls import DECODER_OF_CONTROLS, find_control_set_name
from meco.paper.features import FeatureSet, PopulationTen
from meco.paper.policy import Policy
from meco.paper.reading import READINGS, Reading
from meco.paper.relaxation import SteeredEpsilon
from meco.paper.resolve import PolicyLike, find_policy
from meco.rules.epsilon import DELTA

DEFAULT_POLICY = "meco-10d"
PRINTED_SEEDS = (1, 2, 3, 4, 5)  # of policies trained as printed; nothing is chosen: the first is the tables' row

EngineLike = str | Callable[..., Engine]  # a name of ENGINES, or how to build one from a task and a rule


def make_meco(
    task: Task,
    policy: PolicyLike | Iterable[PolicyLike] = DEFAULT_POLICY,
    engine: EngineLike = "shade",
    reading: Reading | str | None = None,
    **options: Any,
) -> Engine:
    """MeCO: a trained policy by name, by file or as it is; a list gives each run its own.

    The reading is the policy's unless one is named; options go to the engine. A policy that is not there or does not
    fit is an error.
    """
    found = find_policy(policy, task.rng.seeds)
    return steer_relaxation(found, task, found.controls or "epsilon", engine, reading, **options)


def make_untrained(
    task: Task,
    engine: EngineLike = "shade",
    decoder: str = "geometric",
    reading: Reading | str | None = None,
    **options: Any,
) -> Engine:
    """MeCO-u: a network with random weights, drawn from each run's seed."""
    return steer_relaxation(
        find_policy("untrained", task.rng.seeds), task, find_control_set_name(decoder), engine, reading, **options
    )


def make_random(
    task: Task,
    engine: EngineLike = "shade",
    decoder: str = "geometric",
    reading: Reading | str | None = None,
    **options: Any,
) -> Engine:
    """MeCO-rand: an action at random in every generation."""
    return steer_relaxation(
        find_policy("random", task.rng.seeds), task, find_control_set_name(decoder), engine, reading, **options
    )


def steer_relaxation(
    policy: Policy,
    task: Task,
    controls: str,
    engine: EngineLike = "shade",
    reading: Reading | str | None = None,
    **options: Any,
) -> Controlled:
    """The paper's composition: the relaxation of an engine's rule set by a policy after every generation.

    The reading is the policy's unless given. Decisions draw from the numbers that each generation hands to its rule.
    """
    if reading is None:
        reading = Reading.of(policy.metadata)
    reading = READINGS[reading] if isinstance(reading, str) else reading
    decoder = DECODERS[DECODER_OF_CONTROLS.get(controls, "geometric")].with_delta(policy.metadata.get("delta", DELTA))
    make = find_engine(engine)
    search: Any = make(task, rule=SteeredEpsilon(decoder), **{**reading.engine_options(make), **options})
    features: str | FeatureSet = policy.features or PopulationTen.name
    if features == PopulationTen.name:
        features = PopulationTen(reading.best)
    return Controlled(search, policy, features, controls, chance=lambda: search.u_rule)


def find_engine(name: EngineLike) -> Callable[..., Engine]:
    """The engine of that name, UnknownName for others; a callable is given back."""
    found = ENGINES[name] if isinstance(name, str) else name
    return found.load() if isinstance(found, LazyCallable) else found
