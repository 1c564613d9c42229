"""The evolution strategy of TR-ES: MA-ES whose offspring come one at a time, each run at its own pace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import Array, masked_max, masked_min, maybe_any, namespace, rows
from meco.core.evaluation import Evaluation
from meco.core.rule import Key, order
from meco.engines.es.maes import (
    MAX_SIGMA,
    SearchDistribution,
    StrategyParameters,
    find_lost_and_broken,
    fold,
    move_distribution,
    native_size,
    parent_weights,
    repair_distribution,
    step_change,
)
from meco.tr.merit import Weights

INITIAL_SIGMA = 0.2


class PendingGeneration(NamedTuple):
    """The incomplete generation: z, d [B, L, D], y [B, L, F], failed [B, L], and how many were told, count [B]."""

    z: Array
    d: Array
    y: Array
    failed: Array
    count: Array


def balance_weights(weights: Weights, ev: Evaluation) -> Weights:
    """Weights with which each constraint counts as much as f, by their ranges in a generation [B, L].

    The region's weights may rise with refused steps, which would leave a strategy no view of f.
    """
    xp, ok = namespace(ev.f), ~ev.failed
    most = xp.max(xp.where(ok[..., None], ev.c, 0.0), axis=1)
    spread = masked_max(ev.f, ok) - masked_min(ev.f, ok)
    usable = (most > 0.0) & xp.isfinite(spread)[:, None]
    return weights._replace(w=xp.where(usable, spread[:, None] / xp.where(usable, most, 1.0), weights.w))


def fold_between(y: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Coordinates y [..., D] reflected at walls low < high [D], however far they go; infinite ones are none."""
    both, below, above = np.isfinite(low) & np.isfinite(high), np.isfinite(low), np.isfinite(high)
    least, most = np.where(below, low, 0.0), np.where(above, high, 0.0)
    width = np.where(both & (most > least), most - least, 1.0)
    one = np.where(below & (y < least), 2.0 * least - y, np.where(above & (y > most), 2.0 * most - y, y))
    return np.where(both, least + width * fold((y - least) / width), one)


class Strategy:
    """MA-ES around the middle of the cube; a generation is learnt from when its last offspring is told."""

    remembers = ("distribution", "pending")

    def __init__(self, mean: Array, functions: int, walls: tuple[Any, Any] = (0.0, 1.0)) -> None:
        """Begin around a mean [B, D] with F functions, 1 + C; walls are numbers, or [D] where some are infinite."""
        xp, (runs, dim), self.walls = namespace(mean), mean.shape, walls
        self.size = native_size(dim)
        self.parameters = StrategyParameters.of(dim, self.size // 2)
        self.distribution = SearchDistribution.isotropic(mean, INITIAL_SIGMA)
        made = {"dtype": mean.dtype, "device": mean.device}
        steps = xp.zeros((runs, self.size, dim), **made)
        values = xp.zeros((runs, self.size, functions), **made)
        failed = xp.ones((runs, self.size), dtype=xp.bool, device=mean.device)
        self.pending = PendingGeneration(
            steps, steps, values, failed, xp.zeros((runs,), dtype=xp.int64, device=mean.device)
        )

    def make_offspring(self, z: Array) -> tuple[Array, Array]:
        """Points [B, k, D] of the unit cube for standard normal z [B, k, D], and their steps d = M z."""
        now = self.distribution
        d = z @ namespace(z).matrix_transpose(now.matrix)
        x = now.mean[:, None, :] + now.sigma[:, None, None] * d
        low, high = self.walls
        return (fold(x) if isinstance(low, float) else fold_between(x, low, high)), d

    def recentre(self, runs: Array, mean: Array, which: Array) -> None:
        """Move the mean of the distribution to mean [B, D], along the variables which [D] of the runs [B]."""
        xp, now = namespace(mean), self.distribution
        self.distribution = now._replace(mean=xp.where(runs[:, None] & which, mean, now.mean))

    def learn(
        self, used: Array, z: Array, d: Array, y: Array, failed: Array, key: Callable[[Array, Array], Key], fresh: Array
    ) -> None:
        """Take one offspring z, d [B, D] with values y [B, F], failed or not [B], into runs that used it [B].

        A complete generation moves the distribution and is begun anew; key(y, failed) ranks it. fresh [B, D] is where a
        run that can learn nothing more starts again.
        """
        xp, pending = namespace(y), self.pending
        numbers = xp.arange(self.size, dtype=pending.count.dtype, device=y.device)
        here = (numbers[None, :] == pending.count[:, None]) & used[:, None]
        wide = here[..., None]
        pending = PendingGeneration(
            xp.where(wide, z[:, None, :], pending.z),
            xp.where(wide, d[:, None, :], pending.d),
            xp.where(wide, y[:, None, :], pending.y),
            xp.where(here, failed[:, None], pending.failed),
            pending.count + xp.astype(used, pending.count.dtype),
        )
        full = pending.count >= self.size
        if maybe_any(full):
            self._adapt(pending, full, key(pending.y, pending.failed), fresh)
            pending = pending._replace(count=xp.where(full, 0, pending.count))
        self.pending = pending

    def _adapt(self, pending: PendingGeneration, full: Array, key: Key, fresh: Array) -> None:
        """Move the distribution by a generation, ranked by its key, in the runs whose generation is full [B].

        One that can learn nothing more starts again at fresh [B, D].
        """
        xp, par, now = namespace(fresh), self.parameters, self.distribution
        parents = order(key)[:, : par.mu]
        weight = parent_weights(par.weights.on(fresh)["w"], ~rows(pending.failed, parents))
        lost, broken = find_lost_and_broken(now, pending.d, xp.any(weight > 0.0, axis=-1))
        new = move_distribution(now, rows(pending.z, parents), rows(pending.d, parents), weight, par)
        new = new._replace(sigma=xp.clip(new.sigma * step_change(new.path, par), max=MAX_SIGMA))
        moved, new = new.mean, repair_distribution(new, broken, lost, fresh, INITIAL_SIGMA)
        if not isinstance(self.walls[0], float):  # what has no second wall has no period
            low, high = self.walls
            free = ~lost[:, None] & (np.isinf(low) | np.isinf(high))
            new = new._replace(mean=xp.where(free, fold_between(moved, low, high), new.mean))
        self.distribution = SearchDistribution(
            xp.where(full[:, None], new.mean, now.mean),
            xp.where(full, new.sigma, now.sigma),
            xp.where(full[:, None, None], new.matrix, now.matrix),
            xp.where(full[:, None], new.path, now.path),
        )
