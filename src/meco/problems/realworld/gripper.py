"""RC24: the robot gripper, whose objective is what a bounded search finds along the actuator's stroke."""

from __future__ import annotations

from meco.core.arrays import Array, namespace
from meco.core.problem import problem
from meco.problems.realworld.bounded_search import local_minimum
from meco.problems.realworld.parts import Values, read_only_point

LOAD = 100.0  # actuator force, N
STROKE = 99.9999  # largest displacement of the actuator, mm
PENALTY = 1e4  # stands for a value that turned complex: links that cannot form a triangle


def _complex_arccos(t: Array) -> Array:
    """Complex arc cosine; on the real axis i acosh(t) above 1 and pi - i acosh(-t) below -1."""
    xp = namespace(t)
    angle = xp.acos(t)
    other_side = (xp.imag(t) == 0) & (xp.real(t) * xp.imag(angle) < 0)
    return xp.where(other_side, xp.conj(angle), angle)


def _link_angles(z: Array, a: Array, b: Array, e: Array, l: Array) -> tuple[Array, Array, Array]:
    """Inner angles of the links a and b, and the inclination of the base, in rad, complex, at displacement z in mm."""
    xp = namespace(z)
    q = (l - z) ** 2 + e**2
    base = xp.sqrt(q)
    cosines = xp.stack([(a**2 + q - b**2) / (2 * a * base), (b**2 + q - a**2) / (2 * b * base)])
    alpha, beta = xp.unstack(_complex_arccos(cosines))
    return alpha, beta, xp.atan(e / (l - z))


def _gripping_force(z: Array, parameters: Array) -> Array:
    """Gripping force at displacement z [M], signed; parameters (a, b, c, e, l, sign) [6, M]."""
    xp = namespace(z)
    a, b, c, e, l, sign = xp.unstack(parameters)
    alpha, beta, phi = _link_angles(z, a, b, e, l)
    return sign * (LOAD * b * xp.sin(alpha + beta) / (2 * c * xp.cos(alpha + phi)))


def _distance_between_ends(z: float, a: Array, b: Array, c: Array, e: Array, f: Array, l: Array, delta: Array) -> Array:
    """Distance in mm between the gripper's ends at displacement z in mm; complex where the links do not reach."""
    xp = namespace(a)
    _, beta, phi = _link_angles(xp.astype(xp.zeros_like(a), xp.complex128) + z, a, b, e, l)
    return 2 * (e + f + c * xp.sin(beta - phi + delta))


def _penalise_complex(value: Array) -> Array:
    """The real part of a value, PENALTY where it has an imaginary one."""
    xp = namespace(value)
    turned = xp.imag(value)
    return xp.where((turned == 0) | xp.isnan(turned), xp.real(value), PENALTY)


@problem(
    "RC24",
    bounds=[(10, 150), (10, 150), (100, 200), (0, 50), (10, 150), (100, 300), (1, 3.14)],
    best=2.5437855668,
    known_x=read_only_point(150.0, 149.88285424763774, 200.0, 0.0, 150.0, 100.94276202005157, 2.297411812596257),
    counts=(7, 0),
    title="Robot gripper",
    source="Kumar et al. 2020, mechanical engineering; the guidelines print 2.5287918415, which no known point reaches",
    variables=(
        "link a (mm)",
        "link b (mm)",
        "link c (mm)",
        "offset e (mm)",
        "finger base f (mm)",
        "base length l (mm)",
        "angle delta (rad)",
    ),
    constraint_names=(
        "opening at full stroke at most 50",
        "opening at full stroke not negative",
        "opening at rest at least 100",
        "opening at rest at most 150",
        "links reach over the base",
        "links fold at full stroke",
        "stroke within the base",
    ),
)
def robot_gripper(x: Array) -> Values:
    """Smallest spread of the gripping force over the stroke of the actuator.

    f is the difference of two one-dimensional searches (`bounded_search`), for the largest and the
    least force. The force is often not unimodal, so a search may end at the wrong end of the
    stroke, and the best known designs live on that: an exact range is another problem.
    """
    xp = namespace(x)
    lead = x.shape[:-1]
    a, b, c, e, finger, l, delta = xp.unstack(xp.reshape(x, (-1, 7)), axis=-1)
    both = [xp.stack([a, b, c, e, l, sign * xp.ones_like(a)]) for sign in (1.0, -1.0)]
    ends = local_minimum(_gripping_force, xp.concat(both, axis=1), STROKE)  # least F, then least -F
    least, most = ends[: a.shape[0]], ends[a.shape[0] :]
    closed = _distance_between_ends(STROKE, a, b, c, e, finger, l, delta)
    wide = _distance_between_ends(0.0, a, b, c, e, finger, l, delta)
    values = [
        *(_penalise_complex(value) for value in (-most - least, closed - 50, -closed, 100 - wide, wide - 150)),
        l**2 + e**2 - (a + b) ** 2,
        b**2 - (a - e) ** 2 - (l - STROKE) ** 2,
        STROKE - l,
    ]
    f, *g = (xp.reshape(value, lead) for value in values)
    return f, g, []
