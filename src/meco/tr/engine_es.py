"""TR-ES: an evolution strategy proposes a share of the points; models and centre take the best of both."""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.core.arrays import Array, namespace
from meco.core.control import Control
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.core.rule import Key
from meco.tr.archive import as_evaluation, values_of
from meco.tr.engine import THETA, TrustRegion
from meco.tr.knowledge import OF_SEARCH, OF_TASK, of_search, share_of
from meco.tr.model_fit import View
from meco.tr.offspring import Strategy, balanced
from meco.tr.proposal_counts import tallied
from meco.tr.region import OFFSPRING, RESTART
from meco.tr.step import Place, Step

SHARE = Control("share", 0.0, 1.0, 0.0, "share of the points that the evolution strategy proposes")
STAIRS = (0.0, 0.5, 0.9)  # share during the first start, the second, and all later ones


class TrustRegionES(TrustRegion):
    """Unless given or steered, the share grows with every start that has converged, and theta falls with the budget.

    A problem with many minima shows itself by converging early; one without has no use for a strategy.
    """

    label = "TR-ES"
    controls = (THETA, SHARE)
    remembers = (*TrustRegion.remembers, "strategy")
    knows = (*OF_SEARCH, *OF_TASK)

    def __init__(self, task: Task, theta: float | None = None, share: float | None = None, batch: int = 1) -> None:
        super().__init__(task, theta, batch)
        self.held["share"] = self._checked(SHARE, share)

    def share(self) -> Array:
        """The share in force: [B]."""
        share = self.held["share"]
        return self.own_share() if share is None else namespace(self.region.delta).zeros_like(self.region.delta) + share

    def own_share(self) -> Array:
        """The share where none is given: it grows with every start."""
        xp, start = namespace(self.region.delta), self.region.start
        return xp.where(start == 0, STAIRS[0], xp.where(start == 1, STAIRS[1], self.region.delta * 0.0 + STAIRS[2]))

    def _begin(self, x: Array, ev: Evaluation) -> None:
        super()._begin(x, ev)
        middle = namespace(x).zeros_like(x[:, 0, :]) + 0.5
        self.strategy = Strategy(middle, self.region.models.gradient.shape[1])

    def _turn(self, view: View, place: Place, step: Step, foreseen: Array) -> tuple[Array, Array]:
        """Points of the models, some of them replaced by offspring; a new start is not put off."""
        x, who = super()._turn(view, place, step, foreseen)
        xp, (_, count, dim) = namespace(x), x.shape
        u, self.z = self.task.rng.uniform(count + dim), self.task.rng.normal(count, dim)
        born, self.d = self.strategy.offspring(self.z)
        self.fresh = u[:, count:]
        use = (u[:, :count] < self.share()[:, None]) & (who != RESTART)
        if self.lattice is not None:  # rounding may take offspring to evaluated points: nothing to learn there
            born = self.lattice.snapped(born)
            use = use & ~xp.stack([self._repeats(born[:, k, :]) for k in range(count)], axis=1)
        return xp.where(use[..., None], born, x), xp.where(use, OFFSPRING, who)

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Let both learn; the strategy ranks its generations by the merit, with weights of its own."""
        super().tell(x, ev)
        if self.generation == 1:
            return

        def key(y: Array, failed: Array) -> Key:
            ev = as_evaluation(y, self.seen.n_ineq, failed)
            return self.rule.values(ev, balanced(self.region.weights, ev)).last_where(failed)

        y, made = values_of(ev), self.expectation
        assert made is not None
        for k in range(x.shape[1]):
            used = made.who[:, k] == OFFSPRING
            self.strategy.tell(used, self.z[:, k, :], self.d[:, k, :], y[:, k, :], ev.failed[:, k], key, self.fresh)

    def _parts(self) -> tuple[object, ...]:
        return (*super()._parts(), self.strategy)

    @np.errstate(all="ignore")
    def knowledge(self) -> dict[str, Any]:
        """What points, models and strategy say of the search (knowledge.py), and what its own rule would set."""
        task, delta = self.task, self.region.delta
        whole = 0.0 if task.integer is None else share_of(task.integer[:, 0, :], delta)
        r2_f, r2_c = self.explained
        same = {
            "dim": float(task.dim),
            "inequalities": float(self.seen.n_ineq),
            "equalities": float(self.region.multipliers.shape[-1] - self.seen.n_ineq),
            "budget": float(task.budget),
            "spent": min(1.0, self.told / task.budget),
            "own_theta": self.own_theta(),
            "whole": whole,
        }
        every = namespace(delta).zeros_like(delta)
        return {
            **of_search(self.seen, self.region, tallied(self.counts), self.strategy.brood),
            **{name: every + value for name, value in same.items()},
            "own_share": self.own_share(),
            "r2_f": r2_f,
            "r2_c": r2_c,
            "sigma": self.strategy.distribution.sigma,
        }

    def trace(self) -> dict[str, Array]:
        return {**super().trace(), "share": self.share(), "sigma": self.strategy.distribution.sigma}
