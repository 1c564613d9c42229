"""What a policy learnt, readable: a decision tree of depth three fitted to its values, and what that loses.

A leaf takes the profile of largest mean value over the states that come to it; a question is the one after which the
leaves are worth most. So the tree loses least by the policy's own values, not by how often both agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from meco.policies.network import Weights
from meco.policies.policy import TREE_DEPTH

CUTS = 24  # quantiles of a feature at which it may be asked
LEAST_SHARE = 0.01  # of the states in a leaf


class Question(NamedTuple):
    """Whether a feature is above a cut."""

    feature: int
    cut: float


class FittedTree(NamedTuple):
    """Questions of seven nodes, the root first, then from left to right; profiles of eight leaves, and their shares."""

    questions: list[Question | None]  # None: nothing is asked, everything goes left
    leaves: list[int]
    shares: list[float]  # of the states
    loss: float  # in the policy's own values, a mean over states
    agreement: float  # share of states in which tree and policy take the same profile


def fit_tree(s: np.ndarray, values: np.ndarray) -> FittedTree:
    """A tree for a policy that gives profiles values [N, A] in states s [N, F]; a leaf without states takes 0."""
    node = np.zeros(len(s), dtype=int)
    questions: list[Question | None] = []
    for number in range(2**TREE_DEPTH - 1):
        here = node == number
        question = _ask(s[here], values[here], LEAST_SHARE * len(s))
        questions.append(question)
        yes = np.zeros(len(s), dtype=bool) if question is None else s[:, question.feature] > question.cut
        node = np.where(here, 2 * node + 1 + yes, node)
    leaf = node - (2**TREE_DEPTH - 1)
    leaves, shares = [], []
    for number in range(2**TREE_DEPTH):
        here = leaf == number
        leaves.append(int(values[here].mean(axis=0).argmax()) if here.any() else 0)
        shares.append(float(here.mean()))
    taken = np.array(leaves)[leaf]
    lost = values.max(axis=-1) - values[np.arange(len(s)), taken]
    return FittedTree(questions, leaves, shares, float(lost.mean()), float(np.mean(taken == values.argmax(axis=-1))))


def _ask(s: np.ndarray, values: np.ndarray, least: float) -> Question | None:
    """The question after which two profiles are worth most in states s [n, F] with values [n, A].

    None where no question with `least` states on either side helps.
    """
    if len(s) < 2 * least:
        return None
    most, best = values.sum(axis=0).max() + 1e-12 * len(s), None
    for feature in range(s.shape[1]):
        column = s[:, feature]
        for cut in np.unique(np.quantile(column, np.linspace(0.02, 0.98, CUTS))):
            yes = column > cut
            if not least <= yes.sum() <= len(s) - least:
                continue
            above = values[yes].sum(axis=0)
            worth = above.max() + (values.sum(axis=0) - above).max()
            if worth > most:
                most, best = worth, Question(feature, float(cut))
    return best


def tree_weights(tree: FittedTree, features: int, profiles: int) -> Weights:
    """The tree as a policy file keeps it, over so many features and profiles, for ProfileTree in policies/policy.py."""
    count = 2**TREE_DEPTH
    w1, b1, w2 = np.zeros((features, count)), np.full(count, -1.0), np.zeros((count, profiles))
    for number, question in enumerate(tree.questions):
        if question is not None:
            w1[question.feature, number], b1[number] = 1.0, -question.cut
    w2[np.arange(count), tree.leaves] = 1.0
    return Weights(w1, b1, w2, np.zeros(profiles))


def describe_tree(tree: FittedTree, features: Sequence[str], profiles: Sequence[str]) -> list[str]:
    """The tree in words, a line for each question and each leaf; a question whose answers agree is left out."""

    def describe_node(number: int, indent: str) -> list[str]:
        """Lines of node `number` and all below it, the leaves numbered after the seven questions."""
        inner = 2**TREE_DEPTH - 1
        if number >= inner:
            leaf = number - inner
            return [f"{indent}{profiles[tree.leaves[leaf]]}  ({tree.shares[leaf]:.0%} of the decisions)"]
        question, left = tree.questions[number], 2 * number + 1
        if question is None:
            return describe_node(left, indent)
        return [
            f"{indent}{features[question.feature]} <= {question.cut:.3g}:",
            *describe_node(left, indent + "    "),
            f"{indent}else:",
            *describe_node(left + 1, indent + "    "),
        ]

    return describe_node(0, "")
