"""Kernels compiled before searches need them, each by another process: searches that begin together would compile all.

What one process compiles lies in Triton's cache on the disk, where the others find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from meco.device.kernels import MOST_VARIABLES, can_launch
from meco.device.waiting import sleep_while_waiting
from meco.tr.program import KERNEL_ROWS, kernel_constants


class FirstStart(NamedTuple):
    """A kernel that is made for tiles of so many variables and constraints, on a device."""

    kernel: str
    dim: int
    rows: int
    device: str


def list_first_starts(shapes: Iterable[tuple[int, int]], device: str) -> list[FirstStart]:
    """The kernels that searches of these shapes (D, constraints) need, each once, those that take longest first."""
    known = [(dim, count) for dim, count in shapes if dim <= MOST_VARIABLES and count <= KERNEL_ROWS]
    found = {FirstStart("program", _tile(dim, 4), _tile(count, 4), device) for dim, count in known}
    found |= {FirstStart("weights", _tile(dim, 16), 1 if count < 8 else 8, device) for dim, count in known}
    for name in ("variance", "diagonal", "curvature", "changes", "update"):
        found |= {FirstStart(name, _tile(dim, 16), 1, device) for dim, _ in known}
    for name in ("square", "nearest"):  # which read two numbers in one go where variables are even in number
        found |= {FirstStart(name, max(1, _tile(dim, 1) - dim % 2), 1, device) for dim, _ in known}
    return sorted(found, key=lambda start: (list(STARTS).index(start.kernel), -start.dim, -start.rows))


def start_first(start: FirstStart) -> None:
    """Compile a kernel and start it once, on ones."""
    sleep_while_waiting(start.device)
    if can_launch(start.device):
        import torch

        def ones(*shape: int) -> Any:
            return torch.ones(shape, dtype=torch.float64, device=start.device)

        STARTS[start.kernel](ones, start.dim, start.rows)


def _tile(size: int, least: int) -> int:
    """The power of two that tiles have for a size."""
    return max(least, 1 << max(0, size - 1).bit_length())


def _program(ones: Callable[..., Any], dim: int, count: int) -> None:
    from meco.device.program_kernel import solve_program_in_one_kernel

    rows = (ones(1, count, dim), *[ones(1, count)] * 4)
    box = -ones(1, dim), ones(1, dim)
    solve_program_in_one_kernel(ones(1, dim, dim), ones(1, dim), rows, *box, ones(1, count), 1, kernel_constants())


def _weights(ones: Callable[..., Any], dim: int, count: int) -> None:
    from meco.device.fit_kernel import fit_weights_in_one_kernel

    y = ones(1, 1, 1 + count)
    fit_weights_in_one_kernel(ones(1, 1, dim), y, y, ones(1), ones(1), [1.0], y[:, 0], 1.0)


def _variance(ones: Callable[..., Any], dim: int, count: int) -> None:
    from meco.device.fit_kernel import variance_in_one_kernel

    variance_in_one_kernel(ones(1, 1, dim), ones(1, 1, dim), ones(1), ones(1, 16, 16))


def _diagonal(ones: Callable[..., Any], dim: int, count: int) -> None:
    from meco.device.fit_kernel import inverse_diagonal_in_one_kernel

    inverse_diagonal_in_one_kernel(ones(1, 16, 16), 1)


def _curvature(ones: Callable[..., Any], dim: int, count: int) -> None:
    from meco.tr.curvature import convexify

    convexify(ones(1, dim, dim))


def _changes(ones: Callable[..., Any], dim: int, count: int) -> None:
    from meco.device.model_kernel import changes_in_one_kernel

    changes_in_one_kernel(ones(1, 1, dim), ones(1, 1, dim, dim), ones(1, 1, dim))


def _update(ones: Callable[..., Any], dim: int, count: int) -> None:
    from meco.device.model_kernel import update_in_one_kernel

    u, one = ones(1, 1, dim), ones(1, 1)
    update_in_one_kernel(ones(1, 1, dim), ones(1, 1, dim, dim), u, ones(1, 1, 1), one, one[0])


def _square(ones: Callable[..., Any], dim: int, count: int) -> None:
    from meco.device.archive_kernel import square_distances_in_one_kernel

    square_distances_in_one_kernel(ones(1, 1, dim), ones(1, dim), ones(1, dim))


def _nearest(ones: Callable[..., Any], dim: int, count: int) -> None:
    from meco.device.archive_kernel import distances_in_one_kernel

    distances_in_one_kernel(ones(1, 1, dim), ones(1, 1, dim), ones(1, dim))


STARTS: dict[str, Callable[[Callable[..., Any], int, int], None]] = {
    "program": _program, "weights": _weights, "variance": _variance, "diagonal": _diagonal, "curvature": _curvature,
    "changes": _changes, "update": _update, "square": _square, "nearest": _nearest,
}  # fmt: skip
