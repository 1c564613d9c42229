"""A mission: where the vehicle flies, what it must collect and what it must avoid; read from JSON."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from meco.core.problem import Problem
from meco.errors import InvalidInput, UnknownName
from meco.files.regular_files import read_regular
from meco.files.schema import parse_json
from meco.problems.uav import checks
from meco.problems.uav.collision import Obstacles
from meco.problems.uav.flight_model import (
    HOVER_POINTS,
    MISSION_DIM,
    MISSION_NAMES,
    Parameters,
    constraint_names,
    data_rates,
    make_mission_formula,
    route_corners,
    variable_names,
)

LARGEST_FILE = 1 << 20  # bytes
REQUIRED = ("area", "start", "end", "sensors")


@dataclass(frozen=True, eq=False)
class Mission:
    """A map with its sensors and obstacles, all in metres; the corner of the area is the origin.

    >>> mission = Mission("field", area=(4000, 3000), start=(0, 0), end=(4000, 0), sensors=[(2000, 1500)])
    >>> mission.problem()
    <Problem field: 18 variables, 7 inequalities, 1 equalities>
    """

    name: str
    area: tuple[float, float]  # width, height
    start: np.ndarray  # [2]
    end: np.ndarray  # [2]
    sensors: np.ndarray  # [J, 2]
    rectangles: np.ndarray = ()  # type: ignore[assignment]  # [R, 4]: x_min, y_min, x_max, y_max
    circles: np.ndarray = ()  # type: ignore[assignment]  # [K, 3]: x, y, radius
    polygons: tuple[np.ndarray, ...] = ()  # each [V, 2], simple, not necessarily convex
    parameters: Parameters = field(default_factory=Parameters)
    description: str = ""
    known_x: np.ndarray | None = None  # [18], a feasible point
    best_known: float | None = None  # its objective

    def __post_init__(self) -> None:
        """Check every field, refuse a wrong one, and keep it as an array; to_json() writes the fields by name."""
        where = f"mission {self.name}"
        if not (isinstance(self.name, str) and self.name):
            raise InvalidInput(f"the name of a mission must be a text; got {self.name!r}")
        if not isinstance(self.description, str):
            raise InvalidInput(f"{where}: description must be a text; got {self.description!r}")
        self._set_fields(area=tuple(checks.read_row(self.area, "area", f"{where}: area").tolist()))
        for key in ("start", "end"):
            self._set_fields(**{key: checks.read_row(getattr(self, key), key, f"{where}: {key}")})
        for key in ("sensors", "rectangles", "circles"):
            self._set_fields(**{key: checks.read_table(getattr(self, key), key, f"{where}: {key}")})
        self._set_fields(polygons=checks.read_polygons(self.polygons, f"{where}: polygons"))
        self._set_fields(parameters=checks.read_parameters(self.parameters, f"{where}: parameters"))
        checks.check_geometry(self)
        self._check_known()

    def _set_fields(self, **values: Any) -> None:
        """Set fields of the frozen record; for __post_init__() alone."""
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def _check_known(self) -> None:
        """InvalidInput for a known point that is none: inside the bounds, feasible, and as good as it says."""
        if self.best_known is not None:
            checks.read_number(self.best_known, f"mission {self.name}: best_known")
        if self.known_x is None:
            return
        x = checks.read_vector(self.known_x, MISSION_DIM, f"mission {self.name}: known_x")
        self._set_fields(known_x=x)
        problem = self.problem()
        f, g, h = problem.raw(x)
        if not (np.all(x >= problem.lower) and np.all(x <= problem.upper)):
            raise InvalidInput(f"mission {self.name}: known_x leaves the area or the hovering times 0..T_max")
        values = np.concat([g, np.abs(h) - problem.eq_tol])
        if np.any(values > 0):
            worst = problem.constraint_names[int(np.argmax(values > 0))]
            raise InvalidInput(f"mission {self.name}: known_x is not feasible; it violates {worst}")
        if self.best_known is not None and not np.isclose(f, self.best_known, rtol=1e-9, atol=1e-9):
            raise InvalidInput(
                f"mission {self.name}: best_known is {self.best_known!r}, but known_x gives {float(f)!r}"
            )

    def __repr__(self) -> str:
        """Name, size, and how many sensors and obstacles there are."""
        shapes = len(self.rectangles) + len(self.circles) + len(self.polygons)
        width, height = self.area
        return f"<Mission {self.name}: {width:g} x {height:g} m, {len(self.sensors)} sensors, {shapes} obstacles>"

    @cached_property
    def obstacles(self) -> Obstacles:
        """The obstacles as geometry."""
        return Obstacles(self.rectangles, self.circles, self.polygons)

    @property
    def returns(self) -> bool:
        """Whether the vehicle comes back to its start."""
        return bool(np.all(self.start == self.end))

    def problem(self) -> Problem:
        """The mission as a constrained problem with 18 variables, in metres and seconds."""
        width, height = self.area
        upper = np.array([width, height] * HOVER_POINTS + [self.parameters.T_max] * HOVER_POINTS)
        return Problem(
            self.name,
            np.zeros(MISSION_DIM),
            upper,
            n_ineq=HOVER_POINTS + len(self.sensors),
            n_eq=1,
            formula=make_mission_formula(self.start, self.end, self.sensors, self.obstacles, self.parameters),
            title=self.description or "Collecting sensor data with an unmanned aerial vehicle",
            source="MeCO paper, supplement, UAV experiment; the map is our own",
            best_known=self.best_known,
            known_x=self.known_x,
            variables=variable_names(),
            constraint_names=constraint_names(self.sensors),
        )

    def route(self, x: np.ndarray) -> np.ndarray:
        """The corners of the flights x [..., 18], from the start over the hover points to the end: [..., 8, 2]."""
        return route_corners(x, self.start, self.end)

    def rates(self, points: np.ndarray) -> np.ndarray:
        """The rate from each sensor at points [..., 2], in Mbit/s: [..., J]."""
        return data_rates(points, self.sensors, self.parameters)

    def plot(self, x: Any = None, path: Any = None) -> Any:
        """The map, with the flight x [18] where given, as a matplotlib figure; saved where a path is given.

        InvalidInput for a flight of another length or another kind of file.
        """
        from meco.plot.mission import plot_mission
        from meco.plot.style import save

        flight = None if x is None else np.asarray(x, dtype=np.float64)
        if flight is not None and flight.shape != (MISSION_DIM,):
            raise InvalidInput(f"{self.name}: a flight to draw has {MISSION_DIM} numbers; got shape {flight.shape}")
        figure = plot_mission(self, flight)
        if path is not None:
            save(figure, path)
        return figure

    def to_json(self) -> str:
        """The text of a file that load_mission reads, one row per line; fields at their defaults are left out."""
        usual = vars(Parameters())
        content = {key: getattr(self, key) for key in FIELDS}
        content["parameters"] = {k: v for k, v in vars(self.parameters).items() if v != usual[k]}
        written = {key: _format_field(value) for key, value in content.items()}
        kept = [f'  "{key}": {text}' for key, text in written.items() if text not in ("[]", "{}", '""', "null")]
        return "{\n" + ",\n".join(kept) + "\n}\n"


FIELDS = tuple(f.name for f in fields(Mission))


def load_mission(source: str | os.PathLike[str]) -> Mission:
    """A mission by the name of a shipped one, such as "UAV-07", or from a JSON file of one's own; others are errors."""
    path = Path(source)
    if path.suffix.lower() == ".json":
        if not path.is_file():
            raise InvalidInput(
                f"no mission file {str(path)!r}; give the path of a JSON file or a name such as {MISSION_NAMES[0]}"
            )
        return parse_mission(read_regular(path, LARGEST_FILE), str(path), path.stem)
    name = str(source).upper()
    if name not in MISSION_NAMES:
        raise UnknownName("mission", str(source), MISSION_NAMES)
    file = resources.files("meco.problems.uav").joinpath("missions", f"{name}.json")
    return parse_mission(file.read_bytes(), name, name)


def make_problem(name: str) -> Problem:
    """One of the sixteen missions, UAV-01 to UAV-16, as a problem; UnknownName for others."""
    return load_mission(name).problem()


def parse_mission(text: str | bytes, where: str, name: str) -> Mission:
    """A mission from the text of its file; where and name say what to call the file and an unnamed mission.

    Text that is no JSON, and unknown, missing or wrong fields are errors.
    """
    content = parse_json(text, where)
    if not isinstance(content, dict):
        raise InvalidInput(
            f"{where}: a mission is a JSON object with the fields {', '.join(FIELDS)}; got {content!r:.40}"
        )
    for key in content:
        if key not in FIELDS:
            raise InvalidInput(f"{where}: {UnknownName('mission field', key, FIELDS)}")
    missing = [key for key in REQUIRED if key not in content]
    if missing:
        raise InvalidInput(f"{where}: missing {', '.join(missing)}; a mission needs {', '.join(REQUIRED)}")
    return Mission(**{"name": name, **content})


def _format_field(value: Any) -> str:
    """A field as JSON text with short rows on one line each."""
    if isinstance(value, (tuple, np.ndarray)):
        value = [row.tolist() if isinstance(row, np.ndarray) else row for row in value]
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[\n    " + ",\n    ".join(json.dumps(_drop_zero_decimals(row)) for row in value) + "\n  ]"
    return json.dumps(_drop_zero_decimals(value))


def _drop_zero_decimals(value: Any) -> Any:
    """Whole numbers without their .0, so that a map reads easily."""
    if isinstance(value, list):
        return [_drop_zero_decimals(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
