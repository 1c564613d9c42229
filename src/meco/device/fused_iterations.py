"""An iteration of a batch of searches as a few kernels that torch compiles, in the place of a thousand small ones.

An iteration that may be recorded never asks a device for values, so it is the same sequence of operations for any
numbers: it is traced on tensors that have shapes alone, and torch's compiler gets all of it at once. Kernels of ours
are operators there (operators.py). Random numbers are drawn before it, by the operations that the iteration draws with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

# what is drawn in a trace, which knows no generators, and what draws it
DRAWING = {
    torch.ops.aten.rand.default: torch.ops.aten.rand.generator,
    torch.ops.aten.randn.default: torch.ops.aten.randn.generator,
}
SENDING = {torch.asarray, torch.as_tensor, torch.tensor}
Draw = Callable[[], Tensor]


class TracedCalls(TorchFunctionMode):
    """In a trace torch draws from its own generator, and what the host sends are real numbers on the device."""

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self.device = device

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {name: value for name, value in (kwargs or {}).items() if name != "generator"}
        if function not in SENDING or isinstance(args[0], Tensor):
            return function(*args, **given)
        with _disable_current_modes():
            return function(*args, **{**given, "device": self.device})


def thin_product(a: Tensor, b: Tensor) -> Tensor:
    """Products of matrices a [B, n, k] and b [B, k, m]; of a single column or row as sums, which a compiler fuses."""
    if b.shape[2] == 1:
        return torch.sum(a * b.mT, dim=2, keepdim=True)
    if a.shape[1] == 1:
        return torch.sum(a.mT * b, dim=1, keepdim=True)
    return NotImplemented


def compile_iteration(
    iterate: Callable[[Sequence[Tensor]], Sequence[Tensor]], buffers: list[Tensor], generator: torch.Generator
) -> Callable[[], None]:
    """A compiled iteration that reads the buffers and leaves in them what it made; it draws from one generator.

    iterate(tensors) makes an iteration from tensors in the place of the buffers, gives what it made of each, and is
    called once, with tensors that hold no numbers.
    """

    def iterate_in_place(given: list[Tensor]) -> tuple[()]:
        place, kept = {_storage_of(buffer): k for k, buffer in enumerate(given)}, list[Tensor]()
        for k, (buffer, made) in enumerate(zip(given, iterate(given))):  # a part of what is overwritten first is copied
            kept.append(made if made is buffer or place.get(_storage_of(made), len(given)) > k else made.clone())
        for buffer, made in zip(given, kept):
            if made is not buffer:
                buffer.copy_(made)
        return ()

    table = {torch.ops.aten.bmm.default: thin_product}
    trace = make_fx(iterate_in_place, table, tracing_mode="fake", _allow_non_fake_inputs=True)
    with TracedCalls(buffers[0].device):
        module = trace(buffers)
    draws = _draw_before(module, generator)
    inputs: list[Any] = [*buffers, *(draw() for draw in draws)]
    compiled: Any = torch._inductor.compile(module, inputs)

    def run() -> None:
        compiled(*buffers, *(draw() for draw in draws))

    return run


def _storage_of(tensor: Tensor) -> int:
    """What tells the memory that a tensor is a part of, where it has no address."""
    return tensor.untyped_storage()._cdata


def _draw_before(module: Any, generator: torch.Generator) -> list[Draw]:
    """Let a traced module take numbers as its last inputs where it drew them; what draws them, in their order."""
    graph = module.graph
    draws: list[Draw] = []
    places = [node for node in graph.nodes if node.op == "placeholder"]
    for node in [node for node in graph.nodes if node.target in DRAWING]:
        with graph.inserting_after(places[-1]):
            places.append(graph.placeholder(f"drawn_{len(draws)}"))
        draws.append(partial(DRAWING[node.target], *node.args, **node.kwargs, generator=generator))
        places[-1].meta = node.meta
        node.replace_all_uses_with(places[-1])
        graph.erase_node(node)
    graph.set_codegen(torch.fx.graph.CodeGen())  # inputs one after the other, not in a list
    module.recompile()
    return draws
