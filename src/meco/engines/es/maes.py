"""Matrix-adaptation evolution strategy (Beyer and Sendhoff 2017) in lockstep, with any comparison rule."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, Constants, asarray_like, namespace, rows
from meco.core.engine import Task, put_given_first
from meco.core.evaluation import Evaluation
from meco.core.rule import Population, Progress, Rule, order
from meco.engines.rule_engine import RuleEngine
from meco.errors import InvalidInput

MAX_SIGMA = 1.0  # largest step size, in the unit cube
MIN_STEP = 1e-9  # largest step of a generation, in the unit cube, below which a run starts afresh
MAX_MATRIX_ENTRY = 1e12  # largest entry of a usable matrix


class StrategyParameters(NamedTuple):
    """The fixed numbers of a strategy in D variables with mu parents (Hellwig and Beyer 2020), by their usual names."""

    weights: Constants  # of the parents, best first, sum 1
    mu: int
    mu_eff: float  # effective number of parents
    c_sigma: float  # how fast the path forgets
    c1: float  # learning from the path
    cmu: float  # learning from the parents
    d_sigma: float  # damping of the step size
    chi_n: float  # expected length of a standard normal vector

    @classmethod
    def of(cls, dim: int, mu: int) -> StrategyParameters:
        """The published formulas for D variables and mu parents, both at least 1."""
        raw = math.log(mu + 0.5) - np.log(np.arange(1, mu + 1))
        weights = raw / raw.sum()
        mu_eff = 1.0 / float(np.sum(weights**2))
        c_sigma = (mu_eff + 2) / (dim + mu_eff + 5)
        c1 = 2 / ((dim + 1.3) ** 2 + mu_eff)
        cmu = min(1 - c1, 2 * (mu_eff - 2 + 1 / mu_eff) / ((dim + 2) ** 2 + mu_eff))
        d_sigma = 1 + c_sigma + 2 * max(0.0, math.sqrt((mu_eff - 1) / (dim + 1)) - 1)
        chi_n = math.sqrt(dim) * (1 - 1 / (4 * dim) + 1 / (21 * dim**2))
        return cls(Constants(w=weights), mu, mu_eff, c_sigma, c1, cmu, d_sigma, chi_n)


class SearchDistribution(NamedTuple):
    """Where the offspring of each run are drawn: mean + sigma * matrix @ z, z standard normal.

    mean and path [B, D], sigma [B], matrix [B, D, D].
    """

    mean: Array
    sigma: Array
    matrix: Array
    path: Array

    @classmethod
    def isotropic(cls, mean: Array, sigma: float) -> SearchDistribution:
        """Equally wide in every direction, sigma, around mean [B, D]; the path is 0."""
        xp = namespace(mean)
        runs, dim = mean.shape
        made = {"dtype": mean.dtype, "device": mean.device}
        sphere = xp.zeros((runs, 1, 1), **made) + xp.eye(dim, **made)
        return cls(mean, xp.full((runs,), sigma, **made), sphere, xp.zeros((runs, dim), **made))


class MaEs(RuleEngine):
    """(mu/mu_w, lambda)-MA-ES with cumulative step-size adaptation.

    Mean and steps live in unbounded coordinates; only the evaluated point is folded into
    the box. The population is the last offspring.
    """

    label = "MA-ES"
    fewest = 2  # offspring: one to learn from and one to leave
    remembers = (*RuleEngine.common, "distribution", "z", "d")
    z: Array  # [B, N, D], steps of the last offspring, from which the next ask learns
    d: Array  # [B, N, D], the same in the matrix's coordinates

    def __init__(self, task: Task, rule: Rule, pop_size: int | None = None, sigma: float = 0.2) -> None:
        """pop_size None: 4 + 3 ln D; sigma is the first step in the unit cube, refused beyond 0 to MAX_SIGMA."""
        super().__init__(task, rule, native_size(task.dim) if pop_size is None else pop_size)
        if not 0.0 < sigma <= MAX_SIGMA:
            raise InvalidInput(f"MA-ES needs a sigma above 0 and up to {MAX_SIGMA}, in the unit cube; got {sigma}")
        self.sigma = float(sigma)
        self.parameters = StrategyParameters.of(task.dim, self.size // 2)
        self.distribution: SearchDistribution | None = None

    def ask(self) -> Array:
        """Offspring of the next generation [B, N, D], folded into the unit cube.

        Draws; first it learns from the last ones.
        """
        rng, size, dim = self.task.rng, self.size, self.task.dim
        u_fresh, normal = rng.uniform(dim), rng.normal(size, dim)
        now = self.distribution
        self.distribution = now = (
            self._first_distribution(u_fresh) if now is None else self._adapt_to_population(now, u_fresh)
        )
        self.z = self._with_given_steps(normal) if self.generation == 0 else normal
        x, self.d = make_offspring(now, self.z)
        return put_given_first(x, self.task.x0) if self.generation == 0 else x

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Keep the offspring x [B, N, D], and let the rule adapt; the next ask() ranks them under what it then says."""
        self.generation += 1
        if self.generation == 1:
            self.begin_population(x, ev)
        else:
            self.population = Population(x, ev)
            self.adapt_rule(self.task.rng.uniform(2))

    def progress(self) -> Progress:
        """The offspring of every generation, the first included."""
        return self.task.progress(self.size * self.generation, self.generation)

    def _adapt_to_population(self, now: SearchDistribution, u_fresh: Array) -> SearchDistribution:
        """Towards the better half of the offspring; runs that can learn nothing more start at u_fresh [B, D]."""
        assert self.population is not None
        ev, par = self.population.ev, self.parameters
        ev.nu  # noqa: B018 - made and kept here if it was not before: a compiled formula keeps nothing
        given = self.generation == 1 and self.task.x0 is not None
        weights, parents = par.weights.on(ev.f)["w"], order(self.key(ev))[:, : par.mu]
        return adapt_distribution(now, self.z, self.d, parents, ev.failed, weights, par, u_fresh, self.sigma, given)

    def _first_distribution(self, like: Array) -> SearchDistribution:
        """Round, at the centre or at the first given point, for the runs of like [B, D]."""
        xp = namespace(like)
        start = 0.5 if self.task.x0 is None else asarray_like(self.task.x0[0], like)
        return SearchDistribution.isotropic(xp.zeros_like(like) + start, self.sigma)

    def _with_given_steps(self, z: Array) -> Array:
        """z [B, N, D] whose first steps lead from the mean to the given points; z itself without any."""
        if self.task.x0 is None:
            return z
        return put_given_first(z, (self.task.x0 - self.task.x0[0]) / self.sigma)

    def trace(self) -> dict[str, Array]:
        """What the rule traces, and sigma [B]; an ask() must have been made."""
        assert self.distribution is not None
        return {**super().trace(), "sigma": self.distribution.sigma}


def native_size(dim: int) -> int:
    """The usual number of offspring, lambda = 4 + floor(3 ln D)."""
    return 4 + int(3 * math.log(dim))


def make_offspring(now: SearchDistribution, z: Array) -> tuple[Array, Array]:
    """Points x and steps d = M z, without sigma, of standard normal numbers z [B, N, D]: [B, N, D] each.

    x is mean + sigma d, reflected at the walls of the unit cube where it lies outside; d is not.
    """
    xp = namespace(z)
    d = xp.matmul(z, xp.matrix_transpose(now.matrix))
    return fold(now.mean[:, None, :] + now.sigma[:, None, None] * d), d


def adapt_distribution(
    now: SearchDistribution, z: Array, d: Array, parents: Array, failed: Array, weights: Array, par: StrategyParameters,
    u_fresh: Array, sigma: float, given: bool,
) -> SearchDistribution:  # fmt: skip
    """The distribution after offspring z, d [B, N, D], the best of which are parents [B, mu], in rank order.

    given: some of them were not drawn. sigma and u_fresh [B, D] are where runs that can learn nothing more start
    again.
    """
    xp = namespace(z)
    weight = parent_weights(weights, ~rows(failed, parents))
    chosen_z, chosen_d = rows(z, parents), rows(d, parents)
    if given:
        chosen_z, chosen_d = shorten_steps(chosen_z, chosen_d)
    lost, broken = find_lost_and_broken(now, d, xp.any(weight > 0.0, axis=-1))
    now = move_distribution(now, chosen_z, chosen_d, weight, par)
    wider = xp.clip(now.sigma * step_change(now.path, par), max=MAX_SIGMA)
    return repair_distribution(now._replace(sigma=wider), broken, lost, u_fresh, sigma)


def fold(y: Array) -> Array:
    """Reflect unbounded coordinates into the unit cube: period 2, and the cube itself stays as it is. Any shape."""
    xp = namespace(y)
    within = y - 2.0 * xp.floor(0.5 * y)  # [0, 2]
    return xp.where(within > 1.0, 2.0 - within, within)


def parent_weights(weights: Array, ok: Array) -> Array:
    """Weights [mu] of parents in rank order, without those that failed: ok [B, mu] -> [B, mu], sum 1 or 0."""
    xp = namespace(weights)
    kept = xp.where(ok, weights[None, :], 0.0)
    total = xp.sum(kept, axis=-1, keepdims=True)
    return kept / xp.where(total > 0.0, total, 1.0)


def shorten_steps(z: Array, d: Array) -> tuple[Array, Array]:
    """Steps with z no longer than sqrt(D) + 2D/(D+2), which a normal draw does not reach but a given point may.

    z, d [B, mu, D] -> z, d, shortened alike.
    """
    xp = namespace(z)
    dim = z.shape[-1]
    norm = xp.sqrt(xp.sum(z * z, axis=-1, keepdims=True))
    share = (math.sqrt(dim) + 2 * dim / (dim + 2)) / xp.where(norm > 0.0, norm, 1.0)
    share = xp.clip(share, max=1.0)
    return z * share, d * share


def move_distribution(
    now: SearchDistribution, z: Array, d: Array, weight: Array, par: StrategyParameters
) -> SearchDistribution:
    """Mean, path and matrix after the parents z, d [B, mu, D] (d = matrix @ z) were chosen; sigma stays.

    y  <- y + sigma <d>
    p  <- (1 - c_sigma) p + sqrt(c_sigma (2 - c_sigma) mu_eff) <z>
    M  <- (1 - c1/2 - cmu/2) M + c1/2 (M p) p' + cmu/2 <d z'>, with the new p and the old M

    A run without any parent (all weights 0) stays as it is.
    """
    xp = namespace(z)
    weighted = weight[..., None] * z
    square = xp.sum(weight * weight, axis=-1, keepdims=True)
    some = square > 0.0
    pull = xp.sqrt(par.c_sigma * (2.0 - par.c_sigma) / xp.where(some, square, 1.0))
    path = xp.where(some, (1.0 - par.c_sigma) * now.path + pull * xp.sum(weighted, axis=1), now.path)
    learns = 0.5 * xp.astype(some, z.dtype)[..., None]  # [B, 1, 1]
    c1, cmu = par.c1 * learns, par.cmu * learns
    along = xp.matmul(now.matrix, path[..., None])[..., 0]
    left = xp.concat([d, along[:, None, :]], axis=1)
    right = xp.concat([cmu * weighted, c1 * path[:, None, :]], axis=1)
    matrix = (1.0 - c1 - cmu) * now.matrix + xp.matmul(xp.matrix_transpose(left), right)
    step = xp.sum(weight[..., None] * d, axis=1)
    return SearchDistribution(now.mean + now.sigma[:, None] * step, now.sigma, matrix, path)


def step_change(path: Array, par: StrategyParameters) -> Array:
    """Factor on sigma: above 1 where the path is longer than chance would make it; path [B, D] -> [B]."""
    xp = namespace(path)
    norm = xp.sqrt(xp.sum(path * path, axis=-1))
    return xp.exp((par.c_sigma / par.d_sigma) * (norm / par.chi_n - 1.0))


def find_lost_and_broken(now: SearchDistribution, d: Array, some: Array) -> tuple[Array, Array]:
    """Runs to start afresh, and runs whose matrix ran away: d [B, N, D], some [B] -> [B], [B].

    Afresh: no offspring moved in any variable, or all failed before the run ever moved.
    """
    xp = namespace(d)
    reach = xp.max(xp.abs(d), axis=(1, 2))
    stuck = ~some & xp.all(now.path == 0.0, axis=-1)
    return stuck | (now.sigma * reach < MIN_STEP), ~(reach < MAX_MATRIX_ENTRY)  # nan is not below either


def repair_distribution(
    now: SearchDistribution, broken: Array, lost: Array, fresh: Array, sigma: float
) -> SearchDistribution:
    """Round again where the matrix is broken [B], and round at a fresh mean [B, D] where the run is lost [B].

    The landscape has period 2 along every variable, so the mean is kept within one period.
    """
    xp = namespace(fresh)
    dim = fresh.shape[1]
    reset = broken | lost
    within = now.mean - 2.0 * xp.floor(0.5 * now.mean)
    return SearchDistribution(
        xp.where(lost[:, None], fresh, within),
        xp.where(lost, sigma, now.sigma),
        xp.where(reset[:, None, None], xp.eye(dim, dtype=fresh.dtype, device=fresh.device), now.matrix),
        xp.where(reset[:, None], 0.0, now.path),
    )
