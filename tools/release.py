"""Try a release end to end: build it, install it from an index of its own, use it as a stranger would.

    python tools/release.py [--tests PATH ...]

Wheel and source archive go to dist/. A fresh environment installs from a local index, runs the README's first example
and `meco demo`; tests run from the unpacked source archive, which must hold everything that they need.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
NAME = "meco-opt"
MARKERS = "not slow and not attack"  # pages too
TESTS = (
    "tests/test_imports.py",
    "tests/test_docs.py",
    "tests/test_door.py",
    "tests/tools",
    "tests/bench/test_stats.py",
)


def run_command(*command: object, cwd: Path = ROOT, **more: str) -> None:
    """A command that must succeed, in an environment without this source tree."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], cwd=cwd, env={**clean, **more}, check=True)


def write_index(folder: Path, files: Sequence[Path]) -> str:
    """A simple index (PEP 503) with these files, as an address."""
    place = folder / "simple" / NAME
    place.mkdir(parents=True)
    for file in files:
        shutil.copy(file, place)
    (place / "index.html").write_text("".join(f'<a href="{file.name}">{file.name}</a>\n' for file in files))
    return place.parent.as_uri()


def read_example() -> str:
    """The README's first block of Python."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", nargs="*", default=TESTS, help="what to test of the source archive")
    args = parser.parse_args()
    shutil.rmtree(DIST, ignore_errors=True)
    run_command(sys.executable, "-m", "hatchling", "build")
    wheel, source = next(DIST.glob("*.whl")), next(DIST.glob("*.tar.gz"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        address = write_index(folder, [wheel, source])
        venv.create(folder / "fresh", with_pip=True)
        python = folder / "fresh" / ("Scripts" if os.name == "nt" else "bin") / "python"
        run_command(
            python, "-m", "pip", "install", "-q", "--extra-index-url", address, f"{NAME}[cli]=={wheel_version(wheel)}"
        )
        run_command(python, "-c", read_example(), cwd=folder)
        run_command(python, "-m", "meco", "demo", cwd=folder)
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        unpacked = folder / source.name.removesuffix(".tar.gz")
        if args.tests:
            run_command(
                sys.executable,
                "-m",
                "pytest",
                "-m",
                MARKERS,
                *args.tests,
                cwd=unpacked,
                PYTHONPATH=str(unpacked / "src"),
            )
    print(f"{wheel.name} ({wheel.stat().st_size >> 10} kB) and {source.name} ({source.stat().st_size >> 10} kB) work")


def wheel_version(wheel: Path) -> str:
    """The version that a wheel's name tells."""
    return wheel.name.split("-")[1]


if __name__ == "__main__":
    main()
