"""meco export: every evaluation of a run as CSV or JSON lines."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from meco.files.atomic import open_output
from meco.run.csv_table import csv_cell
from meco.run.folder.reader import load_run
from meco.run.log.evaluation_log import Entry, EvaluationLog
from meco.run.request import variables_from_inputs
from meco.run.tolerances import resolve_recorded_tolerances

CALL_FIELDS = ("number", "batch", "attempt", "fault", "feasible")  # of _describe_calls(), before x in a table


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco export`."""
    parser.add_argument("run", help="folder of the run")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="comma-separated values with a header (the default)")
    form.add_argument("--jsonl", action="store_true", help="one JSON object per line")
    parser.add_argument("--output", help="file to write; standard output unless given")


def run(args: argparse.Namespace) -> int:
    """Write every evaluation of a run to a file or standard output; damaged places are left out with a warning; 0."""
    run_json, log, damaged = load_run(args.run)
    if damaged:
        print(f"meco: {damaged} damaged places of {args.run} are left out", file=sys.stderr)
    write = _write_jsonl if args.jsonl else _write_csv
    if args.output is None:
        write(sys.stdout, log, run_json["inputs"])
    else:
        with open_output(args.output) as file:
            write(file, log, run_json["inputs"])
    return 0


def _write_csv(file: IO[str], log: EvaluationLog, inputs: dict[str, Any]) -> None:
    """Write a head, and a row for each evaluation: CALL_FIELDS, x, f and the constraints, numbers to the last bit."""
    writer = csv.writer(file, lineterminator="\n")
    names = log.constraint_names(inputs["tolerances"]["names"])
    variables = variables_from_inputs(inputs)
    writer.writerow([csv_cell(name) for name in (*CALL_FIELDS, *variables.labels(), "f", *names)])
    for head, e in _describe_calls(log, inputs):
        cells = [
            *(head[name] for name in CALL_FIELDS),
            *variables.own_values(e.x),
            float(e.f),
            *e.g.tolist(),
            *e.h.tolist(),
        ]
        writer.writerow([csv_cell(value) for value in cells])


def _write_jsonl(file: IO[str], log: EvaluationLog, inputs: dict[str, Any]) -> None:
    """Write a line of JSON for each evaluation: x, by name where the variables have names, and the constraints.

    What is not finite becomes null.
    """
    variables = variables_from_inputs(inputs)
    names, p = log.constraint_names(inputs["tolerances"]["names"]), log.counts[0]
    for head, e in _describe_calls(log, inputs):
        g = {name: _finite_or_none(v) for name, v in zip(names[:p], e.g.tolist())}
        h = {name: _finite_or_none(v) for name, v in zip(names[p:], e.h.tolist())}
        values = variables.own_values(e.x)
        x = dict(zip(variables.names, values)) if variables.names else values
        row = head | {"x": x, "f": _finite_or_none(float(e.f)), "g": g, "h": h}
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _describe_calls(log: EvaluationLog, inputs: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Entry]]:
    """What describes each call, and the call, in the order of their numbers.

    One without as many constraint values as there are constraints has nan for all.
    """
    p, q = log.counts
    allowed = resolve_recorded_tolerances(inputs, log)
    for number in sorted(log.entries):
        e = log.entries[number]
        e = e if (e.g.size, e.h.size) == (p, q) else e._replace(g=np.full(p, np.nan), h=np.full(q, np.nan))
        yield {
            "number": e.number, "batch": e.batch, "attempt": e.attempt,
            "fault": "" if e.good else e.fault.name.lower(),
            "feasible": e.is_feasible(*allowed),
        }, e  # fmt: skip


def _finite_or_none(value: float) -> float | None:
    """The number, or null of JSON for what it cannot say."""
    return value if abs(value) < float("inf") else None
