"""The tutorials as notebooks: each runs from its first cell to its last, and says what the page says that it does."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

make_notebook = pytest.importorskip("tools.notebook", reason="only a checkout has the tools").make_notebook

pytestmark = pytest.mark.docs
ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
NEEDS = {"train-a-policy": ("torch", "gymnasium")}
RUNNER = """
import contextlib, io, json, sys
said = []
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile("".join(cell["source"]), "cell", "exec"), globals())
        said.append(out.getvalue())
json.dump(said, open(sys.argv[2], "w"))
"""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def alike(said, shown):
    """The same words, and numbers to two per cent: another version of a library may move the last digits."""
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (said, shown)]
    assert NUMBER.sub("#", said).split() == NUMBER.sub("#", shown).split()
    assert numbers[0] == pytest.approx(numbers[1], rel=0.02)


def test_there_are_three():
    assert {page.stem for page in PAGES} == {"first-problem", "simulator-fails", "train-a-policy"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_runs_as_a_notebook(page, tmp_path):
    for module in NEEDS.get(page.stem, ()):
        pytest.importorskip(module)
    made = make_notebook(page.read_text(encoding="utf-8"))
    (tmp_path / "page.ipynb").write_text(json.dumps(made))
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    (tmp_path / "run.py").write_text(RUNNER)
    command = [sys.executable, "run.py", "page.ipynb", "said.json"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    cells = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    for cell, said in zip(cells, json.loads((tmp_path / "said.json").read_text()), strict=True):
        if cell["outputs"]:
            alike(said, "".join(cell["outputs"][0]["text"]))


def test_a_page_becomes_cells():
    page = "# Title\n\nWords.\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\nMore.\n\n```console\nmeco demo\n```\n"
    made = make_notebook(page)
    assert [cell["cell_type"] for cell in made["cells"]] == ["markdown", "code", "markdown"]
    assert made["cells"][1]["source"] == ["print(1)"]
    assert made["cells"][1]["outputs"][0]["text"] == ["1"]
    assert "meco demo" in "".join(made["cells"][2]["source"])
    assert len({cell["id"] for cell in made["cells"]}) == 3
