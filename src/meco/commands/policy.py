"""meco policy: which policies there are, what is known of them, and whether they are whole."""

from __future__ import annotations

import argparse
import json
from typing import Any

from meco.errors import DamagedFile
from meco.files.names import escape_for_terminal
from meco.paper.store import load_policy, policy_names, policy_path, training_entry, verify_policy

SHOWN = ("suite", "dim", "controls", "seed", "commit")  # columns of the list, after the name
HEADS = ("suite", "D", "controls", "seed", "commit")
NUMBERS = (2, 4)  # columns to the right
COMMIT_DIGITS = 12  # shown


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `meco policy`: list, show and verify."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, about in (
        ("list", "the installed policies: the library's, those of the experiments in a checkout, and of MECO_POLICIES"),
        ("show", "everything a policy says of its training"),
        ("verify", "whether a policy is whole and has its record"),
    ):
        action = actions.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
        if name != "list":
            every = ", or all" if name == "verify" else ""
            action.add_argument("policy", help=f"a name of `meco policy list` or a file{every}")
        action.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """List, show or verify policies; the exit code."""
    return {"list": _list_policies, "show": _show_policy, "verify": _verify_policies}[args.action](args)


def _list_policies(args: argparse.Namespace) -> int:
    """Print a line, or JSON, for each policy at hand, damaged ones too; 0."""
    told = {name: _read_metadata(name) for name in policy_names()}
    if args.json:
        print(json.dumps(told))
    elif not told:
        print("no policy is installed; `meco train` makes one")
    else:
        lines = [["policy", *HEADS]]
        for name, metadata in told.items():
            shown = [_show_entry(key, training_entry(metadata, key)) for key in SHOWN]
            lines.append(
                [name, f"damaged, see `meco policy verify {name}`"] if "damaged" in metadata else [name, *shown]
            )
        full = [line for line in lines if len(line) > 2]
        widths = [max(len(line[0]) for line in lines), *(max(map(len, column)) for column in list(zip(*full))[1:])]
        for line in lines:
            print(escape_for_terminal(_align_line(line, widths)))
    return 0


def _show_entry(key: str, value: Any) -> str:
    """An entry of a policy's record as the list shows it: a dash for none, a list with commas, a commit in short."""
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return "-" if value is None else str(value)[: COMMIT_DIGITS if key == "commit" else None]


def _align_line(texts: list[str], widths: list[int]) -> str:
    """A line of the list: words to the left, numbers to the right."""
    return "  ".join(t.rjust(w) if k in NUMBERS else t.ljust(w) for k, (t, w) in enumerate(zip(texts, widths))).rstrip()


def _read_metadata(name: str) -> dict[str, Any]:
    """What a policy says of itself; of a damaged one, what is wrong. One that is not there is an error."""
    try:
        return dict(load_policy(name).metadata)
    except DamagedFile as error:
        return {"damaged": str(error)}


def _show_policy(args: argparse.Namespace) -> int:
    """Print the metadata of a policy, a line each or JSON; 0. A missing or damaged one is an error."""
    metadata = {**load_policy(args.policy).metadata, "file": str(policy_path(args.policy))}
    if args.json:
        print(json.dumps(metadata))
        return 0
    for name, value in metadata.items():
        print(escape_for_terminal(f"{name:16s} {value if isinstance(value, str) else json.dumps(value)}"))
    return 0


def _verify_policies(args: argparse.Namespace) -> int:
    """Print of each policy what is wrong; the exit code is 1 if anything is."""
    names = policy_names() if args.policy == "all" else [args.policy]
    found = {name: verify_policy(name) for name in names}
    if args.json:
        print(json.dumps(found))
    else:
        for name, wrong in found.items():
            print(f"{name}: {'whole' if not wrong else 'NOT as it should be'}")
            for complaint in wrong:
                print(escape_for_terminal(f"  {complaint}"))
        if not found:
            print("no policy is installed; `meco train` makes one")
    return 1 if any(found.values()) else 0
