"""The second proposer, of TR-ES: offspring of an evolution strategy take the place of a share of the models' points."""

from __future__ import annotations

from typing import NamedTuple

from meco.core.arrays import Array, namespace
from meco.core.control import Control
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.core.rule import Key
from meco.tr.archive import are_repeated, as_evaluation, values_of
from meco.tr.failures import LIKELY, FailureModel
from meco.tr.lattice import Lattice
from meco.tr.merit import MERIT
from meco.tr.proposers.strategy import balance_weights
from meco.tr.region import PointSource, Region
from meco.tr.tr_state import TrState

SHARE = Control("share", 0.0, 1.0, 0.0, "share of the points that the evolution strategy proposes")
SHARE_BY_RESTART = (0.0, 0.5, 0.9)  # before the first restart, after it, and after all later ones


class Draws(NamedTuple):
    """What offspring were made of, for the answers: z and d = M z [B, k, D], and a fresh mean [B, D]."""

    z: Array
    d: Array
    fresh: Array

    def of_point(self, k: int) -> Draws:
        """The draws of point k alone: [B, 1, D]."""
        return Draws(self.z[:, k : k + 1, :], self.d[:, k : k + 1, :], self.fresh)


def default_share(region: Region) -> Array:
    """The share where none is given: it grows with every restart, [B].

    A problem with many minima shows itself by converging early; one without has no use for a strategy.
    """
    xp, index = namespace(region.delta), region.restart_index
    first, second, later = SHARE_BY_RESTART
    return xp.where(index == 0, first, xp.where(index == 1, second, region.delta * 0.0 + later))


class Offspring:
    """Replaces points of the models by offspring, and lets the strategy learn from them."""

    def __init__(self, task: Task, lattice: Lattice | None) -> None:
        self.task, self.lattice = task, lattice

    def replace_points(
        self, state: TrState, x: Array, source: Array, share: Array, failures: FailureModel | None = None
    ) -> tuple[Array, Array, Draws]:
        """Points x [B, k, D] and sources [B, k], a share [B] of them replaced by offspring, and their draws.

        A restart is not put off, offspring that are likely to fail or were evaluated replace none. It draws the same
        blocks in every iteration, after the models' points: part of a seed's search. Without a box it may recentre the
        strategy.
        """
        assert state.strategy is not None
        xp, (_, count, dim) = namespace(x), x.shape
        u, z = self.task.rng.uniform(count + dim), self.task.rng.normal(count, dim)
        fresh = u[:, count:]
        if self.task.range is not None:
            fresh = self._follow_models(state, source, fresh)
        born, d = state.strategy.make_offspring(z)
        use = (u[:, :count] < share[:, None]) & (source != PointSource.RESTART)
        if self.lattice is not None:  # rounding may take offspring to evaluated points: nothing to learn there
            born = self.lattice.snap(born)
            use = use & ~are_repeated(state.archive, born)
        if failures is not None:  # a border is known beside the centre alone, and offspring may be anywhere
            use = use & (failures._replace(border=None).risks(born) <= LIKELY)
        draws = Draws(z, d, fresh)
        return xp.where(use[..., None], born, x), xp.where(use, PointSource.OFFSPRING, source), draws

    def _follow_models(self, state: TrState, source: Array, fresh: Array) -> Array:
        """fresh [B, D] in (0, 1), moved to around the models' centre along variables without bounds: [B, D].

        It is where the strategy starts again. At the first restart of a run its mean is moved there, too: it searches
        where the models ended first.
        """
        assert state.strategy is not None
        assert self.task.range is not None
        region, infinite = state.region, self.task.range.infinite
        ended = (source[:, 0] == PointSource.RESTART) & (region.restart_index == 1)
        state.strategy.recentre(ended, region.centre, infinite)
        xp, (low, high) = namespace(fresh), self.task.walls
        return xp.clip(xp.where(infinite, region.centre + fresh - 0.5, fresh), min=low, max=high)

    def learn(self, state: TrState, draws: Draws, source: Array, ev: Evaluation) -> None:
        """Let the strategy learn from the answers [B, k] to points of these sources [B, k]; of offspring alone.

        Generations are ranked by the merit, failed ones last.
        """
        assert state.strategy is not None

        def key(y: Array, failed: Array) -> Key:
            ev = as_evaluation(y, state.archive.n_ineq, failed)
            return MERIT.values(ev, balance_weights(state.region.weights, ev)).last_where(failed)

        y = values_of(ev)
        for k in range(source.shape[1]):
            used = source[:, k] == PointSource.OFFSPRING
            state.strategy.learn(
                used, draws.z[:, k, :], draws.d[:, k, :], y[:, k, :], ev.failed[:, k], key, draws.fresh
            )
