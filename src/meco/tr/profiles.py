"""The dictionary of profiles: settings of TR's controls, each best for some family of problems, the default first.

They are those of the gate (benchmarks/results/gate.txt) but one that is best nowhere, under the same names: found by
tuning on all train families, on missions, on the others, or in a design. A policy chooses among them; its file keeps
the profiles that it was trained with, so that these may change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from meco.errors import UnknownName
from meco.tr.controls import TR_CONTROLS

Profiles = dict[str, dict[str, float]]  # a value for every control, by the profile's name

# what differs from the defaults
DIFFERENCES: dict[str, dict[str, float]] = {
    "default": {},
    "before": {
        "theta": 0.3, "margin": 0.1, "caution": 10.0, "roughness": 1e-6, "restart_distance": 0.25, "radius_growth": 1.6,
        "radius_shrinkage": 0.6, "good_ratio": 0.7, "weight_decay": 0.7, "multiplier_memory": 0.5, "shaping": 0.0,
    },
    "roughness=1e-11": {"roughness": 1e-11},
    "all-0": {
        "margin": 0.03207, "caution": 2.573, "roughness": 1e-11, "gradient_freedom": 15.99, "initial_radius": 0.45,
        "restart_radius": 2.292e-06, "restart_distance": 0.9865, "radius_growth": 1.936, "radius_shrinkage": 0.5171,
        "good_ratio": 0.3288, "poor_ratio": 0.08841, "far_radii": 2.097, "kappa": 0.1602, "weight_decay": 0.3764,
        "multiplier_memory": 0.068, "shaping": 0.02827,
    },
    "all-18": {
        "margin": 0.0495, "caution": 2.3, "roughness": 1e-11, "gradient_freedom": 27.23, "initial_radius": 0.45,
        "restart_radius": 1e-07, "restart_distance": 0.7467, "radius_growth": 2.569, "radius_shrinkage": 0.5842,
        "good_ratio": 0.2999, "poor_ratio": 0.06878, "far_radii": 1.963, "kappa": 0.1257, "weight_decay": 0.4081,
        "multiplier_memory": 0.043, "shaping": 0.0211,
    },
    "others-7": {
        "theta": 0.02199, "margin": 0.09107, "caution": 1.639, "roughness": 1e-11, "gradient_freedom": 12.05,
        "initial_radius": 0.45, "restart_radius": 1e-07, "restart_distance": 0.7091, "radius_growth": 2.543,
        "radius_shrinkage": 0.537, "good_ratio": 0.3501, "poor_ratio": 0.1177, "far_radii": 3.914, "kappa": 0.1527,
        "weight_decay": 0.4992, "multiplier_memory": 0.02566, "shaping": 0.001361,
    },
    "others-9": {
        "margin": 0.02336, "caution": 0.1787, "roughness": 1e-11, "gradient_freedom": 10.95, "initial_radius": 0.45,
        "restart_radius": 1e-07, "radius_growth": 2.077, "radius_shrinkage": 0.528, "good_ratio": 0.4557,
        "poor_ratio": 0.1184, "far_radii": 2.91, "kappa": 0.2571, "weight_decay": 0.3428, "shaping": 0.0,
    },
    "missions-3": {
        "theta": 0.005125, "margin": 0.2041, "caution": 6.066, "roughness": 3.443e-09, "gradient_freedom": 196.5,
        "restart_radius": 1.179e-06, "restart_distance": 0.4549, "radius_growth": 2.455, "radius_shrinkage": 0.6367,
        "good_ratio": 0.3333, "poor_ratio": 0.1389, "far_radii": 1.2, "kappa": 0.7266, "weight_decay": 0.4182,
        "shaping": 0.1929,
    },
    "missions-5": {
        "theta": 0.02189, "margin": 0.3, "caution": 10.0, "roughness": 1.196e-07, "gradient_freedom": 397.9,
        "initial_radius": 0.45, "restart_radius": 0.01, "restart_distance": 0.182, "radius_growth": 2.391,
        "radius_shrinkage": 0.7, "good_ratio": 0.3494, "poor_ratio": 0.05526, "far_radii": 1.2, "kappa": 0.2701,
        "weight_decay": 1.829, "shaping": 0.01825,
    },
    "design-38": {
        "theta": 0.01103, "margin": 0.1357, "caution": 3.842, "roughness": 3.606e-07, "gradient_freedom": 129.5,
        "initial_radius": 0.3812, "restart_radius": 4.505e-06, "restart_distance": 0.28, "radius_growth": 2.283,
        "radius_shrinkage": 0.6759, "good_ratio": 0.2021, "poor_ratio": 0.1094, "far_radii": 2.064, "kappa": 0.1974,
        "weight_decay": 1.268, "multiplier_memory": 0.05743, "shaping": 0.04852,
    },
}  # fmt: skip

CONTROL_GROUPS = {
    "constraints": ("theta", "margin", "caution", "kappa", "weight_decay", "multiplier_memory"),
    "models": ("roughness", "gradient_freedom"),
    "region": (
        "initial_radius", "x0_radius", "restart_radius", "restart_distance", "radius_growth", "radius_shrinkage",
        "good_ratio", "poor_ratio", "far_radii", "shaping",
    ),
}  # fmt: skip


def complete_profiles(differences: Mapping[str, Mapping[str, float]] = DIFFERENCES) -> Profiles:
    """Profiles by name, with a value for every control: the default's where the differences say nothing."""
    default = {control.name: control.default for control in TR_CONTROLS}
    return {name: default | dict(values) for name, values in differences.items()}


def without_groups(groups: Collection[str]) -> Profiles:
    """The shipped profiles with some groups of controls at their defaults; of those that are then equal, the first.

    UnknownName for a group that CONTROL_GROUPS does not have; of no groups all profiles as they are.
    """
    for group in groups:
        if group not in CONTROL_GROUPS:
            raise UnknownName("group of controls", group, CONTROL_GROUPS)
    kept_off = {name for group in groups for name in CONTROL_GROUPS[group]}
    left = {
        name: {control: value for control, value in values.items() if control not in kept_off}
        for name, values in DIFFERENCES.items()
    }
    first = {tuple(sorted(values.items())): name for name, values in reversed(left.items())}
    return complete_profiles({name: values for name, values in left.items() if name in first.values()})
