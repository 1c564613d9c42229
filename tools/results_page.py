"""Write the tables of docs/results.md from results/tables: python -m tools.results_page

The page keeps the text above its first suite; everything from there on is written anew.
"""

from __future__ import annotations

import csv
from pathlib import Path

from meco.bench.plan.experiments import EXPERIMENTS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "results.md"
BEGIN = "<!-- tables: python -m tools.results_page -->\n"
SHOWN = (
    "table1", "cec2017-10d", "cec2017-30d", "cec2017-100d", "unseen", "rwco", "rwco-large", "realworld", "families",
    "uav", "short-cec2017", "short-engineering",
)  # fmt: skip
MOST_ROWS = 12


def format_cell(name: str, text: str) -> str:
    """A number of a table of ranks as readers see it."""
    try:
        value = float(text)
    except ValueError:
        return text or "–"
    if "feasible runs" in name:
        return f"{100 * value:.0f} %"
    return f"{value:.0f}" if name == "runs" else f"{value:.1f}"


def make_table(name: str) -> list[str]:
    """The best rows, feasibility first, of the ranks of an experiment as Markdown."""
    with open(ROOT / "results" / "tables" / f"{name}-ranks.csv", encoding="utf-8", newline="") as file:
        rows = [{k: v for k, v in row.items() if "*" not in k} for row in csv.DictReader(file)]
    key = next(k for k in rows[0] if k.endswith("feasibility first"))
    ranked = sorted((row for row in rows if row[key]), key=lambda row: float(row[key]))
    columns = [k for k in rows[0] if not k.startswith("printed")]
    lines = [f"| {' | '.join(columns)} |", f"|:--|{'--:|' * (len(columns) - 1)}"]
    for row in ranked[:MOST_ROWS]:
        lines.append("| " + " | ".join(format_cell(k, row[k]) for k in columns) + " |")
    left = len(ranked) - MOST_ROWS
    return [*lines, "", f"{left} more methods are in `results/tables/{name}-ranks.csv`."] if left > 0 else lines


def main() -> None:
    """Write the page."""
    text = PAGE.read_text(encoding="utf-8")
    parts = [text.partition(BEGIN)[0] + BEGIN]
    for name in SHOWN:
        experiment = EXPERIMENTS[name]
        parts += [f"\n## {experiment.title}\n", experiment.report.about, "", *make_table(name), ""]
    PAGE.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
