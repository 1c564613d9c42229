"""An agent in ten lines: loose at first, strict at the end, and more offspring while nothing improves.

meco challenge ten_lines.py --quick
"""


def decide(seen):
    """theta and share for one run, from its features by name."""
    stuck = seen["models improve"] < 0.2
    return {"theta": 0.6 * (1 - seen["budget spent"]) ** 2, "share": 0.3 if stuck else 0.05}
