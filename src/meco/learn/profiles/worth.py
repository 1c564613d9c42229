"""What each profile is worth in a state, beside the default: a small network, fitted to rollouts by least squares.

    Q(s, a) = V(s) + A(s, a),   A(s, default) = 0                                                      (1)

with one hidden layer for both. A alone is the policy: the profile of largest A, where that is above a threshold, else
the default. Families, not problems, are left out to find how long to learn: a policy is for problems of other kinds
than those it learnt from. NumPy alone, float64: equal seeds give equal networks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from meco.errors import InvalidInput
from meco.policies.network import SELU_ALPHA, SELU_SCALE, NetworkShape, Weights, draw_weights, q_values, selu

FOLDS = 4  # parts of the families that are left out in turn
AVERAGING = 0.98  # of weights over steps
MOMENTS = (0.9, 0.999)  # of the gradient and its square (Kingma and Ba 2015)


class WorthSamples(NamedTuple):
    """States [N, F] at the switches, profiles [N], rewards [N], and the family's number [N] of each run."""

    s: np.ndarray
    profile: np.ndarray
    reward: np.ndarray
    family: np.ndarray

    def only(self, rows: np.ndarray) -> WorthSamples:
        """The samples of some rows, a mask [N] or indices [n]."""
        return WorthSamples(*(part[rows] for part in self))


class FitSettings(NamedTuple):
    """Settings of a fit."""

    hidden: int = 32
    steps: int = 2000
    batch: int = 1024
    rate: float = 1e-3
    decay: float = 1e-2  # of the weights, in learning rates
    check_every: int = 50
    seed: int = 1
    unseen: tuple[int, ...] = ()  # indices of features that the network does not see


class WorthFit(NamedTuple):
    """The network of A, a column for each profile, and how well it does on families that it did not see."""

    weights: Weights
    quality: dict[str, Any]


class Fold(NamedTuple):
    """Samples to learn from and those left out, the number of profiles and the shares [A] by which they were drawn."""

    learnt: WorthSamples
    left_out: WorthSamples
    profiles: int
    drawn: np.ndarray
    settings: FitSettings


def fit_worth(
    samples: WorthSamples, profiles: int, settings: FitSettings, call: Callable[..., Iterable[Any]] = map
) -> WorthFit:
    """Fit A of (1) to samples of so many profiles, with as many steps as are best on families left out.

    These are found on three of four parts of the families, then it is fitted on all. Unseen features have no weights.
    quality has numbers of samples and steps, the error with and without the network, and the gain, on families left
    out. call maps the parts, which take most of the time, to processes; the fit is the same however it does.
    """
    if samples.family.min() == samples.family.max():
        raise InvalidInput(
            "a training needs problems of two train families or more: it judges itself on those left out"
        )
    seen = np.isin(np.arange(samples.s.shape[1]), settings.unseen, invert=True)
    samples = samples._replace(s=samples.s * seen)
    rng = np.random.default_rng([settings.seed, 1])
    fold = rng.permutation(int(samples.family.max()) + 1)[samples.family] % FOLDS
    drawn = np.bincount(samples.profile, minlength=profiles) / len(samples.s)
    parts = [Fold(samples.only(fold != k), samples.only(fold == k), profiles, drawn, settings) for k in np.unique(fold)]
    courses, by_fold = zip(*call(_learn_fold, parts))
    left_out = [(course, part.left_out) for course, part in zip(courses, parts)]
    errors = np.mean(by_fold, axis=0)
    chosen = int(errors.argmin())
    steps = min(chosen * settings.check_every, settings.steps)
    whole = Fold(samples, samples.only(fold < 0), profiles, drawn, settings._replace(steps=steps))
    weights = next(iter(call(_learn_all, [whole])))
    quality = {
        "samples": len(samples.s), "steps": steps, "error": float(errors[chosen]),
        "without": float(np.mean([np.var(rows.reward) for _, rows in left_out])),
        "gain": _mean_gain([(course[chosen], rows) for course, rows in left_out]),
    }  # fmt: skip
    advantage = _advantage(weights)
    return WorthFit(advantage._replace(w1=advantage.w1 * seen[:, None]), quality)


def _learn_fold(fold: Fold) -> tuple[list[Weights], list[float]]:
    """Averaged weights at every check, and the errors of A on what was left out."""
    course = _descend(fold.learnt, fold.profiles, fold.settings, fold.settings.steps)
    return course, [_advantage_error(weights, fold.left_out, fold.drawn) for weights in course]


def _learn_all(fold: Fold) -> Weights:
    """The weights after all steps."""
    return _descend(fold.learnt, fold.profiles, fold.settings, fold.settings.steps)[-1]


def with_threshold(weights: Weights, threshold: float) -> Weights:
    """A copy of the network of A in which the default is worth a threshold: others are taken only above it."""
    b2 = weights.b2.copy()
    b2[0] += threshold
    return weights._replace(b2=b2)


def _advantage(weights: Weights) -> Weights:
    """The weights of the outputs of A alone, without that of V, the first."""
    return weights._replace(w2=weights.w2[:, 1:], b2=weights.b2[1:])


class Stepper:
    """Adam with decaying weights (Loshchilov and Hutter 2019), and the weights averaged over steps."""

    def __init__(self, first: Weights, settings: FitSettings) -> None:
        """Begin at weights, with no momentum."""
        self.weights, self.average, self.settings, self.steps = first, first, settings, 0
        self._mean = self._square = Weights(*(0.0 * part for part in first))

    def take(self, gradient: Weights) -> None:
        """Take one step against a gradient: changes weights, average, moments and the number of steps."""
        self.steps += 1
        rate, (slow, slower) = self.settings.rate, MOMENTS
        self._mean = _mix(self._mean, gradient, slow)
        self._square = _mix(self._square, Weights(*(slope * slope for slope in gradient)), slower)
        wide = [np.sqrt(part / (1.0 - slower**self.steps)) + 1e-8 for part in self._square]
        changes = [part / (1.0 - slow**self.steps) / size for part, size in zip(self._mean, wide)]
        keep = 1.0 - rate * self.settings.decay
        kept = Weights(keep * self.weights.w1, self.weights.b1, keep * self.weights.w2, self.weights.b2)
        self.weights = Weights(*(part - rate * change for part, change in zip(kept, changes)))
        self.average = _mix(self.average, self.weights, AVERAGING)


def _mix(old: Weights, new: Weights, share: float) -> Weights:
    """`share` of the old weights and the rest of the new ones."""
    return Weights(*(share * before + (1.0 - share) * now for before, now in zip(old, new)))


def _descend(samples: WorthSamples, profiles: int, settings: FitSettings, steps: int) -> list[Weights]:
    """Averaged weights of V and A at first, where every profile is worth as much, and after every check.

    The last are those after `steps` steps. Equal samples and settings give equal weights.
    """
    rng = np.random.default_rng([settings.seed, 0])
    first = draw_weights(rng, NetworkShape(samples.s.shape[1], settings.hidden, 1 + profiles))
    b2 = np.zeros(1 + profiles)
    b2[0] = samples.reward.mean()
    stepper = Stepper(first._replace(w2=0.0 * first.w2, b2=b2), settings)
    found = [stepper.average]
    for step in range(1, steps + 1):
        rows = rng.integers(len(samples.s), size=settings.batch)
        stepper.take(_gradient(stepper.weights, samples.only(rows)))
        if step % settings.check_every == 0 or step == steps:
            found.append(stepper.average)
    return found


def _gradient(w: Weights, samples: WorthSamples) -> Weights:
    """The gradient, by the weights, of half the mean square error of V + A on samples."""
    rows, column = np.arange(len(samples.s)), 1 + samples.profile
    z, hidden, out = layer_outputs(w, samples.s)
    missed = (out[:, 0] + out[rows, column] - samples.reward) / len(rows)
    d_out = np.zeros_like(out)
    d_out[:, 0] = d_out[rows, column] = missed
    d_out[:, 1] = 0.0
    return push_back(w, samples.s, z, hidden, d_out)


def layer_outputs(w: Weights, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs and outputs of the hidden units [N, H] in states s [N, F], and the outputs of the network [N, A]."""
    z = s @ w.w1 + w.b1
    hidden = selu(z)
    return z, hidden, hidden @ w.w2 + w.b2


def push_back(w: Weights, s: np.ndarray, z: np.ndarray, hidden: np.ndarray, d_out: np.ndarray) -> Weights:
    """The gradient by the weights, from that by outputs, d_out [N, A], in states s [N, F]; z and hidden are [N, H]."""
    slope = SELU_SCALE * np.where(z > 0.0, 1.0, SELU_ALPHA * np.exp(np.minimum(z, 0.0)))
    d_hidden = (d_out @ w.w2.T) * slope
    return Weights(s.T @ d_hidden, d_hidden.sum(axis=0), hidden.T @ d_out, d_out.sum(axis=0))


def _advantage_error(weights: Weights, samples: WorthSamples, drawn: np.ndarray) -> float:
    """Mean square error of A alone, profiles being drawn by these shares [A]: V of other families is nobody's aim."""
    worth = q_values(_advantage(weights), samples.s)
    told = worth[np.arange(len(worth)), samples.profile] - worth @ drawn
    return float(np.mean((samples.reward - samples.reward.mean() - told) ** 2))


def _mean_gain(fits: Sequence[tuple[Weights, WorthSamples]]) -> float:
    """What holding the best profile gains over the default on samples left out; 0 where no run tells.

    fits are networks of V and A, each with the samples that it did not see. Profiles are drawn whatever the state: runs
    that held the chosen one, and those that held the default, are a fair sample of both.
    """
    best = [_advantage(weights) for weights, _ in fits]
    chosen = np.concatenate([q_values(w, rows.s).argmax(axis=-1) for w, (_, rows) in zip(best, fits)])
    profile, reward = (np.concatenate([getattr(rows, k) for _, rows in fits]) for k in ("profile", "reward"))
    differs = chosen != 0
    follows, stays = differs & (profile == chosen), differs & (profile == 0)
    if not follows.any() or not stays.any():
        return 0.0
    return float(differs.mean() * (reward[follows].mean() - reward[stays].mean()))
