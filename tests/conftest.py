"""What all tests share: where the official tables are, and a loud word when they are not."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from functools import cache
from pathlib import Path

from reference.kernels import pin_kernels

pin_kernels()  # before NumPy is imported: runs are compared to the last bit

import numpy as np
import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what it puts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


TOOLS = Path(__file__).parent / "tools"
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # its peers and problems are tested
TIMEOUTS = {"docs": 600, "slow": 3600, "attack": 3600}  # seconds of a test, by marker; the default is in pyproject.toml

gc.disable()  # until the tests are collected: there is nothing to be freed, and hundreds of modules to walk through


def data_folder() -> Path | None:
    """The folder of official tables and golden values, if MECO_DATA names one."""
    named = os.environ.get("MECO_DATA")
    return Path(named) if named and Path(named).is_dir() else None


@pytest.fixture(scope="session")
def golden():
    """Load a file of golden values, or skip and say why."""

    @cache
    def load(name: str) -> dict[str, np.ndarray]:
        folder = data_folder()
        if folder is None or not (folder / name).is_file():
            pytest.skip(f"OFFICIAL DATA MISSING: set MECO_DATA to a folder that holds {name}")
        with np.load(folder / name, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}

    return load


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """A cache of the tests alone; it holds the reference directions that take pymoo seconds to find."""
    folder = tmp_path_factory.mktemp("cache")
    shutil.copytree(Path(__file__).parent / "data" / "reference_directions", folder / "meco")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield


@pytest.fixture(autouse=True)
def handlers_as_they_were():
    """A command that a signal ended ignores later ones, for its process ends; here the next test follows."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests of tools as docs, set time limits by marker, and skip what needs the official tables."""
    for item in items:
        if item.path.parent == TOOLS:
            item.add_marker(pytest.mark.docs)
        limits = [seconds for marker, seconds in TIMEOUTS.items() if item.get_closest_marker(marker)]
        if limits and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(max(limits)))
        if "official" in item.keywords and data_folder() is None:
            item.add_marker(pytest.mark.skip(reason="OFFICIAL DATA MISSING: set MECO_DATA"))


def pytest_collection_finish():
    """What was collected lives to the end: no later collection of garbage walks through it."""
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter):
    if data_folder() is None:
        terminalreporter.section("official data missing", sep="!")
        terminalreporter.line("MECO_DATA is not set: golden values of the official codes were NOT compared.")
    if skipped_for("OTHER ARITHMETIC", terminalreporter.stats.get("skipped", ())):
        terminalreporter.section("other arithmetic", sep="!")
        terminalreporter.line("Points were NOT compared with the reference kit: tests/reference/README.md.")
    if skipped_for("NO BROWSER", terminalreporter.stats.get("skipped", ())):
        terminalreporter.section("no browser", sep="!")
        terminalreporter.line("No Chromium was found: the pages were NOT looked at (Debian package: chromium).")


def skipped_for(reason: str, skipped) -> bool:
    """Whether a test was skipped for this reason."""
    return any(reason in str(report.longrepr) for report in skipped)
