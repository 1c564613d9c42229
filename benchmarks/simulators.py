"""Simulators as users have them: ours and peers side by side, a section for each kind of trouble.

    python benchmarks/simulators.py                      # lists the sections
    python benchmarks/simulators.py failures --seeds 5 --out runs.jsonl > benchmarks/results/simulators_failures.txt

Every module simulators_SECTION.py beside this one is a section: it has main(arguments), and says in its first line what
it shows.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
HERE = Path(__file__).parent


def main() -> int:
    """Run the section that is named; without one, list them."""
    sys.path.insert(0, str(HERE))
    names = sorted(path.stem.removeprefix("simulators_") for path in HERE.glob("simulators_*.py"))
    names = [name for name in names if hasattr(importlib.import_module(f"simulators_{name}"), "main")]
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        for name in names:
            print(f"{name:<12} {(importlib.import_module(f'simulators_{name}').__doc__ or '').splitlines()[0]}")
        return 0 if len(sys.argv) < 2 else 2
    importlib.import_module(f"simulators_{sys.argv[1]}").main(sys.argv[2:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
