"""Matrix-adaptation evolution strategy (Beyer and Sendhoff 2017) in lockstep, with any comparison rule."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from meco.arrays import Array, Constants, asarray_like, namespace, rows
from meco.engines.engine import Engine, Task, with_given
from meco.errors import InvalidInput
from meco.problems.evaluation import Evaluation
from meco.rules.rule import Population, Rule, order

FEWEST = 2  # offspring: one to learn from and one to leave
WIDEST = 1.0  # largest step size, in the unit cube
NARROWEST = 1e-9  # largest step of a generation, in the unit cube, below which a run starts afresh
RUNAWAY = 1e12  # largest entry of a usable matrix


class Rates(NamedTuple):
    """The fixed numbers of a strategy in D variables with mu parents (Hellwig and Beyer 2020)."""

    weights: Constants  # of the parents, best first, sum 1
    mu: int
    mass: float  # mu_w: effective number of parents
    path: float  # c_sigma: how fast the path forgets
    one: float  # c_1: learning from the path
    many: float  # c_mu: learning from the parents
    damping: float  # d_sigma
    length: float  # chi_D: expected length of a standard normal vector

    @classmethod
    def of(cls, dim: int, mu: int) -> Rates:
        raw = math.log(mu + 0.5) - np.log(np.arange(1, mu + 1))
        weights = raw / raw.sum()
        mass = 1.0 / float(np.sum(weights**2))
        path = (mass + 2) / (dim + mass + 5)
        one = 2 / ((dim + 1.3) ** 2 + mass)
        many = min(1 - one, 2 * (mass - 2 + 1 / mass) / ((dim + 2) ** 2 + mass))
        damping = 1 + path + 2 * max(0.0, math.sqrt((mass - 1) / (dim + 1)) - 1)
        length = math.sqrt(dim) * (1 - 1 / (4 * dim) + 1 / (21 * dim**2))
        return cls(Constants(w=weights), mu, mass, path, one, many, damping, length)


class Cloud(NamedTuple):
    """Where the offspring of each run are drawn: mean + sigma * matrix @ z, z standard normal.

    mean and path [B, D], sigma [B], matrix [B, D, D].
    """

    mean: Array
    sigma: Array
    matrix: Array
    path: Array

    @classmethod
    def round(cls, mean: Array, sigma: float) -> Cloud:
        """Equally wide in every direction."""
        xp = namespace(mean)
        runs, dim = mean.shape
        made = {"dtype": mean.dtype, "device": mean.device}
        sphere = xp.broadcast_to(xp.eye(dim, **made), (runs, dim, dim))
        return cls(mean, xp.full((runs,), sigma, **made), sphere, xp.zeros((runs, dim), **made))


class MaEs(Engine):
    """(mu/mu_w, lambda)-MA-ES with cumulative step-size adaptation.

    Mean and steps live in unbounded coordinates; only the evaluated point is folded into
    the box. The population, of which rules see their features, is the last offspring.
    """

    def __init__(self, task: Task, rule: Rule, pop_size: int | None = None, sigma: float = 0.2) -> None:
        self.size = native_size(task.dim) if pop_size is None else int(pop_size)
        if self.size < FEWEST:
            raise InvalidInput(f"MA-ES needs a pop_size of at least {FEWEST}; got {pop_size}")
        if not 0.0 < sigma <= WIDEST:
            raise InvalidInput(f"MA-ES needs a sigma above 0 and up to {WIDEST}, in the unit cube; got {sigma}")
        self.task, self.rule, self.sigma = task, rule, float(sigma)
        self.rates = Rates.of(task.dim, self.size // 2)
        self.state: Any = None
        self.cloud: Cloud | None = None

    def ask(self) -> Array:
        """Offspring of the next generation, folded into the unit cube."""
        draw, size, dim = self.task.rng, self.size, self.task.dim
        u_fresh, normal = draw.uniform(dim), draw.normal(size, dim)
        self.cloud = self._first(u_fresh) if self.cloud is None else self._next(self.cloud, u_fresh)
        self.z = self._with_given_steps(normal) if self.generation == 0 else normal
        xp = namespace(normal)
        self.d = xp.matmul(self.z, xp.matrix_transpose(self.cloud.matrix))
        x = fold(self.cloud.mean[:, None, :] + self.cloud.sigma[:, None, None] * self.d)
        return with_given(x, self.task.x0) if self.generation == 0 else x

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Keep the offspring, and let the rule adapt; they are ranked under what it then says."""
        self.population = Population(x, ev)
        self.generation += 1
        progress, draw = self.spent(self.size * self.generation), self.task.rng.uniform(2)
        if self.generation == 1:
            self.state = self.rule.start(self.population, progress, draw)
        else:
            self.state = self.rule.adapt(self.state, self.population, progress, draw)

    def _next(self, cloud: Cloud, u_fresh: Array) -> Cloud:
        """Towards the better half of the offspring; runs that can learn nothing more start at u_fresh [B, D]."""
        assert self.population is not None
        ev, rates = self.population.ev, self.rates
        xp = namespace(ev.f)
        parents = order(self.rule.key(ev, self.state))[:, : rates.mu]
        weight = parent_weights(rates.weights.on(ev.f)["w"], ~rows(ev.failed, parents))
        z, d = rows(self.z, parents), rows(self.d, parents)
        if self.generation == 1 and self.task.x0 is not None:
            z, d = short_steps(z, d)
        lost, broken = diagnosis(cloud, self.d, xp.any(weight > 0.0, axis=-1))
        cloud = moved(cloud, z, d, weight, rates)
        sigma = xp.clip(cloud.sigma * step_change(cloud.path, rates), max=WIDEST)
        return repaired(cloud._replace(sigma=sigma), broken, lost, u_fresh, self.sigma)

    def _first(self, like: Array) -> Cloud:
        """Round, at the centre or at the first given point, for the runs of like [B, D]."""
        xp = namespace(like)
        start = 0.5 if self.task.x0 is None else asarray_like(self.task.x0[0], like)
        return Cloud.round(xp.zeros_like(like) + start, self.sigma)

    def _with_given_steps(self, z: Array) -> Array:
        """Steps that lead from the mean to the given points, in the first places."""
        if self.task.x0 is None:
            return z
        return with_given(z, (self.task.x0 - self.task.x0[0]) / self.sigma)

    def trace(self) -> dict[str, Array]:
        assert self.cloud is not None
        return {**self.rule.trace(self.state), "sigma": self.cloud.sigma}


def native_size(dim: int) -> int:
    """The usual number of offspring, lambda = 4 + floor(3 ln D)."""
    return 4 + int(3 * math.log(dim))


def fold(y: Array) -> Array:
    """Reflect unbounded coordinates into the unit cube: period 2, and the cube itself stays as it is."""
    xp = namespace(y)
    within = y - 2.0 * xp.floor(0.5 * y)  # [0, 2]
    return xp.where(within > 1.0, 2.0 - within, within)


def parent_weights(weights: Array, ok: Array) -> Array:
    """Weights [mu] of parents in rank order, without those that failed: ok [B, mu] -> [B, mu], sum 1 or 0."""
    xp = namespace(weights)
    kept = xp.where(ok, weights[None, :], 0.0)
    total = xp.sum(kept, axis=-1, keepdims=True)
    return kept / xp.where(total > 0.0, total, 1.0)


def short_steps(z: Array, d: Array) -> tuple[Array, Array]:
    """Steps with z no longer than sqrt(D) + 2D/(D+2), which a normal draw does not reach but a given point may."""
    xp = namespace(z)
    dim = z.shape[-1]
    norm = xp.sqrt(xp.sum(z * z, axis=-1, keepdims=True))
    share = (math.sqrt(dim) + 2 * dim / (dim + 2)) / xp.where(norm > 0.0, norm, 1.0)
    share = xp.clip(share, max=1.0)
    return z * share, d * share


def moved(cloud: Cloud, z: Array, d: Array, weight: Array, rates: Rates) -> Cloud:
    """Mean, path and matrix after the parents z, d [B, mu, D] (d = matrix @ z) were chosen; sigma stays.

    y  <- y + sigma <d>
    p  <- (1 - c_sigma) p + sqrt(c_sigma (2 - c_sigma) mu_w) <z>
    M  <- (1 - c_1/2 - c_mu/2) M + c_1/2 (M p) p' + c_mu/2 <d z'>, with the new p and the old M

    A run without any parent (all weights 0) stays as it is.
    """
    xp = namespace(z)
    weighted = weight[..., None] * z
    square = xp.sum(weight * weight, axis=-1, keepdims=True)
    some = square > 0.0
    pull = xp.sqrt(rates.path * (2.0 - rates.path) / xp.where(some, square, 1.0))
    path = xp.where(some, (1.0 - rates.path) * cloud.path + pull * xp.sum(weighted, axis=1), cloud.path)
    learns = 0.5 * xp.astype(some, z.dtype)[..., None]  # [B, 1, 1]
    one, many = rates.one * learns, rates.many * learns
    along = xp.matmul(cloud.matrix, path[..., None])[..., 0]
    left = xp.concat([d, along[:, None, :]], axis=1)
    right = xp.concat([many * weighted, one * path[:, None, :]], axis=1)
    matrix = (1.0 - one - many) * cloud.matrix + xp.matmul(xp.matrix_transpose(left), right)
    step = xp.sum(weight[..., None] * d, axis=1)
    return Cloud(cloud.mean + cloud.sigma[:, None] * step, cloud.sigma, matrix, path)


def step_change(path: Array, rates: Rates) -> Array:
    """Factor on sigma: above 1 where the path is longer than chance would make it; path [B, D] -> [B]."""
    xp = namespace(path)
    norm = xp.sqrt(xp.sum(path * path, axis=-1))
    return xp.exp((rates.path / rates.damping) * (norm / rates.length - 1.0))


def diagnosis(cloud: Cloud, d: Array, some: Array) -> tuple[Array, Array]:
    """Runs to start afresh, and runs whose matrix ran away: d [B, N, D], some [B] -> [B], [B].

    Afresh: no offspring moved in any variable, or all failed before the run ever moved.
    """
    xp = namespace(d)
    reach = xp.max(xp.abs(d), axis=(1, 2))
    stuck = ~some & xp.all(cloud.path == 0.0, axis=-1)
    return stuck | (cloud.sigma * reach < NARROWEST), ~(reach < RUNAWAY)  # nan is not below either


def repaired(cloud: Cloud, broken: Array, lost: Array, fresh: Array, sigma: float) -> Cloud:
    """Round again where the matrix is broken, and round at a fresh mean [B, D] where the run is lost.

    The landscape has period 2 along every variable, so the mean is kept within one period.
    """
    xp = namespace(fresh)
    dim = fresh.shape[1]
    reset = broken | lost
    within = cloud.mean - 2.0 * xp.floor(0.5 * cloud.mean)
    return Cloud(
        xp.where(lost[:, None], fresh, within),
        xp.where(lost, sigma, cloud.sigma),
        xp.where(reset[:, None, None], xp.eye(dim, dtype=fresh.dtype, device=fresh.device), cloud.matrix),
        xp.where(reset[:, None], 0.0, cloud.path),
    )
