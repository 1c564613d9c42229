"""What a Python file computes depends on the modules beside it that it imports: its digest has them in it."""

import sys

import pytest

from meco.files.modules import file_digest, load_file
from meco.files.neighbours import find_neighbours

MAIN = "import json, part_a\nfrom pack import inner\nvalue = part_a.VALUE\n"


@pytest.fixture
def main(tmp_path, monkeypatch):
    """A file that imports a module and a package beside it, each of which imports another."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "pack").mkdir()
    files = {
        "main_file.py": MAIN,
        "part_a.py": "from part_b import VALUE\n",
        "part_b.py": "VALUE = 1\n",
        "pack/__init__.py": "",
        "pack/inner.py": "from . import far\nfrom .far import x\n",
        "pack/far.py": "x = 1\n",
        "stranger.py": "x = 1\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    return tmp_path / "main_file.py"


def test_neighbours_are_what_a_file_imports_from_its_folder(main):
    found = {path.relative_to(main.parent).as_posix() for path in find_neighbours(main)}
    assert found == {"part_a.py", "part_b.py", "pack/__init__.py", "pack/inner.py", "pack/far.py"}


@pytest.mark.parametrize("edited", ["part_a.py", "part_b.py", "pack/far.py", "main_file.py"])
def test_an_edited_neighbour_is_another_digest(main, edited):
    before = file_digest(main)
    (main.parent / edited).write_text((main.parent / edited).read_text() + "more = 2\n")
    assert file_digest(main) != before


def test_a_file_that_is_not_imported_changes_nothing(main):
    before = file_digest(main)
    (main.parent / "stranger.py").write_text("x = 2\n")
    assert file_digest(main) == before


def test_a_file_by_itself_keeps_the_digest_of_its_content(tmp_path):
    import hashlib

    for name, content in (("alone.py", b"import json\n"), ("broken.py", b"def (\n"), ("mission.json", b"{}")):
        (tmp_path / name).write_bytes(content)
        assert file_digest(tmp_path / name) == hashlib.sha256(content).hexdigest()[:12]


def test_an_edited_neighbour_is_imported_anew(main):
    assert load_file(main).value == 1
    (main.parent / "part_b.py").write_text("VALUE = 10 + 1\n")
    assert load_file(main).value == 11
