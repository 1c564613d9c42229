"""Currents and mismatches of a power grid, in real arithmetic.

A complex vector of n buses is written as [..., 2n]: the real parts, then the imaginary parts.
That is the order of the suite's voltages and of its equalities.
"""

from __future__ import annotations

import numpy as np

from meco.core.arrays import Array, namespace

DG_BUSES = (34, 35, 36, 37, 38)  # distributed generators of the 38-bus feeder


def admittance_matrix(g: np.ndarray, b: np.ndarray) -> np.ndarray:
    """G + iB [n, n] as the real matrix [2n, 2n] that takes a row of voltages to its currents."""
    return np.block([[g.T, b.T], [-b.T, g.T]])


def placement_matrix(buses: tuple[int, ...], count: int) -> np.ndarray:
    """Matrix [k, n] that puts k values at buses counted from 1 and 0 elsewhere."""
    return np.eye(count)[np.array(buses) - 1]


def split_complex(v: Array) -> tuple[Array, Array]:
    """Real and imaginary parts: [..., 2n] -> twice [..., n]."""
    half = v.shape[-1] // 2
    return v[..., :half], v[..., half:]


def join_voltages(slack: tuple[Array, Array], re: Array, im: Array) -> Array:
    """Voltages of all buses [..., 2n]: those of the slack, then the others, real parts before imaginary ones."""
    return namespace(re).concat([slack[0], re, slack[1], im], axis=-1)


def current_mismatch(v: Array, current: Array, p: Array, q: Array) -> list[Array]:
    """Current beyond what the powers ask for, I - conj((p + iq) / V), real and imaginary part.

    Over the last buses only, as many as p has: [..., 2n], [..., m] -> twice [..., m]. A bus without
    voltage gives p / 0 and q / 0: inf or nan.
    """
    xp = namespace(v)
    re, im, i_re, i_im = (part[..., -p.shape[-1] :] for part in (*split_complex(v), *split_complex(current)))
    square = re**2 + im**2
    dead = square == 0
    asked_re = xp.where(dead, p, p * re + q * im) / square
    asked_im = xp.where(dead, -q, p * im - q * re) / square
    return [i_re - asked_re, i_im - asked_im]


def bus_powers(v: Array, current: Array) -> tuple[Array, Array]:
    """Active and reactive power V conj(I) of every bus, [..., n] each."""
    (re, im), (i_re, i_im) = split_complex(v), split_complex(current)
    return re * i_re + im * i_im, im * i_re - re * i_im


def voltage_dependent_load(table: Array, v: Array) -> Array:
    """Load that grows with the voltage v [..., 2n]: [..., n].

    Columns 1, 5, 6 of the table [n, 6] count: nominal, base voltage, exponent.
    """
    re, im = split_complex(v)
    size = namespace(v).sqrt(re**2 + im**2)
    return table[:, 0] * (size / table[:, 4]) ** table[:, 5]
