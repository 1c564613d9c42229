"""The door: importing MeCO loads NumPy alone, and little lies between a user and the function."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import meco

PACKAGE = Path(meco.__file__).parent

HEAVY = (
    "scipy",
    "torch",
    "matplotlib",
    "pymoo",
    "cma",
    "rich",
    "gymnasium",
    "dask",
    "distributed",
    "pooch",
    "array_api_compat",
)


def modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(' '.join(sorted(sys.modules)))"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    return set(printed.stdout.split("\n")[-2].split())


@pytest.mark.parametrize(
    "code",
    [
        "import meco",
        "import meco; meco.solve('SHADE', 'tilted', budget=60, seeds=[1])",
        "import meco; meco.METHODS; meco.get_problem('C01', 10)",
        "from meco.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass",
    ],
)
def test_nothing_but_numpy_is_loaded(code):
    loaded = modules_after(code)
    assert not [name for name in HEAVY if name in loaded]


def test_every_public_name_resolves_or_says_what_is_missing():
    for name in meco.__all__:
        getattr(meco, name)
    with pytest.raises(AttributeError, match="no attribute 'minimise'"):
        meco.minimise


def test_the_listing_of_the_package_is_its_public_names():
    assert dir(meco) == sorted(meco.__all__)
    assert len(set(meco.__all__)) == len(meco.__all__)
