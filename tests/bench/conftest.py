"""A small campaign, made once for all files that look at it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from small_campaign import make_small_campaign


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return make_small_campaign(tmp_path_factory.mktemp("results"))


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
