"""A small campaign and its report, made once for all files that look at them."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from small_campaign import SMALL, TWO

from meco.bench.report.campaign_report import write_campaign_report
from meco.bench.report.run_arrays import RunArrays
from meco.bench.run.executors import RunExecutor
from meco.bench.run.result_store import ResultStore, read_results
from meco.bench.run.runner import run_campaign


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    with ResultStore.open_campaign(out) as store:
        run_campaign([SMALL, TWO], store, RunExecutor(), quiet=True)
    return out


@pytest.fixture(scope="session")
def report(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return write_campaign_report(folder)


@pytest.fixture(scope="session")
def runs(folder):
    return RunArrays.from_store(read_results(folder), SMALL, 10)


@pytest.fixture(scope="session")
def pinned(tmp_path_factory):
    """The digest of test_runner's campaign, made one run after another in a process of the pinned platform."""
    code = (
        "from meco.core.platform import pin_platform; pin_platform()\n"
        "import sys; sys.path.insert(0, sys.argv[1]); import test_runner\n"
        "print(test_runner.campaign(sys.argv[2])[0])"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(tmp_path_factory.mktemp("pinned"))]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
