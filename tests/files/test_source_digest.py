"""The digest of a part of the library: every spelling of an import leads on, and layout changes nothing."""

import pytest

from meco.files import source_digest as digests
from meco.files.source_digest import source_digest

IMPORTS = [
    "from meco.engines.rbf.step import far",
    "from meco.engines.rbf import step",
    "import meco.engines.rbf.step",
    "def later():\n    from meco.engines.rbf import step",
    "from meco.engines import rbf",
]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A library of three modules, and what changes them."""
    monkeypatch.setattr(digests, "PACKAGE", tmp_path)

    def write(name, text):
        file = tmp_path / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return source_digest(["meco.start"], ["meco.engines.rbf"])

    write("engines/rbf/__init__", "from meco.engines.rbf.step import far")
    write("engines/rbf/step", "far = 1")
    write("engines/other", "near = 1")
    return write


@pytest.mark.parametrize("spelling", IMPORTS)
def test_a_module_that_is_imported_in_any_way_counts(package, spelling):
    before = package("start", f"{spelling}\nfrom meco.engines import other")
    assert package("engines/rbf/step", "far = 2") != before
    assert package("engines/rbf/step", '"""Steps."""\n\nfar = 1  # as before\n') == before
    assert package("engines/other", "near = 2") == before  # in no part that was named
