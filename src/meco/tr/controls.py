"""Every number of the engine that may be set: name, range, default, meaning. One table for engine, policies and docs.

Radii and distances are shares of the box (of the typical length of a variable without one), ratios are shares of the
decrease of the merit that the models foresaw. Nothing has a unit. A control has a value for each run, [B].
"""

from __future__ import annotations

from typing import NamedTuple

from meco.core.arrays import Array
from meco.core.control import Control

TR_CONTROLS = (
    Control("theta", 0.0, 1.0, 0.0, "share of the violation at the centre that a step may leave"),
    Control(
        "margin", 0.0, 0.3, 0.05, "most that a step keeps off a constraint, in what it changes by across the region"
    ),
    Control("caution", 0.0, 10.0, 1.0, "what a step keeps off a constraint, in the last errors of its model"),
    Control("roughness", 1e-12, 1e-2, 1e-9, "eta: share of a function's variance that no quadratic explains", log=True),
    Control("gradient_freedom", 1.0, 1e4, 1e2, "tau: how much cheaper gradients change than curvature", log=True),
    Control("initial_radius", 0.005, 0.5, 0.4, "radius of the first region and of a restart", log=True),
    Control("x0_radius", 0.01, 5.0, 0.5, "radius of the first region around x0, in max(1, |x0|)", log=True),
    Control("restart_radius", 1e-9, 1e-1, 1e-6, "radius below which a run starts again", log=True),
    Control("restart_distance", 0.01, 1.0, 1.0, "of a restart from the best point, at most", log=True),
    Control("radius_growth", 1.1, 4.0, 2.5, "factor of the radius after a good step", log=True),
    Control("radius_shrinkage", 0.1, 0.9, 0.4, "factor of the radius after a poor step"),
    Control("good_ratio", 0.1, 0.95, 0.3, "of a step that may widen the region, at least"),
    Control("poor_ratio", 0.0, 0.5, 0.1, "of a step that narrows the region, at most"),
    Control(
        "far_radii", 1.0, 6.0, 2.0, "radii times sqrt(D) to a model point that call for a geometry point", log=True
    ),
    Control(
        "kappa",
        0.01,
        10.0,
        0.3,
        "weight of a constraint whose multiplier is not known, in f's change over its own",
        log=True,
    ),
    Control("weight_decay", 0.0, 5.0, 0.3, "share of a weight that is forgotten over D steps"),
    Control("multiplier_memory", 0.0, 0.9, 0.0, "share of the last multipliers that a step keeps"),
    Control("shaping", 0.0, 1.0, 0.1, "how far the region takes the shape that curvature asks for with every fit"),
)


class ControlValues(NamedTuple):
    """The controls in force, [B or 1] each; fields as in TR_CONTROLS."""

    theta: Array
    margin: Array
    caution: Array
    roughness: Array
    gradient_freedom: Array
    initial_radius: Array
    x0_radius: Array
    restart_radius: Array
    restart_distance: Array
    radius_growth: Array
    radius_shrinkage: Array
    good_ratio: Array
    poor_ratio: Array
    far_radii: Array
    kappa: Array
    weight_decay: Array
    multiplier_memory: Array
    shaping: Array
