"""meco report: the page, tables and figures of a results folder."""

from __future__ import annotations

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="a folder that meco reproduce or meco bench wrote")
    parser.add_argument(
        "--merge", nargs="+", default=[], metavar="OTHER", help="first take over the results of these folders"
    )
    parser.add_argument("--page-only", action="store_true", help="report.html alone, without LaTeX, CSV, PDF and SVG")
    parser.add_argument("--pack", action="store_true", help="also write the store compressed, as results.sqlite.xz")


def run(args: argparse.Namespace) -> int:
    from meco.experiments.report.report import write_report
    from meco.experiments.run.store import Store

    if args.merge:
        with Store.campaign(args.folder) as store:
            for other in args.merge:
                with Store(other) as source:
                    print(f"{store.merge(source)} new runs from {other}")
    if args.pack:
        with Store(args.folder) as store:
            print(f"wrote {store.pack()}")
    for line in write_report(args.folder, page_only=args.page_only).lines:
        print(line)
    return 0
