"""SHADE's archive: replaced parents that still lend directions."""

from __future__ import annotations

from dataclasses import dataclass

from meco.arrays import Array, namespace, rows


@dataclass(frozen=True, eq=False)
class Archive:
    """Up to N points per run, in no order: x [B, N, D], of which the first size [B] are members."""

    x: Array
    size: Array

    @classmethod
    def empty(cls, x: Array) -> Archive:
        """No members, for a population x [B, N, D]."""
        xp = namespace(x)
        return cls(xp.zeros_like(x), xp.zeros(x.shape[0], dtype=xp.int64, device=x.device))

    def pick(self, population: Array, index: Array) -> Array:
        """Rows of population and archive taken together, index >= N meaning the archive."""
        return rows(namespace(population).concat([population, self.x], axis=1), index)

    def added(self, parents: Array, success: Array, u_drop: Array) -> Archive:
        """With the parents that lost; a random part of the union stays when it is too large.

        parents [B, N, D], success [B, N], u_drop [B, 2N] decides who goes.
        """
        xp = namespace(parents)
        capacity = parents.shape[1]
        slots = xp.arange(capacity, dtype=self.size.dtype, device=self.size.device)
        member = xp.concat([slots[None, :] < self.size[:, None], success], axis=1)
        ranked = xp.argsort(xp.where(member, u_drop, 2.0), axis=-1, stable=True)[:, :capacity]
        union = xp.concat([self.x, parents], axis=1)
        count = xp.sum(xp.astype(member, self.size.dtype), axis=-1)
        return Archive(rows(union, ranked), xp.clip(count, max=capacity))
