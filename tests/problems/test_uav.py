"""UAV missions: the model by hand, the sixteen maps, files of one's own, pictures."""

from __future__ import annotations

import json
from dataclasses import replace

import array_api_strict
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from meco.errors import DamagedFile, InvalidInput, UnknownName
from meco.plot.mission import plot_missions
from meco.problems.suite import get_problem
from meco.problems.uav.flight_model import MISSION_NAMES, Parameters, data_rates, flight_time
from meco.problems.uav.mission import Mission, load_mission, parse_mission

MODEL = Parameters()
FIELD = {  # a small mission that every wrong file below spoils in one place
    "area": [4000, 3000],
    "start": [100, 100],
    "end": [3900, 100],
    "sensors": [[1000, 1500], [3000, 1200]],
    "rectangles": [[1800, 0, 2200, 1000]],
    "circles": [[3000, 2400, 300]],
    "polygons": [[[500, 2000], [1500, 2000], [1500, 2900], [1000, 2300], [500, 2900]]],
}


@pytest.fixture(scope="module", params=MISSION_NAMES)
def mission(request):
    return load_mission(request.param)


def parse(**changes):
    content = {key: value for key, value in {**FIELD, **changes}.items() if value is not None}
    return parse_mission(json.dumps(content), "field.json", "field")


# The model


def test_flight_time_has_two_branches_that_meet_at_the_switch():
    d = np.array([0.0, 4.0, 100.0, 1600.0, np.nextafter(1600.0, 2000.0), 2000.0, 8000.0])
    assert_allclose(flight_time(d, 40.0, 1.0), [0, 4, 20, 80, 80, 90, 240], rtol=1e-14)
    assert flight_time(np.array(900.0), 30.0, 1.0) == 60.0
    assert flight_time(np.array(50.0), 10.0, 2.0) == 10.0  # 2 sqrt(50 / 2), at the switch v^2 / a
    assert flight_time(np.array(60.0), 10.0, 2.0) == 11.0  # 60 / 10 + 10 / 2


def test_the_rate_falls_with_the_slant_distance():
    sensors = np.array([[0.0, 0.0], [99.0, 0.0], [1200.0, 0.0], [2000.0, 0.0], [0.0, 1999.0]])
    found = data_rates(np.array([[0.0, 0.0], [0.0, 15.0]]), sensors, MODEL)
    assert found[0, 0] == 49.5  # 50 - 0.025 * 20
    assert_allclose(found[0, 1], 50 - 0.025 * 101, rtol=1e-14)  # 20, 99, 101 is a right triangle
    assert_allclose(found[1, 0], 50 - 0.025 * 25, rtol=1e-14)  # and so is 15, 20, 25
    assert found[0, 3] == 0  # sqrt(2000^2 + 20^2) is beyond 2000
    assert 0 < found[0, 4] < 0.03
    assert MODEL.hearing_distance == pytest.approx(np.sqrt(2000**2 - 20**2))


def test_a_flight_by_hand():
    sensors = [[1000, 0], [1000, 0], [1000, 0], [1000, 0], [1000, 0], [9000, 0]]
    problem = Mission("line", (10_000, 100), (0, 0), (8000, 0), sensors, rectangles=[[2000, 0, 2500, 100]]).problem()
    points = [[1000, 0]] * 5 + [[8000, 50]]
    x = np.array([*np.ravel(points), 10, 0, 1, 0, 0, 20], dtype=float)
    f, g, h = problem.raw(x)
    legs = 2 * np.sqrt(1000.0) + (np.sqrt(7000.0**2 + 50**2) / 40 + 40) + 2 * np.sqrt(50.0)
    assert f == pytest.approx(0.5 * legs + 0.5 * 31)
    near = 49.5  # each of the five sensors below the hover point
    far = 50 - 0.025 * np.sqrt(1000.0**2 + 50**2 + 400)
    assert_allclose(g[:5], 5 * near - 200)
    assert g[5] == pytest.approx(far - 200)
    assert_allclose(g[6:11], 500 - near * 11)
    assert g[11] == pytest.approx(500 - far * 20)
    slope = np.sqrt(7000.0**2 + 50**2) / 7000
    assert h[0] == pytest.approx(500 * slope)


def test_bandwidth_counts_whether_or_not_the_vehicle_stays():
    problem = Mission("crowd", (4000, 4000), (0, 0), (4000, 0), [[2000, 2000]] * 5).problem()
    x = np.concat([np.full(12, 2000.0), np.zeros(6)])
    assert_allclose(problem.raw(x)[1][:6], 5 * 49.5 - 200)


def test_the_weight_alpha_moves_between_flying_and_hovering():
    base = parse()
    x = np.random.default_rng(0).uniform(size=18) * base.problem().upper
    values = [float(replace(base, parameters=Parameters(alpha=a)).problem().raw(x)[0]) for a in (0.0, 0.5, 1.0)]
    assert values[0] == pytest.approx(np.sum(x[12:]))
    assert values[1] == pytest.approx((values[0] + values[2]) / 2)


def test_constraints_are_ordered_and_named():
    problem = load_mission("UAV-01").problem()
    assert problem.n_ineq == 6 + len(load_mission("UAV-01").sensors)
    assert len(problem.constraint_names) == problem.n_ineq + problem.n_eq
    assert problem.constraint_names[0] == "bandwidth at hover point 1 (Mbit/s)"
    assert problem.constraint_names[6] == "data of sensor 1 (Mbit)"
    assert problem.constraint_names[-1] == "length inside obstacles (m)"
    assert problem.variables[:3] == ("p1x (m)", "p1y (m)", "p2x (m)")
    assert problem.variables[-1] == "T6 (s)"


# The sixteen missions


def test_the_reference_is_feasible_and_as_good_as_it_says(mission):
    problem = mission.problem()
    f, g, h = problem.raw(mission.known_x)
    assert np.all(g <= 0)
    assert h == 0
    assert np.all((mission.known_x >= problem.lower) & (mission.known_x <= problem.upper))
    assert float(f) == mission.best_known == problem.best_known


def test_a_mission_has_six_hover_points_over_an_area_of_several_kilometres(mission):
    problem = mission.problem()
    assert problem.dim == 18
    assert 4000 <= max(mission.area) <= 10_000
    assert_array_equal(problem.upper, [*mission.area] * 6 + [200.0] * 6)
    assert_array_equal(problem.lower, 0.0)
    assert mission.parameters == MODEL  # the paper's table holds for every mission


def test_only_the_last_four_missions_return(mission):
    assert mission.returns == (mission.name >= "UAV-13")


def test_no_hover_point_hears_every_sensor(mission):
    apart = np.linalg.norm(mission.sensors[:, None] - mission.sensors, axis=-1)
    assert np.max(apart) > 2 * MODEL.hearing_distance
    used = mission.known_x[12:] > 0
    assert np.sum(used) >= 2


def test_straight_flights_collide():
    missions = [load_mission(name) for name in MISSION_NAMES]
    assert all(m.obstacles.length(m.start, m.end) > 0 for m in missions if not m.returns)
    for m in missions:  # from the start to the sensors and on to the end
        legs = m.obstacles.length(np.broadcast_to(m.start, m.sensors.shape), m.sensors)
        back = m.obstacles.length(m.sensors, np.broadcast_to(m.end, m.sensors.shape))
        assert np.mean((legs > 0) | (back > 0)) > 0.3


def test_the_missions_differ_and_grow():
    missions = [load_mission(name) for name in MISSION_NAMES]
    count = [len(m.rectangles) + len(m.circles) + len(m.polygons) for m in missions]
    assert count[:12] == sorted(count[:12])
    assert count[12:] == sorted(count[12:])
    assert len({m.area for m in missions}) >= 12
    assert len({len(m.sensors) for m in missions}) >= 8
    assert all(len(m.rectangles) and len(m.circles) and len(m.polygons) for m in missions)


def test_some_polygons_are_not_convex_and_some_obstacles_overlap():
    import shapely

    missions = [load_mission(name) for name in MISSION_NAMES]
    rings = [shapely.Polygon(ring) for m in missions for ring in m.polygons]
    assert all(ring.is_valid for ring in rings)
    assert sum(ring.convex_hull.area > 1.01 * ring.area for ring in rings) > 20
    overlapping = 0
    for m in missions:
        shapes = [shapely.box(*r) for r in m.rectangles] + [shapely.Point(c[:2]).buffer(c[2]) for c in m.circles]
        shapes += [shapely.Polygon(ring) for ring in m.polygons]
        overlapping += shapely.union_all(shapes).area < sum(s.area for s in shapes) - 1
    assert overlapping >= 10


def test_random_flights_are_hardly_ever_feasible(mission):
    problem = mission.problem()
    x = problem.lower + np.random.default_rng(1).random((2000, 18)) * (problem.upper - problem.lower)
    _, g, h = problem.raw(x)
    feasible = np.all(g <= 0, axis=-1) & (np.abs(h[:, 0]) <= 1e-4)
    assert np.mean(feasible) < 0.02


def test_get_knows_the_sixteen_by_name():
    assert [get_problem(name).name for name in MISSION_NAMES] == list(MISSION_NAMES)
    assert load_mission("uav-07").name == "UAV-07"
    with pytest.raises(UnknownName, match="did you mean 'UAV-07'"):
        load_mission("UAV-7")


@pytest.mark.parametrize("module", [array_api_strict, torch], ids=["strict", "torch"])
@pytest.mark.parametrize("shape", [(18,), (5, 18), (2, 3, 18)])
def test_other_array_libraries_agree(module, shape):
    problem = get_problem("UAV-08")
    x = np.random.default_rng(2).random(shape) * problem.upper
    for ours, theirs in zip(problem.raw(x), problem.raw(module.asarray(x))):
        assert ours.shape == tuple(theirs.shape)
        assert_allclose(np.asarray(theirs), ours, rtol=1e-12, atol=1e-9)


def test_a_population_agrees_with_its_points_and_a_batch_with_its_runs():
    problem = get_problem("UAV-12")
    x = np.random.default_rng(3).random((3, 20, 18)) * problem.upper
    batch, run, point = problem.raw(x), problem.raw(x[1]), problem.raw(x[1, 4])
    for b, r, p in zip(batch, run, point):
        assert_array_equal(b[1], r)
        assert_allclose(r[4], p, rtol=1e-13, atol=1e-10)


# A user's own mission


def test_a_file_of_ones_own_becomes_a_problem(tmp_path):
    file = tmp_path / "harbour.json"
    file.write_text(json.dumps({**FIELD, "parameters": {"Q_lambda": 300, "T_max": 90}}))
    mission = load_mission(file)
    assert mission.name == "harbour"
    assert mission.parameters == Parameters(Q_lambda=300.0, T_max=90.0)
    problem = mission.problem()
    assert (problem.n_ineq, problem.n_eq, problem.upper[-1]) == (8, 1, 90.0)


def test_a_mission_survives_its_own_file(mission):
    again = parse_mission(mission.to_json(), "again", "again")
    x = np.random.default_rng(4).random((50, 18)) * mission.problem().upper
    for ours, theirs in zip(mission.problem().raw(x), again.problem().raw(x)):
        assert_array_equal(ours, theirs)
    assert (again.name, again.best_known) == (mission.name, mission.best_known)
    assert_array_equal(again.known_x, mission.known_x)


def test_a_closed_ring_may_repeat_its_first_vertex():
    ring = FIELD["polygons"][0]
    assert len(parse(polygons=[[*ring, ring[0]]]).polygons[0]) == len(ring)


def test_an_end_may_touch_an_obstacle():
    assert parse(start=[1800, 500], end=[3300, 2400]).returns is False


BOW = [[0, 0], [500, 500], [500, 0], [0, 500]]
WRONG = [
    ({"sensor": []}, "no mission field named 'sensor'; did you mean 'sensors'"),
    ({"sensors": None, "end": None}, "field.json: missing end, sensors"),
    ({"area": 5000}, "area must be 2 numbers [width, height] in metres; got 5000"),
    ({"area": [0, 3000]}, "area must have a positive width and height; got 0 x 3000 m"),
    ({"start": [1, 2, 3]}, "start must be 2 numbers [x, y] in metres; got [1, 2, 3]"),
    ({"start": "here"}, "start must be 2 numbers [x, y] in metres; got 'here'"),
    ({"end": [True, 2]}, "end must be 2 numbers"),
    ({"end": [5000, 2]}, "end is outside the area of 4000 x 3000 m; got (5000, 2)"),
    ({"start": [2000, 500]}, "start (2000, 500) is inside rectangles[0]; it must lie in free air"),
    ({"end": [3100, 2500]}, "end (3100, 2500) is inside circles[0]"),
    ({"start": [1400, 2100]}, "start (1400, 2100) is inside polygons[0]"),
    ({"sensors": []}, "sensors must name at least one sensor"),
    ({"sensors": 3}, "sensors must be a list of rows [x, y] in metres; got 3"),
    ({"sensors": [[1, 2], [3]]}, "sensors[1] must be 2 numbers [x, y] in metres; got [3]"),
    ({"sensors": [[1, 2], [3, 4000]]}, "sensors[1] is outside the area of 4000 x 3000 m; got (3, 4000)"),
    ({"sensors": [[1, float("nan")]]}, "sensors[0][1] must be a finite number; got nan"),
    ({"rectangles": [[0, 0, 10]]}, "rectangles[0] must be 4 numbers [x_min, y_min, x_max, y_max]"),
    ({"rectangles": [[5, 0, 5, 9]]}, "rectangles[0] must have x_min < x_max and y_min < y_max"),
    ({"circles": [[5, 5, 0]]}, "circles[0] must have a positive radius; got 0"),
    ({"circles": [[5, 5, float("inf")]]}, "circles[0][2] must be a finite number"),
    ({"circles": "round"}, "circles must be a list of rows [x, y, radius]"),
    ({"polygons": [[[0, 0], [1, 1]]]}, "polygons[0] must have at least 3 vertices; got 2"),
    ({"polygons": [[[0, 0], [1, 1, 1], [1, 0]]]}, "polygons[0][1] must be 2 numbers [x, y]"),
    ({"polygons": 7}, "polygons must be a list of polygons"),
    ({"polygons": [BOW]}, "polygons[0] crosses itself: the edge from vertex 0 meets the edge from vertex 2"),
    ({"polygons": [[[0, 0], [9, 0], [9, 9], [9, 9]]]}, "polygons[0] repeats vertex 2 as vertex 3"),
    ({"polygons": [[[0, 0], [9, 0], [4, 0]]]}, "polygons[0] crosses itself: it turns straight back at vertex"),
    ({"polygons": [[[0, 0], [8, 0], [8, 8], [4, 0], [0, 8]]]}, "polygons[0] crosses itself: the edge from vertex 0"),
    ({"parameters": {"Tmax": 3}}, "no mission parameter named 'Tmax'; did you mean 'T_max'"),
    ({"parameters": {"v_max": 0}}, "parameters.v_max must be a positive number; got 0"),
    ({"parameters": {"alpha": 2}}, "parameters.alpha must be a number from 0 to 1; got 2"),
    ({"parameters": {"H": -1}}, "parameters.H must be a number of at least 0; got -1"),
    ({"parameters": [1]}, "parameters must map parameter names to numbers"),
    ({"name": 5}, "the name of a mission must be a text; got 5"),
    ({"description": 5}, "description must be a text; got 5"),
    ({"best_known": "low"}, "best_known must be a finite number; got 'low'"),
    ({"known_x": [1, 2]}, "known_x must be 18 numbers; got [1, 2]"),
    ({"known_x": [0] * 17 + [500]}, "known_x leaves the area or the hovering times 0..T_max"),
    ({"known_x": [0] * 18}, "known_x is not feasible; it violates data of sensor 1 (Mbit)"),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_a_wrong_field_is_named(change, message):
    with pytest.raises(InvalidInput) as caught:
        parse(**change)
    assert message in str(caught.value)


def test_a_best_known_value_must_be_that_of_the_known_point():
    shipped = json.loads(load_mission("UAV-01").to_json())
    with pytest.raises(InvalidInput, match="best_known is 1, but known_x gives"):
        parse_mission(json.dumps({**shipped, "best_known": 1}), "m", "m")


def test_files_that_are_no_missions_say_so(tmp_path):
    file = tmp_path / "broken.json"
    file.write_text("{")
    with pytest.raises(DamagedFile, match="is not a JSON file"):
        load_mission(file)
    file.write_text("[1, 2]")
    with pytest.raises(InvalidInput, match="a mission is a JSON object with the fields name, area"):
        load_mission(file)
    with pytest.raises(InvalidInput, match="no mission file"):
        load_mission(tmp_path / "absent.json")


# Pictures


def labels(figure):
    return {text.get_text() for legend in figure.legends for text in legend.get_texts()}


def test_a_map_is_drawn_with_and_without_a_flight(tmp_path):
    mission = load_mission("UAV-08")
    plain, flown = mission.plot(), mission.plot(mission.known_x, tmp_path / "flight.svg")
    shown = {"start", "end", "sensor", "no-fly zone", "bandwidth exceeded"}
    assert shown <= labels(plain)
    assert "route" not in labels(plain)
    assert shown | {"route", "hover point", "range of reception", "data sent"} <= labels(flown)
    assert "hovering, feasible" in flown.axes[0].get_title(loc="left")
    assert "hovering, feasible" in (tmp_path / "flight.svg").read_text(encoding="utf-8")


def test_one_kilometre_is_as_long_up_as_across():
    assert load_mission("UAV-09").plot().axes[0].get_aspect() == 1.0


def test_a_collision_is_shown():
    mission = load_mission("UAV-01")
    figure = mission.plot(np.concat([np.tile(mission.start, 6), np.zeros(6)]))
    assert "collision" in labels(figure)
    assert "836 m inside obstacles" in figure.axes[0].get_title(loc="left")


def test_a_flight_to_draw_has_18_numbers():
    with pytest.raises(InvalidInput, match="a flight to draw has 18 numbers; got shape"):
        parse().plot([1, 2, 3])


def test_all_missions_fit_in_one_figure():
    figure = plot_missions([load_mission(name) for name in MISSION_NAMES[:3]])
    titles = [ax.get_title(loc="left").splitlines()[0] for ax in figure.axes if ax.axison]
    assert titles == list(MISSION_NAMES[:3])
    assert "route" in labels(figure)
