"""The paper's learner on profiles: Double DQN from decision to decision, on courses that chance or a policy made.

Nothing is earned before the end, where the reward of the run comes (its quantile, or the decrease of f + nu), and
nothing is discounted, as in the paper. Courses are replayed from memory; a target network values the next state, and
the network itself chooses there (van Hasselt et al. 2016).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meco.learn.profiles.worth import FitSettings, Stepper, layer_outputs, push_back
from meco.policies.network import NetworkShape, Weights, draw_weights, q_values

TARGET_EVERY = 50  # steps after which the target follows


def fit_deep_q(
    courses: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], profiles: int, settings: FitSettings
) -> Weights:
    """The weights of a network of Q(s, a) less that of the default, after settings.steps steps of Double DQN.

    Courses are states [T, B, F], profiles taken [T, B] and final rewards [B] each; profiles below 0 are left out.
    Columns are the profiles; unseen features have no weights. Equal settings give equal networks.
    """
    s, action, reward, follows = _list_transitions(courses)
    seen = np.isin(np.arange(s.shape[1]), settings.unseen, invert=True)
    s, follows = s * seen, follows * seen
    rng = np.random.default_rng([settings.seed, 2])
    first = draw_weights(rng, NetworkShape(s.shape[1], settings.hidden, profiles))
    stepper = Stepper(first, settings)
    target, last = first, np.isfinite(reward)
    for step in range(settings.steps):
        if step % TARGET_EVERY == 0:
            target = Weights(*(part.copy() for part in stepper.weights))
        rows = rng.integers(len(s), size=settings.batch)
        chosen = q_values(stepper.weights, follows[rows]).argmax(axis=-1)
        later = q_values(target, follows[rows])[np.arange(len(rows)), chosen]
        wanted = np.where(last[rows], np.nan_to_num(reward[rows]), later)
        z, hidden, out = layer_outputs(stepper.weights, s[rows])
        d_out = np.zeros_like(out)
        here = np.arange(len(rows)), action[rows]
        d_out[here] = (out[here] - wanted) / len(rows)
        stepper.take(push_back(stepper.weights, s[rows], z, hidden, d_out))
    found = stepper.average
    return found._replace(w1=found.w1 * seen[:, None], w2=found.w2 - found.w2[:, :1], b2=found.b2 - found.b2[0])


def _list_transitions(
    courses: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """States [N, F], profiles [N], rewards [N] and following states [N, F] of all decisions of courses with a profile.

    Rewards are nan before the last decision of a run, which is followed by its own state.
    """
    parts = []
    for course, taken, reward in courses:
        later = np.concatenate([course[1:], course[-1:]])
        earned = np.full(taken.shape, np.nan)
        earned[-1] = reward
        kept = taken >= 0
        parts.append((course[kept].astype(float), taken[kept], earned[kept], later[kept].astype(float)))
    s, action, reward, follows = (np.concatenate(each) for each in zip(*parts))
    return s, action, reward, follows
