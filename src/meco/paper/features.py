"""What a policy sees, as data: named sets of features with a version, computed from what an engine knows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from meco.core.arrays import Array, namespace
from meco.core.registry import Registry
from meco.core.rule import Population
from meco.paper.state import (
    FEATURE_BOUND,
    PopulationSummary,
    Reference,
    make_reference,
    state_vector,
    summarize_population,
    valid_mask,
)


class FeatureSet(ABC):
    """Numbers that describe a search to a policy. A value: what it remembers of its runs goes in and comes out.

    Policy files name the set and its version, which rises whenever a feature changes its
    meaning: older policies are then refused.
    """

    name: str
    version: int
    names: tuple[str, ...]  # of the features, in order: networks are trained for it, so a change needs a new version
    needs: tuple[str, ...]  # of an engine's knowledge()
    bound: float = FEATURE_BOUND  # every feature lies in [-bound, bound]

    @abstractmethod
    def observe(self, known: Mapping[str, Any], last: Mapping[str, Array], memory: Any) -> tuple[Array, Any]:
        """Features [B, F] and what to remember.

        known is the engine's knowledge, last the controls in force [B]; memory is what the
        observation before this one remembered, None at first.
        """


class PopulationMemory(NamedTuple):
    """What the paper's features remember of a run."""

    first: Reference
    now: PopulationSummary
    complete: bool  # whether every run has had a candidate that did not fail


@dataclass(frozen=True)
class PopulationTen(FeatureSet):
    """The paper's ten features of a population (eqs. 4 and 5); best is the reading of f_best, a name of BEST."""

    best: str = "least"

    name, version = "population-10", 1
    names = (
        "decision spread", "objective spread", "decision centre", "objective centre", "objective progress",
        "budget spent", "violation progress", "feasible share", "last action", "agreement of objective and violation",
    )  # fmt: skip
    needs = ("population", "progress", "eps", "delta")

    def observe(
        self, known: Mapping[str, Any], last: Mapping[str, Array], memory: Any
    ) -> tuple[Array, PopulationMemory]:
        """The ten features [B, 10] of the present population, measured against the first, and what to remember."""
        pop, ok = known["population"], valid_mask(known["population"].ev)
        seen = (
            self._remember_first(pop, known["delta"])
            if memory is None
            else self._remember_later(pop, ok, known, memory)
        )
        (action,) = last.values()  # the paper has one control
        if memory is not None:
            action = known.get("last action", action)
        return state_vector(pop, seen.now, seen.first, known["progress"], action, ok), seen

    def _remember_first(self, pop: Population, delta: float) -> PopulationMemory:
        """What is remembered of the first population: the reference and its summary, nan where all of a run failed."""
        first = make_reference(pop.ev, delta, self.best)
        return PopulationMemory(first, first.summary, pop.ev.intact or _has_reference_of_every_run(first))

    def _remember_later(
        self, pop: Population, ok: Array | None, known: Mapping[str, Any], memory: PopulationMemory
    ) -> PopulationMemory:
        """What is remembered once the present population is known too; ok [B, N] marks what did not fail, None: all."""
        first, complete = memory.first, memory.complete
        if not complete:  # a run whose candidates had all failed is measured against its first success
            first = first.fill_missing(make_reference(pop.ev, known["delta"], self.best))
            complete = _has_reference_of_every_run(first)
        now = summarize_population(pop.ev, known["eps"], ok, self.best)
        return PopulationMemory(first, now if ok is None else now.fill_missing(memory.now), complete)


def _has_reference_of_every_run(first: Reference) -> bool:
    """Whether no run is without a candidate that did not fail."""
    xp = namespace(first.f_best)
    return not bool(xp.any(xp.isnan(first.f_best)))


FEATURES: Registry[FeatureSet] = Registry("feature set", {PopulationTen.name: PopulationTen()})
