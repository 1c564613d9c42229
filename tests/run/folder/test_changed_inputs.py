"""What differs between a recorded run and the call that is to go on with it is said in words."""

import pytest

from meco.run.folder import describe_change
from meco.run.request import make_request

BOUNDS = {"width": (0.01, 0.5, "mm"), "teeth": {"low": 3, "high": 9, "integer": True}, "metal": ["steel", "brass"]}


def inputs_of(bounds, **options):
    return make_request(bounds, method="TR", seed=1, **options).describe_inputs()


@pytest.mark.parametrize(
    ("key", "bounds", "options", "said"),
    [
        ("variables", {"width": (0.02, 0.5, "mm")}, {}, "width is 0.01 to 0.5 mm, here it is 0.02 to 0.5 mm"),
        ("variables", {"teeth": (3, 9)}, {}, "teeth is 3 to 9 (integer), here it is 3 to 9"),
        ("variables", {"metal": ["steel", "gold"]}, {}, "metal is one of steel, brass, here it is one of steel, gold"),
        ("variables", {"more": (0, 1)}, {}, "it has 3 variables, here there are 4"),
        (
            "variable_names",
            {"more": (0, 1)},
            {},
            "its variables are width, teeth, metal, here they are width, t",
        ),
        ("tolerances", {}, {"tolerances": 1e-3}, "its tolerances (ineq) is 1e-08, here it is 0.001"),
        ("evaluated", {}, {"evaluated": ([[0.1, 4, 0]], [1.0])}, "it knew 0 evaluated points, here there are 1"),
        ("budget", {}, {"budget": 7}, "its budget is 150, here it is 7"),
    ],
)
def test_the_first_difference_is_named(key, bounds, options, said):
    before, now = inputs_of(BOUNDS), inputs_of(BOUNDS | bounds, **options)
    found = describe_change(key, before[key], now[key], before["variable_names"])
    assert said in found
    assert "{" not in found
