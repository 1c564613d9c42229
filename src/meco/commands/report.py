"""meco report: the page of one run, or page, tables and figures of a results folder."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

FOLLOW_SECONDS = 2  # between two looks at the log of a run that is followed


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco report`."""
    parser.add_argument("folder", metavar="DIR", help="a run's folder, or one that meco reproduce or meco bench wrote")
    parser.add_argument("--follow", action="store_true", help="of a run: rewrite the page until the run ends")
    parser.add_argument("--output", metavar="PAGE", help="of a run: the page to write; DIR/report.html unless given")
    parser.add_argument(
        "--merge", nargs="+", default=[], metavar="OTHER", help="first take over the results of these folders"
    )
    parser.add_argument(
        "--page-only", action="store_true", help="report.html alone, without tables and figures as files"
    )
    parser.add_argument("--pack", action="store_true", help="also write runs.sqlite.xz: all of it in little room")


def run(args: argparse.Namespace) -> int:
    """Write the page of a run, or the report of a results folder; 0."""
    from meco.errors import InvalidInput
    from meco.run.folder import OLD_FILE
    from meco.run.log import FILE_NAME

    folder = Path(args.folder)
    if any((folder / name).is_file() for name in (FILE_NAME, OLD_FILE)):
        return _report_run(folder, Path(args.output or folder / "report.html"), follow=args.follow)
    if args.follow or args.output:
        raise InvalidInput(f"{folder} is not the folder of a run, which --follow and --output are for")
    return _report_campaign(args)


def _report_run(folder: Path, page: Path, *, follow: bool) -> int:
    """Write the page of a run once, or whenever its log has grown, until the run ends or Ctrl-C."""
    from meco.answer.recorded import make_recorded_result
    from meco.core.signals import treat_sigterm_as_interrupt
    from meco.files.atomic import write_text
    from meco.plot.run_page import compose_run_page
    from meco.run.recorded import read_recorded

    seen, ended = -1, False
    with treat_sigterm_as_interrupt():
        try:
            while not ended:
                recorded = read_recorded(folder)
                ended = not follow or (bool(recorded.events) and recorded.events[-1][0] == "end")
                if len(recorded.events) != seen or ended:
                    first, seen = seen < 0, len(recorded.events)
                    text = compose_run_page(make_recorded_result(recorded), refresh=0 if ended else FOLLOW_SECONDS)
                    write_text(page, text)
                    if first:
                        print(f"page: {page}", flush=True)
                if not ended:
                    time.sleep(FOLLOW_SECONDS)
        except KeyboardInterrupt:
            pass
    return 0


def _report_campaign(args: argparse.Namespace) -> int:
    """Merge and pack where asked, then write the report of a results folder and print what it comes to."""
    from meco.bench.run.campaign_folder import PACKED_FILE
    from meco.bench.run.result_store import ResultStore, read_results, write_packed
    from meco.files.names import escape_for_terminal
    from meco.report.page import write_campaign_report

    if args.merge:
        with ResultStore.open_campaign(args.folder) as store:
            for other in args.merge:
                print(f"{store.merge(read_results(other))} new runs from {other}")
    if args.pack:
        print(f"wrote {write_packed(read_results(args.folder), Path(args.folder) / PACKED_FILE)}")
    for line in write_campaign_report(args.folder, page_only=args.page_only).lines:
        print(escape_for_terminal(line))  # names of experiments and methods may be a stranger's
    return 0
