"""meco data: fetch official benchmark tables, or say where they are looked for."""

from __future__ import annotations

import argparse
import json

from meco.problems.official_tables.load import TABLE_FILES, find_table_file


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `meco data`: fetch and where."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    fetch = actions.add_parser("fetch", help="download tables from their publishers and keep them")
    fetch.add_argument("name", choices=tuple(TABLE_FILES))
    fetch.add_argument("--url", help="another place to download from")
    fetch.add_argument("--sha256", help="its checksum")
    where = actions.add_parser("where", help="show where tables are looked for, and which are there")
    where.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Fetch tables into the user's data folder, or print where they are looked for; 0."""
    if args.action == "fetch":
        from meco.problems.official_tables.fetch import fetch_tables  # brings what only downloads need

        print(fetch_tables(args.name, args.url, args.sha256))
        return 0
    found = {name: find_table_file(file) for name, file in TABLE_FILES.items()}
    if args.json:
        print(json.dumps({name: None if path is None else str(path) for name, path in found.items()}))
        return 0
    for name, path in found.items():
        print(f"{name:8s} {path if path is not None else f'not here; get it with `meco data fetch {name}`'}")
    return 0
