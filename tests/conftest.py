"""What all tests share: where the official tables are, and a loud word when they are not."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from functools import cache
from pathlib import Path

from meco.core.platform import pin_platform

pin_platform()  # kernels that every x86 has, before NumPy is loaded: digests of searches are the same on all of them

import numpy as np
import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what it puts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


TOOLS = Path(__file__).parent / "tools"
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # its peers and problems are tested

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
    """Tools make pages, so their tests are marked docs; what needs the official tables is skipped without them."""
    for item in items:
        if item.path.parent == TOOLS:
            item.add_marker(pytest.mark.docs)
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
    if unseen(terminalreporter.stats.get("skipped", ())):
        terminalreporter.section("no browser", sep="!")
        terminalreporter.line("No Chromium was found: the pages were NOT looked at (Debian package: chromium).")


def unseen(skipped) -> bool:
    """Whether a test was skipped for want of a browser."""
    return any("NO BROWSER" in str(report.longrepr) for report in skipped)
