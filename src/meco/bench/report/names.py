"""What reports and pages call methods and suites."""

from __future__ import annotations

from meco.bench.plan.further import TR_METHODS
from meco.methods import DEFAULT

OURS = TR_METHODS
STEERED = "MeCO-TR"  # the default under a learned policy
NAMES = {"MeCO": "MeCO (paper)", DEFAULT: f"{DEFAULT} (default)"}  # MeCO alone is the library
SUITES = {  # experiments that stand for a suite, most important first -> what their problems are called
    "cec2017-10d": "CEC2017, 10 variables",
    "cec2017-30d": "CEC2017, 30 variables",
    "table1": "CEC2017, 50 variables",
    "cec2017-100d": "CEC2017, 100 variables",
    "uav": "UAV missions",
    "rwco": "real-world problems",
    "rwco-large": "real-world problems beyond 30 variables",
    "realworld": "engineering problems",
    "families": "generated families",
}


def shown_name(label: str) -> str:
    """What readers see: the library, its default and the paper's method are three things."""
    return NAMES.get(label, label)
