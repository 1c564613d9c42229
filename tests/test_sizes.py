"""Functions that fit a screen, classes that fit a head, files of one idea, and nothing said twice."""

import ast
import importlib
from pathlib import Path

import pytest

import meco
from engine_classes import ENGINE_CLASSES, marked
from meco.core.engine import Engine, Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.streams import Streams
from meco.methods import build_engine
from source_trees import tree_of

ROOT = Path(meco.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION, BLOCK, MEMBERS = 500, 60, 10, 25


def place(file):
    return file.relative_to(ROOT).as_posix()


def test_no_file_smells_of_a_second_idea():
    long = [f"{place(file)}, {n} lines" for file in FILES if (n := len(file.read_text().splitlines())) > LONGEST_FILE]
    assert long == [], f"more than {LONGEST_FILE} lines: is there a second idea in it? One idea may be longer: raise it"


def body_lines(function):
    """Lines of code: what a documented signature takes is not counted."""
    first, *rest = function.body
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    code = rest if documented else function.body
    return code[-1].end_lineno - code[0].lineno + 1 if code else 0


def is_kernel(function):
    """Whether it is a kernel of a device, which is one function whatever it does: it keeps a run in registers."""
    return function.name.endswith("_kernel") and any("jit" in ast.unparse(each) for each in function.decorator_list)


def test_no_function_is_long():
    long = [
        f"{place(file)}: {node.name}, {body_lines(node)} lines"
        for file in FILES
        for node in ast.walk(tree_of(file))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and body_lines(node) > LONGEST_FUNCTION
        if not is_kernel(node)
    ]
    assert long == []


# Classes that have more today: none may join them, and one that got smaller is taken off.
WIDE = {"Result"}  # fields that most users read are up front


def public_members(cls):
    """Methods, attributes of the class, and attributes that its methods give to self."""
    names = set()
    for node in ast.walk(cls):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            names.add(node.attr)
    for node in cls.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def test_no_class_has_many_public_members():
    wide = {
        node.name
        for file in FILES
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.ClassDef) and len(public_members(node)) > MEMBERS
    }
    assert wide == WIDE, f"a class of more than {MEMBERS} public members asks for a part of its own"


def engine_classes():
    """Every class of an engine in the package."""
    files = [file for room in ("core", "engines", "policies", "tr") for file in (ROOT / room).rglob("*.py")]
    names = [".".join(("meco", *file.relative_to(ROOT).with_suffix("").parts)) for file in files]
    modules = [importlib.import_module(name.removesuffix(".__init__")) for name in names]
    found = {each for module in modules for each in vars(module).values() if isinstance(each, type)}
    return sorted((each for each in found if issubclass(each, Engine)), key=lambda each: each.__name__)


def own_members(cls):
    """What a class of this package has of its own."""
    tree = tree_of(Path(importlib.import_module(cls.__module__).__file__))
    return next(
        public_members(node) for node in tree.body if isinstance(node, ast.ClassDef) and node.name == cls.__name__
    )


@pytest.mark.parametrize("cls", engine_classes(), ids=lambda cls: cls.__name__)
def test_no_engine_has_many_public_members_with_those_it_inherits(cls):
    lines = [each for each in cls.__mro__ if each.__module__.startswith("meco.")]
    members = set().union(*map(own_members, lines))
    assert len(members) <= MEMBERS, f"{len(members)}: {', '.join(sorted(members))}"


@pytest.mark.parametrize("method", marked(ENGINE_CLASSES))
def test_no_engine_has_many_public_members_after_it_has_run(method):
    evaluator = Evaluator.on(meco.get_problem("corner", dim=3), 60)
    loop = Loop(build_engine(method, Task.of(evaluator, Streams([1]))), evaluator)
    loop.run()
    members = [name for name in dir(loop.engine) if not name.startswith("_")]
    assert len(members) <= MEMBERS, f"{len(members)}: {', '.join(sorted(members))}"


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
