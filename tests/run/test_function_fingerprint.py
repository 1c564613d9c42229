"""What a fingerprint of a function notices, and what it does not mind."""

import functools
import os
import subprocess
import sys

import numpy as np
import pytest
from meco.run.function_fingerprint import VERSION, fingerprint_function, is_changed

FIRST = """
import numpy as np
LIMIT, LIMITS, TABLE, seen, counts, cache, total = 150, [1.0, 2.0], {"a": 1}, [], {"n": 0}, {}, 0
def fun(x):
    global total
    total += 1
    seen.append(x)
    counts["n"] += 1
    cache[tuple(x)] = 1
    g = np.zeros(2)
    g[0] = LIMIT - x[0]
    g[1] = helper(x, LIMITS[0]) + TABLE["a"]
    return float(x @ x), g
def helper(x, least, scale=2.0):
    return least - scale * x[1]
class Model:
    steps = 3
    def __init__(self, limit): self.limit, self.calls, self.last = limit, [], None
    def __call__(self, x):
        self.calls.append(1)
        self.last = x
        return self.solve(x) - self.limit
    def solve(self, x): return 2.0 * x[0]
"""


def define(source):
    names = {"__name__": "somebodys_model"}
    exec(compile(source, "model.py", "exec"), names)
    return names


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("= 150,", "= 165,"),
        ("[1.0, 2.0]", "[1.0, 2.5]"),
        ('{"a": 1}', '{"a": 2}'),
        ("LIMIT - x[0]", "LIMIT + x[0]"),
        ("LIMIT - x[0]", "LIMIT - x[1]"),
        ("least - scale", "least + scale"),
        ("scale=2.0", "scale=3.0"),
    ],
)
def test_an_edited_line_limit_helper_or_default_is_another_function(old, new):
    before, after = define(FIRST)["fun"], define(FIRST.replace(old, new))["fun"]
    assert is_changed(fingerprint_function(before), fingerprint_function(after))


def test_lines_comments_and_docstrings_do_not_count():
    other = FIRST.replace("    global total\n", '    "says what it does"\n    # a comment\n    global total\n')
    assert fingerprint_function(define(FIRST)["fun"]) == fingerprint_function(define(other)["fun"])


def test_what_a_function_counts_and_keeps_does_not_count():
    names = define(FIRST)
    model = names["Model"](1.0)
    before = fingerprint_function(names["fun"], model)
    names["fun"](np.array([1.0, 2.0]))
    model(np.array([1.0, 2.0]))
    assert names["cache"]
    assert model.calls
    assert fingerprint_function(names["fun"], model) == before


@pytest.mark.parametrize(("old", "new"), [("2.0 * x[0]", "2.5 * x[0]"), ("steps = 3", "steps = 4")])
def test_an_object_counts_by_its_methods_and_attributes(old, new):
    one, other = define(FIRST)["Model"], define(FIRST.replace(old, new))["Model"]
    assert is_changed(fingerprint_function(one(1.0)), fingerprint_function(other(1.0)))
    assert is_changed(fingerprint_function(one(1.0).solve), fingerprint_function(other(1.0).solve))
    assert is_changed(fingerprint_function(one(1.0)), fingerprint_function(one(1.1)))
    assert fingerprint_function(one(1.0)) == fingerprint_function(one(1.0))


def test_closures_partials_and_caches_are_read():
    def make(limit):
        return lambda x: limit - x[0]

    def of(x, limit):
        return limit - x[0]

    cached = functools.lru_cache(lambda x: 3 * x)
    assert is_changed(fingerprint_function(make(1)), fingerprint_function(make(2)))
    assert fingerprint_function(make(1)) == fingerprint_function(make(1))
    assert is_changed(*(fingerprint_function(functools.partial(of, limit=k)) for k in (1, 2)))
    assert is_changed(fingerprint_function(cached), fingerprint_function(functools.lru_cache(lambda x: 4 * x)))


def test_where_nothing_can_be_read_nothing_is_said():
    class Odd:
        def __getattribute__(self, name):
            raise RuntimeError(name)

    assert fingerprint_function(np.sum) is None
    assert fingerprint_function(Odd()) is None
    assert not is_changed(None, f"{VERSION}:a")
    assert not is_changed("2.7:b", f"{VERSION}:a")  # the code of another Python


def test_a_fingerprint_is_the_same_in_every_process(tmp_path):
    (tmp_path / "model.py").write_text(FIRST + "def fun2(x): return fun(x) if x[0] in {'a', 'b', 'c'} else 1\n")
    said = "from meco.run.function_fingerprint import fingerprint_function as f; import model; print(f(model.fun2))"
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    found = {
        subprocess.run(
            [sys.executable, "-c", said], env=env | {"PYTHONHASHSEED": k}, capture_output=True, text=True
        ).stdout
        for k in "12"
    }
    assert len(found) == 1
    assert VERSION in found.pop()
