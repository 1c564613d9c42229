"""What an engine can do beyond ask and tell: small objects that it offers.

    convergence = find_capability(engine, Convergence)
    if convergence is not None and convergence.reached().all(): ...

A method's record names the kinds that its engine offers (MethodRecord.offers). minimize() and others read the record,
so that they can refuse before anything is evaluated. A plug-in has whatever its record says; meco.testing compares the
record with the engine. An engine that wraps another one hands its inner engine's objects on: nobody looks inside.

They are named tuples: frozen dataclasses take seven times as long to define, which every `import meco` would pay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from meco.core.arrays import Array
from meco.core.control import Control

if TYPE_CHECKING:
    from meco.core.engine import Engine
    from meco.core.evaluator import Evaluator

Kind = TypeVar("Kind")


def find_capability(engine: Engine, kind: type[Kind]) -> Kind | None:
    """The first capability of this kind that the engine offers, or None."""
    return next((each for each in engine.capabilities() if isinstance(each, kind)), None)


class Steering(NamedTuple):
    """Controls that may be set while the search runs, and what a policy may look at."""

    controls: tuple[Control, ...]
    knows: tuple[str, ...]  # the names that knowledge() gives
    steer: Callable[[Mapping[str, Array]], None]  # sets controls by name, [B] each; others stay
    knowledge: Callable[[], Mapping[str, Any]]  # after a tell: numbers that the engine has anyway


class Policed(NamedTuple):
    """The search is steered by a policy; what is known of that policy."""

    policy: Mapping[str, Any]

    def describe(self) -> str:
        """Name, digest and reading of the policy in one line; "" for one without weights of its own."""
        if "digest" not in self.policy:
            return ""
        reading = f"f_best {self.policy['best']}, guides {self.policy['guide_order']}" if "best" in self.policy else ""
        return " ".join(filter(None, (self.policy.get("name"), self.policy["digest"][:12], reading and f"({reading})")))


class SavedState(NamedTuple):
    """The search can be saved between a tell and the next ask (memory.py), and goes on from there bit for bit."""

    part: Any  # an object that names in `remembers` the attributes that the next ask builds on


class Convergence(NamedTuple):
    """The search knows when it has nothing left to do where it is."""

    reached: Callable[[], Array]  # [B], at a feasible point


class LinearRows(NamedTuple):
    """Linear constraints that are known beforehand (Task.limits) are met exactly, and hard ones never left."""

    inside: Callable[[np.ndarray], np.ndarray]  # points [n, D] of the unit cube moved to where hard ones are kept


class InfiniteBounds(NamedTuple):
    """The search needs no finite box: Task.range and Task.walls tell how far it may go."""


class Batching(NamedTuple):
    """How many points it proposes at once is an option, `batch`, for users with several workers."""


class Asynchronous(NamedTuple):
    """The search can be asked for one point at a time while answers are outstanding."""

    # (points outstanding, the loop's tell) -> its proposals
    start: Callable[[int, Callable[[Array, Any], None]], Any]


class Cooperation(NamedTuple):
    """The search learns from points that other searches on the same function propose."""

    learn: Callable[[Array, Any], None]  # points [B, n, D] with their evaluation, after the first tell
    diversify: Callable[[Array], None]  # differ from searches that know the same points, by u [B], uniform


class Selection(NamedTuple):
    """Some of the asked candidates are not needed by every run."""

    wanted: Callable[[], np.ndarray | None]  # [B, n], or None for all


class FreePoints(NamedTuple):
    """Some of the asked points stand in for known derivatives, and are not counted."""

    free: Callable[[], bool]  # whether those asked for last are


class OwnLoop(NamedTuple):
    """A library that calls the objective itself: it has no ask and tell."""

    run: Callable[[Evaluator, Callable[[], Any] | None], None]


class Remarks(NamedTuple):
    """What the result should say of the search."""

    said: Callable[[], Sequence[str]]
