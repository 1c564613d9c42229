"""SHADE's external archive: replaced parents that still lend directions."""

from __future__ import annotations

from dataclasses import dataclass

from meco.core.arrays import Array, astype, at_most, namespace, rows, total
from meco.engines.de.operators import ascending_order, positions


@dataclass(frozen=True, eq=False)
class ExternalArchive:
    """Up to N points per run, in no order: x [B, N, D], of which the first size [B] are members.

    Saved states name the fields.
    """

    x: Array
    size: Array

    @classmethod
    def empty(cls, x: Array, capacity: int | None = None) -> ExternalArchive:
        """No members, for a population x [B, N, D]; room for N unless said otherwise."""
        xp = namespace(x)
        room = (x.shape[0], x.shape[1] if capacity is None else capacity, x.shape[2])
        return cls(
            xp.zeros(room, dtype=x.dtype, device=x.device), xp.zeros(x.shape[0], dtype=xp.int64, device=x.device)
        )

    def pool_with(self, population: Array) -> Array:
        """Population and archive as one pool [B, 2N, D]; rows from N on are the archive's, as pick_others() counts."""
        return namespace(population).concat([population, self.x], axis=1)

    def with_parents(self, pool: Array, success: Array, u_drop: Array) -> ExternalArchive:
        """With the parents that lost; a random part of the union stays when it is too large.

        pool [B, 2N, D] holds the parents before this archive, success [B, N] marks the
        parents that lost, u_drop [B, 2N] decides which stay.
        """
        xp = namespace(pool)
        capacity = self.x.shape[1]
        member = xp.concat([success, positions(capacity, self.size)[None, :] < self.size[:, None]], axis=1)
        ranked = ascending_order(xp.where(member, u_drop, 2.0))[:, :capacity]
        count = total(astype(member, self.size.dtype))
        return ExternalArchive(rows(pool, ranked), at_most(count, capacity))
