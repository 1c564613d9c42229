"""TR whose policy holds a profile of controls from one decision of a run to its next.

A run decides before its first points, after their answers, at every restart and every fiftieth of the budget. Restarts
are a run's own: runs in lockstep that do not decide keep what they hold, and remember what they compare with.
"""

from __future__ import annotations

from typing import Any

from meco.core.arrays import Array, namespace, to_numpy
from meco.core.engine import Engine, Task
from meco.policies.controller import Controlled
from meco.policies.controls import TR_PROFILES
from meco.policies.policy import Policy
from meco.tr.engine import TrustRegion

PROFILE_FEATURES, PROFILE_CONTROLS = "tr-search", TR_PROFILES.name
PROFILE_DECISIONS = 50  # over the budget, besides those at restarts
LEAST_INTERVAL = 5  # evaluations between two of these, so that decisions cost little beside steps


class ProfileSearch(Controlled):
    """A search by models whose profile a policy sets; features and controls are those of profiles."""

    remembers: tuple[str, ...] = (*Controlled.remembers, "restarts")  # names in saved states
    engine: TrustRegion

    def __init__(self, engine: Engine, policy: Policy) -> None:
        """Makes the first decision, of the task alone."""
        super().__init__(engine, policy, PROFILE_FEATURES, PROFILE_CONTROLS, PROFILE_DECISIONS, None, LEAST_INTERVAL)
        self.restarts: Array | None = None  # of each run at the last look, [B]
        self._decide(None)

    def count_told(self, points: int) -> None:
        """Count candidates as told; runs that started again decide, and all of them when it is time."""
        self.told += points
        index = self.engine.region.restart_index
        before, self.restarts = self.restarts, index + 0  # a copy: a device counts on in place
        if self.told >= self.next_decision:
            self.next_decision = self.interval * (self.told // self.interval + 1)
            self._decide(None)
        elif before is not None and bool((again := index != before).any()):
            self._decide(again)

    def _decide(self, due: Array | None) -> None:
        """Let the policy decide for the runs that are due [B], None: all."""
        controller = self.controller
        memory, last = controller.memory, controller.last
        s = controller.observe()
        values = self.choose(s, self._draw(due), due)
        if due is not None:
            values = {name: namespace(s).where(due, value, last[name]) for name, value in values.items()}
            controller.memory = _keep_where(due, controller.memory, memory)
        controller.steer(values)

    def choose(self, s: Array, u: Array, due: Array | None) -> dict[str, Array]:
        """What the policy sets in states s [B, F], with chance u [B, 2]; only runs that are due [B] will have it."""
        assert self.controller.policy is not None
        return self.controller.policy.decide(s, u, self.controller.controls)

    def _draw(self, due: Array | None) -> Array:
        """Chance [B, 2] of a decision: only runs that are due draw, so that each draws what it would draw alone."""
        if due is None or self.draw is None:
            return self.chance()
        rows = to_numpy(due).nonzero()[0]
        drawn = self.draw.select(rows.tolist()).uniform(2)
        u = namespace(drawn).zeros((len(due), 2), dtype=drawn.dtype, device=drawn.device)
        u[due] = drawn
        return u


def _keep_where(due: Array, new: Any, old: Any) -> Any:
    """What is remembered: new for runs that are due [B], else what was."""
    xp = namespace(due)
    return type(new)(*(xp.where(due if now.ndim == 1 else due[:, None], now, then) for now, then in zip(new, old)))


def profile_search(policy: Policy, task: Task, **options: Any) -> ProfileSearch:
    """TR with a policy over profiles; options are those of TR but for its controls."""
    return ProfileSearch(TrustRegion(task, **options), policy)
