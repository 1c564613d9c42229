"""meco list: what there is to solve, and what to solve it with."""

from __future__ import annotations

import argparse
import inspect
import json
from typing import Any

from meco.core.rule import Rule
from meco.errors import InvalidInput, UnknownName
from meco.methods import DEFAULT, METHODS, NAMED_OPTIONS
from meco.problems.generated.families import GENERATED, SETS, problem_name
from meco.problems.suite import SUITES, problem_names

KINDS = ("methods", "rules", "problems", "suites", "generated")
ELSEWHERE = {"policies": "meco policy list"}  # other listings, which another command has


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco list`."""
    parser.add_argument(
        "kind", nargs="?", help="methods, rules, problems, suites or generated (all but the last unless given)"
    )
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Print what there is of one kind, or of all but the generated problems; 0. UnknownName for another kind."""
    if args.kind in ELSEWHERE:
        raise InvalidInput(f"policies are listed by {ELSEWHERE[args.kind]}")
    if args.kind and args.kind not in KINDS:
        raise UnknownName("listing", args.kind, KINDS)
    found: dict[str, Any] = {
        "methods": {name: entry.about for name, entry in METHODS.items()},
        "rules": {name: describe_rule(rule) for name, rule in NAMED_OPTIONS["rule"].items()},
        "problems": problem_names(),
        "suites": {name: list(names) for name, names in SUITES.items()},
    }
    if args.kind == "generated":
        found = {"generated": _list_generated()}
    elif args.kind:
        found = {args.kind: found[args.kind]}
    if args.json:
        print(json.dumps(found, ensure_ascii=False))
        return 0
    if "methods" in found:
        print("methods")
        for name, about in found["methods"].items():
            print(f"  {name:14s} {about}{' (the default)' if name == DEFAULT else ''}")
    if "rules" in found:
        print("rules")
        for name, about in found["rules"].items():
            print(f"  {name:18s} {about}")
    if "suites" in found:
        print("suites")
        for name, names in found["suites"].items():
            print(f"  {name:18s} {names[0]} to {names[-1]}, {len(names)} problems")
    for each, families in found.get("generated", {}).items():
        print(each)
        for name, about in families.items():
            print(f"  {name:26s} {about}")
    if "problems" in found:
        names = found["problems"]
        print("problems")
        for i in range(0, len(names), 12):
            print("  " + " ".join(names[i : i + 12]))
    return 0


def describe_rule(rule: Rule) -> str:
    """The first sentence of what a rule says of itself, on one line."""
    return (inspect.getdoc(rule) or "").partition("\n\n")[0].replace("\n", " ")


def _list_generated() -> dict[str, dict[str, str]]:
    """By set, the first problem of each family and what it is."""
    return {each: {problem_name(f.name, 1): f.about for f in GENERATED.values() if f.set == each} for each in SETS}
