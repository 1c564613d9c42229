"""Files that fit a few screens, functions that fit one, and nothing said twice."""

import ast
from pathlib import Path

import meco

ROOT = Path(meco.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION, BLOCK = 350, 50, 10


def place(file):
    return file.relative_to(ROOT).as_posix()


def test_no_file_is_long():
    long = {place(file): count for file in FILES if (count := len(file.read_text().splitlines())) > LONGEST_FILE}
    assert long == {}


def body_lines(function):
    """Lines of code: what a documented signature takes is not counted."""
    first, *rest = function.body
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    code = rest if documented else function.body
    return code[-1].end_lineno - code[0].lineno + 1 if code else 0


def test_no_function_is_long():
    long = [
        f"{place(file)}: {node.name}, {body_lines(node)} lines"
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and body_lines(node) > LONGEST_FUNCTION
    ]
    assert long == []


def code_of(file):
    """(line number, text) of every line that says something, without indentation; imports say where, not what."""
    lines = [(number, line.strip()) for number, line in enumerate(file.read_text().splitlines(), 1)]
    return [(number, text) for number, text in lines if text and not text.startswith(("import ", "from "))]


def test_no_block_of_ten_lines_occurs_twice():
    seen, twice = {}, []
    for file in FILES:
        lines = code_of(file)
        for i in range(len(lines) - BLOCK + 1):
            block = tuple(text for _, text in lines[i : i + BLOCK])
            here = f"{place(file)}:{lines[i][0]}"
            if seen.setdefault(block, here) != here:
                twice.append(f"{here} repeats {seen[block]}")
    assert twice == []
