"""SCBO, scalable constrained Bayesian optimization, on BoTorch's Gaussian processes (pip install botorch).

Eriksson and Poloczek (AISTATS 2021), set up as BoTorch's tutorial of the method is: a trust region around the best
point; in it Thompson samples of f and of every constraint at some thousand candidates, of which the best feasible
sample is evaluated, or the one of least violation. The region doubles after successes, halves after failures, and the
search starts again elsewhere when it is tiny.
"""

from __future__ import annotations

import contextlib
import warnings

import numpy as np

from peers import Target

FIRST_LENGTH, MIN_LENGTH, MAX_LENGTH = 0.8, 0.5**7, 1.6  # of the region's sides, in the unit cube
SUCCESSES = 10  # in a row, after which the region doubles
LEAST_FAILURES = 4.0  # candidates in a row, at least, after which it halves; D of them if that is more
MOST_CANDIDATES = 2000  # of which samples are compared
MOVED_VARIABLES = 20.0  # of a candidate, on average, that differ from the best point
LENGTH_SCALES, NOISE = (0.005, 4.0), (1e-8, 1e-3)  # limits of a fit
BETTER = 1e-3  # relative decrease of f that counts as a success
LARGEST = 1e100  # its square is finite


def scbo(target: Target, seed: int, batch: int = 4, first: int | None = None) -> None:
    """Start again and again, each time with `first` points of a Sobol sequence (2 D unless given)."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    while True:
        _search_once(target, rng, batch, 2 * target.dim if first is None else first)


def _search_once(target: Target, rng: np.random.Generator, batch: int, first: int) -> None:
    """One start, until the region is tiny."""
    u = _draw_sobol(first, target.dim, rng)
    rows = _evaluate(target, u, None)
    length, successes, failures = FIRST_LENGTH, 0, 0
    while length >= MIN_LENGTH:
        before = _best(target, rows)
        chosen = _sample_candidates(target, rng, u, rows, u[before], length, batch)
        new = _evaluate(target, chosen, rows)
        improved = _improves(target, rows[before], new[_best(target, new)])
        successes, failures = (successes + 1, 0) if improved else (0, failures + 1)
        if successes == SUCCESSES:
            length, successes = min(2.0 * length, MAX_LENGTH), 0
        elif failures >= np.ceil(max(LEAST_FAILURES, target.dim) / batch):
            length, failures = length / 2.0, 0
        u, rows = np.concatenate([u, chosen]), np.concatenate([rows, new])


def _evaluate(target: Target, u: np.ndarray, known: np.ndarray | None) -> np.ndarray:
    """Rows f, g, h of points u [n, D] of the unit cube; a failed one is twice as bad as the worst of its start."""
    width = 1 + target.problem.n_ineq + target.problem.n_eq
    found = [target(target.low + point * (target.high - target.low)) for point in u]
    rows = np.array([np.full(width, np.nan) if row is None else np.clip(row, -LARGEST, LARGEST) for row in found])
    seen = rows if known is None else np.concatenate([known, rows])
    worst = np.max(np.abs(seen[np.isfinite(seen[:, 0])]), axis=0, initial=0.0)
    return np.where(np.isnan(rows), 2.0 * worst + 1.0, rows)


def _rate(target: Target, rows: np.ndarray) -> np.ndarray:
    """Violation and f of rows: [n, 2]."""
    return np.stack([target.violations(rows).sum(axis=-1), rows[..., 0]], axis=-1)


def _best(target: Target, rows: np.ndarray) -> int:
    """Index of the row of least violation, then of least f."""
    rated = _rate(target, rows)
    return int(np.lexsort((rated[:, 1], rated[:, 0]))[0])


def _improves(target: Target, before: np.ndarray, after: np.ndarray) -> bool:
    """Whether a row beats the best before it."""
    (over_before, f_before), (over, f) = _rate(target, np.stack([before, after]))
    return bool(f < f_before - BETTER * abs(f_before) if over == over_before == 0.0 else over < over_before)


def _draw_sobol(count: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    """Points [count, D] of a scrambled Sobol sequence."""
    import torch

    drawn = torch.quasirandom.SobolEngine(dim, scramble=True, seed=int(rng.integers(2**31)))
    return drawn.draw(count, dtype=torch.double).numpy()


def _sample_candidates(
    target: Target, rng: np.random.Generator, u: np.ndarray, rows: np.ndarray, centre: np.ndarray, length: float,
    batch: int,
) -> np.ndarray:  # fmt: skip
    """The best candidates of the region, one for each sample of f and the constraints: [batch, D]."""
    import torch

    candidates = _make_candidates(rng, centre, length, batch)
    torch.manual_seed(int(rng.integers(2**31)))
    columns = [_sample_model(u, rows[:, k], candidates, batch) for k in range(rows.shape[1])]
    chosen: list[int] = []
    for sample in np.stack(columns, axis=-1):  # [n, 1 + p + q]
        rated = _rate(target, sample)
        order = np.lexsort((rated[:, 1], rated[:, 0]))
        chosen.append(next(int(i) for i in order if int(i) not in chosen))
    return candidates[chosen]


def _make_candidates(rng: np.random.Generator, centre: np.ndarray, length: float, batch: int) -> np.ndarray:
    """Points of the region [n, D]; with many variables most components are those of its centre."""
    dim = len(centre)
    count = min(MOST_CANDIDATES, max(200 * dim, 2 * batch))
    low, high = (np.clip(centre + side * length / 2.0, 0.0, 1.0) for side in (-1.0, 1.0))
    spread = low + (high - low) * _draw_sobol(count, dim, rng)
    moved = rng.random((count, dim)) <= min(MOVED_VARIABLES / dim, 1.0)
    still = np.flatnonzero(~moved.any(axis=1))
    moved[still, rng.integers(dim, size=len(still))] = True
    return np.where(moved, spread, centre)


def _sample_model(u: np.ndarray, values: np.ndarray, candidates: np.ndarray, batch: int) -> np.ndarray:
    """Samples of a Gaussian process fitted to values [n] at u: [batch, len(candidates)]; the value where all agree."""
    import gpytorch
    import torch
    from botorch.exceptions import ModelFittingError
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms.outcome import Standardize

    if np.ptp(values) == 0.0:
        return np.full((batch, len(candidates)), values[0])
    kernel = gpytorch.kernels.MaternKernel(
        nu=2.5, ard_num_dims=u.shape[1], lengthscale_constraint=gpytorch.constraints.Interval(*LENGTH_SCALES)
    )
    model = SingleTaskGP(
        torch.tensor(u, dtype=torch.double),
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
        return posterior.rsample(torch.Size([batch]))[..., 0].numpy()
