"""Where Triton is missing or starts no kernel, formulas run without: one warning, no error. Needs no CUDA device."""

from __future__ import annotations

import sys
import warnings
from types import ModuleType, SimpleNamespace

import pytest

from meco.device.kernels import can_launch, has_kernels, using_kernels

ON_CUDA = SimpleNamespace(is_cuda=True, dtype="torch.float64", device="cuda:0")  # what is asked of a tensor


@pytest.fixture(autouse=True)
def ask_again():
    """Nothing is remembered from other tests, nor for them."""
    can_launch.cache_clear()
    yield
    can_launch.cache_clear()


def tiles_that(launch):
    """The module of tiles, with another small kernel."""
    module = ModuleType("meco.device.tiles")
    module.launch_small_product = launch
    return module


def refuse(device):
    raise RuntimeError("Failed to find C compiler")


def test_a_kernel_that_does_not_start_is_tried_once_and_warned_of_once(monkeypatch):
    monkeypatch.setitem(sys.modules, "meco.device.tiles", tiles_that(refuse))
    with pytest.warns(UserWarning, match="cuda:0.*RuntimeError: Failed to find C compiler") as seen:
        assert [has_kernels(ON_CUDA) for _ in range(3)] == [False] * 3
    assert len(seen) == 1


def test_without_triton_there_are_no_kernels(monkeypatch):
    monkeypatch.delitem(sys.modules, "meco.device.tiles", raising=False)
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.warns(UserWarning, match="starts no kernel"):
        assert not has_kernels(ON_CUDA)


def test_nothing_is_started_where_kernels_are_off_or_not_meant(monkeypatch):
    monkeypatch.setitem(sys.modules, "meco.device.tiles", tiles_that(refuse))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with using_kernels(on=False):
            assert not has_kernels(ON_CUDA)
        assert not has_kernels(SimpleNamespace(is_cuda=True, dtype="torch.float32", device="cuda:0"))


def test_a_kernel_that_starts_is_tried_once(monkeypatch):
    tried = []
    monkeypatch.setitem(sys.modules, "meco.device.tiles", tiles_that(tried.append))
    assert has_kernels(ON_CUDA)
    assert has_kernels(ON_CUDA)
    assert tried == ["cuda:0"]
