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


KNOWN = ([[1.0, 0.0, 0.0]], [1.0])  # a point with its value


@pytest.mark.parametrize("budget", [50, 73, 20], ids=["whole generations", "last one cut", "first one cut"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "SHADE"},
        {"method": "C2oDE"},
        {"method": "BP-epsMAg-ES"},
        {"method": "SHADE", "workers": meco.Workers(vectorized=True)},
        {"method": "SHADE", "x0": [[1.0, 0.0, 0.0], [0.5, 0.5, 0.5]], "evaluated": KNOWN},
    ],
    ids=lambda options: " ".join(map(str, options.values())) or "default",
)
def test_ten_frames_of_the_library_lie_between_a_user_and_the_function(options, budget):
    depth = []

    def fun(x):
        frame, own = sys._getframe(), 0
        while frame is not None:  # inspect.stack() reads sources, which takes long
            own += Path(frame.f_code.co_filename).is_relative_to(PACKAGE)
            frame = frame.f_back
        depth.append(own)
        return (x * x).sum(axis=-1)

    meco.minimize(fun, [(-2, 2)] * 3, budget=budget, seed=1, **options)
    assert max(depth) <= 10
