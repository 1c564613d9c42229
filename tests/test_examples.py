"""Every example runs, stays short, and so does every piece of Python in the user's pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "docs" / name for name in ("quickstart.md", "my-simulator.md", "adapters.md")]
NEEDS = {
    "scipy_constraints": "scipy",
    "scipy_method": "scipy",
    "train_sb3_dqn": "stable_baselines3",
    "pymoo_algorithm": "pymoo",
    "optuna_sampler": "sqlalchemy",
    "gymnasium_render": "gymnasium",
    "dask_queue": "distributed",
    "trust_region_steps": "matplotlib",
}


def run(script: Path, folder: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    done = subprocess.run([sys.executable, str(script)], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(example, tmp_path):
    if example.stem in NEEDS:
        pytest.importorskip(NEEDS[example.stem])
    run(example, tmp_path)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_is_under_forty_lines(example):
    assert len(example.read_text().splitlines()) < 40


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_python_of_the_page_runs(page, tmp_path):
    """Blocks of a page run one after the other, as a reader would type them."""
    pytest.importorskip("matplotlib")
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    run(script, tmp_path)
