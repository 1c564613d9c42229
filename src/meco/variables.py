"""Variables: one design for all doors, from pairs of numbers to records with a unit, integers and logarithms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from meco.errors import InvalidInput, UnknownName, name_unknown_fields
from meco.read_numbers import read_flag, read_real

WIDEST_RANGE = 1e300  # of a variable: arithmetic with wider ones overflows
KINDS = {  # of variables, which are no units, and the field that says so
    **dict.fromkeys(("int", "integer", "integers", "whole", "discrete"), "integer"),
    **dict.fromkeys(("log", "log10", "logarithmic"), "log"),
}
_NOT_GIVEN: Any = type("NotGiven", (), {"__repr__": lambda self: "not given"})()  # an end; None is no limit


class HasEnds(Protocol):
    """Ends of ranges, as SciPy's Bounds have them."""

    @property
    def lb(self) -> Any: ...

    @property
    def ub(self) -> Any: ...


class UnknownVariable(UnknownName, InvalidInput):
    """A point that names a variable which does not exist."""


class KindForUnit(InvalidInput):
    """A kind of variable in the place of its unit."""


class UnknownCategory(UnknownName, InvalidInput):
    """A point with a category that its variable does not have."""


@name_unknown_fields
@dataclass(frozen=True)
class Variable:
    """One variable: its range, its unit, and what kind of number it is.

    An integer variable takes the whole numbers of its range; a log variable is searched by factors. An end that is
    infinite, or None, is no limit. Variable(categories=["steel", "brass"]) takes one of these values, which stand in
    points x by their places, from 0; ordered=True says that neighbours are alike, as sizes of a catalogue are.
    """

    low: float = _NOT_GIVEN
    high: float = _NOT_GIVEN
    unit: str | None = None
    integer: bool = False
    log: bool = False
    categories: Sequence[Any] | None = None
    ordered: bool = False

    FIELD_ADVICE: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            ("step", "q", "resolution"),
            "a grid is an integer variable that fun multiplies by the step, or its values: "
            "Variable(categories=[0, 0.5, 1], ordered=True)",
        ),
        **dict.fromkeys(("type", "dtype", "kind", "vartype"), "say integer=True, log=True or categories=[..]"),
        **dict.fromkeys(("choices", "values", "options", "levels"), 'values are categories=["steel", "brass"]'),
        "name": 'names are the keys of bounds: {"width": Variable(0, 2)}',
    }

    def __post_init__(self) -> None:
        """Check and set every field; InvalidInput for a range or a kind that cannot be."""
        object.__setattr__(self, "ordered", read_flag(self.ordered, "ordered of a variable"))
        if self.categories is not None:
            self._read_categories()
        elif self.ordered:
            raise InvalidInput("ordered=True is for categories; numbers are ordered by themselves")
        if self.low is _NOT_GIVEN or self.high is _NOT_GIVEN:
            raise InvalidInput("a variable needs low and high, or categories")
        for end, none in (("low", -math.inf), ("high", math.inf)):
            given = getattr(self, end)
            object.__setattr__(self, end, none if given is None else read_real(given, f"{end} of a variable"))
        for kind in ("integer", "log"):
            object.__setattr__(self, kind, read_flag(getattr(self, kind), f"{kind} of a variable"))
        if not (self.unit is None or isinstance(self.unit, str)):
            raise InvalidInput(f'unit of a variable must be a text, such as "mm"; got {self.unit!r:.60}')
        if not self.low <= self.high or self.low == math.inf or self.high == -math.inf:
            raise InvalidInput(f"a variable needs low <= high; got {self.low} and {self.high}")
        if self.log and self.infinite:
            raise InvalidInput(
                f"a log variable needs finite ends; got ({self.low}, {self.high}): give the widest range that makes "
                "sense"
            )
        if not self.infinite and not self.high - self.low < WIDEST_RANGE:
            raise InvalidInput(f"the ends of a variable are too far apart: {self.low} and {self.high}")
        if self.integer and not self.infinite and math.ceil(self.low) > math.floor(self.high):
            raise InvalidInput(f"an integer variable has no whole number between {self.low} and {self.high}")
        if self.log and self.low <= 0:
            raise InvalidInput(f"a log variable needs low above 0; got {self.low}")
        if self.log and self.integer:
            raise InvalidInput("a variable is integer or log, not both")

    def _read_categories(self) -> None:
        """Check and set the categories: two or more different texts, numbers or flags; their places are the numbers.

        InvalidInput for others.
        """
        given = self.categories
        if isinstance(given, (str, bytes, Mapping, Set)) or not isinstance(given, Iterable):
            raise InvalidInput(f'categories must be a list of values, such as ["steel", "brass"]; got {given!r:.60}')
        values = tuple(v.item() if isinstance(v, np.generic) else v for v in given)
        given_too = (self.low, self.high, self.log, self.unit)
        copied = (0.0, len(values) - 1.0, False, None)  # of a record of this
        if given_too not in ((_NOT_GIVEN, _NOT_GIVEN, False, None), copied):
            raise InvalidInput("a variable has categories, or low and high; a unit belongs into their names")
        if len(values) < 2:
            raise InvalidInput(
                f"a variable needs two categories or more; got {list(values)!r:.60}"
                + ("; a single value is fixed: leave the variable out and set it in fun" if values else "")
            )
        for i, value in enumerate(values):
            if not isinstance(value, (str, bool, int, float)) or value != value:
                raise InvalidInput(f"a category must be a text, a number, True or False; got {value!r:.60}")
            if any(value == other and type(value) is type(other) for other in values[:i]):
                raise InvalidInput(f"the category {value!r:.60} comes twice")
        for name, value in (("categories", values), ("low", 0.0), ("high", len(values) - 1.0), ("integer", True)):
            object.__setattr__(self, name, value)

    @property
    def infinite(self) -> bool:
        """Whether an end is missing."""
        return math.isinf(self.low) or math.isinf(self.high)

    def show(self, value: float) -> str:
        """A value of this variable as tables show it: the name of a category, else a number."""
        return f"{value:.8g}" if self.categories is None else str(self.category_at(value))

    def category_at(self, place: float) -> Any:
        """The category at a place, as points hold it: rounded, and cut to the places that there are."""
        assert self.categories is not None
        return self.categories[min(max(round(float(place)), 0), len(self.categories) - 1)]

    def place_of(self, value: Any, name: str = "") -> float:
        """The place of a category, by its value; UnknownCategory, with the name of the variable, for another value."""
        assert self.categories is not None
        value = value.item() if isinstance(value, np.generic) else value
        for i, category in enumerate(self.categories):
            if category == value and isinstance(category, bool) == isinstance(value, bool):
                return float(i)
        kind = f"category of variable {name!r}" if name else "category"
        raise UnknownCategory(kind, str(value), [str(category) for category in self.categories])


@dataclass(frozen=True)
class Variables:
    """All variables in their order; named ones are handed to the function as a dict."""

    each: tuple[Variable, ...]
    names: tuple[str, ...] = ()  # () where they were given without names

    def __post_init__(self) -> None:
        """Check variables and names; InvalidInput without any, or for names that do not fit."""
        each, names = tuple(self.each), tuple(self.names)
        if not each or not all(isinstance(variable, Variable) for variable in each):
            raise InvalidInput(f"Variables needs one Variable or more; got {self.each!r:.60}")
        for i, name in enumerate(names):
            if not isinstance(name, str) or not name:
                raise InvalidInput(f"the name of a variable must be a text; got {name!r:.60}")
            if name in names[:i]:
                raise InvalidInput(f"two variables have the name {name!r}")
        if names and len(names) != len(each):
            raise InvalidInput(f"{len(each)} variables need {len(each)} names; got {len(names)}")
        object.__setattr__(self, "each", each)
        object.__setattr__(self, "names", names)

    @classmethod
    def read(cls, bounds: Any) -> Variables:
        """From pairs, Variables, an array [D, 2], an object with lb and ub, or a dict of names.

        InvalidInput for others.
        """
        if isinstance(bounds, Variables):
            return bounds
        if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
            bounds = _pair_ends(bounds.lb, bounds.ub)
        if isinstance(bounds, Mapping):
            if not bounds:
                raise InvalidInput("bounds names no variable; give {name: (low, high), ...}")
            return cls(tuple(_read_variable(given, repr(name)) for name, given in bounds.items()), tuple(bounds))
        if isinstance(bounds, (str, bytes, Set)) or not isinstance(bounds, Iterable):
            kind = " (a set has no order)" if isinstance(bounds, Set) else ""
            kind = " (without limits: [(None, None)] * D, and x0= to begin at)" if bounds is None else kind
            raise InvalidInput(f"bounds must be one (low, high) pair per variable{kind}; got {bounds!r:.60}")
        try:
            given = list(bounds)
        except TypeError as error:  # an array without an axis
            raise InvalidInput(f"bounds must be one (low, high) pair per variable; got {bounds!r:.60}") from error
        shape = _shape_of_numbers(given)
        if not given or (shape is not None and (len(shape) != 2 or shape[1] != 2)):
            hint = ""
            if shape is not None and len(shape) == 2 and shape[0] == 2:
                hint = " (is it transposed?)"
            elif shape is not None and len(shape) == 1 and shape[0]:
                hint = f" ({'one variable is [(low, high)]; ' * (shape == (2,))}a point to begin at is x0=)"
            raise InvalidInput(
                f"bounds must be one (low, high) pair per variable, shape (D, 2); got shape {shape or (0,)}{hint}"
            )
        return cls(tuple(_read_variable(each, i) for i, each in enumerate(given)))

    @classmethod
    def of(cls, lower: Any, upper: Any, integer: Any = False, log: Any = False) -> Variables:
        """Without names or units: least and largest values [D]; integer and log are True, or masks [D]."""
        low, high = np.atleast_1d(lower), np.atleast_1d(upper)
        masks = [
            np.broadcast_to(np.asarray(False if mask is None else mask, dtype=bool), low.shape)
            for mask in (integer, log)
        ]
        rows = zip(low.tolist(), high.tolist(), *(mask.tolist() for mask in masks))
        return cls(tuple(Variable(a, b, integer=i, log=j) for a, b, i, j in rows))

    def column(self, name: str) -> np.ndarray:
        """One field of every variable, such as "low": [D]."""
        return np.array([getattr(variable, name) for variable in self.each])

    @property
    def lower(self) -> np.ndarray:
        """Least values [D]: whole numbers of integer variables."""
        low = self.column("low").astype(np.float64)
        return np.where(self.column("integer"), np.ceil(low), low)

    @property
    def upper(self) -> np.ndarray:
        """Largest values [D]: whole numbers of integer variables."""
        high = self.column("high").astype(np.float64)
        return np.where(self.column("integer"), np.floor(high), high)

    def shown_range(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From where to where pictures of points x [n, D] go: the bounds [D], or the points where there is none."""
        low, high = self.lower, self.upper
        return np.where(np.isinf(low), x.min(axis=0), low), np.where(np.isinf(high), x.max(axis=0), high)

    def labels(self, units: bool = False) -> list[str]:
        """What tables call the variables: their names, or x1, x2 ...; with units as in "width [m]"."""
        names = self.names or [f"x{i + 1}" for i in range(len(self.each))]
        return [f"{name} [{v.unit}]" if units and v.unit else name for name, v in zip(names, self.each)]

    def as_dict(self, x: np.ndarray) -> dict[str, Any]:
        """A point [D] by name, integer variables as int, categories as their values; rows [S, D] as columns [S]."""
        columns = np.moveaxis(np.asarray(x, dtype=np.float64), -1, 0)
        return {
            name: _own_values(variable, column, single=columns.ndim == 1)
            for name, variable, column in zip(self.names, self.each, columns)
        }

    def design(self, x: np.ndarray) -> dict[str, Any]:
        """A point [D] by label, whether the variables have names or not: float, int, or the value of a category."""
        values = np.asarray(x, dtype=np.float64).tolist()
        return {
            label: _own_values(variable, np.asarray(value), single=True)
            if variable.integer or variable.categories
            else value
            for label, variable, value in zip(self.labels(), self.each, values)
        }

    def own_values(self, x: np.ndarray) -> list[Any]:
        """A point [D] as a list of numbers, with categories by their values."""
        pairs = zip(self.each, np.asarray(x, dtype=np.float64).tolist())
        return [value if each.categories is None else each.category_at(value) for each, value in pairs]

    @property
    def categorical(self) -> np.ndarray:
        """Variables [D] that are categories."""
        return np.array([variable.categories is not None for variable in self.each])

    @property
    def unordered(self) -> np.ndarray:
        """Variables [D] that are categories without an order."""
        return self.categorical & ~self.column("ordered")

    def as_array(self, x: Any) -> Any:
        """Points given by name as an array: a dict is a point [D] or columns, a list of dicts rows [n, D].

        Anything else is given back as it is.
        """
        if isinstance(x, Mapping):
            return np.stack(np.broadcast_arrays(*self._values_by_name(x)), axis=-1)
        if isinstance(x, Sequence) and x and all(isinstance(point, Mapping) for point in x):
            return np.array([self.as_array(point) for point in x])
        return x

    def _values_by_name(self, x: Mapping[Any, Any]) -> list[np.ndarray]:
        """The values of each variable in a point by name, in their order.

        UnknownVariable or InvalidInput for other names.
        """
        if not self.names:
            raise InvalidInput("a point by name needs variables with names: give bounds as a dict {name: (low, high)}")
        wrong = [name for name in x if name not in self.names]
        if wrong:
            raise UnknownVariable("variable", wrong[0], self.names)
        missing = [name for name in self.names if name not in x]
        if missing:
            raise InvalidInput(f"a point by name needs every variable; {missing[0]!r} is missing")
        try:
            return [_read_values(variable, x[name], name) for name, variable in zip(self.names, self.each)]
        except UnknownCategory:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"a point by name must be numbers; got {dict(x)!r:.60}") from error


def _own_values(variable: Variable, column: np.ndarray, *, single: bool) -> Any:
    """One value of a variable, or a column [S] of them, in its own type: float, int, or the value of a category."""
    if variable.categories is not None:
        if single:
            return variable.category_at(float(column))
        return np.array([variable.category_at(place) for place in column.tolist()], dtype=object)
    return int(column) if variable.integer and single else column[()]


def _read_values(variable: Variable, given: Any, name: str) -> np.ndarray:
    """What a point by name gives for a variable: numbers, the places of categories.

    UnknownCategory for another value.
    """
    if variable.categories is None:
        return np.asarray(given, dtype=np.float64)
    if isinstance(given, (list, tuple)) or (isinstance(given, np.ndarray) and given.ndim):
        return np.array([variable.place_of(value, name) for value in given])
    return np.asarray(variable.place_of(given, name))


def _pair_ends(low: Any, high: Any) -> np.ndarray:
    """Ends of ranges, as an object with lb and ub holds them, as pairs [D, 2]; InvalidInput for others."""
    try:
        ends = np.broadcast_arrays(np.atleast_1d(low).astype(np.float64), np.atleast_1d(high).astype(np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"lb and ub of bounds must be numbers of equal count; got {low!r:.40}, {high!r:.40}"
        ) from error
    return np.stack(ends, axis=-1)


def _shape_of_numbers(given: Sequence[Any]) -> tuple[int, ...] | None:
    """The shape of bounds that are numbers alone; None where there are Variables or texts among them."""
    if any(isinstance(each, (str, bytes)) for each in given):
        return None
    try:
        return np.shape(np.array(given, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        return None


def _read_variable(given: Any, which: int | str) -> Variable:
    """A variable from (low, high), (low, high, unit), categories, a dict or itself.

    InvalidInput says which is wrong.
    """
    if isinstance(given, Variable):
        return given
    if isinstance(given, (list, tuple)) and given and all(isinstance(each, str) for each in given):
        _refuse_numeric_texts(given, which)
        given = {"categories": given}
    if isinstance(given, Mapping) and given and set(given) <= set(Variable.__dataclass_fields__):
        try:
            return Variable(**given)
        except InvalidInput as error:
            raise InvalidInput(f"bounds of variable {which}: {error}") from error
    try:
        if isinstance(given, (str, bytes, Mapping, Set)):
            raise TypeError
        low, high, *unit = given
        if unit and (kind := KINDS.get(getattr(unit[0], "__name__", unit[0]))):
            said = f"bounds of variable {which}: the third is a unit, such as 'mm'; for this kind write "
            record = f'{{"low": {low}, "high": {high}, "{kind}": true}}'
            raise KindForUnit(f"{said}Variable({low}, {high}, {kind}=True)").on_command_line(said + record)
        if len(unit) > 1 or not all(isinstance(each, str) for each in unit):
            raise TypeError
        return Variable(low, high, *unit)
    except KindForUnit:
        raise
    except InvalidInput as error:
        hint = _hint_at_categories(given)
        raise InvalidInput(f"bounds of variable {which}: {error}{hint}") from error
    except (TypeError, ValueError) as error:
        hint = _hint_at_categories(given)
        raise InvalidInput(
            f"bounds must be one (low, high) pair of numbers per variable, (low, high, unit), or a list of texts, its "
            f"categories; variable {which} has {given!r:.60}{hint}"
        ) from error


def _refuse_numeric_texts(given: Sequence[str], which: int | str) -> None:
    """InvalidInput for texts that look like the two ends of a range, with a unit or without."""
    numeric = [_is_numeric(text) for text in given]
    if numeric in ([True, True], [True, True, False]):
        ends = ", ".join([*given[:2], *map(repr, given[2:])])
        raise InvalidInput(
            f"bounds of variable {which}: {given!r:.60} has texts where numbers are wanted: write ({ends}), or "
            f"Variable(categories={list(given)!r:.60}) if these are its categories"
        )


def _is_numeric(text: str) -> bool:
    """Whether a text is that of a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _hint_at_categories(given: Any) -> str:
    """How values that may be meant as categories are given, for a message; "" for what cannot be any."""
    if not isinstance(given, (list, tuple)) or len(given) < 2:
        return ""
    texts = sum(isinstance(each, str) for each in given)
    numbers = sum(isinstance(each, (int, float)) and not isinstance(each, bool) for each in given)
    if numbers == 2 and len(given) - numbers <= 1:  # a range, with something that is no unit
        return ""
    if numbers == len(given) or (texts < len(given) and not numbers):
        values = ["none" if each is None else each for each in given]
        return f"; values to choose from are Variable(categories={values!r:.60})"
    return ""
