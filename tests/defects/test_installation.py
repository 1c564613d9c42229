"""What an installation needs, and files from elsewhere."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import meco
from meco.errors import DamagedFile

ROOT = Path(__file__).parents[2]


def import_with_numpy(version, folder):
    """The last line of standard error of a program that uses meco beside a NumPy of this version."""
    package = folder / "numpy"
    package.mkdir()
    (package / "__init__.py").write_text(f"__version__ = {version!r}\n")
    path = os.pathsep.join([str(folder), str(Path(meco.__file__).parents[1])])
    command = [sys.executable, "-c", "from meco import minimize"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, text=True, capture_output=True, check=False)
    assert done.returncode == 1
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("version", ["1.26.4", "2.0.2", "2.0.0rc1"])
def test_an_older_numpy_is_refused_with_a_sentence(version, tmp_path):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = next(each for each in project["dependencies"] if each.startswith("numpy>=")).removeprefix("numpy>=")
    said = import_with_numpy(version, tmp_path)
    assert f"needs NumPy {needed} or newer" in said
    assert version in said


@pytest.mark.parametrize("dimensions", [33, 64, 65, 1000])
def test_a_policy_file_with_very_many_dimensions_is_damaged(dimensions, tmp_path):
    entry = {"dtype": "F64", "shape": [1] * dimensions, "data_offsets": [0, 8]}
    header = json.dumps({"__metadata__": {"policy": "{}"}, "w1": entry}).encode()
    policy = tmp_path / "policy.safetensors"
    policy.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(DamagedFile, match=r"policy\.safetensors"):
        meco.load_policy(policy)
