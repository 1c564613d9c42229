"""The copy-and-run example of every door's page runs, where its package is installed."""

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {
    "openmdao": "openmdao.api",
    "gest-api": "gest_api",
    "optunahub": "optunahub",
    "optimagic": "optimagic",
    "gemseo": "gemseo",
}


@pytest.mark.docs
@pytest.mark.parametrize("page", PAGES)
def test_the_example_of_a_page_runs(page, tmp_path):
    pytest.importorskip(PAGES[page])
    text = (ROOT / "docs" / "doors" / f"{page}.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    if page == "gemseo" and not entry_points(group="gemseo_plugins", name="meco"):
        pytest.skip("meco is on the path here, not installed")
    if page == "optunahub":
        subprocess.run([sys.executable, ROOT / "tools/optunahub.py", "--out", tmp_path / "out/optunahub"], check=True)
    (tmp_path / "page.py").write_text(code)
    environment = {**os.environ, "OPENMDAO_REPORTS": "0", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()
