"""The relaxed order whose allowance is set by an action per generation: a policy's, or one from outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from meco.arrays import Array, Constants, namespace
from meco.mdp.action import DECODERS, Decoder, Geometric
from meco.mdp.policy import Policy
from meco.mdp.state import Reference, Situation, counted, features, reference, situation
from meco.problems.evaluation import Evaluation
from meco.rules.epsilon import DELTA, relaxed_violation
from meco.rules.rule import Key, Population, Progress, Rule


class Relaxation(NamedTuple):
    """What the rule remembers of its runs."""

    eps: Array  # [B, C] allowance under which candidates are compared
    action: Array  # [B] value of the action that set it, 0 before the first
    first: Reference
    now: Situation
    s: Array  # [B, 10] features of the present population
    complete: bool  # whether every run has had a candidate that did not fail


class Relaxed(Rule):
    """Within the allowance by objective, beyond it by what exceeds it (paper eq. 2 and the text after it)."""

    decoder: Decoder

    def observe_first(self, pop: Population, progress: Progress) -> Relaxation:
        """Features of the first population; no action has been taken yet."""
        xp = namespace(pop.x)
        first = reference(pop.ev, self.decoder.delta)
        now = Situation(first.f_best, first.nu_bar)
        action = xp.zeros_like(first.f_best)
        s = features(pop, now, first, progress, action, counted(pop.ev.failed))
        complete = not bool(xp.any(xp.isnan(first.f_best)))
        return Relaxation(self.decoder.first(first.base), action, first, now, s, complete)

    def observe(self, state: Relaxation, pop: Population, progress: Progress) -> Relaxation:
        """Features of a population selected under state.eps, which stays until the next action."""
        if not state.complete:
            state = self._begun_late(state, pop)
        ok = counted(pop.ev.failed)
        now = situation(pop.ev, state.eps, ok)
        if ok is not None:
            now = _known(now, state.now)
        return state._replace(now=now, s=features(pop, now, state.first, progress, state.action, ok))

    def with_action(self, state: Relaxation, action: Array) -> Relaxation:
        """The allowance that an action value [B] asks for."""
        return state._replace(eps=self.decoder.next(state.eps, action, state.first.base), action=action)

    def values(self, ev: Evaluation, state: Relaxation) -> Key:
        return Key(relaxed_violation(ev.c, state.eps), ev.f)

    def trace(self, state: Relaxation) -> dict[str, Array]:
        """Action and allowance that the next generation is compared under."""
        return {"action": state.action, "eps": state.eps}

    def _begun_late(self, state: Relaxation, pop: Population) -> Relaxation:
        """A run whose candidates had all failed is measured against its first population that did not."""
        xp = namespace(pop.x)
        void = xp.isnan(state.first.f_best)
        found = reference(pop.ev, self.decoder.delta)
        f_best, f_worst, f_min, nu_bar = (xp.where(void, new, old) for new, old in zip(found[:4], state.first[:4]))
        base = xp.where(void[:, None], found.base, state.first.base)
        eps = xp.where(void[:, None], self.decoder.first(base), state.eps)
        complete = not bool(xp.any(xp.isnan(f_best)))
        return state._replace(first=Reference.of(f_best, f_worst, f_min, nu_bar, base), eps=eps, complete=complete)


def _known(new: Situation, old: Situation) -> Situation:
    """The new situation, or the old one where a whole population failed and says nothing."""
    xp = namespace(new.f_best)
    return Situation(*(xp.where(xp.isnan(n), o, n) for n, o in zip(new, old)))


@dataclass(frozen=True)
class SteeredEpsilon(Relaxed):
    """The caller sets the action with with_action before each generation (see Episode)."""

    decoder: Decoder = field(default_factory=Geometric)

    def start(self, pop: Population, progress: Progress, draw: Array) -> Relaxation:
        return self.observe_first(pop, progress)

    def adapt(self, state: Relaxation, pop: Population, progress: Progress, draw: Array) -> Relaxation:
        return self.observe(state, pop, progress)


@dataclass(frozen=True, eq=False)
class LearnedEpsilon(Relaxed):
    """A policy sets the action from the features; unless given, the decoder is the one it was trained with."""

    policy: Policy
    decoder: Decoder = None  # type: ignore[assignment]
    _grid: Constants = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.decoder is None:
            object.__setattr__(self, "decoder", decoder_of(self.policy))
        object.__setattr__(self, "_grid", Constants(values=self.decoder.grid.copy()))

    def start(self, pop: Population, progress: Progress, draw: Array) -> Relaxation:
        return self.decide(self.observe_first(pop, progress), draw)

    def adapt(self, state: Relaxation, pop: Population, progress: Progress, draw: Array) -> Relaxation:
        return self.decide(self.observe(state, pop, progress), draw)

    def decide(self, state: Relaxation, draw: Array) -> Relaxation:
        """The allowance the policy chooses for the next generation."""
        index = self.policy.act(state.s, draw)
        return self.with_action(state, namespace(state.s).take(self._grid.on(state.s)["values"], index, axis=0))


def decoder_of(policy: Policy) -> Decoder:
    """The decoding a policy was trained with; the paper's for one that says nothing."""
    known = policy.metadata
    return DECODERS[known.get("decoder", "geometric")].with_delta(known.get("delta", DELTA))
