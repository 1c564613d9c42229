"""What an agent sees of runs in lockstep: a vector of features, and the search as sets of points and constraints.

Tokens have a fixed number of entries whatever D and the number of constraints, free of units, so that attention and
other networks on sets fit. B runs, N points, C constraints.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from meco.core.arrays import to_numpy
from meco.errors import UnknownName
from meco.learn.tr.episode import TrustRegionEpisode

MOST_POINTS = 64  # newest ones first
POINT_NAMES = ("distance to the best", "rank of f", "rank of the violation", "feasible", "failed", "age")
CONSTRAINT_NAMES = ("value at the best", "violated share", "newest violated share", "active at the best", "equality")
ACTIVE = 1e-3  # of a constraint's range so far: nearer to its limit it is active


@dataclass(frozen=True, eq=False)
class Observation:
    """Runs at a decision: features s [B, F] by name, chance u [B, 2], and sets, made when they are asked for."""

    s: np.ndarray
    names: tuple[str, ...]
    u: np.ndarray
    episode: TrustRegionEpisode
    rows: np.ndarray  # which runs of the episode these are, [B]

    @cached_property
    def points(self) -> np.ndarray:
        """The newest points as tokens [B, 64, 6], in the order of POINT_NAMES; rows of 0 where there are fewer."""
        return point_tokens(self.episode)[self.rows]

    @cached_property
    def constraints(self) -> np.ndarray:
        """The constraints as tokens [B, C, 5], in the order of CONSTRAINT_NAMES."""
        return constraint_tokens(self.episode)[self.rows]

    def by_name(self, b: int) -> dict[str, float]:
        """The features of one run by name; UnknownName for another name."""
        return _Features(zip(self.names, self.s[b].tolist()))


class _Features(dict[str, float]):
    """Features by name, which says what it has where a name is not known."""

    def __missing__(self, name: str) -> float:
        raise UnknownName("feature", name, self)


class _ArchivePoints(NamedTuple):
    """What the models of B runs know, as NumPy arrays; points lie in the unit cube."""

    x: np.ndarray  # [B, N, D]
    y: np.ndarray  # f and constraints, [B, N, 1 + C]
    c: np.ndarray  # violations, [B, N, C]
    failed: np.ndarray  # [B, N]
    best: np.ndarray  # index [B], feasibility first; a failed point only where all failed


def _read_archive(episode: TrustRegionEpisode) -> _ArchivePoints:
    """Copy the points of an episode's engine, which must have been told some, to the host."""
    archive = episode.engine.archive
    x, y, failed = (to_numpy(part) for part in (archive.x, archive.y, archive.failed))
    g, h = y[..., 1 : 1 + archive.n_ineq], y[..., 1 + archive.n_ineq :]
    c = np.concatenate([np.maximum(g, 0.0), np.abs(h)], axis=-1)
    nu = np.where(failed, np.inf, c.sum(axis=-1))
    best = np.argmin(np.where(nu <= nu.min(axis=1, keepdims=True), np.where(failed, np.inf, y[..., 0]), np.inf), axis=1)
    return _ArchivePoints(x, y, c, failed, best)


def _scale_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks along the last axis, from 0 for the least to 1: [B, N]; 0 of a single one."""
    return np.argsort(np.argsort(values, axis=-1), axis=-1) / max(values.shape[-1] - 1, 1)


def point_tokens(episode: TrustRegionEpisode) -> np.ndarray:
    """The newest points that the models know as tokens, newest first (POINT_NAMES): [B, 64, 6], zeros behind them."""
    x, y, c, failed, best = _read_archive(episode)
    runs, count, dim = x.shape
    nu = np.where(failed, np.inf, c.sum(axis=-1))
    away = np.linalg.norm(x - x[np.arange(runs), best][:, None], axis=-1) / np.sqrt(dim)
    age = np.broadcast_to(np.arange(count)[::-1] / max(count - 1, 1), (runs, count))
    tokens = np.stack(
        [
            away,
            _scale_ranks(np.where(failed, np.inf, y[..., 0])),
            _scale_ranks(nu),
            (nu <= 0.0) * 1.0,
            failed * 1.0,
            age,
        ],
        axis=-1,
    )
    newest = tokens[:, ::-1][:, :MOST_POINTS]
    return np.pad(newest, ((0, 0), (0, MOST_POINTS - newest.shape[1]), (0, 0)))


def constraint_tokens(episode: TrustRegionEpisode) -> np.ndarray:
    """The constraints as tokens (CONSTRAINT_NAMES): [B, C, 5]; failed points count for nothing."""
    _, y, c, failed, best = _read_archive(episode)
    values, runs = y[..., 1:], np.arange(len(y))
    there = ~failed[..., None]
    span = np.max(np.where(there, np.abs(values), 0.0), axis=1)
    span = np.where(span > 0, span, 1.0)
    at_best = values[runs, best] / span
    violated = (c > 0.0) & there
    newest = violated[:, -MOST_POINTS // 4 :].mean(axis=1)
    n_ineq = episode.engine.archive.n_ineq
    equality = np.broadcast_to(np.arange(values.shape[-1]) >= n_ineq, at_best.shape)
    columns = [at_best, violated.mean(axis=1), newest, (np.abs(at_best) <= ACTIVE) * 1.0, equality * 1.0]
    return np.stack(columns, axis=-1)
