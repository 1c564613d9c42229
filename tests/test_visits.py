"""How much of the library one call of minimize() goes through, and that it builds one engine only.

`python tests/test_visits.py` prints the modules that each method visits.
"""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import meco
from meco import METHODS, minimize
from meco.errors import MissingExtra

ROOT = Path(meco.__file__).parent
SEARCH = ("engines", "rules", "mdp")  # what a method is made of, and free to be
MOST = 16  # the rest, from the call to the result, whatever the method


def call(method):
    return minimize(
        lambda x: (float(x @ x), [1.0 - x[0]], [x[1] - x[2]]), [(-2, 2)] * 3, method=method, budget=60, seed=1
    )


def visited(method):
    """Modules of the package whose code runs between the call of minimize() and its result."""
    call(method)  # imports are over
    files = set()

    def note(frame, event, arg):
        if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
            files.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call(method)
    finally:
        sys.setprofile(before)
    return sorted(Path(file).relative_to(ROOT).with_suffix("").as_posix() for file in files)


def beside_the_search(method):
    return [name for name in visited(method) if not name.startswith(tuple(f"{part}/" for part in SEARCH))]


@pytest.mark.parametrize("method", METHODS)
def test_minimize_visits_few_modules_beside_the_search_itself(method):
    try:
        seen = beside_the_search(method)
    except MissingExtra as missing:
        pytest.skip(f"METHOD NOT CHECKED: {method}: {missing}")
    assert len(seen) <= MOST, seen


@pytest.mark.parametrize("method", METHODS)
def test_minimize_builds_one_engine(method, monkeypatch):
    record, built = METHODS[method], []

    def build(task, **options):
        built.append(task)
        return record.build(task, **options)

    monkeypatch.setitem(METHODS._items, method, replace(record, build=build))
    try:
        call(method)
    except MissingExtra as missing:
        pytest.skip(f"METHOD NOT CHECKED: {method}: {missing}")
    assert len(built) == 1


if __name__ == "__main__":
    for each in METHODS:
        found = beside_the_search(each)
        print(f"{each:14} {len(found):2}  {' '.join(found)}")
