"""Pages that repeat what the code says are made from it, and what a page tells one to type works."""

import inspect
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT))

pytestmark = pytest.mark.docs


def blocks(page):
    """(language, title, text) of every block of code."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(r'```(\w+)(?: title="([^"]+)")?\n(.*?)```', text, flags=re.DOTALL)


def typed(command, folder):
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(folder)]),
    }
    done = subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_engine_is_added_as_the_page_says(tmp_path):
    script = []
    for language, title, text in blocks("add-an-engine.md"):
        if language == "python" and title:
            (tmp_path / title).write_text(text)
        elif language == "python":
            script.append(text)
    (tmp_path / "page.py").write_text("\n".join(script))
    assert "Compass on C01" in typed(["page.py"], tmp_path)
    lines = [line for language, _, text in blocks("add-an-engine.md") if language == "sh" for line in text.splitlines()]
    assert len(lines) == 3
    for line in lines:
        assert typed(["-m", *line.split()], tmp_path)


def commands():
    """(page, words) of every `meco ...` that a page tells one to type."""
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))):
        text = re.sub(r"```python.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL).replace("\\\n", " ")
        for line in text.splitlines():
            words = shlex.split(line, comments=True) if re.match(r" *meco [a-z]", line) else []
            end = next((i for i, word in enumerate(words) if word in ("&", "|", ">")), len(words))
            if words:
                yield page.name, words[1:end]


def test_every_command_of_the_pages_is_understood(monkeypatch, capsys):
    """Its options are there; that they work is tested where they are made."""
    from meco import cli

    found = list(commands())
    assert len(found) > 25
    for name in {words[0] for _, words in found}:
        monkeypatch.setattr(cli._import_command(name), "run", lambda args: 0)
    for page, words in found:
        try:
            assert cli.main(words) == 0
        except SystemExit as refused:
            raise AssertionError(f"{page}: meco {' '.join(words)}: {capsys.readouterr().err}") from refused


def test_every_part_of_the_package_is_in_the_architecture():
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    parts = {p.name for p in (ROOT / "src" / "meco").iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert not [name for name in parts - {"__init__.py", "__main__.py"} if f"`{name}" not in text]


def documented():
    """(name, docstring) of everything that the reference page shows."""
    for name in re.findall(r"^::: (\S+)", (DOCS / "reference.md").read_text(encoding="utf-8"), flags=re.MULTILINE):
        thing = pkgutil.resolve_name(name)
        own = [v for v in vars(thing).values() if callable(v) and getattr(v, "__module__", None) == name]
        for part in [thing, *own]:
            yield getattr(part, "__qualname__", name), inspect.getdoc(part) or ""


def test_the_reference_renders_lists_and_examples():
    """Columns made of blanks would collapse, and a bare >>> is a quotation of a quotation."""
    for name, text in documented():
        for line in text.splitlines():
            assert not line.startswith(">>>"), name
            assert line.startswith("    ") or not re.search(r"\S {3,}\S", line), (name, line)


def test_how_to_cite_names_what_the_citation_file_names():
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    entry = lambda key: [line.partition(f"{key}: ")[2].strip('"') for line in lines if line.strip().startswith(key)]  # noqa: E731
    titles = [line.partition("title: ")[2].strip('"') for line in lines if line.strip().startswith("title:")]
    authors = [f"{given} {family}" for family, given in zip(entry("- family-names"), entry("given-names"))]
    assert (len(titles), len(authors)) == (2, 4)
    for page in ("README.md", "docs/index.md"):
        said = (ROOT / page).read_text(encoding="utf-8").partition("## How to cite")[2]
        assert all(each in said for each in (*titles, *authors, "The MeCO developers")), page
