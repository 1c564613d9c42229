"""meco report: the page, tables and figures of a results folder."""

from __future__ import annotations

import argparse
import shlex


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco report`."""
    parser.add_argument("folder", metavar="DIR", help="a folder that meco reproduce or meco bench wrote")
    parser.add_argument(
        "--merge", nargs="+", default=[], metavar="OTHER", help="first take over the results of these folders"
    )
    parser.add_argument(
        "--page-only", action="store_true", help="report.html alone, without tables and figures as files"
    )
    parser.add_argument("--pack", action="store_true", help="also write runs.sqlite.xz: all of it in little room")


def run(args: argparse.Namespace) -> int:
    """Merge and pack where asked, then write the report of a folder and print what it comes to; 0."""
    from pathlib import Path

    from meco.bench.run.campaign_folder import PACKED_FILE
    from meco.bench.run.result_store import ResultStore, read_results, write_packed
    from meco.errors import InvalidInput
    from meco.files.names import escape_for_terminal
    from meco.report.page import write_campaign_report

    if (Path(args.folder) / "run.json").is_file():
        raise InvalidInput(
            f"{args.folder} is the folder of one run: `meco resume {shlex.quote(args.folder)} --report page.html` "
            "writes its page"
        )
    if args.merge:
        with ResultStore.open_campaign(args.folder) as store:
            for other in args.merge:
                print(f"{store.merge(read_results(other))} new runs from {other}")
    if args.pack:
        print(f"wrote {write_packed(read_results(args.folder), Path(args.folder) / PACKED_FILE)}")
    for line in write_campaign_report(args.folder, page_only=args.page_only).lines:
        print(escape_for_terminal(line))  # names of experiments and methods may be a stranger's
    return 0
