"""Arrays of any array-API library, and the few row operations the formulas share.

Shape letters, everywhere: B runs in lockstep, N candidates, D variables, C constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from meco.errors import load_extra

Array = Any  # an array of NumPy, torch, JAX, ...: whatever the caller brought

TINY = float(np.finfo(np.float64).tiny)  # the least number that no processor takes for 0
LEAST_SQUARE, MOST_SQUARE = 1e-250, 1e250  # sums of squares between which no part that counts is lost
_maximum_over: Any = np.maximum.reduce
_minimum_over: Any = np.minimum.reduce
_WRAPPED: dict[type, Any] = {}  # functions of libraries that do not bring their own, found once
NARROW_ROW = 32  # numbers of a row up to which a device picks numbers, not rows
FEW_COLUMNS, MANY_COLUMNS = 4, 64  # above which a scan is cheaper than a sum column by column: in NumPy, elsewhere


def namespace(x: Array) -> Any:
    """The array-API functions of the library that x belongs to.

    Foreign libraries need array-api-compat, else MissingExtra.
    """
    if type(x) is np.ndarray or isinstance(x, (np.ndarray, np.generic)):
        return np
    known = _WRAPPED.get(type(x))
    if known is not None:
        return known
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__()
    compat = load_extra("array_api_compat", "train", f"computing on {type(x).__module__} arrays")
    _WRAPPED[type(x)] = compat.array_namespace(x)
    return _WRAPPED[type(x)]


def asarray_like(value: Any, x: Array) -> Array:
    """A number or nested list as a float64 array in the library and on the device of x; its shape is its own."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np.asarray(value, dtype=np.float64)
    xp = namespace(x)
    return xp.asarray(np.asarray(value, dtype=np.float64), dtype=xp.float64, device=x.device)


class Constants:
    """The fixed numbers of a formula, moved to each array library and device once; by name, in a dict or a kind."""

    def __init__(self, kind: Callable[..., Any] = dict, /, **arrays: np.ndarray) -> None:
        """Keep copies as float64; kind(**arrays) is what on() gives, a dict unless said otherwise."""
        self._kind, self._plain = kind, {k: np.asarray(v, dtype=np.float64) for k, v in arrays.items()}
        self._numpy = kind(**self._plain)
        self._moved: dict[tuple[str, str], Any] = {}

    def on(self, x: Array) -> Any:
        """The numbers as arrays of x's library, on x's device; moved there at the first call, kept afterwards."""
        if isinstance(x, (np.ndarray, np.generic)):
            return self._numpy
        where = (type(x).__module__, str(x.device))
        if where not in self._moved:
            self._moved[where] = self._kind(**{k: asarray_like(v, x) for k, v in self._plain.items()})
        return self._moved[where]


def to_numpy(x: Array) -> np.ndarray:
    """The same numbers as a NumPy array in host memory, x itself where it is one; waits for a device."""
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "detach"):  # torch, possibly on a GPU
        return x.detach().cpu().numpy()
    return np.asarray(x)


def stack_columns(items: Sequence[Array] | Array, like: Array) -> Array:
    """Stack values of shape [...] to [..., n]; an array passes, an empty list gives [..., 0]."""
    if not isinstance(items, (list, tuple)):
        return items
    xp = namespace(like)
    if not items:
        return xp.zeros((*like.shape, 0), dtype=like.dtype, device=like.device)
    if xp is np and like.ndim == 1:  # a row for each run, in a third of the time that stacking takes
        return np.ascontiguousarray(np.array(items).T)
    return xp.stack(list(items), axis=-1)


def rows(x: Array, index: Array) -> Array:
    """Row index[b, k] of each run, copied: x [B, N, ...], index [B, K] -> [B, K, ...]. Indices are not checked."""
    runs, count = x.shape[0], x.shape[1]
    if count == 1 == index.shape[1] and isinstance(x, np.ndarray):  # there is no choice
        return x.copy()
    if runs == 1 and isinstance(x, np.ndarray):  # the single user's case, without the detour below
        if index.shape[1] == 1:
            return x[:, (first := int(index[0, 0])) : first + 1].copy()
        return x[0].take(index[0], axis=0)[None]
    if isinstance(x, np.ndarray):  # the rows of an archive that are in use do not lie together: no copy of all of them
        return x[np.arange(runs)[:, None], index]
    if hasattr(x, "gather") and (x.ndim == 2 or (x.ndim == 3 and x.shape[2] <= NARROW_ROW)):  # torch: one kernel, not 4
        index = index.expand(runs, -1)
        return x.gather(1, index if x.ndim == 2 else index[..., None].expand(-1, -1, x.shape[2]))
    xp = namespace(x)
    flat = xp.reshape(x, (runs * count, *x.shape[2:]))
    if runs > 1:
        index = index + count * xp.arange(runs, dtype=index.dtype, device=index.device)[:, None]
    picked = xp.take(flat, xp.reshape(index, (-1,)), axis=0)
    return xp.reshape(picked, (runs, index.shape[1], *x.shape[2:]))


def nearest(distance: Array, count: int) -> Array:
    """Indices of the count least of each run, in no order: distance [B, n] -> [B, count], 1 <= count <= n.

    nan counts as the largest.
    """
    if isinstance(distance, np.ndarray):
        if count == distance.shape[1]:
            return np.broadcast_to(np.arange(count), distance.shape)
        return distance.argpartition(count - 1, axis=-1)[:, :count]
    return namespace(distance).argsort(distance, axis=-1)[:, :count]


def ordered_sum(x: Array) -> Array:
    """Sum over the last axis, left to right, so that columns of zeros never change a bit: [..., n] -> [...].

    0 if n = 0.
    """
    width = x.shape[-1]
    if width == 0:
        return namespace(x).zeros(x.shape[:-1], dtype=x.dtype, device=x.device)
    if width > (FEW_COLUMNS if isinstance(x, np.ndarray) else MANY_COLUMNS):
        return namespace(x).cumulative_sum(x, axis=-1)[..., -1]
    total = x[..., 0]
    for column in range(1, width):  # far faster than a scan along short rows
        total = total + x[..., column]
    return total


def running_sums(x: Array) -> Array:
    """Sums of the first 1, 2, ... entries along the last axis: [..., n] -> [..., n].

    In NumPy one after the other; elsewhere in log2(n) steps of whole arrays, since an accelerator scans short rows
    slowly. Either way a row's bits depend on that row alone.
    """
    if isinstance(x, np.ndarray):
        return np.add.accumulate(x, axis=-1)
    xp, width, reach = namespace(x), x.shape[-1], 1
    while reach < width:
        x = xp.concat([x[..., :reach], x[..., reach:] + x[..., :-reach]], axis=-1)
        reach *= 2
    return x


class Factored:
    """Square matrices [B, m, m] that several systems are solved with."""

    def __init__(self, matrix: Array) -> None:
        """Keep the matrices [B, m, m]."""
        self.matrix = matrix

    def solved(self, right: Array) -> Array:
        """matrix^-1 right, both with B rows: [B, m, n]; LinAlgError for a singular matrix."""
        return solve(self.matrix, right)

    @cached_property
    def inverted(self) -> Array:
        """The inverses [B, m, m], made once."""
        return inverse(self.matrix)

    @cached_property
    def inverse_diagonal(self) -> Array:
        """The diagonals of the inverses [B, m]."""
        return diagonals(self.inverted)

    def inverse_times(self, right: Array) -> Array:
        """The inverses times right [B, m, n]: [B, m, n]."""
        return self.inverted @ right

    def inverse_form(self, columns: Array) -> Array:
        """c' matrix^-1 c of each column c of [B, m, n]: [B, n]."""
        return total(columns * self.solved(columns), 1)

    def of(self, runs: np.ndarray) -> Factored:
        """The matrices of the runs at these indices, factored again."""
        return Factored(self.matrix[runs])


def solve(matrix: Array, right: Array) -> Array:
    """matrix^-1 right of a stack of systems [B, m, m] and [B, m, n]: [B, m, n]; LinAlgError for a singular matrix."""
    return namespace(right).linalg.solve(matrix, right)


def eigen(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues [B, m] and eigenvectors [B, m, m] of symmetric matrices [B, m, m] of finite numbers, in NumPy."""
    values, vectors = np.linalg.eigh(matrix)
    return values, vectors


def inverse(matrix: Array) -> Array:
    """The inverse of each matrix [..., m, m]. A singular one raises in NumPy, and gives anything on a device."""
    if hasattr(matrix, "detach"):
        return load_extra("torch", "train", "computing on a device").linalg.inv_ex(matrix)[0]
    return namespace(matrix).linalg.inv(matrix)


def diagonals(matrix: Array) -> Array:
    """The diagonal of each matrix [..., m, m]: [..., m], in NumPy one memory with the matrix."""
    if isinstance(matrix, np.ndarray):
        return matrix.diagonal(axis1=-2, axis2=-1)
    return namespace(matrix).linalg.diagonal(matrix)


def add_to_diagonal(matrix: Array, values: Array, *, overwrite: bool = False) -> Array:
    """Square matrices [B, m, m] with values [B or 1, m or 1] added to their diagonals: [B, m, m].

    overwrite=True: NumPy may do so in the memory of matrix, which must be contiguous.
    """
    if not isinstance(matrix, np.ndarray):
        return matrix + values[..., None] * identities(1, matrix.shape[1], matrix)
    made, size = matrix if overwrite else matrix.copy(), matrix.shape[1]
    made.reshape(-1, size * size)[:, :: size + 1] += values
    return made


def identities(runs: int, size: int, like: Array, factor: float = 1.0) -> Array:
    """A factor times the identity, once for each run: [B, n, n], one memory for all, so not to be written to."""
    if isinstance(like, np.ndarray):
        return _identities(runs, size, factor)
    xp = namespace(like)
    eye = xp.eye(size, dtype=like.dtype, device=like.device)
    return xp.broadcast_to(eye if factor == 1.0 else factor * eye, (runs, size, size))


@lru_cache(maxsize=16)
def _identities(runs: int, size: int, factor: float) -> np.ndarray:
    """identities() in NumPy, made once for each size."""
    return np.broadcast_to(factor * np.eye(size), (runs, size, size))


def maybe_any(mask: Array) -> bool:
    """Whether the mask may hold somewhere: exact in NumPy, always True on a device, where asking would wait."""
    return bool(np.count_nonzero(mask)) if isinstance(mask, np.ndarray) else True


def known_all(mask: Array) -> bool:
    """Whether the mask is known to hold everywhere: exact in NumPy, always False on a device, where asking waits."""
    return isinstance(mask, np.ndarray) and bool(np.count_nonzero(mask) == mask.size)


def all_columns(mask: Array) -> Array:
    """Whether the mask holds along the whole last axis, as it does for n = 0: [..., n] -> [...]."""
    if not isinstance(mask, np.ndarray):
        return namespace(mask).all(mask, axis=-1)
    if not 0 < mask.shape[-1] <= FEW_COLUMNS:
        return np.logical_and.reduce(mask, -1)
    every = mask[..., 0]
    for column in range(1, mask.shape[-1]):
        every = every & mask[..., column]
    return every


def any_columns(mask: Array) -> Array:
    """Whether the mask holds somewhere along the last axis, nowhere for n = 0: [..., n] -> [...]."""
    return np.logical_or.reduce(mask, -1) if isinstance(mask, np.ndarray) else namespace(mask).any(mask, axis=-1)


def largest(x: Array, axis: int = -1, *, keepdims: bool = True) -> Array:
    """The largest entry along the last axis, or another, which stays: [..., n] -> [..., 1], n >= 1.

    nan where there is one. keepdims=False: the axis goes.
    """
    if isinstance(x, np.ndarray):
        return _maximum_over(x, axis, keepdims=keepdims)
    return namespace(x).max(x, axis=axis, keepdims=keepdims)


def least(x: Array, axis: int = -1, *, keepdims: bool = True) -> Array:
    """The least entry along an axis, as largest()."""
    if isinstance(x, np.ndarray):
        return _minimum_over(x, axis, keepdims=keepdims)
    return namespace(x).min(x, axis=axis, keepdims=keepdims)


def total(x: Array, axis: int | tuple[int, ...] = -1) -> Array:
    """Sum over the last axis, or others: [..., n] -> [...]; 0 for n = 0. The order of summing is the library's."""
    if isinstance(x, np.ndarray):
        return np.add.reduce(x, axis)
    return namespace(x).sum(x, axis=axis)


def mean(x: Array) -> Array:
    """Mean over the last axis, which stays: [..., n] -> [..., 1], n >= 1."""
    if isinstance(x, np.ndarray):
        return np.add.reduce(x, -1, keepdims=True) / x.shape[-1]
    return namespace(x).mean(x, axis=-1, keepdims=True)


def norm(x: Array, axis: int | tuple[int, ...] = -1) -> Array:
    """Root of the sum of squares over the last axis, or others, of numbers whose squares may overflow or vanish.

    [..., n] -> [...], n >= 1; nan where there is one.
    """
    if not isinstance(x, np.ndarray):
        return _scaled_norm(x, axis)
    square = total(x * x, axis)
    if known_all(plain := (square > LEAST_SQUARE) & (square < MOST_SQUARE)):
        return np.sqrt(square)
    return np.where(plain, np.sqrt(square), _scaled_norm(x, axis))


def _scaled_norm(x: Array, axis: int | tuple[int, ...]) -> Array:
    """norm() in units of the largest number, in which no square overflows."""
    xp = namespace(x)
    size = xp.abs(x)
    most = np.maximum.reduce(size, axis=axis, keepdims=True) if xp is np else xp.max(size, axis=axis, keepdims=True)
    part = size / xp.where(most > 0.0, most, 1.0)
    return reshaped(most, total(most, axis).shape) * xp.sqrt(total(part * part, axis))


def astype(x: Array, dtype: Any) -> Array:
    """The same numbers in another type; an integer type cuts them towards zero."""
    return x.astype(dtype) if isinstance(x, np.ndarray) else namespace(x).astype(x, dtype)


def reshaped(x: Array, shape: tuple[int, ...]) -> Array:
    """The same numbers in another shape."""
    return x.reshape(shape) if isinstance(x, np.ndarray) else namespace(x).reshape(x, shape)


def safe_divisor(x: Array) -> Array:
    """x >= 0 as a divisor that is never 0: 0 / safe_divisor(0) is 0."""
    return np.maximum(x, TINY) if isinstance(x, np.ndarray) else namespace(x).where(x > 0, x, 1.0)


def at_least(x: Array, low: float) -> Array:
    """x, and low where it is less; nan stays."""
    return np.maximum(x, low) if isinstance(x, np.ndarray) else namespace(x).clip(x, min=low)


def at_most(x: Array, high: float) -> Array:
    """x, and high where it is more; nan stays."""
    return np.minimum(x, high) if isinstance(x, np.ndarray) else namespace(x).clip(x, max=high)


def zeros_like(x: Array) -> Array:
    """Zeros in the shape of x: float64 in NumPy, of x's type elsewhere."""
    return np.zeros(x.shape) if isinstance(x, np.ndarray) else namespace(x).zeros_like(x)


def bounded(x: Array, low: float, high: float) -> Array:
    """x cut to [low, high], nan stays; in NumPy two ufuncs are several times faster than clip on small arrays."""
    if isinstance(x, np.ndarray):
        return np.minimum(np.maximum(x, low), high)
    return namespace(x).clip(x, min=low, max=high)


def masked_mean(x: Array, keep: Array, axis: int = -1) -> Array:
    """Mean of the kept entries along an axis: [..., n] -> [...]; 0 where none is kept. x and keep have one shape."""
    xp = namespace(x)
    weight = xp.astype(keep, x.dtype)
    count = xp.sum(weight, axis=axis)
    total = xp.sum(xp.where(keep, x, 0.0), axis=axis)
    return total / xp.where(count > 0, count, 1.0)


def masked_max(x: Array, keep: Array, axis: int = -1) -> Array:
    """Largest kept entry along an axis: [..., n] -> [...]; -inf where none is kept. x and keep have one shape."""
    xp = namespace(x)
    return xp.max(xp.where(keep, x, -xp.inf), axis=axis)


def masked_min(x: Array, keep: Array, axis: int = -1) -> Array:
    """Least kept entry along an axis: [..., n] -> [...]; inf where none is kept. x and keep have one shape."""
    xp = namespace(x)
    return xp.min(xp.where(keep, x, xp.inf), axis=axis)
