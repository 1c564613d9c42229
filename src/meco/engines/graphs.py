"""A turn of a whole batch as one CUDA graph: the host starts one thing instead of a thousand.

Engines are written as formulas on arrays that make new arrays. A graph works on fixed memory, so between two turns
every tensor that an engine or an evaluator holds lies in a place of its own: a turn reads these places and ends by
copying what it made back into them. What the host alone knows (counts, whether models are checked) cannot be recorded:
turns of different kind have graphs of their own, and what is counted is counted beside the replay.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from meco.engines.engine import Engine
from meco.errors import load_extra
from meco.evaluator import Evaluator

Change = Callable[[Any], Any]


class Turns:
    """Turns of an engine on a device, replayed where CUDA graphs exist and made one by one elsewhere."""

    def __init__(self, engine: Engine, evaluator: Evaluator) -> None:
        self.engine, self.evaluator = engine, evaluator
        self.torch: Any = load_extra("torch", "train", "computing on a device")
        self.places: list[Any] = []
        self.graphs: dict[Hashable, Any] = {}
        self.records = hasattr(engine.task.rng, "generators") and str(engine.task.rng.device).startswith("cuda")
        if self.records:
            self.torch.backends.cuda.preferred_linalg_library("cusolver")  # the other one waits for the device

    def advance(self, turns: int) -> None:
        """Make so many turns; the first two of a search are never recorded."""
        for _ in range(turns):
            kind = self.engine.kind_of_turn() if self.records and self.engine.generation > 1 else None
            if kind is None:
                self._turn()
                continue
            self.engine.make_ready()
            self._settle()
            if kind in self.graphs:
                self.engine.count_turn()
                self.evaluator.count(self.engine.turn_size)
            else:
                self.graphs[kind] = self._recorded()
            self.graphs[kind].replay()

    def _turn(self) -> None:
        x = self.engine.ask()
        self.engine.tell(x, self.evaluator.evaluate(x))

    def _parts(self) -> tuple[object, ...]:
        evaluator = self.evaluator
        return (*self.engine.parts(), evaluator, evaluator.feasible_best, evaluator.score_best)

    def _settle(self) -> None:
        """Take over what was set since the last turn; where shapes have changed, begin anew."""
        held: list[Any] = []
        self._each(held.append)
        if [(t.shape, t.dtype) for t in held] != [(p.shape, p.dtype) for p in self.places]:
            self.graphs.clear()
            self.places = [t.clone(memory_format=self.torch.contiguous_format) for t in held]
        else:
            for place, tensor in zip(self.places, held):
                if tensor is not place:
                    place.copy_(tensor)
        self._give_places()

    def _give_places(self) -> None:
        places = iter(self.places)
        self._each(lambda _: next(places))

    def _recorded(self) -> Any:
        """The graph of a turn, which the host counts but no device has made yet."""
        torch, graph = self.torch, self.torch.cuda.CUDAGraph()
        for generator in getattr(self.engine.task.rng, "generators", ()):
            graph.register_generator_state(generator)
        with torch.cuda.graph(graph):
            self._turn()
            made: list[Any] = []
            self._each(made.append)
            taken = {_storage(place) for place in self.places}
            new = [m if m is p or _storage(m) not in taken else m.clone() for p, m in zip(self.places, made)]
            for place, tensor in zip(self.places, new):
                if tensor is not place:
                    place.copy_(tensor)
        self._give_places()
        return graph

    def _each(self, change: Change) -> None:
        """Every tensor that the parts hold becomes change(tensor), where that gives one."""
        for part in self._parts():
            for name, value in vars(part).items():
                vars(part)[name] = self._mapped(value, change)

    def _mapped(self, value: Any, change: Change) -> Any:
        if isinstance(value, self.torch.Tensor):
            new = change(value)
            return value if new is None else new
        if isinstance(value, dict):
            return {k: self._mapped(v, change) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            new = [self._mapped(v, change) for v in value]
            return type(value)(*new) if hasattr(value, "_fields") else type(value)(new)
        return value


def _storage(tensor: Any) -> int:
    """Where its memory begins, of which it may be a part."""
    return tensor.untyped_storage().data_ptr()
