"""What plans and runs look like in a store, which others may have made."""

from __future__ import annotations

from typing import Any

from meco.errors import DamagedFile
from meco.files.schema import Maybe, check_form, parse_json

# Runs and test cases are stored as lists: these forms are in the order of the fields of Run and TestCase.
CASE = {"problem": str, "dim": int, "instance": str, "budget": int}
RUN = {"method": str, "options": str, "case": [object], "seed": int}
PLAN = {
    "name": str, "title": str, "problems": [str], "dims": [Maybe(int)], "instance": str, "budget": Maybe(int),
    "per_variable": int, "most": int, "runs": int, "first_seed": int, "about": str, "views": [str], "printed": str,
    "quick": [str], "focus": [str], "notes": [str], "files": {str: str}, "versions": {str: [object]},
    "pins": {str: str},
    "contenders": [{"label": str, "method": str, "options": {str: object}, "most": Maybe(int)}],
}  # fmt: skip
SESSION = {
    "started": Maybe(str), "experiments": Maybe([str]), "runs": Maybe(int), "seconds": Maybe(float),
    "processor": Maybe(str), "cores": Maybe(int), "system": Maybe(str), "executor": Maybe(str), "workers": Maybe(int),
}  # fmt: skip
MOST_RUNS = 10_000_000


def read_run(text: Any) -> list[Any]:
    """The fields of Run in their order, the case as a list of those of TestCase; DamagedFile for any other JSON."""
    where = f"run {text!r:.80}"
    fields = _check_fields(parse_json(text, where) if isinstance(text, (str, bytes)) else None, RUN, where)
    check_form(parse_json(fields[1], where), {str: object}, f"options of {where}")
    return [*fields[:2], _check_fields(fields[2], CASE, f"test case of {where}"), fields[3]]


def read_plan(text: Any) -> dict[str, Any]:
    """The fields of an experiment from JSON; unknown ones and null are left out.

    DamagedFile for a field of another kind. A report loads no file: what it needs of user problems must be in the
    plan.
    """
    if not isinstance(text, (str, bytes)):
        raise DamagedFile(f"the plan of an experiment must be JSON; got {text!r:.60}")
    plan = parse_json(text, "the plan of an experiment")
    check_form(
        plan, {k: Maybe(v) if k not in ("name", "contenders", "problems") else v for k, v in PLAN.items()}, "plan"
    )
    plan = {k: v for k, v in plan.items() if k in PLAN and v is not None}  # null is the default
    rows = (plan.get("runs") or 1) * len(plan["contenders"]) * len(plan["problems"]) * len(plan.get("dims") or [0])
    if set(plan.get("files") or ()) - set(plan.get("versions") or ()) or not 0 <= rows <= MOST_RUNS:
        raise DamagedFile(f"experiment {plan['name']!r:.60} is damaged: its files or run counts make no sense")
    return plan


def _check_fields(values: Any, form: dict[str, Any], where: str) -> list[Any]:
    """A list with a value of its kind for each name of a form, in that order; an error names what is wrong."""
    if not isinstance(values, (list, tuple)) or len(values) != len(form):
        raise DamagedFile(f"{where} must be {len(form)} values: {', '.join(form)}; got {values!r:.60}")
    check_form(dict(zip(form, values)), form, where)
    return list(values)
