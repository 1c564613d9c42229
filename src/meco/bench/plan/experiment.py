"""What an experiment is: contenders, cases where they run, how often, and what to show of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from meco.bench.plan.plan_schema import read_plan, read_run
from meco.bench.plan.user_problem import load_user_problem
from meco.core.problem import Problem
from meco.core.registry import short
from meco.errors import InvalidInput, MecoError, UnknownName
from meco.files.modules import file_digest, names_a_file, split
from meco.methods import METHODS
from meco.policies.paper.methods import DEFAULT_POLICY
from meco.problems.suite import get_problem
from meco.tr.steered import DEFAULT_SEARCH_POLICY

COSTLY_SECONDS = 10.0  # a method that needs more for a run at 50D, as surrogates do, runs less often
LEAST_SURROGATE_RUNS = 3
POLICIES = {"MeCO": DEFAULT_POLICY, "MeCO-TR": DEFAULT_SEARCH_POLICY}  # of methods, unless another is named


class TestCase(NamedTuple):
    """Where a run happens: a problem at a dimension, its instance, and the evaluations allowed."""

    problem: str
    dim: int
    instance: str
    budget: int


class Run(NamedTuple):
    """One run, named by everything its result depends on."""

    method: str
    options: str  # JSON with sorted keys
    case: TestCase
    seed: int

    def to_json(self) -> str:
        """The name as text."""
        return json.dumps(self, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Run:
        """Back from to_json()."""
        method, options, case, seed = read_run(text)
        return cls(method, options, TestCase(*case), seed)


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

    def filled(self, case: TestCase, pins: Mapping[str, str] | None = None) -> str:
        """The options at a case, as the JSON that names a run; a policy is named with its pin."""
        given = {k: _fill(v, case) for k, v in sorted(self.options.items())}
        policy = given.get("policy")
        if pins and isinstance(policy, str) and policy in pins:  # constants have no digest
            given["policy"] = f"{policy}@{pins[policy]}"
        return json.dumps(given, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Contender:
        """A contender as the command line spells it: SHADE, or MeCO:policy=meco-10d,pop_size=30."""
        name, rest = cut_name(text)
        options: dict[str, Any] = {}
        for pair in filter(None, _cut(rest)):
            key, equals, value = pair.partition("=")
            if not equals:
                raise InvalidInput(f"{text!r}: options are key=value, separated by commas; got {pair!r}")
            options[key.strip()] = _number(value.strip())
        return cls.of(METHODS.resolve(name), rest, **options)

    @classmethod
    def of(cls, method: str, variant: str = "", **options: Any) -> Contender:
        """A method as the tables name it; one that is steered says by which policy."""
        if method in POLICIES:
            options.setdefault("policy", POLICIES[method])
        name = short(method)
        return cls(f"{name}:{variant}" if variant else name, method, options)

    def limited(self) -> Contender:
        """The same contender as the paper's experiments have it: surrogates run less often."""
        return replace(self, most=LEAST_SURROGATE_RUNS) if self.costly else self

    @property
    def costly(self) -> bool:
        """Whether its runs take so long that experiments make few of them."""
        return METHODS[self.method].seconds > COSTLY_SECONDS


@dataclass(frozen=True)
class Experiment:
    """An experiment as data: everything a campaign and its report need to know."""

    name: str
    title: str
    contenders: tuple[Contender, ...]
    problems: tuple[str, ...]
    dims: tuple[int | None, ...] = (None,)  # None: the problem's own
    instance: str = "paper"
    budget: int | None = None  # evaluations of a run; None: so many a variable, up to a most
    per_variable: int = 50
    most: int = 1_000_000
    runs: int = 10
    first_seed: int = 42  # where the paper's authors begin
    about: str = ""
    views: tuple[str, ...] = ("ranks", "values", "convergence", "ecdf")
    printed: str = ""  # which printed table stands beside
    quick: tuple[str, ...] = ()  # contenders of a quick look
    focus: tuple[str, ...] = ()  # contenders that figures bring out
    notes: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)  # user problems: name -> file
    versions: Mapping[str, tuple[int, str]] = field(default_factory=dict)  # name -> D, digest of the file
    pins: Mapping[str, str] = field(default_factory=dict)  # policies: name -> first digits of their digest

    def cases(self, dim: int | None = None) -> list[TestCase]:
        """Every problem at every dimension, or at one of them."""
        return [
            self._case(name, d) for d in self.dims for name in self.problems if dim is None or d is None or d == dim
        ]

    def _case(self, name: str, dim: int | None) -> TestCase:
        if name in self.files:
            size, digest = self.versions[name] if name in self.versions else _version(self.files[name], name)
            return TestCase(name, size, digest, self._budget(size))
        if dim is None:
            dim = get_problem(name).dim
        return TestCase(name, dim, self.instance, self._budget(dim))

    def _budget(self, dim: int) -> int:
        return self.budget or min(self.per_variable * dim, self.most)

    def wanted(self, dim: int | None = None) -> Iterator[tuple[Contender, Run]]:
        """Every run of the experiment, with the contender it belongs to."""
        cases = self.cases(dim)
        for contender in self.contenders:
            for case in cases:
                for run in self.runs_of(contender, case):
                    yield contender, run

    def runs_of(self, contender: Contender, case: TestCase) -> list[Run]:
        """The runs of a contender on a case, with consecutive seeds."""
        options = contender.filled(case, self.pins)
        seeds = range(self.first_seed, self.first_seed + self.seeds(contender))
        return [Run(contender.method, options, case, seed) for seed in seeds]

    def seeds(self, contender: Contender) -> int:
        """How many runs a contender makes at each case."""
        return self.runs if contender.most is None else min(self.runs, contender.most)

    def pinned(self) -> Experiment:
        """The same experiment with the digests of its policies and user problems: what is new makes new runs.

        A report finds the runs by these digests, without the policies and files themselves.
        """
        now = replace(self, versions={name: _version(path, name) for name, path in self.files.items()})
        steered, cases = [c for c in self.contenders if isinstance(c.options.get("policy"), str)], now.cases()
        names = {json.loads(c.filled(p))["policy"] for c in steered for p in cases}
        found = {name: policy_digest(name) for name in sorted(names)}
        return replace(now, pins={name: digest for name, digest in found.items() if digest})

    def adjusted(
        self,
        runs: int | None = None,
        quick: bool = False,
        methods: Iterable[str] | None = None,
        surrogate_runs: int | None = None,
    ) -> Experiment:
        """The same experiment with other run counts or contenders; a number of runs that is given holds for all."""
        contenders = self.contenders
        if quick and self.quick:
            contenders = tuple(c for c in contenders if c.label in self.quick)
        if methods:
            contenders = tuple(self._named(text) for text in methods)
        if runs is not None and runs < 1:
            raise InvalidInput(f"--runs must be at least 1; got {runs}")
        if runs is not None:
            contenders = tuple(replace(c, most=None) for c in contenders)
        if surrogate_runs is not None:
            contenders = tuple(replace(c, most=surrogate_runs) if c.costly else c for c in contenders)
        return replace(self, contenders=contenders, runs=runs or (3 if quick else self.runs))

    def own(self, text: str) -> Contender | None:
        """The contender of this label, or of the method that it is another spelling of."""
        known = {c.label.lower(): c for c in self.contenders}
        exact = METHODS.resolve(text) if text in METHODS else text
        return known.get(text.lower()) or known.get(exact.lower())

    def _named(self, text: str) -> Contender:
        """The contender of this label; another method joins with its defaults."""
        found = self.own(text)
        if found is not None:
            return found
        if cut_name(text)[0] not in METHODS:
            raise UnknownName("method", text, [*known_labels(self), *METHODS])
        return Contender.parse(text).limited()

    def joined(self, other: Experiment) -> Experiment:
        """This experiment with what another of the same name adds; where both speak, the other counts."""
        mine, theirs = ({c.label: c for c in e.contenders} for e in (self, other))
        runs = max(self.runs, other.runs)

        def both(label: str) -> Contender:
            if label not in mine or label not in theirs or mine[label].most == theirs[label].most:
                return theirs.get(label) or mine[label]
            most = max(self.seeds(mine[label]), other.seeds(theirs[label]))  # a smaller number takes nothing back
            return replace(theirs[label], most=most if most < runs else None)

        return replace(
            other,
            contenders=tuple(both(label) for label in {**mine, **theirs}),
            problems=tuple(dict.fromkeys((*self.problems, *other.problems))),
            dims=tuple(dict.fromkeys((*self.dims, *other.dims))),
            runs=runs,
            pins={**self.pins, **other.pins},
            versions={**self.versions, **other.versions},
            files={**self.files, **other.files},
        )

    def to_json(self) -> str:
        """The experiment as text, for the store."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Experiment:
        """Back from to_json(); fields of an older text may be absent."""
        facts = read_plan(text)
        facts["contenders"] = tuple(Contender(**c) for c in facts["contenders"])
        facts |= {k: tuple(v) for k, v in facts.items() if isinstance(v, list)}
        facts["versions"] = {name: tuple(v) for name, v in facts.get("versions", {}).items()}
        return cls(**facts)


@lru_cache(maxsize=256)
def policy_digest(name: str) -> str:
    """The first digits of a policy's digest; nothing for a policy that is not there."""
    from meco.policies.store import load_policy

    try:
        return str(load_policy(name).metadata["digest"])[:8]
    except MecoError:
        return ""


def cut_name(text: str) -> tuple[str, str]:
    """The method and its options: "SHADE:pop_size=30", "mine.py:Name:pop_size=30"."""
    path, name = split(text) if names_a_file(text) else ("", text)
    name, _, rest = name.partition(":")
    return f"{path}:{name}" if path else name, rest


def known_labels(experiment: Experiment) -> list[str]:
    """What the contenders of an experiment are called."""
    return [c.label for c in experiment.contenders]


def load_problem(case: TestCase, files: Mapping[str, str]) -> Problem:
    """The problem of a case, the same object for all its runs in this process."""
    if case.problem in files:
        path = files[case.problem]
        problem = load_user_problem(path, case.problem.rpartition(":")[2])
        if file_digest(path) != case.instance:
            raise InvalidInput(f"{path} changed since the campaign began; give the command again to run it anew")
        return problem
    return _benchmark(case.problem, case.dim, case.instance)


@lru_cache(maxsize=256)
def _benchmark(name: str, dim: int, instance: str) -> Problem:
    return get_problem(name, dim, int(instance) if instance.isdigit() else instance)


def _version(path: str, name: str) -> tuple[int, str]:
    """The number of variables of a user's problem as its file has it now, and the file's digest."""
    return load_user_problem(path, name.rpartition(":")[2]).dim, file_digest(path)


def _fill(value: Any, case: TestCase) -> Any:
    """Text with {problem} and {dim} put in; other braces may stand in a path."""
    if not isinstance(value, str):
        return value
    return value.replace("{problem}", case.problem).replace("{dim}", str(case.dim))


def _cut(text: str) -> list[str]:
    """The parts of a text between commas; commas inside brackets cut nothing."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _number(text: str) -> Any:
    """JSON where it is JSON (numbers, true, lists), else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
