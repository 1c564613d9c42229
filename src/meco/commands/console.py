"""What the command line shares: arguments as people type them, results in words."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from meco.errors import InvalidInput, load_extra
from meco.files.regular_files import read_regular
from meco.files.schema import LARGEST_JSON_BYTES, parse_json
from meco.plot.style import check_suffix
from meco.result import ConstraintValue, Result, describe_excess

MOST_VARIABLES = 1_000_000


def parse_bounds(words: Sequence[str] | None, dim: int | None) -> Any:
    """Pairs from "0,1 0,5", a JSON list, a JSON object of names, or from a file of these; one pair serves --dim.

    None without words. Whether pairs make a box is for Variables to say; what cannot be read is an error.
    """
    if not words:
        return None
    text = " ".join(words)
    try:
        if _is_file_path(text):
            text = read_regular(Path(text), LARGEST_JSON_BYTES).decode("utf-8").strip()
        if text.startswith(("[", "{")):
            pairs = parse_json(text, "--bounds")
        else:
            pairs = [[float(v) for v in pair.split(",")] for pair in text.replace(";", " ").split()]
    except (OSError, ValueError) as error:
        raise InvalidInput(f'--bounds wants pairs such as "0,1 -5,5", JSON, or a file; got {text!r:.60}') from error
    if dim is None or len(pairs) != 1 or isinstance(pairs, dict):
        return pairs
    if not 1 <= dim <= MOST_VARIABLES:
        raise InvalidInput(f"--dim must be from 1 to {MOST_VARIABLES}; got {dim}")
    return pairs * dim


def _is_file_path(text: str) -> bool:
    """Whether a text is the path of a file that is there; False for what cannot be a path."""
    try:
        return Path(text).is_file()
    except OSError:  # too long for a name
        return False


def parse_numbers(text: str | None, what: str) -> Any:
    """A point "1,2,3", several "1,2,3 4,5,6", JSON (by name too), None for None; else an error that calls it `what`."""
    if text is None:
        return None
    try:
        if text.strip().startswith(("[", "{")):
            return parse_json(text, what)
        rows = [[float(v) for v in row.split(",")] for row in text.split()]
    except ValueError as error:
        raise InvalidInput(
            f'{what} wants numbers such as "1,2,3", or JSON for names and categories, such as '
            f'\'{{"width": 0.1, "metal": "S355"}}\'; got {text!r:.60}'
        ) from error
    return rows[0] if len(rows) == 1 else rows


def parse_tolerance(text: str | None, what: str) -> Any:
    """A number, several "1e-3,1e-4" in the order of the constraints, or "stress=1e-3,height=0" by name.

    None for None; other text is an error, which calls it `what`.
    """
    if text is None:
        return None
    try:
        if "=" in text:
            pairs = [part.rpartition("=") for part in text.split(",")]
            return {name.strip(): float(value) for name, _, value in pairs}
        found = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InvalidInput(f'{what} wants "1e-4", "1e-4,1e-2" or "name=1e-4,other=1e-2"; got {text!r:.60}') from error
    return found if len(found) > 1 else found[0]


def parse_noise(text: str | None) -> Any:
    """What minimize() takes as noise: "yes" or "no", or numbers as parse_tolerance() reads them; None for None."""
    if text in ("yes", "no"):
        return text == "yes"
    return parse_tolerance(text, "--noise")


def parse_count(text: str) -> int:
    """A whole number, also as 1e3; argparse says what was wanted of other texts."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        if (number := float(text)) == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise argparse.ArgumentTypeError(f"a whole number such as 200 is wanted; got {text!r:.60}")


def check_paths(args: argparse.Namespace) -> None:
    """Refuse a picture or a page that could not be written, before anything is spent on what it would show.

    The paths of those that are asked for are absolute afterwards: a resumed run changes to another folder.
    """
    if args.plot is not None:
        check_suffix(args.plot)
    if args.plot is not None or args.report is not None:
        load_extra("matplotlib", "plot", "a figure")
    if args.report is not None:
        load_extra("jinja2", "plot", "a page")
    for option in ("plot", "report"):
        path = getattr(args, option)
        if path is None:
            continue
        whole = Path(path).absolute()
        if not whole.parent.is_dir():
            raise InvalidInput(f"--{option}: there is no folder {str(whole.parent)!r:.80}; make it first")
        if whole.is_dir():
            raise InvalidInput(f"--{option}: {path} is a folder; give the path of a file in it")
        setattr(args, option, str(whole))


def describe_result(result: Result, variables: Sequence[str] = ()) -> str:
    """A result in words and columns; variables are called as given, else by the names of the run."""
    if not variables and result.run.variables is not None:
        variables = result.run.variables.labels(units=True)
    values = None if result.run.variables is None else _show_values(result)
    parts = [
        f"{result.message} {result.run.evidence}".strip(),
        describe_point(result.x, result.fun, result.constraints, variables, values),
        str(result.limits) if any(limit.multiplier for limit in result.limits) else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _show_values(result: Result) -> list[str]:
    """The values of the best point as text: numbers, names of categories."""
    assert result.run.variables is not None
    return [
        f"{value:.10g}" if each.categories is None else each.show(value)
        for each, value in zip(result.run.variables.each, result.x)
    ]


def describe_point(
    x: Any,
    fun: float,
    constraints: Mapping[str, ConstraintValue],
    variables: Sequence[str] = (),
    values: Sequence[str] | None = None,
) -> str:
    """A point, its objective and its constraints in columns; x1, x2, ... unless there is a name for every variable.

    values are those of x as text, where given.
    """
    values = [f"{value:.10g}" for value in x] if values is None else values
    names = list(variables) if len(variables) == len(x) else [f"x{i + 1}" for i in range(len(x))]
    wide = max(map(len, [*names, *constraints, "f"]))
    lines = [f"  {name:<{wide}}  {value}" for name, value in zip(names, values)]
    lines += ["", f"  {'f':<{wide}}  {fun:.10g}"]
    for name, found in constraints.items():
        over = describe_excess(found)
        lines.append(f"  {name:<{wide}}  {found.value + 0.0:.6g}{over and '  ' + over}")
    return "\n".join(lines)
