"""What a surrogate method has evaluated, and the interpolation trained on it."""

from __future__ import annotations

import numpy as np

from meco.paper.baselines.surrogate import CubicRBF, Surrogate

TRAINING_SHARES = (1 / 6, 1 / 2, 1 / 3)  # of a capped training set: best, nearest to the best, newest
RENEWAL_PART = 12  # a capped set is chosen again when one part in this many has been added
MAX_OUTPUT = 1e50  # outputs are cut here before they are trained on


class Samples:
    """Evaluated points x [n, D] in [-1, 1]^D with outputs y [n, 1 + p + q]: f, g, h."""

    def __init__(self, dim: int, outputs: int) -> None:
        """No points yet, of dim variables and so many outputs."""
        self.x = np.empty((0, dim))
        self.y = np.empty((0, outputs))
        self.failed = np.empty(0, dtype=bool)

    def add(self, x: np.ndarray, y: np.ndarray, failed: np.ndarray) -> None:
        """Append points x [n, D] with outputs y [n, m], cut at MAX_OUTPUT, nan where they failed [n]."""
        self.x = np.concatenate([self.x, x])
        self.y = np.concatenate([self.y, np.where(failed[:, None], np.nan, np.clip(y, -MAX_OUTPUT, MAX_OUTPUT))])
        self.failed = np.concatenate([self.failed, failed])

    def __len__(self) -> int:
        return len(self.x)

    def nearest_distance(self, x: np.ndarray) -> float:
        """Distance from x [D] to the closest evaluated point; inf where there is none."""
        return float(np.sqrt(np.min(np.sum((self.x - x) ** 2, axis=1), initial=np.inf)))


class Training:
    """Surrogates that follow the samples, on all of them or on a chosen part of at most cap points."""

    def __init__(self, dim: int, outputs: int, cap: int | None) -> None:
        """Surrogates of so many outputs, trained on at most cap points; None: on all."""
        self.rbf = CubicRBF(dim, outputs)
        self.cap = cap
        self.capped = False  # whether the cap ever left a point out
        self.seen = 0

    def update(self, samples: Samples, targets: np.ndarray, order: np.ndarray, best: int) -> Surrogate:
        """Train on the samples that are new since the last call; gives the surrogates of targets [n, m].

        order ranks all samples from best to worst, best is the point to be most accurate at. Failed ones are left
        out; LinAlgError where the others do not span the space.
        """
        good = np.flatnonzero(~samples.failed)
        new = good[good >= self.seen]
        self.seen = len(samples)
        if self.cap is not None and self.rbf.size + len(new) > self.cap:
            self.capped = True
            chosen = self._choose_training_points(samples, good, order, best)
            self.rbf.fit(samples.x[chosen], targets[chosen])
        elif self.rbf.size == 0:
            self.rbf.fit(samples.x[new], targets[new])
        else:
            for i in new:
                self.rbf.add(samples.x[i], targets[i])
        return self.rbf.surrogate()

    def _choose_training_points(self, samples: Samples, good: np.ndarray, order: np.ndarray, best: int) -> np.ndarray:
        """Indices [n] of the best, the newest and the points around the best; n is the cap less a reserve."""
        assert self.cap is not None
        room = self.cap - max(1, self.cap // RENEWAL_PART)
        distance = np.sum((samples.x[good] - samples.x[best]) ** 2, axis=1)
        near = good[np.argsort(distance, kind="stable")]
        ranked = order[~samples.failed[order]]
        picked = np.concatenate([ranked[: int(room * TRAINING_SHARES[0])], good[-int(room * TRAINING_SHARES[2]) :]])
        chosen = np.zeros(len(samples), dtype=bool)
        chosen[picked] = True
        rest = near[~chosen[near]]
        chosen[rest[: room - int(chosen.sum())]] = True  # what overlaps leaves more room around the best
        return np.flatnonzero(chosen)
