"""What an experiment is: contenders, cases where they run, how often, and what to show of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache

from meco.bench.plan.contender import Contender, is_removed
from meco.bench.plan.run import Run, TestCase
from meco.bench.plan.user_problem import load_user_problem
from meco.core.problem import Problem
from meco.errors import DamagedFile, InvalidInput
from meco.files.modules import file_digest
from meco.gone import find_advice
from meco.problems.plugins import PLUGINS
from meco.problems.suite import get_problem

MOST_RUNS = 10_000_000  # of an experiment
RWCO_DIMS = (  # variables of RC01 to RC57: reports of stored runs need no formula of benchmarks/rwco
    9, 11, 7, 6, 9, 38, 48, 2, 3, 3, 7, 7, 5, 10, 7, 14, 3, 4, 4, 2, 5, 9, 5, 7, 4, 22, 10, 10, 4, 3, 4, 5, 30, 118,
    153, 158, 126, 126, 126, 76, 74, 86, 86, 30, 25, 25, 25, 30, 30, 30, 59, 59, 59, 59, 64, 64, 64,
)  # fmt: skip


@dataclass(frozen=True)
class ReportPlan:
    """What the report of an experiment says and shows."""

    about: str = ""
    views: tuple[str, ...] = ("ranks", "values", "convergence", "ecdf")
    printed: str = ""  # which printed table stands beside
    focus: tuple[str, ...] = ()  # contenders that figures bring out
    notes: tuple[str, ...] = ()


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
    quick: tuple[str, ...] = ()  # contenders of a quick look
    report: ReportPlan = field(default_factory=ReportPlan)
    files: Mapping[str, str] = field(default_factory=dict)  # user problems: name -> file
    versions: Mapping[str, tuple[int, str]] = field(default_factory=dict)  # name -> D, digest of the file
    pins: Mapping[str, str] = field(default_factory=dict)  # policies: name -> first digits of their digest

    def cases(self, dim: int | None = None) -> list[TestCase]:
        """Every problem at every dimension, or at one of them; [] at one that the experiment does not have."""
        return [
            self._make_case(name, d)
            for d in self.dims
            for name in self.problems
            if dim is None or d is None or d == dim
        ]

    def _make_case(self, name: str, dim: int | None) -> TestCase:
        """A problem at a dimension, its own for None; the instance of a user's problem is the digest of its file."""
        if name in self.files:
            size, digest = self.versions[name] if name in self.versions else read_dim_and_digest(self.files[name], name)
            return TestCase(name, size, digest, self._budget_at(size))
        if dim is None:
            removed = find_advice("problem", name) is not None
            dim = RWCO_DIMS[int(name[2:]) - 1] if removed else get_problem(name).dim
        return TestCase(name, dim, self.instance, self._budget_at(dim))

    def _budget_at(self, dim: int) -> int:
        """Evaluations of a run in so many variables."""
        return self.budget or min(self.per_variable * dim, self.most)

    def wanted_runs(self, dim: int | None = None) -> Iterator[tuple[Contender, Run]]:
        """Every run of the experiment, with the contender it belongs to."""
        cases = self.cases(dim)
        for contender in self.contenders:
            for case in cases:
                for run in self.runs_of(contender, case):
                    yield contender, run

    def runs_of(self, contender: Contender, case: TestCase) -> list[Run]:
        """The runs of a contender on a case, with consecutive seeds from first_seed on."""
        options = contender.options_json(case, self.pins)
        seeds = range(self.first_seed, self.first_seed + self.run_count(contender))
        return [Run(contender.method, options, case, seed) for seed in seeds]

    def run_count(self, contender: Contender) -> int:
        """How many runs a contender makes at each case; their seeds follow each other from first_seed on."""
        return self.runs if contender.most is None else min(self.runs, contender.most)

    def to_json(self) -> str:
        """The experiment as text for the store, by the names of its fields; those of the report are among them."""
        plan = asdict(self)
        return json.dumps(plan | plan.pop("report"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Experiment:
        """Read the text of to_json(). Absent fields and null have their defaults; DamagedFile for any other text.

        A report executes no file: files of users' problems need their versions in the text.
        """
        shown = {each.name for each in fields(ReportPlan)}
        known = {each.name for each in fields(cls)} | shown
        try:
            plan = {k: v for k, v in json.loads(text).items() if k in known and v is not None}
            plan["contenders"] = tuple(Contender(**c) for c in plan["contenders"])
            plan |= {k: tuple(v) for k, v in plan.items() if isinstance(v, list)}
            plan["versions"] = {name: tuple(v) for name, v in plan.get("versions", {}).items()}
            report = ReportPlan(**{k: plan.pop(k) for k in shown & set(plan)})
            made = cls(**plan, report=report)
            size = made.runs * len(made.contenders) * len(made.problems) * len(made.dims)
            right = not set(made.files) - set(made.versions) and 0 <= size <= MOST_RUNS
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise DamagedFile(f"the plan of an experiment is damaged: {type(error).__name__}: {error}") from error
        if not right:
            raise DamagedFile(f"experiment {made.name!r:.60} is damaged: its files or run counts make no sense")
        return made


def find_removed(run: Run) -> str | None:
    """The name of the method or problem of a run that was removed, so that the run can only be read; None of others."""
    if is_removed(run.method):
        return run.method
    family = re.fullmatch(r"G-(.+)-\d+", run.case.problem)
    if family is not None:
        gone = find_advice("family of generated problems", family[1]) is not None
    else:
        gone = find_advice("problem", run.case.problem) is not None and run.case.problem not in PLUGINS
    return run.case.problem if gone else None


def load_problem(case: TestCase, files: Mapping[str, str]) -> Problem:
    """The problem of a case, the same object for all its runs in this process; files holds users' problems by name.

    A user's file is executed; one that is missing or changed since the case was made is an error.
    """
    if case.problem in files:
        path = files[case.problem]
        problem = load_user_problem(path, case.problem.rpartition(":")[2])
        if file_digest(path) != case.instance:
            raise InvalidInput(f"{path} changed since the campaign began; give the command again to run it anew")
        return problem
    return _load_benchmark(case.problem, case.dim, case.instance)


@lru_cache(maxsize=256)
def _load_benchmark(name: str, dim: int, instance: str) -> Problem:
    """The problem of a suite at a dimension; an instance of digits is a number. MissingData without its tables."""
    return get_problem(name, dim, int(instance) if instance.isdigit() else instance)


def read_dim_and_digest(path: str, name: str) -> tuple[int, str]:
    """The number of variables of a user's problem as its file has it now, and the file's digest."""
    return load_user_problem(path, name.rpartition(":")[2]).dim, file_digest(path)
