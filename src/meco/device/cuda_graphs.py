"""Iterations of a batch of searches as CUDA graphs: the host starts one thing instead of a thousand.

Engines are formulas that make new arrays; a graph works on fixed memory. So between two iterations every tensor that an
engine or an evaluator keeps lies in a buffer: an iteration reads the buffers and ends by copying what it made back into
them. An array that is needed after the next iteration has to be copied. Values derived from arrays and cached (the
violations of an Evaluation) are dropped before every iteration and derived again in it.

With fusing() an iteration that torch can compile as a whole (fused_iterations.py) is compiled before it is recorded.

What the host alone knows (counts, whether models are checked) cannot be recorded: iterations with different keys have
graphs of their own, and the host advances its counters at every replay.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from meco.core.arrays import fusing, is_fusing
from meco.core.memory import container_parts, replace_parts
from meco.errors import load_extra

if TYPE_CHECKING:
    from meco.core.capabilities import Replay
    from meco.core.evaluator import Evaluator

MANY_NUMBERS = 1 << 22  # of a tensor, from which a copy by itself is as fast as one of many
Change = Callable[[Any], Any]
T = TypeVar("T")


def supports_graphs(device: Any) -> bool:
    """Whether work on this torch device, or its name, can be recorded and replayed: on CUDA alone."""
    return str(device).startswith("cuda")


def draws_on_device(rng: Any) -> bool:
    """Whether random numbers come from a generator of the device, which draws new ones at every replay."""
    return bool(getattr(rng, "generators", ())) and supports_graphs(rng.device)


@contextmanager
def capture_graph(graph: Any, device: Any) -> Iterator[None]:
    """Write what the block does on the device into a CUDA graph; it happens when the graph is replayed.

    Unlike torch.cuda.graph it keeps the memory caches: to fill them again takes longer than many iterations. Waits
    for the device first. An error ends the capture and is raised.
    """
    torch: Any = load_extra("torch", "train", "computing on a device")
    torch.cuda.synchronize(device)
    with torch.cuda.stream(torch.cuda.Stream(device)), _no_garbage_collected():
        graph.capture_begin()
        try:
            yield
        except BaseException:
            with suppress(RuntimeError):  # the capture is invalid, but that is not the reason
                graph.capture_end()
            raise
        graph.capture_end()


@contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """Put Python's collector off: freeing what an older search recorded would end a capture with an error."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@dataclass(frozen=True)
class RecordedWork(Generic[T]):
    """Work that a device repeats on the same memory."""

    graph: Any
    result: T  # whose tensors every replay fills

    def replay(self) -> T:
        """Do the work once more on the device; its result, in the same memory each time."""
        self.graph.replay()
        return self.result


def record_work(work: Callable[[], T], device: Any, generators: Sequence[Any] = ()) -> RecordedWork[T]:
    """Record a function without doing its work on the device; generators are those that it draws from.

    Calls it once; what it returns lies in memory that each replay fills.
    """
    torch: Any = load_extra("torch", "train", "computing on a device")
    graph = torch.cuda.CUDAGraph()
    for generator in generators:
        graph.register_generator_state(generator)
    with capture_graph(graph, device):
        result = work()
    return RecordedWork(graph, result)


class GraphReplay:
    """Records iterations of a search as CUDA graphs, one for each key, and replays them.

    iterate makes one iteration as it is written: ask, evaluate, tell.
    """

    def __init__(self, replay: Replay, evaluator: Evaluator, iterate: Callable[[], Any]) -> None:
        """Off where draws or problems cannot be recorded; else torch's linear algebra is set to cuSOLVER."""
        self._replay, self._evaluator, self._iterate = replay, evaluator, iterate
        self.torch: Any = load_extra("torch", "train", "computing on a device")
        self.buffers: list[Any] = []
        self.recorded: dict[Hashable, RecordedWork[None]] = {}
        self.compiled: dict[Hashable, Callable[[], None]] = {}
        self.enabled = draws_on_device(replay.engine.task.rng) and evaluator.source.recordable
        if self.enabled:
            self.torch.backends.cuda.preferred_linalg_library("cusolver")  # the other one waits for the device

    @property
    def overwrites(self) -> bool:
        """Whether the next iteration may overwrite arrays of this one."""
        return bool(self.buffers)

    def replay(self) -> bool:
        """Replay the next iteration; False, and nothing is done, where it has to be made as it is written.

        That is so for the first one of a search, for the last where the budget cuts it, for those without a key, and
        whenever buffers are new: formulas are compiled and libraries set up by an iteration that is not recorded.
        """
        replay, evaluator = self._replay, self._evaluator
        key = replay.graph_key() if self.enabled and replay.engine.generation else None
        if key is None or not evaluator.all_can_afford(replay.batch_size):
            return False
        replay.preallocate()
        if self._refresh_buffers():
            return False
        if key in self.recorded or key in self.compiled:
            replay.advance_counters()
            evaluator.count_evaluations(replay.batch_size)
        elif is_fusing() and replay.fusible:
            self.compiled[key] = self._compile_iteration()
            self.compiled[key]()  # kernels are loaded, and the fastest of some chosen, by one that is not recorded
            return True
        if key not in self.recorded:
            self.recorded[key] = self._record_iteration(self.compiled.get(key, self._iterate_in_buffers))
        self.recorded[key].replay()
        return True

    def _refresh_buffers(self) -> bool:
        """Copy what was set since the last iteration into the buffers, and let engine and evaluator keep those.

        True where shapes or types changed: buffers are new, and recordings dropped.
        """
        tensors: list[Any] = []
        self._map_tensors(tensors.append)
        changed = [(t.shape, t.dtype) for t in tensors] != [(b.shape, b.dtype) for b in self.buffers]
        if changed:
            self.recorded.clear()
            self.compiled.clear()
            self.buffers = [t.clone(memory_format=self.torch.contiguous_format) for t in tensors]
        else:
            self._fill_buffers(tensors)
        if changed or any(tensor is not buffer for tensor, buffer in zip(tensors, self.buffers)):
            self._attach_buffers()
        return changed

    def _fill_buffers(self, tensors: Sequence[Any]) -> None:
        """Copy tensors into the buffers, one for each in their order, without waiting for the device."""
        alike: dict[Any, tuple[list[Any], list[Any]]] = {}  # one kernel copies many of one type
        for buffer, tensor in zip(self.buffers, tensors):
            if tensor is buffer:
                continue
            if tensor.is_contiguous() and tensor.numel() < MANY_NUMBERS:
                for found, each in zip(alike.setdefault(buffer.dtype, ([], [])), (buffer, tensor)):
                    found.append(each)
            else:
                buffer.copy_(tensor)
        for to, of in alike.values():
            self.torch._foreach_copy_(to, of)

    def _attach_buffers(self) -> None:
        """Let engine and evaluator keep the buffers in place of their tensors."""
        buffers = iter(self.buffers)
        self._map_tensors(lambda _: next(buffers))

    def _compile_iteration(self) -> Callable[[], None]:
        """An iteration that torch compiles as a whole; engine and evaluator count it, the device does nothing yet."""
        from meco.device.fused_iterations import compile_iteration  # needs torch

        (generator,) = self._replay.engine.task.rng.generators  # type: ignore[attr-defined]
        with fusing(on=False):  # formulas are parts of it
            found = compile_iteration(self._iterate_from, self.buffers, generator)
        self._attach_buffers()
        return found

    def _iterate_from(self, tensors: Sequence[Any]) -> list[Any]:
        """An iteration on tensors in the place of the buffers; what it made of each."""
        given, made = iter(tensors), list[Any]()
        self._map_tensors(lambda _: next(given))
        self._iterate()
        self._map_tensors(made.append)
        return made

    def _record_iteration(self, work: Callable[[], None]) -> RecordedWork[None]:
        """Record an iteration, made by work(), which leaves the buffers as they are after it; the device has not begun.

        One that is written down is counted by engine and evaluator.
        """
        rng: Any = self._replay.engine.task.rng
        found = record_work(work, rng.device, getattr(rng, "generators", ()))
        self._attach_buffers()
        return found

    def _iterate_in_buffers(self) -> None:
        """An iteration that ends by copying what it made into the buffers; what shares their memory is copied first."""
        self._iterate()
        made: list[Any] = []
        self._map_tensors(made.append)
        taken = {_storage_address(buffer) for buffer in self.buffers}
        self._fill_buffers(
            [m if m is b or _storage_address(m) not in taken else m.clone() for b, m in zip(self.buffers, made)]
        )

    def _list_parts(self) -> Iterator[tuple[object, list[str]]]:
        """Objects whose attributes an iteration changes, and the names of those that the next one may read."""
        for part in self._replay.parts():
            left_out = ("task", *self._replay.transient)
            yield part, [name for name in vars(part) if name not in left_out]
        yield self._evaluator, list(self._evaluator.per_call_arrays)
        history = self._evaluator.history
        for best in (history.feasible_best, history.score_best):
            yield best, list(best.remembers)

    def _map_tensors(self, change: Change) -> None:
        """Replace every tensor of the parts by change(tensor), in place, unless that is None.

        Buffers rely on the order.
        """
        for part, names in self._list_parts():
            for name in names:
                vars(part)[name] = self._map_value(vars(part)[name], change)

    def _map_value(self, value: Any, change: Change) -> Any:
        """The value with every tensor in it replaced, in a new container; itself where none is replaced.

        A container that keeps derived values is always made anew, a dataclass that can be written to never.
        """
        if isinstance(value, self.torch.Tensor):
            new = change(value)
            return value if new is None else new
        inner = None if isinstance(value, (int, float, str, type(None))) else container_parts(value)
        if inner is None or _is_mutable_dataclass(value):
            return value
        mapped = {name: self._map_value(part, change) for name, part in inner.items()}
        same = all(mapped[name] is part for name, part in inner.items())
        return value if same and not _has_cache(value) else replace_parts(value, mapped)


def _is_mutable_dataclass(value: Any) -> bool:
    """Whether it is an object with a state of its own, which is no value to replace."""
    parameters = getattr(type(value), "__dataclass_params__", None)
    return parameters is not None and not parameters.frozen


def _has_cache(value: Any) -> bool:
    """Whether a dataclass keeps what it derived from its fields, such as a cached property."""
    return is_dataclass(value) and bool(vars(value).keys() - value.__dataclass_fields__.keys())


def _storage_address(tensor: Any) -> int:
    """The address of the memory that a tensor is a part of; views share it."""
    return tensor.untyped_storage().data_ptr()


def find_recorder(rng: Any) -> Any:
    """The class that records iterations of searches with these random numbers; None where no device can."""
    return GraphReplay if draws_on_device(rng) else None
