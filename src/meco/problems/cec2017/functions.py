"""The 28 scalable problems of the CEC 2017 constrained suite (September 2024 definitions).

Each formula takes y = x - o and the linear maps z = M y that the instance provides; what
is written here is the arithmetic of the official code, quirks included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import Array, Constants, namespace, running_sums, stack_columns
from meco.core.problem import Problem, round_half_away
from meco.errors import InvalidInput
from meco.problems.cec2017.instances import Instance, make_instance

NAMES = tuple(f"C{k:02d}" for k in range(1, 29))
EVEN_ONLY = ("C08", "C09")  # they pair odd with even coordinates

DIGITS = 300  # of a number before the point, which float64 surely holds
SHELL = 3.0 * math.pi / 4.0 - 1e-4 / math.sqrt(2.0)  # cos f + sin f = 0, the equality tolerance used up

Values = tuple[Array, list[Array], list[Array]]


# -- the pieces many of them share; u is [..., n] ---------------------------------------------------


def squared_prefix_sums(u: Array) -> Array:
    """Sum over i of (u_1 + ... + u_i)^2: [..., D] -> [...]."""
    return namespace(u).sum(running_sums(u) ** 2, axis=-1)


def rastrigin(u: Array) -> Array:
    """Sum of u^2 - 10 cos(2 pi u) + 10: [..., D] -> [...]."""
    xp = namespace(u)
    return xp.sum(u * u - 10.0 * xp.cos(2.0 * math.pi * u) + 10.0, axis=-1)


def rosenbrock(u: Array) -> Array:
    """Sum of 100 (u_i^2 - u_{i+1})^2 + (u_i - 1)^2: [..., D] -> [...]."""
    a, b = u[..., :-1], u[..., 1:]
    return namespace(u).sum(100.0 * (a * a - b) ** 2 + (a - 1.0) ** 2, axis=-1)


def sum_of_squares(u: Array) -> Array:
    """Sum of u^2."""
    return namespace(u).sum(u * u, axis=-1)


def squared_differences(u: Array) -> Array:
    """Sum of (u_i - u_{i+1})^2: [..., D] -> [...]."""
    return namespace(u).sum((u[..., :-1] - u[..., 1:]) ** 2, axis=-1)


def _sum_coordinates(u: Array) -> Array:
    """Sum over the variables: [..., D] -> [...]."""
    return namespace(u).sum(u, axis=-1)


def _rippled_squares(u: Array, height: float, pace: float, offset: float) -> Array:
    """Sum of u^2 - height cos(pace pi u) - offset: [..., D] -> [...]."""
    xp = namespace(u)
    return xp.sum(u * u - height * xp.cos(pace * math.pi * u) - offset, axis=-1)


# -- C01 to C11 ------------------------------------------------------------------------------------


def c01(y: Array) -> Values:
    """Squared prefix sums under rippled squares."""
    return squared_prefix_sums(y), [_rippled_squares(y, 5000.0, 0.1, 4000.0)], []


def c02(y: Array, z: Array) -> Values:
    """C01 with its constraint of the rotated point z."""
    return squared_prefix_sums(y), [_rippled_squares(z, 5000.0, 0.1, 4000.0)], []


def c03(y: Array) -> Values:
    """C01 with an equality of waves."""
    h = -_sum_coordinates(y * namespace(y).sin(0.1 * math.pi * y))
    return squared_prefix_sums(y), [_rippled_squares(y, 5000.0, 0.1, 4000.0)], [h]


def c04(y: Array) -> Values:
    """Rastrigin between two inequalities of waves."""
    xp = namespace(y)
    return rastrigin(y), [-_sum_coordinates(y * xp.sin(2.0 * y)), _sum_coordinates(y * xp.sin(y))], []


def c05(y: Array, z: Array, w: Array) -> Values:
    """Rosenbrock, with rippled squares of two rotated points."""
    return rosenbrock(y), [_rippled_squares(z, 50.0, 2.0, 40.0), _rippled_squares(w, 50.0, 2.0, 40.0)], []


def c06(y: Array) -> Values:
    """Rastrigin under six equalities, the last two of which are each other's negative."""
    xp = namespace(y)
    h5 = _sum_coordinates(y * xp.sin(2.0 * xp.sqrt(xp.abs(y))))
    h = [
        -_sum_coordinates(y * xp.sin(y)),
        _sum_coordinates(y * xp.sin(math.pi * y)),
        -_sum_coordinates(y * xp.cos(y)),
        _sum_coordinates(y * xp.cos(math.pi * y)),
        h5,
        -h5,
    ]
    return rastrigin(y), [], h


def c07(y: Array) -> Values:
    """Waves under one equality, stated twice with opposite signs."""
    xp = namespace(y)
    h1 = _sum_coordinates(y - 100.0 * xp.cos(0.5 * y) + 100.0)
    return _sum_coordinates(y * xp.sin(y)), [], [h1, -h1]


def c08(y: Array) -> Values:
    """The largest coordinate, with prefix sums of the odd and of the even ones as equalities."""
    return namespace(y).max(y, axis=-1), [], [squared_prefix_sums(y[..., 0::2]), squared_prefix_sums(y[..., 1::2])]


def c09(y: Array) -> Values:
    """The largest coordinate, with a product of the even ones and a chain of the odd ones."""
    xp = namespace(y)
    a = y[..., 0::2]
    chain = xp.sum((a[..., :-1] ** 2 - a[..., 1:]) ** 2, axis=-1)
    return xp.max(y, axis=-1), [xp.prod(y[..., 1::2], axis=-1)], [chain]


def c10(y: Array) -> Values:
    """The largest coordinate, with prefix sums and differences of neighbours as equalities."""
    return namespace(y).max(y, axis=-1), [], [squared_prefix_sums(y), squared_differences(y)]


def c11(y: Array) -> Values:
    """The sum of the coordinates, with their product and the differences of neighbours."""
    return _sum_coordinates(y), [namespace(y).prod(y, axis=-1)], [squared_differences(y)]


# -- C12 to C20 with u = y; C21 to C28 are the same with u = M y --------------------------------------


def c12(u: Array) -> Values:
    """Rastrigin between a diamond and a sphere."""
    return rastrigin(u), [4.0 - _sum_coordinates(abs(u)), sum_of_squares(u) - 4.0], []


def c13(u: Array) -> Values:
    """Rosenbrock with a limit on Rastrigin's function and two on the sum of the coordinates."""
    total = _sum_coordinates(u)
    return rosenbrock(u), [rastrigin(u) - 100.0, total - 2.0 * u.shape[-1], 5.0 - total], []


def c14(u: Array) -> Values:
    """Ackley on a sphere, close to the first axis."""
    xp = namespace(u)
    dim, s = u.shape[-1], sum_of_squares(u)
    f = (
        20.0
        - 20.0 * xp.exp(-0.2 * xp.sqrt(s / dim))
        - xp.exp(_sum_coordinates(xp.cos(2.0 * math.pi * u)) / dim)
        + math.e
    )
    return f, [sum_of_squares(u[..., 1:]) + 1.0 - abs(u[..., 0])], [s - 4.0]


def c15(u: Array) -> Values:
    """The largest |u_i| in a ball; the equality lets it have periodic values only."""
    xp = namespace(u)
    f = xp.max(xp.abs(u), axis=-1)
    return f, [sum_of_squares(u) - 100.0 * u.shape[-1]], [xp.cos(f) + xp.sin(f)]


def c16(u: Array) -> Values:
    """Sum of |u| on shells around the centre."""
    xp = namespace(u)
    f = _sum_coordinates(xp.abs(u))
    t = xp.cos(f) + xp.sin(f)
    return f, [sum_of_squares(u) - 100.0 * u.shape[-1]], [t * t - xp.exp(t) - 1.0 + math.e]


def c17(u: Array) -> Values:
    """Griewank on a sphere, with a count of signs."""
    xp = namespace(u)
    dim, s = u.shape[-1], sum_of_squares(u)
    root = xp.sqrt(xp.arange(1, dim + 1, dtype=u.dtype, device=u.device))
    f = s / 4000.0 + 1.0 - xp.prod(xp.cos(u / root), axis=-1)
    signs = xp.sign(xp.abs(u) - (s[..., None] - u * u) - 1.0)
    return f, [1.0 - _sum_coordinates(signs)], [s - 4.0 * dim]


def c18(u: Array) -> Values:
    """Rastrigin of rounded coordinates, with Rosenbrock's valley as equality."""
    xp = namespace(u)
    a, b = u[..., :-1], u[..., 1:]
    coarse = xp.where(xp.abs(u) < 0.5, u, round_half_away(2.0 * u) / 2.0)
    product = xp.prod(xp.sin(math.pi * (u - 1.0)) ** 2, axis=-1)
    h1 = xp.sum(100.0 * (a * a - b) ** 2, axis=-1) + product
    return rastrigin(coarse), [1.0 - _sum_coordinates(xp.abs(u)), sum_of_squares(u) - 100.0 * u.shape[-1]], [h1]


def c19(u: Array) -> Values:
    """Roots and waves; the first inequality cannot be met."""
    xp = namespace(u)
    dim = u.shape[-1]
    a, b = u[..., :-1], u[..., 1:]
    f = _sum_coordinates(xp.sqrt(xp.abs(u)) + 2.0 * xp.sin(u**3))
    g1 = -xp.sum(10.0 * xp.exp(-0.2 * xp.sqrt(a * a + b * b)), axis=-1) + 10.0 * (dim - 1) * math.exp(5.0)
    return f, [g1, _sum_coordinates(xp.sin(2.0 * u) ** 2) - 0.5 * dim], []


def c20(u: Array) -> Values:
    """Schaffer's function of neighbours in a ring."""
    xp = namespace(u)
    r = xp.sqrt(u * u + xp.roll(u, -1, axis=-1) ** 2)  # the last pairs with the first
    f = xp.sum(0.5 + (xp.sin(r) ** 2 - 0.5) / (1.0 + 0.001 * r) ** 2, axis=-1)
    c = xp.cos(_sum_coordinates(u))
    return f, [c * c - 0.25 * c - 0.125, xp.exp(c) - math.exp(0.25)], []


class Definition(NamedTuple):
    """Box [-bound, bound]^D, true counts of g and h, what the formula is given, the least f where it is known."""

    formula: Callable[..., Values]
    bound: float
    counts: tuple[int, int]
    given: str = "y"  # y: shifted; z: mapped; yz, yzw: both
    best: float | None = None
    good: float | None = None  # the optimum in the formula's own coordinates, each of them, where feasible


DEFINITIONS: dict[str, Definition] = {
    "C01": Definition(c01, 100, (1, 0), best=0.0, good=0.0),
    "C02": Definition(c02, 100, (1, 0), "yz", best=0.0, good=0.0),
    "C03": Definition(c03, 100, (1, 1), best=0.0, good=0.0),
    "C04": Definition(c04, 10, (2, 0), best=0.0, good=0.0),
    "C05": Definition(c05, 10, (2, 0), "yzw", best=0.0, good=1.0),
    "C06": Definition(c06, 20, (0, 6), best=0.0, good=0.0),
    "C07": Definition(c07, 50, (0, 2)),
    "C08": Definition(c08, 100, (0, 2)),
    "C09": Definition(c09, 10, (1, 1)),
    "C10": Definition(c10, 100, (0, 2)),
    "C11": Definition(c11, 100, (1, 1)),
    "C12": Definition(c12, 100, (2, 0)),
    "C13": Definition(c13, 100, (3, 0), best=0.0, good=1.0),
    "C14": Definition(c14, 100, (1, 1)),
    "C15": Definition(c15, 100, (1, 1), best=SHELL),
    "C16": Definition(c16, 100, (1, 1), best=0.0, good=0.0),
    "C17": Definition(c17, 100, (1, 1)),
    "C18": Definition(c18, 100, (2, 1)),
    "C19": Definition(c19, 50, (2, 0)),
    "C20": Definition(c20, 100, (2, 0)),
    "C21": Definition(c12, 100, (2, 0), "z"),
    "C22": Definition(c13, 100, (3, 0), "z", best=0.0, good=1.0),
    "C23": Definition(c14, 100, (1, 1), "z"),
    "C24": Definition(c15, 100, (1, 1), "z", best=SHELL),
    "C25": Definition(c16, 100, (1, 1), "z", best=0.0, good=0.0),
    "C26": Definition(c17, 100, (1, 1), "z"),
    "C27": Definition(c18, 100, (2, 1), "z"),
    "C28": Definition(c19, 50, (2, 0), "z"),
}


def make_problem(name: str, dim: int | None = None, instance: str | int = "paper") -> Problem:
    """Problem C01 to C28 in dim variables (10 unless given); a D or instance that it does not have is an error."""
    size = 10 if dim is None else dim
    if isinstance(size, bool) or not isinstance(size, Integral) or size < 2:
        raise InvalidInput(f"{name} is defined for D >= 2; got dim={size!r}")
    size = int(size)
    if name in EVEN_ONLY and size % 2:
        raise InvalidInput(f"{name} pairs odd with even coordinates, so D must be even; got dim={size}")
    definition = DEFINITIONS[name]
    made = make_instance(name, size, definition.bound, instance)
    box = np.full(size, float(definition.bound))
    point = _known_point(definition, made)
    return Problem(
        name=name,
        lower=-box,
        upper=box,
        n_ineq=definition.counts[0],
        n_eq=definition.counts[1],
        formula=_Formula(definition, made),
        title=f"CEC 2017 constrained problem {int(name[1:])}, D = {size}, instance {instance}",
        source="CEC 2017 competition on constrained real-parameter optimization, code of September 2024",
        best_known=None if point is None and definition.best == 0.0 else definition.best,
        known_x=point,
    )


class _Formula:
    """A definition with the shift and maps of one instance; picklable, so it can travel to workers."""

    def __init__(self, definition: Definition, instance: Instance) -> None:
        """Formulas of one problem and one D stack, whatever their instances."""
        self.definition = definition
        maps = {"z": instance.first, "w": instance.second}
        self.numbers = {"o": instance.shift, **{k: m for k, m in maps.items() if m is not None}}
        self.constants = Constants(o=instance.shift, **{k: m.T for k, m in maps.items() if m is not None})
        self.stacks_with = (definition.formula.__name__, definition.given, instance.shift.size)
        self.finite_within = (
            definition.bound if self._product_digits(instance.shift.size) < DIGITS else -1.0
        )  # |x| up to that

    def _product_digits(self, dim: int) -> float:
        """Decimal digits of the largest product of all coordinates that points of the box can have, after the shift."""
        return dim * math.log10(2 * self.definition.bound)

    def __call__(self, x: Array) -> Values:
        return _evaluate_instance(self.definition, x, self.constants.on(x))

    @staticmethod
    def stack(problems: Sequence[Problem]) -> _Stacked:
        """What evaluates instances of one problem and D, one for each run, in one call."""
        return _Stacked([p.formula for p in problems])  # type: ignore[misc]


class _Stacked:
    """One problem in several instances, one for each run."""

    def __init__(self, formulas: Sequence[_Formula]) -> None:
        """Stack shifts and maps in the order of the runs."""
        self.definition = formulas[0].definition
        each = {k: np.stack([f.numbers[k] for f in formulas]) for k in formulas[0].numbers}
        turned = {k: m.transpose(0, 2, 1) for k, m in each.items() if k != "o"}  # as alone: the same bits
        self.constants = Constants(o=each["o"][:, None, :], **turned)

    def raw(self, x: Array) -> tuple[Array, Array, Array]:
        """Values of run b in instance b: x [B, N, D] -> f [B, N], g [B, N, p], h [B, N, q]."""
        with np.errstate(all="ignore"):
            f, g, h = _evaluate_instance(self.definition, x, self.constants.on(x))
            return f, stack_columns(g, f), stack_columns(h, f)


def _evaluate_instance(definition: Definition, x: Array, numbers: dict[str, Array]) -> Values:
    """f, g and h of the formula at x [..., D], shifted and mapped as the letters of definition.given say."""
    y = x - numbers["o"]  # shift first: folding M o into a constant changes the last bits
    given: list[Any] = [y if letter == "y" else y @ numbers[letter] for letter in definition.given]
    return definition.formula(*given)


def _known_point(definition: Definition, instance: Instance) -> Any:
    """The feasible optimum [D] where it follows from the formula and lies in the box; else None."""
    if definition.good is None:
        return None
    step = np.full(instance.shift.shape, definition.good)
    if definition.given == "z" and instance.first is not None:
        step = np.linalg.solve(instance.first, step)  # the point whose image is "good"
    x = instance.shift + step
    return x if abs(x).max() <= definition.bound else None
