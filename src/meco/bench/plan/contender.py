"""Who takes part in an experiment: a method with its options, under the name that tables give it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from meco.bench.plan.run import TestCase
from meco.core.registry import short_name
from meco.errors import InvalidInput
from meco.files.modules import names_a_file, split_file_name
from meco.gone import find_advice
from meco.methods import METHODS, NAMED_OPTIONS
from meco.paper.meco import DEFAULT_POLICY
from meco.paper.resolve import OWN_POLICIES

COSTLY_SECONDS = 10.0  # a method that needs more for a run at 50D, as surrogates do, runs less often
LEAST_SURROGATE_RUNS = 3
PIN_DIGITS = 8  # of a policy's digest in the name of a run, as in "meco-10d@1a2b3c4d"
AS_PRINTED = "MeCO"  # trained exactly as the paper says, with a seed fixed beforehand
RELAXED = "MeCO, relaxed f_best"  # the same under the reading of 0.3: the best individual of the relaxed order
SCORE_REWARDED = "MeCO, f+ν reward"  # of 0.3: another reward, a seed chosen on the training problems
AS_RELEASED = "MeCO, as released"  # the settings of the authors' release
POLICIES = {"MeCO": DEFAULT_POLICY}  # of methods, unless another is named


@dataclass(frozen=True)
class Contender:
    """A method with its options, under the name the tables give it.

    Options may say {problem} and {dim}: the leave-one-out policy of C05 is
    "meco-loo50-{problem}". most is the greatest number of runs, for costly methods.
    """

    label: str
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    most: int | None = None

    def options_json(self, case: TestCase, pins: Mapping[str, str] | None = None) -> str:
        """The options at a case as JSON with sorted keys: part of a stored run's name. pins are policies' digests."""
        given = {k: _fill_placeholders(v, case) for k, v in sorted(self.options.items())}
        policy = given.get("policy")
        if pins and isinstance(policy, str) and policy in pins:  # constants have no digest
            given["policy"] = f"{policy}@{pins[policy]}"
        return json.dumps(given, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Contender:
        """A contender as the command line spells it: SHADE, MeCO:policy=meco-10d,pop_size=30, MeCO:policy=mine.py:Name.

        A policy, rule or engine of a file is loaded, which executes it.
        An unknown method or an option without "=" is an error; whether the method knows an option is not asked.
        """
        name, rest = split_name_and_options(text)
        options: dict[str, Any] = {}
        for pair in filter(None, _split_options(rest)):
            key, equals, value = pair.partition("=")
            if not equals:
                raise InvalidInput(f"{text!r}: options are key=value, separated by commas; got {pair!r}")
            options[key.strip()] = _parse_value(value.strip())
        for key, known in {**NAMED_OPTIONS, "policy": OWN_POLICIES}.items():
            if isinstance(options.get(key), str) and names_a_file(options[key]):
                options[key] = known.resolve(options[key])  # with its folder, and the digest of the file
        return cls.from_method(METHODS.resolve(name), rest, **options)

    @classmethod
    def from_method(cls, method: str, variant: str = "", **options: Any) -> Contender:
        """A method as the tables name it; one that is steered says by which policy."""
        if method in POLICIES:
            options.setdefault("policy", POLICIES[method])
        name = short_name(method)
        return cls(f"{name}:{variant}" if variant else name, method, options)

    @classmethod
    def of_experiment(cls, method: str, **options: Any) -> Contender:
        """A method as the experiments have it: surrogates run less often."""
        return cls.from_method(method, **options).with_few_surrogate_runs()

    def with_few_surrogate_runs(self) -> Contender:
        """The same contender as the paper's experiments have it: surrogates run less often."""
        return replace(self, most=LEAST_SURROGATE_RUNS) if self.costly else self

    @property
    def costly(self) -> bool:
        """Whether its runs take so long that experiments make few of them."""
        return METHODS[self.method].cost_seconds > COSTLY_SECONDS


def is_removed(method: str) -> bool:
    """Whether a method was removed: its runs can be read from a store but not made."""
    return find_advice("method", method) is not None and method not in METHODS


def split_name_and_options(text: str) -> tuple[str, str]:
    """The method and the text of its options, "" without any: "SHADE:pop_size=30", "mine.py:Name:pop_size=30"."""
    before = text.partition("=")[0]  # what comes after belongs to an option, which may name a file, too
    of_file = names_a_file(text) and (":" not in before or names_a_file(before))
    path, name = split_file_name(text) if of_file else ("", text)
    name, _, rest = name.partition(":")
    return f"{path}:{name}" if path else name, rest


def _fill_placeholders(value: Any, case: TestCase) -> Any:
    """Text with {problem} and {dim} put in; other braces may stand in a path."""
    if not isinstance(value, str):
        return value
    return value.replace("{problem}", case.problem).replace("{dim}", str(case.dim))


def _split_options(text: str) -> list[str]:
    """The parts of a text between commas, [""] of an empty one; commas inside brackets cut nothing."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _parse_value(text: str) -> Any:
    """JSON where it is JSON (numbers, true, lists), else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
