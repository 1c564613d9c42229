"""What differs between the inputs of a recorded run and those of the call that is to go on with it, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def describe_change(key: str, before: Any, now: Any, names: Sequence[str]) -> str:
    """Which of the inputs is another one, and what it was; names are those of the recorded run's variables."""
    if key == "variables" and isinstance(before, list) and isinstance(now, list):
        return _describe_variables(before, now, names)
    if key == "variable_names" and before and now:
        return f"its variables are {', '.join(before):.60}, here they are {', '.join(now):.60}"
    if key == "evaluated":
        counts = [0 if each is None else each["count"] for each in (before, now)]
        return f"it knew {counts[0]} evaluated points, here there are {counts[1]}" + (
            "" if counts[0] != counts[1] else " others"
        )
    path = []
    while isinstance(before, Mapping) and isinstance(now, Mapping):
        path.append(next(name for name in (*before, *now) if before.get(name) != now.get(name)))
        before, now = before.get(path[-1]), now.get(path[-1])
    key += f" ({'.'.join(path)})" if path else ""
    return f"its {key} is {before!r:.60}, here it is {now!r:.60}"


def _describe_variables(before: list[Any], now: list[Any], names: Sequence[str]) -> str:
    """How many variables there are, or the first that differs."""
    if len(before) != len(now):
        return f"it has {len(before)} variables, here there are {len(now)}"
    at = next(i for i, (old, new) in enumerate(zip(before, now)) if old != new)
    name = names[at] if len(names) == len(before) else f"x{at + 1}"
    return f"its variables differ: {name} is {_show_variable(before[at])}, here it is {_show_variable(now[at])}"


def _show_variable(variable: Mapping[str, Any]) -> str:
    """A variable of run.json in a few words."""
    kinds = [kind for kind in ("integer", "log", "ordered") if variable.get(kind)]
    if variable.get("categories"):
        return f"one of {', '.join(map(str, variable['categories'])):.60}" + " (ordered)" * ("ordered" in kinds)
    unit = f" {variable['unit']}" if variable.get("unit") else ""
    ends = ["no limit" if variable[end] is None else f"{variable[end]:g}" for end in ("low", "high")]
    return f"{ends[0]} to {ends[1]}{unit}" + (f" ({', '.join(kinds)})" if kinds else "")
