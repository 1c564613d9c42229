"""Launchers of kernels as operators of torch: what writes down an iteration sees one step, not what starts a kernel."""

# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Launch = Callable[..., Any]


def operator(schema: str, empty: Launch) -> Callable[[Launch], Launch]:
    """A decorator: a launcher becomes the operator meco::<its name> with this schema of arguments and results.

    empty(*arguments) makes results of the same shapes, whatever they hold.
    """

    def register(launch: Launch) -> Launch:
        made = torch.library.custom_op(f"meco::{launch.__name__}", launch, mutates_args=(), schema=schema)
        made.register_fake(empty)
        return made

    return register
