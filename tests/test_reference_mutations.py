"""The reference kit names the kinds that a changed formula changes, and no others."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import meco

ROOT = Path(__file__).parent.parent
RADIUS = ("tr/region.py", "controls.radius_shrinkage * delta,", "0.9 * controls.radius_shrinkage * delta,")
CROSSOVER = ("engines/de/shade.py", "(u < CR[..., None])", "(u < 0.9 * CR[..., None])")
BARE_NUMBER = "        if not answer.g.size + answer.h.size:\n            return False\n"
LAYOUT = ("run/layout.py", BARE_NUMBER, BARE_NUMBER.replace("False", "True"))


def differing_kinds(folder, file, formula, changed):
    """Kinds that differ where a formula of the library is another."""
    package = shutil.copytree(meco.__path__[0], folder / "meco", ignore=shutil.ignore_patterns("__pycache__"))
    source = (package / file).read_text()
    assert source.count(formula) == 1, f"{file} no longer holds the formula: name its new place"
    (package / file).write_text(source.replace(formula, changed))
    command = [sys.executable, "-m", "tests.reference", "compare", "methods", "points"]
    (policies,) = (ROOT / "results" / "archive").glob("*-policies.tar.xz")  # a copy is not beside them
    environment = os.environ | {"PYTHONPATH": str(folder), "MECO_POLICIES": str(policies)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert str(folder) in done.stderr, "the changed copy was not used"
    assert done.returncode == 1, done.stdout + done.stderr
    return {line.partition(":")[0] for line in done.stdout.splitlines()[:-1]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutation", "changed", "unchanged"),
    [
        pytest.param(RADIUS, {"methods/TR", "points/plain", "points/noise"}, {"methods/SHADE"}, id="radius"),
        pytest.param(CROSSOVER, {"methods/SHADE", "methods/MeCO"}, {"methods/TR", "points/plain"}, id="crossover"),
        pytest.param(
            LAYOUT, {"points/penalties-without-constraints"}, {"methods/SHADE", "points/plain"}, id="constraints"
        ),
    ],
)
def test_a_changed_formula_is_found_in_the_kinds_that_use_it(tmp_path, mutation, changed, unchanged):
    found = differing_kinds(tmp_path, *mutation)
    assert found >= changed
    assert not found & unchanged
