"""CUDA graphs without a GPU: operations of torch on the CPU are written down, and repeated on the very same memory.

As with CUDA, what a recording did has not happened, arrays that it read are read again where they lie, whatever the
host computed beside it stays as it was, and neither waiting for the device nor sending it arrays is allowed.
"""

from __future__ import annotations

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

SENDING = {torch.asarray, torch.as_tensor, torch.tensor, torch.Tensor.new_tensor}
FETCHING = {torch.Tensor.tolist, torch.Tensor.cpu, torch.Tensor.numpy, torch.equal}
WAITING = {  # for how many, or for which
    torch.ops.aten._local_scalar_dense, torch.ops.aten.nonzero, torch.ops.aten.masked_select, torch.ops.aten._unique2,
    torch.ops.aten.equal,
}  # fmt: skip
BY_INDEX = {torch.ops.aten.index, torch.ops.aten.index_put, torch.ops.aten.index_put_}


class Recording:
    """Stands for torch.cuda.CUDAGraph."""

    def __init__(self) -> None:
        self.steps: list = []
        self.generators: list = []
        self.replays = 0

    def register_generator_state(self, generator: torch.Generator) -> None:
        self.generators.append(generator)

    def replay(self) -> None:
        """Every step again, each result where the recorded one lies."""
        self.replays += 1
        for operation, args, kwargs, results in self.steps:
            for old, new in zip(results, tensors(operation(*args, **kwargs))):
                if old.data_ptr() != new.data_ptr() or old.numel() == 0:
                    old.copy_(new)


class Capture(TorchDispatchMode):
    """Stands for cuda_graphs.capture_graph."""

    def __init__(self, graph: Recording, device: object = None) -> None:
        super().__init__()
        self.graph, self.own, self.before, self.sending = graph, set(), {}, NothingIsSent()

    def __enter__(self):
        self.drawn = [g.get_state() for g in self.graph.generators]
        self.sending.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.sending.__exit__(*error)
        for tensor, values in self.before.values():  # nothing of it has happened
            tensor.copy_(values)
        for generator, state in zip(self.graph.generators, self.drawn):
            generator.set_state(state)

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        name = operation.overloadpacket
        if name in WAITING or (name in BY_INDEX and not known_beforehand(name, args)):
            raise RuntimeError("a recording cannot wait for the device")
        kwargs = kwargs or {}
        aliases = [a.alias_info for a in operation._schema.arguments]
        changed = [arg for arg, alias in zip(args, aliases) if alias is not None and alias.is_write]
        for tensor in [each for arg in changed for each in (arg if isinstance(arg, (tuple, list)) else [arg])]:
            if tensor.untyped_storage().data_ptr() not in self.own:
                self.before.setdefault(id(tensor), (tensor, tensor.clone()))
        made = operation(*args, **kwargs)
        if any(alias is not None and not alias.is_write for alias in aliases):
            return made  # a view: where it looks at, nothing is to be done
        written = any(alias is not None for alias in aliases)
        self.own |= set() if written else {t.untyped_storage().data_ptr() for t in tensors(made)}
        self.graph.steps.append((operation, args, kwargs, [] if written else tensors(made)))
        return made


class NothingIsSent(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in SENDING and not (args and isinstance(args[0], torch.Tensor) and len(args) == 1):
            raise RuntimeError("a recording cannot be sent numbers of the host")
        if function in FETCHING:
            raise RuntimeError("a recording cannot wait for the device")
        return function(*args, **(kwargs or {}))


def known_beforehand(name, args) -> bool:
    """Whether an index asks no mask how many it holds: a number that is put wherever a mask holds need not ask."""
    masks = any(t is not None and t.dtype == torch.bool for t in args[1])
    return not masks or (name is not torch.ops.aten.index and args[2].numel() == 1)


def tensors(made) -> list:
    """The tensors that an operation gave."""
    return [t for t in (made if isinstance(made, (tuple, list)) else [made]) if isinstance(t, torch.Tensor)]
