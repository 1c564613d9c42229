"""What a policy decides, as data: named sets of controls, and the combinations that it chooses among."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from meco.core.arrays import Array, Constants, namespace
from meco.core.control import Control
from meco.core.registry import Registry
from meco.paper.action import DECODERS, Decoder


@dataclass(frozen=True)
class ControlSet:
    """Controls that are decided together. Policy files name the set; an engine must offer each of its controls.

    A policy that values alternatives chooses a row of the grid; one with an output for each
    control sets it anywhere between low and high.
    """

    name: str
    controls: tuple[Control, ...]
    grid: tuple[tuple[float, ...], ...]  # combinations, a value for each control
    traced: tuple[str, ...] = ()  # what the trace calls the values; the controls' names unless given
    _levels: Constants = field(init=False, repr=False, compare=False)  # of each control, row by row of the grid

    def __post_init__(self) -> None:
        object.__setattr__(self, "_levels", Constants(**dict(zip(self.names, np.array(self.grid).T))))
        object.__setattr__(self, "traced", self.traced or self.names)

    @classmethod
    def product(cls, name: str, controls: Iterable[Control], **levels: Iterable[float]) -> ControlSet:
        """A set with every combination of the levels given for each control; one without levels is a KeyError.

        The order of rows, the last control fastest, is what the outputs of trained policies mean: it must stay.
        """
        each = tuple(controls)
        mesh = np.meshgrid(*(list(levels[c.name]) for c in each), indexing="ij")
        return cls(name, each, tuple(zip(*(m.ravel().tolist() for m in mesh))))

    @property
    def names(self) -> tuple[str, ...]:
        """The controls' names."""
        return tuple(c.name for c in self.controls)

    def combination(self, index: Array) -> dict[str, Array]:
        """A value [B] for each control by name: the row of the grid that each index [B] names."""
        return {name: levels[index] for name, levels in self._levels.on(index).items()}

    def constant(self, value: float, like: Array) -> Array:
        """One value for every run of like [B, ...]."""
        return namespace(like).full((like.shape[0],), float(value), dtype=like.dtype, device=like.device)

    def defaults(self, like: Array) -> dict[str, Array]:
        """What holds before the first decision, by name: [B] each, for the runs of like [B, ...]."""
        return {c.name: self.constant(c.default, like) for c in self.controls}


def make_relaxation_controls(name: str, decoder: Decoder) -> ControlSet:
    """The paper's one control: how an action of eleven sets the allowance."""
    grid = tuple((float(a),) for a in decoder.grid)
    return ControlSet(name, (decoder.control,), grid, traced=("action",))


# the decoder behind each set of the paper's
DECODER_OF_CONTROLS = {"epsilon": "geometric", "epsilon-threshold": "threshold", "epsilon-aa": "aa", "epsilon-ca": "ca"}

CONTROLS: Registry[ControlSet] = Registry(
    "control set",
    {name: make_relaxation_controls(name, DECODERS[decoder]) for name, decoder in DECODER_OF_CONTROLS.items()},
)


def find_control_set_name(decoder: str) -> str:
    """The name of the control set that goes with a decoder; UnknownName for other decoders."""
    return next(name for name, known in DECODER_OF_CONTROLS.items() if known == DECODERS.resolve(decoder))
