"""The platform that results depend on in their last bits: kernels of linear algebra, instructions, versions.

OpenBLAS chooses its kernel and NumPy its instructions by the processor, so that two machines round differently, and a
search may then take another way. Processes that make results to compare are pinned to what every 64-bit x86 of the last
ten years has. The variables are read when the libraries are loaded: they must be set before.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from typing import Any, NamedTuple

from meco.core.thread_variables import ONE_THREAD

X86 = ("x86_64", "AMD64")
BEYOND_AVX2 = "X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"  # of all NumPy versions
KERNELS = {
    "OPENBLAS_CORETYPE": "Haswell",  # the kernel of NumPy's and SciPy's linear algebra
    "NPY_DISABLE_CPU_FEATURES": BEYOND_AVX2,  # NumPy's own loops
    "ATEN_CPU_CAPABILITY": "avx2",  # torch
    "MKL_CBWR": "AVX2",  # the linear algebra of some builds of both
}
PACKAGES = ("numpy", "scipy", "cma", "pymoo", "optuna", "torch", "botorch", "PyNomadBBO")  # whose versions count


class Platform(NamedTuple):
    """What a process computes with: equal digests give equal bits."""

    digest: str
    facts: Mapping[str, Any]  # versions, settings and the arithmetic's own digest


def pinned_variables() -> dict[str, str]:
    """Environment variables of a process that makes results: one thread, and on x86 kernels that every machine has."""
    return {**ONE_THREAD, **(KERNELS if platform.machine() in X86 else {})}


def pin_platform() -> None:
    """Set pinned_variables() in this process's environment, where they are not set; nothing once NumPy is loaded."""
    if "numpy" not in sys.modules:
        for name, value in pinned_variables().items():
            os.environ.setdefault(name, value)


@cache
def describe_platform() -> Platform:
    """Environment, versions and a digest of the arithmetic of this process, found out once.

    Computes some matrices for that.
    """
    facts = {
        "arithmetic": digest_arithmetic(),
        **{name: os.environ[name] for name in pinned_variables() if name in os.environ},
        **installed_versions(PACKAGES),
    }
    text = repr(sorted(facts.items()))
    return Platform(hashlib.sha256(text.encode()).hexdigest()[:8], facts)


def digest_arithmetic() -> str:
    """What this process's linear algebra and elementary functions give, in all their bits, as a hash."""
    import numpy as np

    rng, total = np.random.default_rng(0), hashlib.sha256()
    for size in (7, 31, 257):  # small ones, and one that is cut into blocks
        a = rng.standard_normal((size, size))
        s = a @ a.T + size * np.eye(size)
        parts = [
            s,
            a @ a,
            np.linalg.solve(a, a[:, :5]),
            np.linalg.cholesky(s),
            np.linalg.eigh(s)[1],
            np.linalg.qr(a)[1],
        ]
        parts += [np.exp(a), np.log(np.abs(a)), np.sin(a), np.tan(a), np.abs(a) ** 0.7, a.sum(axis=0), a.T @ a[0]]
        for part in parts:
            total.update(np.ascontiguousarray(part).tobytes())
    return total.hexdigest()[:16]


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of the packages that are installed, by name, without importing them; others are left out."""
    found = {}
    for name in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
