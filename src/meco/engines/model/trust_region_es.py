"""TR-ES: an evolution strategy proposes a share of the points; models and centre take the best of both."""

from __future__ import annotations

from meco.arrays import Array, namespace
from meco.engines.engine import Control, Task
from meco.engines.model.archive import as_evaluation, values_of
from meco.engines.model.look import View
from meco.engines.model.offspring import Strategy, balanced
from meco.engines.model.region import OFFSPRING, RESTART
from meco.engines.model.step import Place, Step
from meco.engines.model.trust_region import THETA, TrustRegion
from meco.problems.evaluation import Evaluation
from meco.rules.rule import Key

SHARE = Control("share", 0.0, 1.0, 0.0, "share of the points that the evolution strategy proposes")
STAIRS = (0.0, 0.5, 0.9)  # share during the first start, the second, and all later ones


class TrustRegionES(TrustRegion):
    """Unless given or steered, the share grows with every start that has converged, and theta falls with the budget.

    A problem with many minima shows itself by converging early; one without has no use for a strategy.
    """

    label = "TR-ES"
    controls = (THETA, SHARE)
    remembers = (*(TrustRegion.remembers or ()), "strategy")

    def __init__(self, task: Task, theta: float | None = None, share: float | None = None, batch: int = 1) -> None:
        super().__init__(task, theta, batch)
        self.held["share"] = self._checked(SHARE, share)

    def share(self) -> Array:
        """The share in force: [B]."""
        xp, share = namespace(self.region.delta), self.held["share"]
        if share is None:
            start = self.region.start
            return xp.where(start == 0, STAIRS[0], xp.where(start == 1, STAIRS[1], self.region.delta * 0.0 + STAIRS[2]))
        return xp.zeros_like(self.region.delta) + share

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

        y = values_of(ev)
        for k in range(x.shape[1]):
            used = self.expectation.who[:, k] == OFFSPRING
            self.strategy.tell(used, self.z[:, k, :], self.d[:, k, :], y[:, k, :], ev.failed[:, k], key, self.fresh)

    def parts(self) -> tuple[object, ...]:
        return (*super().parts(), self.strategy)

    def trace(self) -> dict[str, Array]:
        return {**super().trace(), "share": self.share(), "sigma": self.strategy.distribution.sigma}
