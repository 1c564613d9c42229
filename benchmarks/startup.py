"""Seconds until `import meco` is done, beyond NumPy, and until `meco --help` has answered.

python benchmarks/startup.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # it triples import times


def median_seconds(*arguments: str, rounds: int = 9) -> float:
    """Median wall seconds of a fresh interpreter, after one to fill the bytecode cache."""
    seen = []
    for turn in range(rounds + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
        if turn:
            seen.append(time.perf_counter() - start)
    return statistics.median(seen)


def main() -> None:
    bare, numpy = median_seconds("-c", "pass"), median_seconds("-c", "import numpy")
    both = median_seconds("-c", "import numpy, meco")
    used = median_seconds("-c", "import numpy, meco; meco.solve; meco.minimize; meco.METHODS")
    print(f"python alone                  {bare:.3f} s")
    print(f"import numpy                  {numpy:.3f} s")
    print(f"import meco beyond NumPy      {both - numpy:.3f} s (at most 0.05)")
    print(f"with solve and minimize       {used - numpy:.3f} s")
    print(f"meco --help                   {median_seconds('-m', 'meco', '--help'):.3f} s (at most 0.3)")


if __name__ == "__main__":
    main()
