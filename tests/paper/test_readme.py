"""README.md of meco.paper leads to code and tests that exist, and names every equation of the text."""

import ast
import re
from pathlib import Path

import pytest

import meco

PACKAGE, TESTS = Path(meco.__file__).parent, Path(__file__).parents[1]
TEXT = (PACKAGE / "paper" / "README.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if line.startswith("| ")][
    1:
]


def names_of(file):
    """Classes, functions and variables at the top of a file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        yield from (t.id for t in targets if isinstance(t, ast.Name))
        if hasattr(node, "name"):
            yield node.name


def resolve(place, *folders):
    """The file of `path:name`, checked to have that name."""
    path, _, name = place.strip("`").partition(":")
    file = next(f / path for f in folders if (f / path).is_file())
    assert not name or name in set(names_of(file)), place
    return file


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_every_row_leads_to_its_code_and_its_test(row):
    _, code, test, difference = row
    resolve(code, PACKAGE / "paper", PACKAGE)
    resolve(test, TESTS)
    assert difference


def test_every_equation_has_a_row():
    said = " ".join(row[0] for row in ROWS)
    numbers = {int(n) for pair in re.findall(r"eqs?\. (\d+)(?: and (\d+))?", said) for n in pair if n}
    assert numbers == set(range(1, 11))
