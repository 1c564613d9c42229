"""Iterations of a whole batch as CUDA graphs: the host starts one thing instead of a thousand.

Engines are written as formulas on arrays that make new arrays. A graph works on fixed memory, so between two iterations
every tensor that an engine or an evaluator holds lies in a place of its own: an iteration reads these places and ends
by copying what it made back into them. Whoever keeps an array beyond the next iteration copies it; what a value derived
from its arrays and kept (the violations of an Evaluation) is forgotten before every iteration, and derived in it.

What the host alone knows (counts, whether models are checked) cannot be recorded: iterations of different key have
graphs of their own, and what is counted is counted beside the replay.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

from meco.core.memory import contents, with_contents
from meco.errors import load_extra

if TYPE_CHECKING:
    from meco.core.capabilities import Replay
    from meco.core.evaluator import Evaluator

Change = Callable[[Any], Any]


def can_repeat(device: Any) -> bool:
    """Whether a torch device repeats recorded work by itself."""
    return str(device).startswith("cuda")


def draws_by_itself(rng: Any) -> bool:
    """Whether these random numbers are a device's own, which a recording draws anew whenever it is replayed."""
    return bool(getattr(rng, "generators", ())) and can_repeat(rng.device)


@contextmanager
def recording(graph: Any, device: Any) -> Iterator[None]:
    """What the block does on the device is written into a CUDA graph, and happens when that is replayed.

    Caches, which torch.cuda.graph empties first, stay as they are: to fill them again takes longer than many turns.
    """
    torch: Any = load_extra("torch", "train", "computing on a device")
    torch.cuda.synchronize(device)
    with torch.cuda.stream(torch.cuda.Stream(device)):
        graph.capture_begin()
        try:
            yield
        except BaseException:
            with suppress(RuntimeError):  # that the recording is of no use, which is not the reason
                graph.capture_end()
            raise
        graph.capture_end()


class GraphReplay:
    """Records iterations of a search as CUDA graphs, one for each key, and replays them.

    iterate makes one iteration as it is written: ask, evaluate, tell.
    """

    def __init__(self, replay: Replay, evaluator: Evaluator, iterate: Callable[[], Any]) -> None:
        self._replay, self._evaluator, self._iterate = replay, evaluator, iterate
        self.torch: Any = load_extra("torch", "train", "computing on a device")
        self.places: list[Any] = []
        self.graphs: dict[Hashable, Any] = {}
        self.records = draws_by_itself(replay.engine.task.rng) and evaluator.source.recordable
        if self.records:
            self.torch.backends.cuda.preferred_linalg_library("cusolver")  # the other one waits for the device

    @property
    def overwrites(self) -> bool:
        """Whether arrays may lie where the next iteration overwrites them."""
        return bool(self.places)

    def replay(self) -> bool:
        """Make the next iteration by a recording; False, and nothing is made, where it has to be made as it is written.

        That is so for the first one of a search, for the last where the budget cuts it, for those without a key, and
        whenever arrays got new places: what compiles a formula or sets a library up does not do so in a recording.
        """
        replay, evaluator = self._replay, self._evaluator
        key = replay.graph_key() if self.records and replay.engine.generation else None
        if key is None or not evaluator.has_for_all(replay.batch_size):
            return False
        replay.preallocate()
        if self._settle():
            return False
        if key in self.graphs:
            replay.advance_counters()
            evaluator.count(replay.batch_size)
        else:
            self.graphs[key] = self._record()
        self.graphs[key].replay()
        return True

    def _settle(self) -> bool:
        """Take over what was set since the last iteration; where shapes have changed, begin anew, and say so."""
        held: list[Any] = []
        self._each(held.append)
        anew = [(t.shape, t.dtype) for t in held] != [(p.shape, p.dtype) for p in self.places]
        if anew:
            self.graphs.clear()
            self.places = [t.clone(memory_format=self.torch.contiguous_format) for t in held]
        else:
            for place, tensor in zip(self.places, held):
                if tensor is not place:
                    place.copy_(tensor)
        self._give_places()
        return anew

    def _give_places(self) -> None:
        places = iter(self.places)
        self._each(lambda _: next(places))

    def _record(self) -> Any:
        """The graph of an iteration, which the host counts but no device has made yet."""
        graph = self.torch.cuda.CUDAGraph()
        for generator in getattr(self._replay.engine.task.rng, "generators", ()):
            graph.register_generator_state(generator)
        with recording(graph, self._replay.engine.task.rng.device):
            self._iterate()
            made: list[Any] = []
            self._each(made.append)
            taken = {_storage(place) for place in self.places}
            new = [m if m is p or _storage(m) not in taken else m.clone() for p, m in zip(self.places, made)]
            for place, tensor in zip(self.places, new):
                if tensor is not place:
                    place.copy_(tensor)
        self._give_places()
        return graph

    def _parts(self) -> Iterator[tuple[object, list[str]]]:
        """Objects whose attributes an iteration changes, and the names of those that the next one may read."""
        for part in self._replay.parts():
            left_out = ("task", *getattr(part, "transient", ()))
            yield part, [name for name in vars(part) if name not in left_out]
        yield self._evaluator, list(self._evaluator.per_call_arrays)
        history = self._evaluator.history
        for best in (history.feasible_best, history.score_best):
            yield best, list(best.remembers)

    def _each(self, change: Change) -> None:
        """Every tensor that the parts hold becomes change(tensor), where that gives one."""
        for part, names in self._parts():
            for name in names:
                vars(part)[name] = self._mapped(vars(part)[name], change)

    def _mapped(self, value: Any, change: Change) -> Any:
        if isinstance(value, self.torch.Tensor):
            new = change(value)
            return value if new is None else new
        inner = contents(value)
        if inner is None or _is_mutable_dataclass(value):
            return value
        mapped = {name: self._mapped(part, change) for name, part in inner.items()}
        same = all(mapped[name] is part for name, part in inner.items())
        return value if same and not _has_derived(value) else with_contents(value, mapped)


def _is_mutable_dataclass(value: Any) -> bool:
    made = getattr(type(value), "__dataclass_params__", None)
    return made is not None and not made.frozen


def _has_derived(value: Any) -> bool:
    """Whether a dataclass keeps what it derived from its fields, such as a cached property."""
    return is_dataclass(value) and bool(vars(value).keys() - value.__dataclass_fields__.keys())


def _storage(tensor: Any) -> int:
    """Where its memory begins, of which it may be a part."""
    return tensor.untyped_storage().data_ptr()


def recorder(rng: Any) -> Any:
    """What records iterations of searches with these random numbers; None where no device can repeat them."""
    return GraphReplay if draws_by_itself(rng) else None
