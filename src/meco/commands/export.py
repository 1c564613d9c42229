"""meco export: every evaluation of a run as CSV or JSON lines."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from meco.blackbox.answers import Fault
from meco.blackbox.evaluation_log import Entry, Ledger
from meco.blackbox.log_file import Layout
from meco.blackbox.runfolder import load_run


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="folder of the run")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="comma-separated values with a header (the default)")
    form.add_argument("--jsonl", action="store_true", help="one JSON object per line")
    parser.add_argument("--output", help="file to write; standard output unless given")


def run(args: argparse.Namespace) -> int:
    facts, entries, layout, damaged = load_run(args.run)
    if damaged:
        print(f"meco: {damaged} damaged records of {args.run} are left out", file=sys.stderr)
    write = _write_jsonl if args.jsonl else _write_csv
    if args.output is None:
        write(sys.stdout, entries, layout, facts)
    else:
        with open(args.output, "w", encoding="utf-8", newline="") as file:
            write(file, entries, layout, facts)
    return 0


def _write_csv(file: TextIO, entries: list[Entry], layout: Layout, facts: dict[str, Any]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    head = ["number", "batch", "attempt", "fault", "feasible", *(f"x{i + 1}" for i in range(layout.dim)), "f"]
    writer.writerow([*head, *_names(layout, facts)])
    for row in _rows(entries, layout, facts):
        writer.writerow([_cell(value) for value in row.values()])


def _write_jsonl(file: TextIO, entries: list[Entry], layout: Layout, facts: dict[str, Any]) -> None:
    for row in _rows(entries, layout, facts):
        file.write(json.dumps(_nested(row, layout), ensure_ascii=False) + "\n")


def _rows(entries: list[Entry], layout: Layout, facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Columns: number, batch, attempt, fault, feasible, x1.., f, then the constraints by name."""
    names = _names(layout, facts)
    inputs = facts["inputs"]
    for e in entries:
        good = e.fault is Fault.NONE
        kept = good and bool((e.g <= inputs["ineq_tol"]).all() and (abs(e.h) <= inputs["eq_tol"]).all())
        row: dict[str, Any] = {
            "number": e.number, "batch": e.batch, "attempt": e.attempt,
            "fault": "" if good else e.fault.name.lower(), "feasible": kept,
        }  # fmt: skip
        row |= {f"x{i + 1}": float(v) for i, v in enumerate(e.x)}
        row["f"] = float(e.f)
        row |= {name: float(v) for name, v in zip(names, [*e.g, *e.h])}
        yield row


def _names(layout: Layout, facts: dict[str, Any]) -> tuple[str, ...]:
    ledger = Ledger()
    ledger.declare(layout.n_ineq, layout.n_eq)
    if facts["constraints"] is not None:
        ledger.name(tuple(facts["constraints"]["ineq"]), tuple(facts["constraints"]["eq"]))
    return ledger.names(facts["inputs"]["constraint_names"])


def _nested(row: dict[str, Any], layout: Layout) -> dict[str, Any]:
    """The same with x and the constraints as one field each; what is not finite becomes null."""
    values = list(row.items())
    head, rest = dict(values[:5]), values[5:]
    x, (_, f), constraints = rest[: layout.dim], rest[layout.dim], rest[layout.dim + 1 :]
    head |= {"x": [v for _, v in x], "f": _finite(f)}
    return head | {
        "g": {k: _finite(v) for k, v in constraints[: layout.n_ineq]},
        "h": {k: _finite(v) for k, v in constraints[layout.n_ineq :]},
    }


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def _cell(value: Any) -> Any:
    return repr(value) if isinstance(value, float) else int(value) if isinstance(value, bool) else value
