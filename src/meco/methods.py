"""METHODS: each name is an engine with a rule, one line each."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from meco.engines.engine import Engine, Task
from meco.engines.shade import Shade
from meco.errors import InvalidInput
from meco.evaluator import Evaluator
from meco.problems.problem import Problem
from meco.problems.suite import get_problem
from meco.registry import Registry
from meco.results import RunResult
from meco.rules import BalancedPenalty, FeasibilityFirst, FixedEpsilon, StaticPenalty
from meco.streams import Streams


@dataclass(frozen=True)
class Method:
    """How to build an engine for a task, and whether many runs go in lockstep."""

    build: Callable[..., Engine]  # (task, **options) -> engine
    about: str
    lockstep: bool = True
    facts: dict[str, Any] = field(default_factory=dict)


def later(place: str, **options: Any) -> Callable[..., Engine]:
    """An engine whose module is imported when the method is first used."""
    module, _, name = place.partition(":")

    def build(task: Task, **more: Any) -> Engine:
        engine = getattr(importlib.import_module(f"meco.engines.{module}"), name)
        return engine(task, **{**options, **more})

    return build


def _penalty(task: Task, weight: float = 1.0, **options: Any) -> Engine:
    return Shade(task, rule=StaticPenalty(weight), **options)


METHODS: Registry[Method] = Registry(
    "method",
    {
        "SHADE": Method(_penalty, "SHADE with the static penalty f + nu"),
        "SHADE-eps": Method(partial(Shade, rule=FixedEpsilon(share=0.1)), "SHADE with a fixed relaxation"),
        "SHADE-BOC": Method(partial(Shade, rule=BalancedPenalty()), "SHADE with an adaptive penalty (reconstructed)"),
        "SHADE-FR": Method(partial(Shade, rule=FeasibilityFirst()), "SHADE with feasibility first"),
    },
    aliases={"SHADE-ε": "SHADE-eps"},
)


def solve(
    method: str,
    problem: Problem | str | Sequence[Problem],
    budget: int | None = None,
    seeds: Iterable[int] = range(10),
    *,
    xp: Any = np,
    device: Any = None,
    **options: Any,
) -> list[RunResult]:
    """Run a method on a problem, one run for each seed.

    budget is the number of evaluations of each run (50 D unless given). A list of problems
    of equal D gives each run its own. Options go to the engine, e.g. pop_size=30.

    >>> from meco import solve
    >>> solve("SHADE", "tilted", budget=500, seeds=[1])[0].feasible
    True
    """
    entry, name = METHODS[method], METHODS.resolve(method)
    seeds = list(seeds)
    if isinstance(problem, str):
        problem = get_problem(problem)
    dim = problem.dim if isinstance(problem, Problem) else problem[0].dim
    budget = 50 * dim if budget is None else budget
    if entry.lockstep:
        return run_batch(name, problem, budget, Streams(seeds, xp, device), **options)
    each = [problem] * len(seeds) if isinstance(problem, Problem) else list(problem)
    return [r for s, p in zip(seeds, each) for r in run_batch(name, p, budget, Streams([s]), **options)]


def run_batch(
    method: str, problem: Problem | Sequence[Problem], budget: int, draw: Streams, **options: Any
) -> list[RunResult]:
    """Runs in lockstep, one for each stream."""
    evaluator = Evaluator(problem, budget, draw.runs, draw.xp, draw.device)
    engine = build_engine(method, Task.of(evaluator, draw), **options)
    engine.run(evaluator)
    return evaluator.results(method, draw.seeds)


def build_engine(method: str, task: Task, **options: Any) -> Engine:
    """The engine of a method, with a clear error for an option it does not have."""
    try:
        return METHODS[method].build(task, **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        raise InvalidInput(f"{method}: {str(error).split(') ', 1)[-1].split('() ')[-1]}") from error
