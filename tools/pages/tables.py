"""Tables that the report wrote, and tables as Markdown."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
TABLES, KEPT = ROOT / "results" / "tables", ROOT / "benchmarks" / "results"

Table = dict[str, dict[str, str]]  # row -> column -> text


def read_table(name: str) -> Table | None:
    """A table by its first column; None where the experiment has not been run."""
    file = TABLES / f"{name}.csv"
    if not file.is_file():
        return None
    with file.open(newline="", encoding="utf-8") as lines:
        head, *rows = csv.reader(lines)
    return {row[0]: dict(zip(head[1:], row[1:])) for row in rows}


def read_long(name: str) -> list[dict[str, str]]:
    """The rows of a table that has one for each problem and method."""
    with (TABLES / f"{name}.csv").open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def parse_number(text: str) -> float:
    """A number of a CSV cell; nan for an empty one."""
    return float(text) if text else float("nan")


def format_percent(text: str) -> str:
    """A share of a CSV cell in percent."""
    return f"{100 * parse_number(text):.0f} %"


def bold_if(text: str, when: bool) -> str:
    """The text, bold where that is so."""
    return f"**{text}**" if when else text


def join_words(parts: Sequence[str], last: str = "and") -> str:
    """Words with commas, and "and" before the last."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], first: str = ":--", others: str = "--:") -> str:
    """Markdown: names to the left and numbers to the right, unless other sides are given."""
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "|".join([first, *[others] * (len(head) - 1)]) + "|", *lines[1:]])
