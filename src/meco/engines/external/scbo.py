"""SCBO, scalable constrained Bayesian optimization, on BoTorch's Gaussian processes.

Eriksson and Poloczek (AISTATS 2021), set up as BoTorch's tutorial of the method is: a trust region around the best
point; in it Thompson samples of f and of every constraint at some thousand candidates, of which the best feasible
sample is evaluated, or the one of least violation. The region doubles after successes, halves after failures, and the
search starts again elsewhere when it is tiny.
"""

from __future__ import annotations

import contextlib
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from meco.core.arrays import Array
from meco.core.engine import Engine, Task, put_given_first
from meco.core.evaluation import Evaluation
from meco.core.rule import Population
from meco.engines.external import FailureCeiling, contain_warnings
from meco.errors import InvalidInput, load_extra

FIRST_LENGTH, MIN_LENGTH, MAX_LENGTH = 0.8, 0.5**7, 1.6  # of the region's sides, in the unit cube
SUCCESSES = 10  # in a row, after which the region doubles
LEAST_FAILURES = 4.0  # candidates in a row, at least, after which it halves; D of them if that is more
MOST_CANDIDATES = 2000  # of which samples are compared
MOVED_VARIABLES = 20.0  # of a candidate, on average, that differ from the best point
LENGTH_SCALES, NOISE = (0.005, 4.0), (1e-8, 1e-3)  # limits of a fit
BETTER = 1e-3  # relative decrease of f that counts as a success


@cache
def load_botorch() -> ModuleType:
    """BoTorch with GPyTorch and torch; MissingExtra, which says how to get them, where they are not installed."""
    return load_extra("botorch", "scbo", "SCBO")


class Scbo(Engine):
    """SCBO in the unit cube; equalities are |h| <= tolerance, whose samples are those of h.

    A start draws first points of a Sobol sequence. A failed candidate is twice as bad as the worst of its start.
    """

    def __init__(self, task: Task, batch: int = 4, first: int | None = None) -> None:
        """batch candidates at a time, after `first` of a Sobol sequence, 2 D unless given; InvalidInput below 1."""
        load_botorch()
        self.task, self.batch = task, int(batch)
        self.first = 2 * task.dim if first is None else int(first)
        if min(self.batch, self.first) < 1:
            raise InvalidInput(f"SCBO needs batch and first of at least 1; got {batch} and {first}")
        self.random = task.rng.generator(0)
        self.starts = 0
        self._reset()

    def _reset(self) -> None:
        """Forget all points of this start: region, counters and ceiling are the first ones again."""
        self.x = np.zeros((0, self.task.dim))  # [n, D] of this start
        self.told = np.zeros((0, 1))  # f, g and h: [n, 1 + p + q]
        self.ceiling = FailureCeiling()
        self.length, self.successes, self.failures = FIRST_LENGTH, 0, 0

    def ask(self) -> Array:
        """The first points of a start, or the next batch: [1, n, D]. Draws; fits models."""
        if len(self.x) == 0:
            u = self._draw_sobol(self.first)[None]
            return put_given_first(u, self.task.x0 if self.starts == 0 else None)
        with contain_warnings():
            return self._sample_candidates()[None]

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Keep the values of x [1, n, D], and size the region by whether they improved.

        Where it is tiny, start again.
        """
        self.population, self.generation = Population(x, ev), self.generation + 1
        told = np.concatenate([ev.f[0][:, None], ev.g[0], ev.h[0]], axis=1)
        told = self.ceiling.replace_failed(told, ev.failed[0])
        begun = len(self.x) > 0
        before = self._rate_rows(self.told)[self._best_index()] if begun else None
        self.x = np.concatenate([self.x, np.asarray(x[0])])
        self.told = np.concatenate([self.told, told]) if begun else told
        if before is not None:
            self._resize_region(before, self._rate_rows(told))
        if self.length < MIN_LENGTH:
            self.starts += 1
            self._reset()

    def trace(self) -> dict[str, Array]:
        return {"length": np.array([self.length])}

    def _rate_rows(self, told: np.ndarray) -> np.ndarray:
        """Violation and f of rows f, g, h [..., 1 + p + q]: [..., 2]; f counts where nothing is violated."""
        p = self.task.n_ineq
        g, h = told[..., 1 : 1 + p] - self.task.ineq_tol, np.abs(told[..., 1 + p :]) - self.task.eq_tol
        over = np.maximum(g, 0.0).sum(axis=-1) + np.maximum(h, 0.0).sum(axis=-1)
        return np.stack([over, told[..., 0]], axis=-1)

    def _best_index(self) -> int:
        """Index of the best point of this start: of least violation, then of least f."""
        rated = self._rate_rows(self.told)
        return int(np.lexsort((rated[:, 1], rated[:, 0]))[0])

    def _resize_region(self, before: np.ndarray, rated: np.ndarray) -> None:
        """Double or halve the region after enough batches, rated [n, 2], that beat the best before [2], or did not."""
        over, f = rated[np.lexsort((rated[:, 1], rated[:, 0]))[0]]
        improved = f < before[1] - BETTER * abs(before[1]) if over == before[0] == 0.0 else over < before[0]
        self.successes, self.failures = (self.successes + 1, 0) if improved else (0, self.failures + 1)
        if self.successes == SUCCESSES:
            self.length, self.successes = min(2.0 * self.length, MAX_LENGTH), 0
        elif self.failures >= np.ceil(max(LEAST_FAILURES, self.task.dim) / self.batch):
            self.length, self.failures = self.length / 2.0, 0

    def _draw_sobol(self, count: int) -> np.ndarray:
        """Points [count, D] of a Sobol sequence, scrambled by the run's own stream."""
        torch = load_extra("torch", "scbo", "SCBO")
        drawn = torch.quasirandom.SobolEngine(self.task.dim, scramble=True, seed=int(self.random.integers(2**31)))
        return drawn.draw(count, dtype=torch.double).numpy()

    def _sample_candidates(self) -> np.ndarray:
        """The best candidates of the region, one for each sample of f and the constraints: [batch, D].

        Draws; fits models.
        """
        torch = load_extra("torch", "scbo", "SCBO")
        candidates = self._make_candidates()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(self.random.integers(2**31)))
            columns = [self._sample_model(torch, self.told[:, k], candidates) for k in range(self.told.shape[1])]
        drawn, chosen = np.stack(columns, axis=-1), []  # [batch, n, 1 + p + q]
        for sample in drawn:
            rated = self._rate_rows(sample)
            order = np.lexsort((rated[:, 1], rated[:, 0]))
            chosen.append(next(int(i) for i in order if int(i) not in chosen))
        return candidates[chosen]

    def _make_candidates(self) -> np.ndarray:
        """Points of the region [n, D]; where there are many variables, most are those of its centre. Draws."""
        dim, centre = self.task.dim, self.x[self._best_index()]
        count = min(MOST_CANDIDATES, max(200 * dim, 2 * self.batch))
        low, high = (np.clip(centre + side * self.length / 2.0, 0.0, 1.0) for side in (-1.0, 1.0))
        spread = low + (high - low) * self._draw_sobol(count)
        moved = self.random.random((count, dim)) <= min(MOVED_VARIABLES / dim, 1.0)
        moved[np.flatnonzero(~moved.any(axis=1)), self.random.integers(dim, size=int((~moved.any(axis=1)).sum()))] = (
            True
        )
        return np.where(moved, spread, centre)

    def _sample_model(self, torch: Any, values: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Samples of a Gaussian process fitted to values [n] of the points of this start: [batch, len(candidates)].

        The value itself where all are equal.
        """
        if np.ptp(values) == 0.0:  # a constant has nothing to be fitted
            return np.full((self.batch, len(candidates)), values[0])
        import gpytorch
        from botorch.exceptions import ModelFittingError
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms.outcome import Standardize

        dim = self.task.dim
        kernel = gpytorch.kernels.MaternKernel(
            nu=2.5, ard_num_dims=dim, lengthscale_constraint=gpytorch.constraints.Interval(*LENGTH_SCALES)
        )
        model = SingleTaskGP(
            torch.tensor(self.x, dtype=torch.double),
            torch.tensor(values[:, None], dtype=torch.double),
            likelihood=gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.Interval(*NOISE)),
            covar_module=gpytorch.kernels.ScaleKernel(kernel),
            outcome_transform=Standardize(m=1),
        )
        with contextlib.suppress(ModelFittingError):  # it stays what it was before the fit
            fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
        model.eval()
        with torch.no_grad():
            posterior = model.posterior(torch.tensor(candidates, dtype=torch.double))
            return posterior.rsample(torch.Size([self.batch]))[..., 0].numpy()
