"""Lengths of flight segments inside obstacles, against shapely, extended precision and rational numbers."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
import shapely
import torch
from geometry import chord_length, exact_union_length, flat_union, lines, random_segments, shapely_length
from numpy.testing import assert_allclose, assert_array_equal

from meco.problems.uav.collision import Obstacles
from meco.problems.uav.flight_model import MISSION_NAMES
from meco.problems.uav.mission import load_mission

PER_MAP = 1500  # segments on each of sixteen maps: 24,000 in all
SQUARE = Obstacles(rectangles=[[1, 1, 3, 2]])
RIGHT_TRIANGLE = Obstacles(polygons=[[[0, 0], [4, 0], [0, 3]]])
COMB = Obstacles(
    polygons=[[[0, 0], [5, 0], [5, 3], [4, 3], [4, 1], [3, 1], [3, 3], [2, 3], [2, 1], [1, 1], [1, 3], [0, 3]]]
)


def length(obstacles: Obstacles, *segment: float) -> float:
    return float(obstacles.length(np.array(segment[:2], dtype=float), np.array(segment[2:], dtype=float)))


def within(found, wanted, p, q, factor=1.0):
    """The promised accuracy: 1e-9 max(1, segment length)."""
    allowed = 1e-9 * np.maximum(1.0, np.linalg.norm(q - p, axis=-1)) * factor
    worst = np.max(np.abs(found - wanted) / allowed)
    assert worst <= 1.0, f"{worst:.3g} times the allowed error"


@pytest.fixture(scope="module", params=MISSION_NAMES)
def sample(request):
    mission = load_mission(request.param)
    rng = np.random.default_rng(MISSION_NAMES.index(request.param))
    return mission, *random_segments(mission, PER_MAP, rng)


def test_rectangles_and_polygons_agree_with_shapely_on_every_map(sample):
    mission, p, q = sample
    flat = Obstacles(mission.rectangles, (), mission.polygons)
    shape = flat_union(mission)
    ours, wanted = flat.length(p, q), shapely_length(p, q, shape)
    within(ours, wanted, p, q)
    assert_array_equal(ours[shapely.distance(lines(p, q), shape) > 1e-9], 0.0)
    assert np.all(ours[wanted > 1e-9] > 0)


def test_each_polygon_alone_agrees_with_shapely(sample):
    mission, p, q = sample
    for ring in mission.polygons:
        some = slice(None, None, 7)
        within(
            Obstacles(polygons=[ring]).length(p, q)[some],
            shapely_length(p[some], q[some], shapely.Polygon(ring)),
            p[some],
            q[some],
        )


def test_circles_agree_with_chords_in_extended_precision(sample):
    mission, p, q = sample
    for circle in mission.circles:
        ours = Obstacles(circles=[circle]).length(p, q)
        within(ours, chord_length(p, q, circle), p, q)
        distance = shapely.distance(lines(p, q), shapely.Point(circle[:2]))
        assert_array_equal(ours[distance > circle[2] + 1e-9], 0.0)
        inside = (distance < circle[2] - 1e-9) & np.any(p != q, axis=-1)
        assert np.all(ours[inside] > 0)


def test_the_union_agrees_with_rational_arithmetic(sample):
    mission, p, q = sample
    ours = mission.obstacles.length(p, q)
    hit = np.concat([np.nonzero(ours > 0)[0][:14], np.arange(6)])
    wanted = np.array([exact_union_length(a, b, mission) for a, b in zip(p[hit], q[hit])])
    within(ours[hit], wanted, p[hit], q[hit])


def test_the_union_is_between_the_longest_part_and_the_sum(sample):
    mission, p, q = sample
    parts = [Obstacles(rectangles=[row]) for row in mission.rectangles]
    parts += [Obstacles(circles=[row]) for row in mission.circles]
    parts += [Obstacles(polygons=[ring]) for ring in mission.polygons]
    each = np.stack([part.length(p, q) for part in parts])
    ours, slack = mission.obstacles.length(p, q), 1e-8
    assert np.all(ours >= each.max(axis=0) - slack)
    assert np.all(ours <= each.sum(axis=0) + slack)


@pytest.mark.parametrize(
    ("segment", "wanted"),
    [
        ((0, 1.5, 4, 1.5), 2.0),  # straight through
        ((2, 0, 2, 5), 1.0),
        ((2, 1.5, 2, 1.5), 0.0),  # a stop inside has no length
        ((0, 1, 4, 1), 0.0),  # along the lower side
        ((1, 0, 1, 5), 0.0),  # along the left side
        ((0, 0, 2, 2), 0.0 + np.sqrt(2.0)),  # in at a corner, out at the upper side
        ((0, 2, 2, 0), 0.0),  # touches a corner
        ((1, 1, 3, 2), np.sqrt(5.0)),  # from corner to corner
        ((2, 1.5, 2.5, 1.5), 0.5),  # wholly inside
        ((1, 1.5, 0, 1.5), 0.0),  # starts on the side and leaves
        ((4, 0, 4, 5), 0.0),  # beside it
    ],
)
def test_a_rectangle_by_hand(segment, wanted):
    assert length(SQUARE, *segment) == pytest.approx(wanted, abs=1e-14)
    if wanted == 0:
        assert length(SQUARE, *segment) == 0


@pytest.mark.parametrize(
    ("segment", "wanted"),
    [
        ((-1, 0, 6, 0), 0.0),  # along a side, interior to the left
        ((6, 0, -1, 0), 0.0),  # and to the right
        ((4, 0, 0, 3), 0.0),  # along the slanted side
        ((0, 3, 4, 0), 0.0),
        ((8, -3, -4, 6), 0.0),  # along it and beyond
        ((0, 0, 4, 3), 2.5),  # from the right angle to the middle of the slanted side
        ((-1, -1, 1, 1), np.sqrt(2.0)),  # in at a vertex
        ((-1, 2, 1, 4), 0.0),  # touches a vertex
        ((-1, 3, 5, 3), 0.0),  # touches a vertex, level
        ((1, -1, 1, 5), 2.25),  # vertical
        ((1, 1, 1, 1), 0.0),
    ],
)
def test_a_triangle_by_hand(segment, wanted):
    assert length(RIGHT_TRIANGLE, *segment) == pytest.approx(wanted, abs=1e-14)
    if wanted == 0:
        assert length(RIGHT_TRIANGLE, *segment) == 0


@pytest.mark.parametrize(
    ("segment", "wanted"),
    [
        ((-1, 2, 6, 2), 3.0),  # three teeth
        ((-1, 1, 6, 1), 3.0),  # along the bottoms of both gaps: the teeth count, the gaps do not
        ((6, 1, -1, 1), 3.0),
        ((-1, 3, 6, 3), 0.0),  # along the tips
        ((1.5, 4, 1.5, -1), 1.0),  # down a gap
        ((1, 4, 1, -1), 1.0),  # along the side of a tooth, then through the back
        ((0.5, 4, 0.5, -1), 3.0),
        ((0, 4, 0, -1), 0.0),  # along the outer side
        ((1.5, 2, 3.5, 2), 1.0),  # from gap to gap
    ],
)
def test_a_comb_by_hand(segment, wanted):
    assert length(COMB, *segment) == pytest.approx(wanted, abs=1e-14)
    if wanted == 0:
        assert length(COMB, *segment) == 0


def test_the_order_of_the_vertices_does_not_matter():
    ring = np.array([[0, 0], [5, 0], [5, 4], [2, 1], [0, 4]], dtype=float)
    rng = np.random.default_rng(0)
    p, q = rng.uniform(-1, 6, (2, 500, 2))
    wanted = Obstacles(polygons=[ring]).length(p, q)
    assert_allclose(Obstacles(polygons=[ring[::-1]]).length(p, q), wanted, atol=1e-12)
    assert_allclose(Obstacles(polygons=[np.roll(ring, 2, axis=0)]).length(p, q), wanted, atol=1e-12)


def test_flying_back_counts_the_same():
    mission = load_mission("UAV-12")
    p, q = random_segments(mission, 2000, np.random.default_rng(3))
    assert_allclose(mission.obstacles.length(q, p), mission.obstacles.length(p, q), atol=1e-8)


def test_tangents_of_a_circle_are_free():
    circle = Obstacles(circles=[[300, 400, 125]])
    assert length(circle, 0, 525, 1000, 525) == 0
    assert length(circle, 175, -50, 175, 900) == 0
    assert length(circle, 0, 524, 1000, 524) == pytest.approx(2 * np.sqrt(125**2 - 124**2), abs=1e-9)
    assert length(circle, 300, 400, 300, 400) == 0
    assert length(circle, 300, 400, 300, 1000) == pytest.approx(125, abs=1e-12)


def test_overlaps_count_once():
    crossed = Obstacles([[0, 0, 4, 1], [1, -1, 2, 3]], [[2, 0.5, 1]], [[[3, 0], [6, 0], [6, 1], [3, 1]]])
    assert length(crossed, -1, 0.5, 7, 0.5) == pytest.approx(6.0, abs=1e-12)
    assert length(Obstacles([[0, 0, 2, 2], [0, 0, 2, 2]]), -1, 1, 3, 1) == pytest.approx(2.0)


def test_the_line_between_two_abutting_obstacles_is_free():
    assert length(Obstacles([[0, 0, 2, 1], [0, 1, 2, 2]]), -1, 1, 3, 1) == 0


def test_no_obstacles_no_collision():
    assert length(Obstacles(), 0, 0, 5, 5) == 0


@pytest.mark.parametrize("module", [array_api_strict, torch], ids=["strict", "torch"])
@pytest.mark.parametrize("name", ["UAV-04", "UAV-12"])
def test_other_array_libraries_agree(module, name):
    mission = load_mission(name)
    p, q = random_segments(mission, 1200, np.random.default_rng(5))
    p, q = p.reshape(4, 300, 2), q.reshape(4, 300, 2)
    found = mission.obstacles.length(module.asarray(p), module.asarray(q))
    assert found.dtype == module.float64
    assert_allclose(np.asarray(found), mission.obstacles.length(p, q), rtol=0, atol=1e-9)


def test_a_segment_does_not_notice_its_neighbours():
    mission = load_mission("UAV-12")
    p, q = random_segments(mission, 600, np.random.default_rng(6))
    together = mission.obstacles.length(p, q)
    assert_array_equal(mission.obstacles.length(p[:7], q[:7]), together[:7])
    assert_array_equal(mission.obstacles.length(p.reshape(2, 300, 2), q.reshape(2, 300, 2)).ravel(), together)
