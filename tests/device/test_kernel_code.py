"""What the compiler makes of kernels, which needs Triton and no CUDA device: threads of a warp must stay together.

Neither NumPy nor Triton's interpreter can show it: there, what several threads keep is one number.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="TORCH MISSING: code of kernels NOT tested")
pytest.importorskip("triton", reason="TRITON MISSING: code of kernels NOT tested")

# In a process of its own: this one may have been told to interpret kernels.
COMPILE = """
import sys
from triton import compile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from meco.device.program_kernel import LAUNCH, _program_kernel
from meco.tr.program import kernel_constants

block, rows, warps = map(int, sys.argv[1:])
fixed = {**kernel_constants(), "block": block, "block_rows": rows}
types = iter(["*fp64"] * 12 + ["*i32"] + ["i32"] * 3)
names = _program_kernel.arg_names
signature = {name: "constexpr" if name in fixed else next(types) for name in names}
source = ASTSource(_program_kernel, signature, {(names.index(name),): fixed[name] for name in fixed})
made = compile(source, GPUTarget("cuda", 90, 32), {"num_warps": warps, **LAUNCH})
sys.stdout.write(made.asm["ptx"])
"""


def code_of_program_kernel(block, rows, warps, tmp_path):
    """PTX of the kernel that solves programs, for tiles of this size."""
    known = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    known.pop("TRITON_INTERPRET", None)
    command = [sys.executable, "-c", COMPILE, *map(str, (block, rows, warps))]
    return subprocess.run(command, env=known, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(("block", "rows", "warps"), [(4, 4, 1), (8, 8, 1), (16, 8, 1)])
def test_no_sum_that_branches_follow_from_is_fused_with_a_product(block, rows, warps, tmp_path):
    """Each thread would round a fused sum by its own product, and threads that hold one number would disagree on it."""
    code = code_of_program_kernel(block, rows, warps, tmp_path)
    assert re.search(r"\bshfl\.sync\.bfly", code)  # sums over threads, and
    assert re.search(r"@%p\d+ bra", code)  # branches
    assert "fma" not in code
    assert not re.findall(r"\b(?:add|sub|mul)\.f64", code)  # those without .rn, which the assembler may fuse
