"""A plain function as a Problem, for comparisons: it answers as it would answer minimize(), at one point at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from meco.core.box import Box
from meco.core.categories import VariableKinds
from meco.core.log_scale import LogScale
from meco.core.problem import Problem, check_bounds, check_integrality
from meco.errors import InvalidInput
from meco.options import EQ_TOL, INEQ_TOL
from meco.run.answer import Answer, Fault
from meco.run.call import Call
from meco.run.cheap import read_cheap
from meco.space import find_categories
from meco.variables import Variables

FIRST_ANSWER_TRIES = 20  # points at which a first answer is looked for


def as_problem(name: str, fun: Callable[..., Any], bounds: Any, integrality: Any = None, cheap: Any = None) -> Problem:
    """A Problem of a fun as minimize() takes it: f, (f, g), (f, g, h) or a dict of them.

    bounds are those of minimize(): integers, logarithms and categories stay what they are, and a fun of named variables
    gets a dict. integrality [D] marks further integers. cheap are constraints as minimize() takes them; here they are
    constraints like the others. What fun raises is a failed evaluation. A first answer, at the centre or at
    points drawn around it, tells how many constraints there are and their names; InvalidInput where none is usable.
    """
    variables = _mark_integers(name, Variables.read(bounds), integrality)
    lower, upper = check_bounds(variables.lower, variables.upper, name)
    integer, log = (variables.column(kind) for kind in ("integer", "log"))
    call = Call(fun, read_cheap(cheap, variables), named=variables if variables.names else None)
    box = Box(lower, upper, integer, LogScale(log, lower, upper) if log.any() else None)
    first = _find_first_answer(name, call, box)
    names = (*_constraint_names(first.g_names, first.g.size, "g"), *_constraint_names(first.h_names, first.h.size, "h"))

    def formula(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f [...], g [..., p] and h [..., q] of points [..., D], each by a call of its own."""
        rows = np.asarray(x, dtype=np.float64).reshape(-1, lower.size)
        found = [_values_in_order(call(0, row[None])[0][0], first) for row in rows]
        f, g, h = (np.array(column).reshape(*x.shape[:-1], -1) for column in zip(*found))
        return f[..., 0], g, h

    return Problem(
        name, lower, upper, first.g.size, first.h.size, formula, title=_make_title(fun, name),
        integrality=integer if integer.any() else None,
        kinds=VariableKinds(log if log.any() else None, find_categories(variables)),
        variables=tuple(variables.labels(units=True)) if variables.names else (),
        constraint_names=names, ineq_tol=INEQ_TOL, eq_tol=EQ_TOL,
    )  # fmt: skip


def _mark_integers(name: str, variables: Variables, integrality: Any) -> Variables:
    """The variables, those of a mask [D] as integers; InvalidInput where the mask does not fit."""
    if integrality is None:
        return variables
    mask = check_integrality(integrality, variables.lower, variables.upper, name)
    return Variables(
        tuple(replace(v, integer=v.integer or bool(on)) for v, on in zip(variables.each, mask)), variables.names
    )


def _find_first_answer(name: str, call: Call, box: Box) -> Answer:
    """A usable answer at the centre of a box with bounds [D], or at points drawn in it, the same each time.

    InvalidInput where there is none.
    """
    drawn = np.random.default_rng(0).random((FIRST_ANSWER_TRIES - 1, box.dim))
    for unit in np.concatenate([np.full((1, box.dim), 0.5), drawn]):
        answer = call(0, box.to_box(unit[None]))[0][0]
        if answer.fault is Fault.NONE:
            return answer
    raise InvalidInput(
        f"{name} gave no usable answer at {FIRST_ANSWER_TRIES} points between its bounds; the last: {answer.reason}"
    )


def _values_in_order(answer: Answer, like: Answer) -> tuple[float, np.ndarray, np.ndarray]:
    """f, g [p] and h [q] in the order of the first answer; nan for a failed call or one with other constraints."""
    nothing = np.nan, np.full(like.g.size, np.nan), np.full(like.h.size, np.nan)
    if answer.fault is not Fault.NONE:
        return nothing
    try:
        return (
            answer.f,
            _reorder(answer.g, answer.g_names, like.g_names),
            _reorder(answer.h, answer.h_names, like.h_names),
        )
    except KeyError:
        return nothing


def _reorder(values: np.ndarray, names: tuple[str, ...], wanted: tuple[str, ...]) -> np.ndarray:
    """Values [n] in the wanted order of names; KeyError where a name is missing."""
    if len(names) != len(wanted):
        raise KeyError("another number of constraints")
    if names == wanted or not any(names):
        return values
    place = dict(zip(names, values))
    return np.array([place[name] for name in wanted])


def _constraint_names(names: tuple[str, ...], count: int, letter: str) -> list[str]:
    """A name for each of count constraints: the given one, or letter and number where there is none."""
    return [name or f"{letter}{i}" for i, name in enumerate(names or ("",) * count, 1)]


def _make_title(fun: Callable[..., Any], name: str) -> str:
    """The first line of the docstring of fun, else its name."""
    return (fun.__doc__ or name).strip().partition("\n")[0]
