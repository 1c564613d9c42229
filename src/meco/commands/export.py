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
from meco.run.layout import Entry
from meco.run.recorded import Recorded, read_recorded
from meco.run.request import variables_from_inputs
from meco.run.tolerances import resolve_recorded_tolerances

CALL_FIELDS = ("number", "attempt", "fault", "feasible", "seconds")  # of _describe_calls(), before x in a table


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco export`."""
    parser.add_argument("run", help="folder of the run")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="comma-separated values with a header (the default)")
    form.add_argument("--jsonl", action="store_true", help="one JSON object per line")
    parser.add_argument("--output", help="file to write; standard output unless given")


def run(args: argparse.Namespace) -> int:
    """Write every evaluation of a run to a file or standard output; 0."""
    recorded = read_recorded(args.run)
    write = _write_jsonl if args.jsonl else _write_csv
    if args.output is None:
        write(sys.stdout, recorded)
    else:
        with open_output(args.output) as file:
            write(file, recorded)
    return 0


def _write_csv(file: IO[str], recorded: Recorded) -> None:
    """Write a head, and a row for each evaluation: CALL_FIELDS, x, f and the constraints, numbers to the last bit."""
    writer = csv.writer(file, lineterminator="\n")
    names = recorded.answers.constraint_names(recorded.inputs["tolerances"]["names"])
    variables = variables_from_inputs(recorded.inputs)
    writer.writerow([csv_cell(name) for name in (*CALL_FIELDS, *variables.labels(), "f", *names)])
    for head, e in _describe_calls(recorded):
        cells = [
            *(head[name] for name in CALL_FIELDS),
            *variables.own_values(e.x),
            float(e.answer.f),
            *e.answer.g.tolist(),
            *e.answer.h.tolist(),
        ]
        writer.writerow([csv_cell(value) for value in cells])


def _write_jsonl(file: IO[str], recorded: Recorded) -> None:
    """Write a line of JSON for each evaluation: x, by name where the variables have names, and the constraints.

    What is not finite becomes null.
    """
    answers, variables = recorded.answers, variables_from_inputs(recorded.inputs)
    names, p = answers.constraint_names(recorded.inputs["tolerances"]["names"]), answers.counts[0]
    for head, e in _describe_calls(recorded):
        g = {name: _finite_or_none(v) for name, v in zip(names[:p], e.answer.g.tolist())}
        h = {name: _finite_or_none(v) for name, v in zip(names[p:], e.answer.h.tolist())}
        values = variables.own_values(e.x)
        x = dict(zip(variables.names, values)) if variables.names else values
        row = head | {
            "seconds": _finite_or_none(head["seconds"]),
            "x": x,
            "f": _finite_or_none(float(e.answer.f)),
            "g": g,
            "h": h,
        }
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _describe_calls(recorded: Recorded) -> Iterator[tuple[dict[str, Any], Entry]]:
    """What describes each call, and the call, in the order of their numbers.

    One without as many constraint values as there are constraints has nan for all.
    """
    p, q = recorded.answers.counts
    ineq, eq = resolve_recorded_tolerances(recorded.inputs, recorded.answers)
    for number in sorted(recorded.answers.entries):
        e = recorded.answers.entries[number]
        a = e.answer
        if (a.g.size, a.h.size) != (p, q):
            a = a._replace(g=np.full(p, np.nan), h=np.full(q, np.nan))
        yield {
            "number": number, "attempt": e.attempt, "fault": "" if e.good else a.fault.name.lower(),
            "feasible": e.good and bool((a.g <= ineq).all() and (np.abs(a.h) <= eq).all()),
            "seconds": recorded.seconds.get(number, float("nan")),
        }, e._replace(answer=a)  # fmt: skip


def _finite_or_none(value: float) -> float | None:
    """The number, or null of JSON for what it cannot say."""
    return value if abs(value) < float("inf") else None
