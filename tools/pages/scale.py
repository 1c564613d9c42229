"""The block and the picture of docs/scale.md, from benchmarks/results/scale.json."""

from __future__ import annotations

import json
from pathlib import Path

from meco.bench.report.names import shown_name
from tools.pages.tables import KEPT, markdown_table

METHODS = ("SHADE", "MA-ES", "MeCO", "TR", "TR-ES", "MeCO-TR")
AXES = {  # what grows -> its title, what is fixed, and which number is told
    "D": ("Variables", "two constraints, 3 D + 30 evaluations", "us"),
    "constraints": ("Constraints", "D = 10, 200 evaluations", "us"),
    "runs": ("Runs in lockstep", "D = 10, two constraints, 200 evaluations", "us"),
    "budget": ("Evaluations of a run", "D = 10, two constraints", "us"),
}
COLOURS = ("#1f5fa8", "#2a8f57", "#a02c4a", "#a06a00", "#6b4fa0", "#3a3a3a")

Points = dict[str, dict[str, float]]


def measured_values(points: Points, axis: str, number: str) -> dict[int, dict[str, float]]:
    """What was measured along an axis: the value that grew -> method -> number."""
    found: dict[int, dict[str, float]] = {}
    for name, point in points.items():
        what, method, value = name.split()
        if what == axis:
            found.setdefault(int(value), {})[method] = point[number]
    return dict(sorted(found.items()))


def _growth_table(points: Points, axis: str, number: str, title: str) -> str:
    """One row for each value that grew, one column for each method."""
    rows = [
        [f"{value:,}", *(_format_measurement(each[m], number) if m in each else "" for m in METHODS)]
        for value, each in measured_values(points, axis, number).items()
    ]
    return markdown_table([title, *map(shown_name, METHODS)], rows, "--:")


def _format_measurement(value: float, number: str) -> str:
    """A measured number as the tables print it."""
    shown = value / 1e6 if number == "bytes" else value
    return f"{shown:,.0f}" if shown >= 100 else f"{shown:.3g}"


def scale_text() -> str:
    """All tables with their captions."""
    kept = json.loads((KEPT / "scale.json").read_text(encoding="utf-8"))
    points, machine = kept["points"], kept["machine"]
    parts = []
    for axis, (title, fixed, number) in AXES.items():
        parts += [f"### {title}", f"Microseconds per evaluation: {fixed}.", _growth_table(points, axis, number, title)]
    parts += ["### Memory", "Megabytes of a run at the peak of 3 D + 30 evaluations, two constraints."]
    parts += [_growth_table(points, "D", "bytes", "D")]
    parts += [f"*{machine['cpu']}, one core shared with other programs; commit {machine['commit']}.*"]
    return "\n\n".join(parts)


def draw_scale(file: Path) -> None:
    """One panel for each axis, both directions logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    points = json.loads((KEPT / "scale.json").read_text(encoding="utf-8"))["points"]
    figure, panels = plt.subplots(1, len(AXES), figsize=(11.0, 2.9), sharey=True, layout="constrained")
    for panel, (axis, (title, fixed, number)) in zip(panels, AXES.items()):
        along = measured_values(points, axis, number)
        for method, colour in zip(METHODS, COLOURS):
            seen = [(max(v, 1), each[method]) for v, each in along.items() if method in each]
            panel.loglog(*zip(*seen), marker="o", ms=3, lw=1.3, color=colour, label=shown_name(method))
        panel.set_title(title, fontsize=10)
        panel.set_xlabel(fixed, fontsize=7)
        panel.tick_params(labelsize=8)
        panel.grid(alpha=0.25, lw=0.5)
    panels[0].set_ylabel("µs per evaluation", fontsize=9)
    panels[-1].legend(fontsize=7, frameon=False, loc="center", ncols=2)
    figure.savefig(file, dpi=130)
    plt.close(figure)
