"""Pin the kernels of linear algebra, and describe the arithmetic of this process."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from importlib.metadata import version
from typing import Any

AVX512 = "X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"  # of every NumPy version
ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "OMP_NUM_THREADS"), "1"
)
KERNELS = {
    "OPENBLAS_CORETYPE": "Haswell",  # linear algebra of NumPy and SciPy
    "NPY_DISABLE_CPU_FEATURES": AVX512,  # loops of NumPy
    "ATEN_CPU_CAPABILITY": "avx2",  # torch
    "MKL_CBWR": "AVX2",
}
PINNED = ONE_THREAD | (KERNELS if platform.machine() in ("x86_64", "AMD64") else {})
PACKAGES = ("numpy", "scipy", "cma", "pymoo")  # whose versions change the points of a method
IS_X86_LINUX = platform.system() == "Linux" and platform.machine() == "x86_64"  # where the record holds


def pin_kernels() -> None:
    """Select kernels that every x86 processor with AVX2 has, and one thread. Call it before NumPy is imported."""
    if "numpy" not in sys.modules:
        for name, value in PINNED.items():
            os.environ.setdefault(name, value)


def describe_arithmetic() -> dict[str, Any]:
    """Versions, kernels and a hash of computed values: records agree to the last bit only where these agree."""
    import numpy as np

    config: Any = np.show_config(mode="dicts")
    return {
        "versions": {name: version(name) for name in PACKAGES},
        "BLAS": f"{config['Build Dependencies']['blas']['name']} {config['Build Dependencies']['blas']['version']}",
        "CPU features": config["SIMD Extensions"]["found"],
        "C library": " ".join(platform.libc_ver()),
        "variables": {name: os.environ.get(name, "") for name in PINNED},
        "values": hash_values(),
    }


def hash_values() -> str:
    """Hash of matrices and elementary functions, in all their bits."""
    import numpy as np

    rng, total = np.random.default_rng(0), hashlib.sha256()
    for size in (7, 31, 257):
        a = rng.standard_normal((size, size))
        s = a @ a.T + size * np.eye(size)
        made = [s, np.linalg.solve(a, a[:, :5]), np.linalg.cholesky(s), np.linalg.eigh(s)[1], np.linalg.qr(a)[1]]
        made += [np.exp(a), np.log(np.abs(a)), np.sin(a), np.tan(a), np.abs(a) ** 0.7, a.sum(axis=0), a.T @ a[0]]
        for part in made:
            total.update(np.ascontiguousarray(part).tobytes())
    return total.hexdigest()[:16]


def differing_facts(recorded: dict[str, Any]) -> list[str]:
    """Facts of this process's arithmetic that are not those of a record; none where the values agree."""
    now = describe_arithmetic()
    if now["values"] == recorded["values"] and now["versions"] == recorded["versions"]:
        return []
    return [f"{name}: {now[name]} (record: {recorded[name]})" for name in recorded if now[name] != recorded[name]]
