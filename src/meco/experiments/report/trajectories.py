"""Routes of UAV missions as a figure: the map in kilometres, and the best flight of each method on it."""

from __future__ import annotations

import numpy as np

from meco.experiments.report.figure import MUTED, Axis, Figure, Line, Mark, Outline, Panel, Spot
from meco.experiments.report.figures import legend, series
from meco.experiments.report.run_arrays import RunArrays
from meco.experiments.report.table import Cell, Column, Table, number
from meco.experiments.report.tables import stem

KM = 1000.0
CIRCLE = np.linspace(0, 2 * np.pi, 49)


def trajectory_figure(results: RunArrays) -> Figure:
    """The best run of each method on each mission, feasibility first."""
    from meco.problems.mission import load_mission
    from meco.problems.uav import path

    panels, rows = [], []
    for p, case in enumerate(results.cases):
        mission = load_mission(case.problem)
        marks = ground(mission)
        row = [Cell(case.problem, case.problem)]
        for m, label in enumerate(results.labels):
            found = results.best_design(m, p)
            if found is None:
                row.append(Cell("–", float("nan")))
                continue
            record, x = found
            corners = path(x, mission.start, mission.end) / KM
            tint = series(results)[m]
            marks.append(Line(corners[:, 0], corners[:, 1], tint, label, 2.2, "" if record.feasible else "5 4"))
            marks += [Spot(a, b, "hover", tint, label) for a, b in corners[1:-1]]
            text = number(record.f, 4) if record.feasible else f"ν {number(record.nu)}"
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
    numbers = Table(stem(results, "routes"), "Objective of the routes shown; ν where none is feasible", columns, rows)
    return Figure(stem(results, "routes"), "Routes", panels, caption, legend(results), numbers)


def ground(mission) -> list[Mark]:
    """The map: area, obstacles, zones, sensors, start and end."""
    width, height = np.array(mission.area) / KM
    marks: list[Mark] = [_rectangle(0, 0, width, height, "area")]
    marks += [_rectangle(x0, y0, x1, y1, "block") for x0, y0, x1, y1 in mission.rectangles / KM]
    marks += [Outline(x + r * np.cos(CIRCLE), y + r * np.sin(CIRCLE), "round") for x, y, r in mission.circles / KM]
    marks += [Outline(ring[:, 0] / KM, ring[:, 1] / KM, "zone") for ring in mission.polygons]
    marks += [Spot(x, y, "sensor", MUTED, "sensor") for x, y in mission.sensors / KM]
    marks.append(Spot(float(mission.start[0]) / KM, float(mission.start[1]) / KM, "start", MUTED, "start"))
    if not mission.returns:
        marks.append(Spot(float(mission.end[0]) / KM, float(mission.end[1]) / KM, "end", MUTED, "end"))
    return marks


def _rectangle(x0: float, y0: float, x1: float, y1: float, kind: str) -> Outline:
    return Outline(np.array([x0, x1, x1, x0]), np.array([y0, y0, y1, y1]), kind)
