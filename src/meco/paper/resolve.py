"""Finds a policy: by name, by file, as an object, as constants, or one for each run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from meco.core.registry import Registry
from meco.core.streams import UNTRAINED_STREAM
from meco.errors import InvalidInput
from meco.files.modules import names_a_file
from meco.paper.network import draw_weights, stack_networks
from meco.paper.policy import ConstantControls, Greedy, Policy, RandomPolicy, stack_policies
from meco.paper.store import load_policy

PolicyLike = Policy | str | os.PathLike[str] | Mapping[str, float]


def _make_own_policy(found: Any) -> Policy:
    """The policy that a file holds: an object, or a class that is made without arguments; InvalidInput for others."""
    made = found() if isinstance(found, type) and issubclass(found, Policy) else found
    if not isinstance(made, Policy):
        raise InvalidInput(f"a policy in a file must be a class or an object of meco.paper.Policy; got {found!r:.60}")
    return made


OWN_POLICIES: Registry[Policy] = Registry("policy", {}, accept=_make_own_policy)  # of files, "mine.py:Name"


def find_policy(given: PolicyLike | Iterable[PolicyLike], seeds: Sequence[int]) -> Policy:
    """The policy of the runs with these seeds.

    given is a name of policy_names(), a file, "mine.py:Name" for a class of one's own, "untrained", "random",
    constants such as {"epsilon": 0.3}, a policy object, or one network for each run. Anything else, and a
    policy that is not there, is an error.
    """
    if isinstance(given, Policy):
        return given
    if isinstance(given, (str, os.PathLike)):
        return _find_named(given, seeds)
    if isinstance(given, Mapping):
        return make_constant_controls(given)
    if not isinstance(given, Iterable):
        raise InvalidInput(f"policy must be a name, a file or a policy; got {given!r}")
    each = [p if isinstance(p, Policy) else load_policy(p) for p in given]  # type: ignore[arg-type]
    if len(each) != len(seeds) or not all(isinstance(p, Greedy) for p in each):
        raise InvalidInput(f"{len(seeds)} runs need one policy, or {len(seeds)} networks; got {len(each)}")
    return stack_policies(each)  # type: ignore[arg-type]


def _find_named(given: str | os.PathLike[str], seeds: Sequence[int]) -> Policy:
    """The policy "random" or "untrained", or one by name or file; MissingData or UnknownName where it is not there.

    A Python file is executed.
    """
    if given == "random":
        return RandomPolicy()
    if isinstance(given, str) and names_a_file(given):
        return OWN_POLICIES[given]
    return make_untrained(seeds) if given == "untrained" else load_policy(given)


def make_untrained(seeds: Iterable[int]) -> Greedy:
    """A network with random weights for each run, drawn from its seed; at least one seed."""
    return Greedy(stack_networks(draw_weights(np.random.default_rng([seed, UNTRAINED_STREAM])) for seed in seeds))


def make_constant_controls(given: Mapping[str, Any]) -> ConstantControls:
    """Controls that keep their value, by name; what is no number is refused, ranges are checked with the engine."""
    try:
        return ConstantControls({str(name): float(value) for name, value in given.items()})
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"constant controls are numbers by name, such as {{'epsilon': 0.3}}; got {given!r}"
        ) from error
