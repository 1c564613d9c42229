"""Test every door to another framework with its real package, in an environment of its own.

    python tools/test_doors.py [DOOR ...]

Several of the packages exclude each other's versions, so each door gets .venv-doors/NAME. A door whose packages cannot
be installed or imported is not tested, and the last lines say so loudly: the exit code is then 1, as for a failed test.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / ".venv-doors"


@dataclass(frozen=True)
class Door:
    """What a door needs and what tests it."""

    extra: str  # of pyproject.toml
    tests: str
    page: str  # of docs/doors, whose example must run
    packages: tuple[str, ...]  # to state versions and licences of; each must be importable
    more: tuple[str, ...] = ()  # what only its tests need
    before: tuple[str, ...] = ()  # to install first: torch, where a package would take another build


DOORS = {
    "openmdao": Door("openmdao", "test_openmdao.py", "openmdao", ("openmdao",), ("pydoe",)),
    "gest": Door(
        "gest",
        "test_gest_api.py",
        "gest-api",
        ("gest_api", "libensemble", "optimas"),
        ("libensemble", "optimas", "matplotlib"),
    ),
    "xopt": Door("gest", "test_gest_api.py", "gest-api", ("gest_api", "xopt"), ("xopt",), ("torch",)),
    "optunahub": Door("optunahub", "test_optunahub.py", "optunahub", ("optuna", "optunahub")),
    "optimagic": Door("optimagic", "test_optimagic.py", "optimagic", ("optimagic",)),
    "gemseo": Door("gemseo", "test_gemseo.py", "gemseo", ("gemseo",)),
}

FACTS = """
import importlib, importlib.metadata as metadata, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
    facts = metadata.metadata(name.replace("_", "-"))
    listed = [c.rpartition("::")[2].strip() for c in facts.get_all("Classifier") or [] if "License" in c]
    text = (facts.get("License") or "").strip().splitlines()[:1]
    print(name, facts["Version"], facts.get("License-Expression") or " ".join(listed or text) or "see its files")
"""


def run(command: Sequence[object], **more: str) -> subprocess.CompletedProcess[str]:
    """A command without this source tree on the path; its output is kept."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(part) for part in command], cwd=ROOT, env={**clean, **more}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def build(name: str, door: Door) -> str:
    """Make the environment of a door; what went wrong, or nothing."""
    python = ENVIRONMENTS / name / "bin" / "python"
    steps: list[list[object]] = []
    if not python.exists():
        steps.append([sys.executable, "-m", "venv", ENVIRONMENTS / name])
    pip = [python, "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    if door.before:
        steps.append([*pip, "-c", "constraints.txt", *door.before])
    pinned = ["-c", "constraints.txt"] if door.before else []
    steps.append([*pip, *pinned, "-e", f".[{door.extra}]", "pytest>=8", *door.more])
    for step in steps:
        done = run(step)
        if done.returncode:
            lines = [line for line in done.stdout.splitlines() if line.startswith("ERROR")]
            return "\n".join(lines[-3:] or done.stdout.splitlines()[-3:])
    return ""


def test(name: str, door: Door) -> tuple[bool, list[str]]:
    """Whether the door was opened and its tests passed, and what to say of it."""
    python = ENVIRONMENTS / name / "bin" / "python"
    problem = build(name, door)
    if problem:
        return False, ["NOT INSTALLED", *problem.splitlines()]
    facts = run([python, "-c", FACTS, *door.packages])
    if facts.returncode:
        return False, ["CANNOT BE IMPORTED", *facts.stdout.splitlines()[-2:]]
    example = f"tests/doors/test_door_pages.py::test_the_example_of_a_page_runs[{door.page}]"
    done = run(
        [python, "-m", "pytest", f"tests/doors/{door.tests}", example, "-p", "no:cacheprovider", "-W", "ignore", "-rs",
         "-m", "not slow and not attack"],
        OPENMDAO_REPORTS="0", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
    )  # fmt: skip
    said = done.stdout.splitlines()
    if done.returncode:
        print(done.stdout, flush=True)
    skipped = [line for line in said if line.startswith("SKIPPED")]
    return done.returncode == 0, [said[-1] if said else "no output", *facts.stdout.splitlines(), *skipped]


def main(argv: Sequence[str] | None = None) -> int:
    """All doors, or those that are named; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("doors", nargs="*", metavar="DOOR", help=f"any of {', '.join(DOORS)}; all unless given")
    wanted = parser.parse_args(argv).doors or list(DOORS)
    unknown = [name for name in wanted if name not in DOORS]
    if unknown:
        parser.error(f"no door {unknown[0]!r}; known are {', '.join(DOORS)}")
    closed = []
    for name in wanted:
        good, lines = test(name, DOORS[name])
        print(f"{name:14s}{'ok' if good else 'FAILED'}  {lines[0]}", *(f"    {line}" for line in lines[1:]), sep="\n")
        sys.stdout.flush()
        if not good:
            closed.append(name)
    if closed:
        print("\n" + "!" * 100, f"NOT TESTED OR FAILED: {', '.join(closed)}", "!" * 100, sep="\n")
    return 1 if closed else 0


if __name__ == "__main__":
    sys.exit(main())
