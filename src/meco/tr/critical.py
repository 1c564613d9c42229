"""Many constraints: those that are far from active get linear models and stay out of the program.

With more than 4 D + 20 constraints a step still depends on few of them. The inequalities that are violated or nearest
to it, in units of what they change by across the region, all equalities, and f are the critical functions of a step.
"""

from __future__ import annotations

from typing import NamedTuple

from meco.core.arrays import Array, namespace, rows


class CriticalFunctions(NamedTuple):
    """Which functions are critical: index [B, K], 0 being f; position [B, F] of each among them, K for the others."""

    index: Array
    position: Array
    n_ineq: int

    def gather(self, values: Array) -> Array:
        """Rows of the critical functions: [B, F, ...] -> [B, K, ...]."""
        return rows(values, self.index)

    def scatter(self, values: Array) -> Array:
        """Rows back at their functions, zeros for the others: [B, K, ...] -> [B, F, ...]."""
        xp = namespace(values)
        nothing = xp.zeros((values.shape[0], 1, *values.shape[2:]), dtype=values.dtype, device=values.device)
        return rows(xp.concat([values, nothing], axis=1), self.position)

    def merge(self, new: Array, old: Array) -> Array:
        """Values old [B, C] of all constraints, with new [B, K - 1] for the critical ones: [B, C]."""
        xp = namespace(new)
        return xp.where(self.is_critical[:, 1:], self.scatter(xp.concat([new[:, :1], new], axis=1))[:, 1:], old)

    @property
    def is_critical(self) -> Array:
        """Whether a function is critical: [B, F]."""
        return self.position < self.index.shape[1]


def max_critical(dim: int) -> int:
    """Constraints of which all are modelled by quadratics."""
    return 4 * dim + 20


def select_critical(value: Array, change: Array, n_ineq: int, count: int) -> CriticalFunctions | None:
    """The critical functions of each run, from values and changes across the region [B, 1 + C]; None where all may be.

    f, all equalities, and of n_ineq inequalities the nearest to violation: `count` constraints in all, but at least one
    inequality. One that does not change counts by its value.
    """
    xp = namespace(value)
    runs, functions = value.shape
    if functions - 1 <= count:
        return None
    n_eq = functions - 1 - n_ineq
    kept = max(1, count - n_eq)
    closeness = value[:, 1 : 1 + n_ineq] / xp.where(change[:, 1 : 1 + n_ineq] > 0.0, change[:, 1 : 1 + n_ineq], 1.0)
    near = xp.sort(xp.argsort(-closeness, axis=-1, stable=True)[:, :kept], axis=-1) + 1
    always = xp.zeros((runs, 1), dtype=near.dtype, device=near.device)
    last = xp.arange(1 + n_ineq, functions, dtype=near.dtype, device=near.device)
    index = xp.concat([always, near, always + last[None, :]], axis=1)
    numbers = xp.arange(functions, dtype=near.dtype, device=near.device)
    same = index[:, None, :] == numbers[None, :, None]  # [B, F, K]
    found = xp.argmax(xp.astype(same, xp.int64), axis=-1)
    return CriticalFunctions(index, xp.where(xp.any(same, axis=-1), found, index.shape[1]), kept)
