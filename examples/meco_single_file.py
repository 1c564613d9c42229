"""MeCO in one file: SHADE, state, action, reward, Double DQN, training and evaluation, as the paper prints them.

    python meco_single_file.py [EPOCHS]

Trains a policy on the 28 problems of CEC2017 at D = 10 (50 epochs, some minutes; the library takes seconds) and
compares it with random actions on the same problems. Equation numbers are those of the paper. Of meco only the problems
are used. All random numbers of a run come from one generator.
"""

from __future__ import annotations

import copy
import sys
from collections import deque
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

import meco

N = 50  # population
DELTA = 1e-3  # the strictest relaxation
ACTIONS = np.arange(11) / 10
MEMORY, BATCH, EXPLORE, COPY_EVERY = 64, 8, 0.1, 10
LEARNING_RATES = 5e-3, 1e-4  # falls linearly from one to the other


# 1. Problem and violations (eq. 1)


class Population(NamedTuple):
    """Points in the unit cube x [N, D] with f, violations c [N, C], their sum nu, and who is feasible, [N] each."""

    x: np.ndarray
    f: np.ndarray
    c: np.ndarray
    nu: np.ndarray
    feasible: np.ndarray

    def replaced(self, won: np.ndarray, other: Population) -> Population:
        """This population with the other's members where they won [N]."""
        return Population(*(np.where(won.reshape(-1, *[1] * (a.ndim - 1)), b, a) for a, b in zip(self, other)))


def evaluate(problem: meco.Problem, x: np.ndarray) -> Population:
    """Evaluate points x [N, D] of the unit cube."""
    f, g, h = problem.raw(problem.lower + x * (problem.upper - problem.lower))
    c = np.concatenate([np.maximum(g, 0.0), np.abs(h)], axis=1)
    return Population(x, f, c, c.sum(axis=1), (g <= 0.0).all(axis=1) & (np.abs(h) <= 1e-4).all(axis=1))


# 2. Relaxation (eq. 2) and action (eq. 6)


def relaxed_violation(c: np.ndarray, eps: np.ndarray) -> np.ndarray:
    """Violations c [N, C] beyond the relaxation eps [C], summed: [N]."""
    return np.maximum(c - eps, 0.0).sum(axis=1)


def decode(action: float, base: np.ndarray) -> np.ndarray:
    """The relaxation [C] of an action; base is the mean violation of the first population, at least DELTA."""
    return base**action * DELTA ** (1.0 - action)


# 3. SHADE (Tanabe and Fukunaga, 2013)


class Shade:
    """One run of SHADE. step(eps) makes a generation that is compared under the relaxation eps."""

    SLOTS = 100  # of the memory of F and CR

    def __init__(self, problem: meco.Problem, rng: np.random.Generator) -> None:
        self.problem, self.rng, dim = problem, rng, problem.dim
        self.population = evaluate(problem, rng.random((N, dim)))
        rng.random(2)  # not used; the library draws them for its rules
        self.memory_f, self.memory_cr, self.slot = np.full(self.SLOTS, 0.5), np.full(self.SLOTS, 0.5), 0
        self.archive = np.zeros((0, dim))
        self.evaluations = N
        self.score = (self.population.f + self.population.nu).min()  # least f + nu of all points so far

    def step(self, eps: np.ndarray) -> None:
        """Mutate, cross, select by (relaxed violation, f), and learn from what improved."""
        pop, rng, dim = self.population, self.rng, self.problem.dim
        numbers = rng.random(9 * N + 2 + N * dim)
        u = numbers[: 7 * N].reshape(7, N)
        drop, cross = numbers[7 * N : 9 * N], numbers[9 * N + 2 :].reshape(N, dim)

        # F and CR around one slot of the memory; F from a Cauchy law above 0, CR from a normal law
        slot = (u[0] * self.SLOTS).astype(int)
        cr = np.clip(self.memory_cr[slot] + 0.1 * rng.standard_normal(N), 0.0, 1.0)
        below = 0.5 - np.arctan(self.memory_f[slot] / 0.1) / np.pi
        scale = np.clip(self.memory_f[slot] + 0.1 * np.tan(np.pi * (0.5 - (1.0 - below) * u[1])), 0.0, 1.0)

        # current-to-pbest/1: guides among the best by f + nu, which the policy does not change
        ranked = np.argsort(pop.f + pop.nu, kind="stable")
        share = 2.0 / N + u[2] * (0.2 - 2.0 / N)
        guide = pop.x[ranked[(u[3] * np.maximum(np.ceil(share * N), 2.0)).astype(int)]]
        me = np.arange(N)
        first = (u[4] * (N - 1)).astype(int)
        first += first >= me
        low, high = np.minimum(first, me), np.maximum(first, me)
        second = (u[5] * (N + len(self.archive) - 2)).astype(int)
        second += second >= low
        second += second >= high
        pool = np.concatenate([pop.x, self.archive])
        crosses = (cross < cr[:, None]) | (np.floor(u[6] * dim)[:, None] == np.arange(dim))
        trial = pop.x + scale[:, None] * crosses * (guide - pop.x + pop.x[first] - pool[second])
        bound = np.clip(trial, 0.0, 1.0)
        trial = np.where(trial == bound, trial, 0.5 * (pop.x + bound))

        # selection: the smaller relaxed violation wins, f breaks ties
        new = evaluate(self.problem, trial)
        mine, theirs = relaxed_violation(pop.c, eps), relaxed_violation(new.c, eps)
        wins = (theirs < mine) | ((theirs == mine) & (new.f <= pop.f))
        better = (theirs < mine) | ((theirs == mine) & (new.f < pop.f))

        # the memory learns from gains; those of violation and of f have different units
        by_violation = np.where(better & (theirs < mine), mine - theirs, 0.0)
        by_objective = np.where(better & (theirs == mine), pop.f - new.f, 0.0)
        weight = sum(gain / (gain.max() or 1.0) for gain in (by_violation, by_objective))
        if weight.sum() > 0.0:
            self.memory_f[self.slot] = weight @ scale**2 / (weight @ scale)
            self.memory_cr[self.slot] = weight @ cr / weight.sum()
            self.slot = (self.slot + 1) % self.SLOTS

        # the archive keeps beaten parents, at most N
        keys = np.concatenate([drop[:N][better], drop[N : N + len(self.archive)]])
        members = np.concatenate([pop.x[better], self.archive])
        self.archive = members[np.argsort(keys)][:N]
        self.population = pop.replaced(wins, new)
        self.evaluations += N
        self.score = min(self.score, (new.f + new.nu).min())


# 4. State (eqs. 4 and 5)


def mean_least_violation(nu: np.ndarray) -> float:
    """nu-bar: the mean of the five least violations."""
    return np.sort(nu)[:5].mean()


def bounded(d: float) -> float:
    """A denominator away from zero."""
    return np.copysign(max(abs(d), 1e-8), d)


class First(NamedTuple):
    """What later populations are measured against."""

    f_best: float
    f_worst: float
    nu_bar: float


def state(pop: Population, first: First, spent: float, action: float) -> np.ndarray:
    """The ten features; f_best is the least objective of the population."""
    progress = (pop.f - pop.f.min()) / bounded(first.f_worst - first.f_best)
    pairs = (pop.f[:, None] - pop.f) * (pop.nu[:, None] - pop.nu) > 0.0
    s = [
        pop.x.std(),
        progress.std(),
        pop.x.mean(),
        progress.mean(),
        pop.f.min() / bounded(first.f_best),
        spent,
        mean_least_violation(pop.nu) / bounded(first.nu_bar),
        pop.feasible.mean(),
        action,
        np.triu(pairs, 1).sum() * 2.0 / (N * (N - 1)),
    ]
    return np.clip(s, -10.0, 10.0)


# 5. Reward (eqs. 7 and 8)


def reward(before: Population, after: Population, first: First, f_star: float) -> float:
    """((1 - omega) r1 + r2) / 2; f_star is the best objective found in training, inf at first."""
    scale = max(first.f_best - f_star, 1e-3 * (first.f_worst - first.f_best), 1e-8)
    r1 = np.clip((before.f.min() - after.f.min()) / scale, -1.0, 1.0)
    left = [mean_least_violation(pop.nu) / bounded(first.nu_bar) for pop in (before, after)]
    r2 = np.clip(left[0] - left[1], -1.0, 1.0)
    return ((1.0 - np.clip(left[1], 0.0, 1.0)) * r1 + r2) / 2.0


# 6. Episode: one run as the policy sees it (eq. 3)


class Episode:
    """A run of SHADE: reset by making one, then step(action) until done."""

    def __init__(self, problem: meco.Problem, rng: np.random.Generator, f_star: float = np.inf) -> None:
        self.search, self.f_star, self.budget = Shade(problem, rng), f_star, 50 * problem.dim
        pop = self.search.population
        self.base = np.maximum(pop.c.mean(axis=0), DELTA)
        self.first = First(pop.f.min(), pop.f.max(), mean_least_violation(pop.nu))
        self.s = state(pop, self.first, N / self.budget, 0.0)
        self.f_best = pop.f.min()  # of all populations so far

    @property
    def done(self) -> bool:
        """Whether the budget is spent."""
        return self.search.evaluations >= self.budget

    def step(self, action: float) -> float:
        """One generation under the relaxation of an action; its reward."""
        before = self.search.population
        self.search.step(decode(action, self.base))
        pop = self.search.population
        self.s = state(pop, self.first, self.search.evaluations / self.budget, action)
        self.f_best = min(self.f_best, pop.f.min())
        return reward(before, pop, self.first, self.f_star)


# 7. Double DQN (eq. 9)


class Learner:
    """Online and target network with AdamW."""

    def __init__(self, steps: int, seed: int) -> None:
        torch.manual_seed(seed)
        self.online = nn.Sequential(nn.Linear(10, 64), nn.SELU(), nn.Linear(64, 11)).double()
        self.target = copy.deepcopy(self.online)
        self.optimizer = torch.optim.AdamW(self.online.parameters(), lr=LEARNING_RATES[0], weight_decay=0.01)
        end = LEARNING_RATES[1] / LEARNING_RATES[0]
        self.schedule = torch.optim.lr_scheduler.LinearLR(self.optimizer, 1.0, end, max(1, steps - 1))
        self.memory: deque[tuple] = deque(maxlen=MEMORY)
        self.steps = 0

    def best_action(self, s: np.ndarray) -> int:
        """The index of the action with the largest value."""
        with torch.no_grad():
            return int(self.online(torch.from_numpy(s)).argmax())

    def learn(self, chosen: np.ndarray) -> None:
        """One step on the transitions of these places in the memory."""
        s, action, r, s_next, last = zip(*(self.memory[k] for k in chosen))
        s, r, s_next = (torch.tensor(np.array(part)) for part in (s, r, s_next))
        with torch.no_grad():  # the online network chooses, the target network values
            best = self.online(s_next).argmax(1, keepdim=True)
            y = r + (1.0 - torch.tensor(last, dtype=torch.float64)) * self.target(s_next).gather(1, best)[:, 0]
        loss = (self.online(s).gather(1, torch.tensor(action)[:, None])[:, 0] - y).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        self.steps += 1
        if self.steps % COPY_EVERY == 0:
            self.target.load_state_dict(self.online.state_dict())


# 8. Training and evaluation (section 3.1)


def train(problems: list[meco.Problem], epochs: int, seed: int) -> Learner:
    """Play every problem once in each epoch, learning at every step."""
    rng = np.random.default_rng(seed)
    learner = Learner(epochs * len(problems) * (50 * problems[0].dim // N - 1), seed)
    f_star = dict.fromkeys((p.name for p in problems), np.inf)
    for _ in range(epochs):
        for k in rng.permutation(len(problems)):
            problem = problems[k]
            episode = Episode(problem, np.random.default_rng(rng.integers(2**62)), f_star[problem.name])
            while not episode.done:
                s = episode.s
                action = int(rng.integers(11)) if rng.random() < EXPLORE else learner.best_action(s)
                r = episode.step(ACTIONS[action])
                learner.memory.append((s, action, r, episode.s, float(episode.done)))
                if len(learner.memory) >= BATCH:
                    learner.learn(rng.choice(len(learner.memory), BATCH, replace=False))
            f_star[problem.name] = min(f_star[problem.name], episode.f_best)
    return learner


def solve(problem: meco.Problem, seed: int, learner: Learner | None = None) -> float:
    """The least f + nu of a run with the policy, or with random actions."""
    episode, chance = Episode(problem, np.random.default_rng(seed)), np.random.default_rng([seed, 1])
    while not episode.done:
        index = chance.integers(11) if learner is None else learner.best_action(episode.s)
        episode.step(ACTIONS[index])
    return episode.search.score


if __name__ == "__main__":
    torch.set_num_threads(1)
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    problems = [meco.get_problem(f"C{k:02d}", dim=10) for k in range(1, 29)]
    policy = train(problems, epochs, seed=1)
    wins = 0
    for p in problems:
        learned, chance = (np.mean([solve(p, seed, by) for seed in range(5)]) for by in (policy, None))
        wins += learned < chance
        print(f"{p.name}  policy {learned:12.6g}  random actions {chance:12.6g}")
    print(f"the policy is ahead on {wins} of {len(problems)} problems")
