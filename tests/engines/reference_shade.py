"""SHADE written slowly, one number at a time, from the 2013 paper: what the fast engine must equal.

It draws from its own generator in the order the engine documents: a uniform block per
generation (slots, F, p, guide, r1, r2, forced component, archive lots, the rule's two
numbers, crossover, redraw), then the normal numbers of CR.
"""

from __future__ import annotations

import math

import numpy as np


class SlowShade:
    """One run. `rule` is one of the strings below; problems are given as raw(x) -> f, g, h."""

    def __init__(self, raw, lower, upper, seed, rule, size, release=False):
        self.raw, self.lower, self.upper, self.size, self.rule = raw, lower, upper, size, rule
        self.rng = np.random.default_rng(seed)
        self.release = release
        self.slots = 6 if release else 100
        self.memory_f, self.memory_cr, self.k = [0.5] * self.slots, [0.5] * self.slots, 0
        self.archive: list[np.ndarray] = []
        self.dim = len(lower)
        self.x = [self.rng.random(self.dim) for _ in range(size)]
        self.rng.random(2)
        self.values = self.evaluate(self.x)
        self.weight = None
        first = [v for _, v in self.values]
        self.base = [max(1e-3, math.fsum(v[j] for v in first) / size) for j in range(len(first[0]))]
        self.level_sum = 0.1 * max(sum(v) for v in first)
        self.level_each = [0.1 * max(v[j] for v in first) for j in range(len(first[0]))]
        self.progress = size
        self.prepare()

    def evaluate(self, units):
        """The problem is called as the engine calls it: only the search is under test here."""
        x = np.minimum(self.lower + np.array([units]) * (self.upper - self.lower), self.upper)
        f, g, h = self.raw(x)
        violations = [[max(float(v), 0.0) for v in a] + [abs(float(v)) for v in b] for a, b in zip(g[0], h[0])]
        return list(zip(map(float, f[0]), violations))

    def prepare(self):
        """What the rule works out from the population before a generation."""
        if self.rule == "boc":
            f = [v[0] for v in self.values]
            nu = [sum(v[1]) for v in self.values]
            if max(nu) - min(nu) > 1e-12:
                share = sum(1 for v in self.values if self.feasible(v)) / self.size
                self.weight = (2 - share) * (max(f) - min(f)) / (max(nu) - min(nu))
            elif self.weight is None:
                self.weight = 1e12
        if self.rule == "schedule":
            a = 1.0 - min(1.0, self.progress / self.budget_hint)
            self.eps = [b**a * 1e-3 ** (1 - a) for b in self.base]

    budget_hint = 2500
    n_ineq = 0

    def feasible(self, value):
        c = value[1]
        return all(v <= 0 for v in c[: self.n_ineq]) and all(v <= 1e-4 for v in c[self.n_ineq :])

    def key(self, value):
        f, c = value
        nu = sum(c)
        if self.rule == "penalty":
            return (0.0, f + nu)
        if self.rule == "boc":
            return (0.0, f + self.weight * nu)
        if self.rule == "fr":
            return (nu, f)
        if self.rule == "eps":
            return (0.0 if nu <= self.level_sum else nu, f)
        if self.rule == "eps-vector":
            return (sum(max(v - e, 0.0) for v, e in zip(c, self.level_each)), f)
        if self.rule == "schedule":
            return (sum(max(v - e, 0.0) for v, e in zip(c, self.eps)), f)
        raise ValueError(self.rule)

    def generation(self):
        n, d = self.size, self.dim
        u = self.rng.random(9 * n + 2 + n * d * (2 if self.release else 1))
        z = self.rng.standard_normal(n)
        single = [u[i * n : (i + 1) * n] for i in range(7)]
        lots, cross = u[7 * n : 9 * n], u[9 * n + 2 : 9 * n + 2 + n * d].reshape(n, d)
        fresh = u[9 * n + 2 + n * d :].reshape(n, d) if self.release else None
        keys = [self.key(v) for v in self.values]
        ranked = sorted(range(n), key=lambda i: (keys[i], i))
        trials, scales, rates = [], [], []
        for i in range(n):
            slot = int(single[0][i] * self.slots)
            centre = self.memory_f[slot]
            below = 0.5 - math.atan(centre / 0.1) / math.pi
            scale = centre + 0.1 * math.tan(math.pi * (1 - (1 - below) * single[1][i] - 0.5))
            scale = min(scale, 1.0)
            rate = min(max(self.memory_cr[slot] + 0.1 * z[i], 0.0), 1.0)
            p = 0.11 if self.release else 2 / n + single[2][i] * (0.2 - 2 / n)
            among = min(max(2, math.ceil(p * n)), n)
            guide = self.x[ranked[int(single[3][i] * among)]]
            r1 = [j for j in range(n) if j != i][int(single[4][i] * (n - 1))]
            pool = self.x + self.archive
            free = [j for j in range(len(pool)) if j not in (i, r1)]
            r2 = free[int(single[5][i] * len(free))]
            mutant = self.x[i] + scale * (guide - self.x[i] + self.x[r1] - pool[r2])
            forced = int(single[6][i] * d)
            trial = self.x[i].copy()
            for j in range(d):
                if cross[i, j] < rate or j == forced:
                    trial[j] = self.repaired(mutant[j], self.x[i][j], fresh[i, j] if self.release else None)
            trials.append(trial)
            scales.append(scale)
            rates.append(rate)
        self.select(keys, trials, scales, rates, lots)

    def repaired(self, v, parent, fresh):
        if 0.0 <= v <= 1.0:
            return v
        if self.release:
            return fresh
        return (0.0 + parent) / 2 if v < 0 else (1.0 + parent) / 2

    def select(self, keys, trials, scales, rates, lots):
        n = self.size
        values = self.evaluate(trials)
        new = [self.key(v) for v in values]
        better = [new[i] < keys[i] for i in range(n)]
        won = [new[i] <= keys[i] for i in range(n)]
        archived = won if self.release else better
        decided = [keys[i][0] - new[i][0] if better[i] and new[i][0] < keys[i][0] else 0.0 for i in range(n)]
        tied = [keys[i][1] - new[i][1] if better[i] and new[i][0] == keys[i][0] else 0.0 for i in range(n)]
        if not self.release:
            decided = [v / (max(decided) or 1.0) for v in decided]
            tied = [v / (max(tied) or 1.0) for v in tied]
        gains = [a + b for a, b in zip(decided, tied)]
        if sum(gains) > 0:
            w = [v / sum(gains) for v in gains]
            self.memory_f[self.k] = sum(a * s * s for a, s in zip(w, scales)) / sum(a * s for a, s in zip(w, scales))
            self.memory_cr[self.k] = sum(a * r for a, r in zip(w, rates))
            self.k = (self.k + 1) % self.slots
        tickets = [(lots[i], self.x[i]) for i in range(n) if archived[i]]
        tickets += [(lots[n + i], member) for i, member in enumerate(self.archive)]
        self.archive = [x for _, x in sorted(tickets, key=lambda t: t[0])][:n]
        for i in range(n):
            if won[i]:
                self.x[i], self.values[i] = trials[i], values[i]
        self.progress += n
        self.prepare()
