"""How alike categories are, from the answers so far: S_i of eq. (2) in categories.py.

What exchanging two values of a variable has changed in f and in the constraints places them in a space with an axis for
each function, and their likeness falls with their distance there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

UNLIKE = 0.3  # likeness of two categories of which nothing is known
PRIOR_COUNT = 2.0  # answers of a category that count as much as knowing nothing
ORDER_DECAY = 1.2  # of the likeness of ordered categories, from the first to the last, before there are answers
RIDGE = 0.3  # of what categories and other variables add, in units where values have a spread of about one
NUMBER_WEIGHT = 3.0  # of other variables in that regression: they need no large coefficients


def learn_likeness(
    z: np.ndarray, v: np.ndarray, y: np.ndarray, counts: np.ndarray, ordered: Sequence[bool] | np.ndarray
) -> list[np.ndarray]:
    """S_i [k_i, k_i] for each of K variables with counts [K] of categories, some of them ordered [K].

    From answers y [n, F] at categories v [n, K] and other variables z [n, D']. With fewer than three answers it is what
    is assumed before there are any; a category that was seen seldom keeps much of that.
    """
    priors = [_prior_likeness(k, in_order) for k, in_order in zip(counts, ordered)]
    if len(y) < 3:
        return priors
    effects = _estimate_effects(z, v, counts, _flatten_tails(y))
    found = []
    for i, prior in enumerate(priors):
        seen = np.bincount(v[:, i], minlength=counts[i])
        e = effects[i] - effects[i].mean(axis=0)
        if ordered[i]:  # neighbours stay neighbours: their places along a line are learnt
            gaps = np.sqrt(np.mean(np.diff(e, axis=0) ** 2, axis=1))
            e = np.concatenate([[0.0], np.cumsum(gaps + 1e-3)])[:, None]
        apart = np.mean((e[:, None, :] - e[None, :, :]) ** 2, axis=-1)
        learnt = np.exp(-0.5 * apart)
        trust = seen / (seen + PRIOR_COUNT)
        known, unknown = np.sqrt(trust), np.sqrt(1.0 - trust)  # products of them, so that S stays a covariance
        found.append(np.outer(known, known) * learnt + np.outer(unknown, unknown) * prior)
    return found


def _prior_likeness(count: int, ordered: bool) -> np.ndarray:
    """Likeness [count, count] of categories before there are answers, 1 on the diagonal."""
    if ordered:
        place = np.arange(count) / (count - 1.0)
        return np.exp(-ORDER_DECAY * np.abs(place[:, None] - place[None, :]))
    return UNLIKE + (1.0 - UNLIKE) * np.eye(count)


def _flatten_tails(y: np.ndarray) -> np.ndarray:
    """Values y [n, F] about their medians, in units of their spread, far ones drawn in by arcsinh: [n, F].

    One wild answer must not say all. A function that is the same everywhere becomes 0.
    """
    middle = np.median(y, axis=0)
    spread = np.median(np.abs(y - middle), axis=0) * 1.4826
    spread = np.where(spread > 0.0, spread, np.std(y, axis=0))
    return np.arcsinh((y - middle) / np.where(spread > 0.0, spread, 1.0))


def _estimate_effects(z: np.ndarray, v: np.ndarray, counts: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """What each category adds to each function, [k_i, F] for each of the K variables.

    By a ridge regression on categories v [n, K], of which there are counts [K], and other variables z [n, D'] with
    their squares; y [n, F] are values of about unit spread.
    """
    z = z - z.mean(axis=0)
    columns = [np.ones((len(z), 1)), NUMBER_WEIGHT * z, NUMBER_WEIGHT * z * z]
    columns += [np.eye(k)[v[:, i]] for i, k in enumerate(counts)]
    table = np.concatenate(columns, axis=1)
    ridge = np.full(table.shape[1], RIDGE)
    ridge[0] = 1e-6
    found = np.linalg.solve(table.T @ table + np.diag(ridge), table.T @ y)
    start, effects = 1 + 2 * z.shape[1], []
    for k in counts:
        effects.append(found[start : start + k])
        start += k
    return effects
