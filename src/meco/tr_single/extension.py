"""Base class of extensions: optional behaviour that is added to the search from outside.

The search calls each hook of each extension, in the order of the list that it was given. Each hook takes one value and
returns it, changed or not. The hooks below are in the order of an iteration, and none of them changes anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from meco.tr_single.local_fit import LocalFit
from meco.tr_single.subproblem import Step, Subproblem

if TYPE_CHECKING:
    from meco.tr_single.answers import Answers
    from meco.tr_single.region import Prediction
    from meco.tr_single.search import TrustRegion


class Extension:
    """Hooks of an iteration; see also extensions/."""

    def design(self, search: TrustRegion, x: np.ndarray) -> np.ndarray:
        """Change the initial design [n, D]. May also set search.radii and search.restart_radius."""
        return x

    def fit(self, search: TrustRegion, fit: Callable[[], LocalFit]) -> LocalFit:
        """Fit the models. fit() is the fit of the extensions before this one, or that of the search."""
        return fit()

    def shape(self, search: TrustRegion, sub: Subproblem) -> Subproblem:
        """Change the subproblem: bounds of the step, margins, rows."""
        return sub

    def adjust(self, search: TrustRegion, sub: Subproblem, step: Step) -> Step:
        """Change the solution of the subproblem."""
        return step

    def place(self, search: TrustRegion, sub: Subproblem, step: Step, x: np.ndarray) -> tuple[Step, np.ndarray]:
        """Move the proposed points [k, D], or add some. step.value is what the models predict at the first of them."""
        return step, x

    def restart(self, search: TrustRegion, x: np.ndarray) -> np.ndarray:
        """Move the points [k, D] of a restart, or add some."""
        return x

    def learn(self, search: TrustRegion, x: np.ndarray, answers: Answers) -> Answers:
        """Change the answers at points [k, D], which the archive does not hold yet."""
        return answers

    def judge(
        self, search: TrustRegion, made: Prediction, answers: Answers, merits: np.ndarray
    ) -> tuple[Prediction, Answers, np.ndarray]:
        """Change what judges the step: the prediction, the answers and their merits [k]."""
        return made, answers, merits
