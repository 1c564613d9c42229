"""Imports point one way: no edge against the stated direction, no cycle, nothing heavy at the door."""

import ast
import sys
from functools import cache
from pathlib import Path

import meco
from source_trees import tree_of

ROOT = Path(meco.__file__).parent
# What a part of the package may import, besides itself and what everything may: rooms from the bottom to the top.
ANYWHERE = {"", "errors", "gone", "read_numbers", "files"}
RECORDS = {"variables", "options", "result", "evaluations"}  # what a run is told, and what it gives back
MAY_IMPORT = {
    "gone": set(),
    "errors": set(),
    "files": set(),
    "read_numbers": set(),
    "variables": set(),
    "options": set(),
    "result": set(),
    "core": {"result"},
}
MAY_IMPORT["evaluations"] = {"core"}
MAY_IMPORT["plot"] = {"core", "result"}
MAY_IMPORT["rules"] = {"core"}
MAY_IMPORT["problems"] = {"core", "plot"}
MAY_IMPORT["engines"] = {"core"}
MAY_IMPORT["tr"] = {"core"}
MAY_IMPORT["tr_single"] = {"core"}
MAY_IMPORT["method_record"] = {"core"}
MAY_IMPORT["methods"] = {"core", "rules", "engines", "tr", "method_record"}
MAY_IMPORT["batch_solve"] = {"core", "problems", "method_record", "methods", "result"}
MAY_IMPORT["space"] = {"core", "variables"}
MAY_IMPORT["run"] = {"core", "methods", "space", *RECORDS}
MAY_IMPORT["answer"] = {"run", *MAY_IMPORT["run"]}
MAY_IMPORT["_minimize"] = MAY_IMPORT["optimizer"] = {"method_record", "answer", *MAY_IMPORT["answer"]}
MAY_IMPORT["testing"] = MAY_IMPORT["_minimize"] | {"_minimize", "batch_solve"}
MAY_IMPORT["paper"] = {"core", "rules", "engines", "problems", "plot", "result"}
MAY_IMPORT["bench"] = {
    "core",
    "rules",
    "engines",
    "method_record",
    "plot",
    "problems",
    "paper",
    "tr",
    "methods",
    "batch_solve",
    "run",
    *RECORDS,
}
MAY_IMPORT["report"] = MAY_IMPORT["bench"] | {"bench", "answer"}
MAY_IMPORT["adapters"] = MAY_IMPORT["paper"] | {
    "paper",
    "methods",
    "tr",
    "batch_solve",
    "run",
    "answer",
    "_minimize",
    "optimizer",
    *RECORDS,
}
MAY_IMPORT["gym"] = {"adapters"}
MAY_IMPORT["commands"] = MAY_IMPORT["adapters"] | {"adapters", "bench", "report"}
MAY_IMPORT["cli"] = {"commands"}
MAY_IMPORT["__main__"] = {"cli"}
# A result shows itself: when asked to, it calls what draws, writes and tabulates it.
SHOWING = {("result", target) for target in ("plot.run", "plot.style", "plot.run_page", "run.csv_table")}

CHECKING = ("TYPE_CHECKING", "_typing.TYPE_CHECKING")
LIGHT = {"numpy"}  # what may be imported at the top of a module that the door opens
DOOR = ("", "_minimize", "optimizer", "batch_solve", "methods", "options", "result", "cli")


def name_of(file):
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(file): file for file in sorted(ROOT.rglob("*.py"))}


@cache
def imports(module):
    """(what is imported, whether at the top) of a module; imports for the type checker alone do not run."""
    found = set()

    def walk(node, top):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and ast.unparse(child.test) in CHECKING:
                continue
            if isinstance(child, ast.Import):
                found.update((alias.name, top) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                found.update((target, top) for target in targets(child))
            walk(child, top and not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))

    walk(tree_of(MODULES[module]), True)
    return frozenset(found)


def targets(statement):
    """`from meco.a import b` means meco.a.b where that is a module, and meco.a otherwise."""
    assert statement.level == 0, "imports are absolute"
    for alias in statement.names:
        whole = f"{statement.module}.{alias.name}"
        yield whole if whole.removeprefix("meco.") in MODULES else statement.module


def own_edges(top_only=False):
    """(module, module that it imports), inside the package; lazily loaded places included."""
    for module in MODULES:
        for target, top in imports(module):
            if (target == "meco" or target.startswith("meco.")) and (top or not top_only):
                edge = module, target.removeprefix("meco").removeprefix(".")
                if edge not in SHOWING:
                    yield edge


def part(module):
    return module if module in MAY_IMPORT else module.partition(".")[0]


def test_every_part_has_a_place_in_the_direction():
    assert {part(module) for module in MODULES} - {""} <= set(MAY_IMPORT)


def test_no_import_goes_against_the_direction():
    wrong = [
        f"{module} imports {target}"
        for module, target in own_edges()
        if module and part(target) != part(module) and part(target) not in ANYWHERE | MAY_IMPORT[part(module)]
    ]
    assert wrong == []


def test_the_direction_has_no_circle():
    assert circle(MAY_IMPORT) is None


def test_every_edge_that_is_allowed_is_there():
    used = {(part(module), part(target)) for module, target in own_edges()}
    unused = {(name, other) for name in MAY_IMPORT for other in MAY_IMPORT[name] if (name, other) not in used}
    assert {edge for edge in unused if edge[0] in ("core", "rules", "problems", "engines", "tr", "run")} == set()


def test_a_result_shows_itself_only_when_asked():
    assert not [
        edge for edge in imports("result") if edge[1] and edge[0].removeprefix("meco.") in dict(SHOWING).values()
    ]
    assert {target.removeprefix("meco.") for target, _ in imports("result")} >= {target for _, target in SHOWING}


def test_no_modules_import_each_other_in_a_circle():
    graph = {}
    for module, target in own_edges():
        if module and target and target != module:
            graph.setdefault(module, set()).add(target)
    assert circle(graph) is None


def circle(graph):
    """Some circle of a directed graph, or None."""
    state, path = {}, []

    def visit(node):
        state[node] = "open"
        path.append(node)
        for other in sorted(graph.get(node, ())):
            if state.get(other) == "open":
                return [*path[path.index(other) :], other]
            if other not in state and (found := visit(other)):
                return found
        state[node] = "done"
        path.pop()
        return None

    return next((found for node in sorted(graph) if node not in state and (found := visit(node))), None)


def test_nothing_heavy_is_imported_at_the_door():
    reached, waiting = set(), list(DOOR)
    tops = {}
    for module, target in own_edges(top_only=True):
        tops.setdefault(module, set()).add(target)
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached |= {module, *parents(module)}
            waiting += [*tops.get(module, ()), *parents(module)]
    heavy = [
        f"{module} imports {target}"
        for module in sorted(reached)
        for target, top in imports(module)
        if top and target.partition(".")[0] not in {*sys.stdlib_module_names, "meco", *LIGHT}
    ]
    assert heavy == []


def parents(module):
    """Packages that are imported on the way to a module."""
    pieces = module.split(".")
    return [".".join(pieces[:i]) for i in range(1, len(pieces))]


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}}) is None
