"""Routes of UAV missions as a figure: the map in kilometres, and the best flight of each method on it."""

from __future__ import annotations

import numpy as np

from meco.bench.report.result_figures import colour_slots, contender_legend
from meco.bench.report.result_tables import item_name
from meco.bench.report.run_arrays import RunArrays
from meco.figures.figure import Figure
from meco.figures.mission_figure import KM, make_ground_marks
from meco.figures.panel import Axis, Line, Panel, Spot
from meco.figures.table import Cell, Column, Table, format_number


def make_trajectory_figure(results: RunArrays) -> Figure:
    """The best run of each method on each mission, feasibility first; a panel for each mission, which is loaded."""
    from meco.problems.uav.mission import load_mission

    panels, rows = [], []
    for p, case in enumerate(results.cases):
        mission = load_mission(case.problem)
        marks = make_ground_marks(mission)
        row = [Cell(case.problem, case.problem)]
        for m, label in enumerate(results.labels):
            found = results.best_design(m, p)
            if found is None:
                row.append(Cell("–", float("nan")))
                continue
            record, x = found
            corners = mission.route(x) / KM
            tint = colour_slots(results)[m]
            marks.append(Line(corners[:, 0], corners[:, 1], tint, label, 2.2, "" if record.feasible else "5 4"))
            marks += [Spot(a, b, "hover", tint, label) for a, b in corners[1:-1]]
            text = format_number(record.f, 4) if record.feasible else f"ν {format_number(record.nu)}"
            row.append(Cell(text, record.f if record.feasible else float("inf")))
        rows.append(row)
        width, height = np.array(mission.area) / KM
        axes = Axis("km", (0, float(width))), Axis("km", (0, float(height)))
        panels.append(Panel(case.problem, marks, *axes, equal=True))
    caption = (
        "The best of each method's runs, feasibility first; a dashed route is not feasible. Crosses are sensors, "
        "squares start and end, dots hover points; grey and yellow are obstacles, red no-fly zones."
    )
    columns = [Column("Mission", head=True), *(Column(label) for label in results.labels)]
    numbers = Table(
        item_name(results, "routes"), "Objective of the routes shown; ν where none is feasible", columns, rows
    )
    return Figure(item_name(results, "routes"), "Routes", panels, caption, contender_legend(results), numbers)
