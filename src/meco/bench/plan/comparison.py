"""A comparison of one's own: any methods on any problems, as an experiment."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment, ReportPlan, load_problem
from meco.bench.plan.revise import adjust_experiment
from meco.bench.plan.user_problem import load_user_problem
from meco.errors import InvalidInput, UnknownName
from meco.methods import DEFAULT
from meco.problems.suite import SUITES, find_problem_module

FIRST_SEED = 1  # 42 also seeds the paper's instances: below 8D its first population holds the very optimum
INSTANCE = "paper"
INSTANCE_MARK, BUDGET_MARK = "-instance-", "-budget-"  # in the names of comparisons
ON_SUITES = ("MeCO", "SHADE", "SHADE-eps", "MA-ES")  # methods compared unless others are named
ON_OWN = (DEFAULT, "MA-ES", "SHADE-FR")  # where the problem is one's own: which method to use?
PROFILE_VIEWS = ("profiles", "ert", "u-score")
VIEWS = ("ranks", "critical", "values", "pairs", "feasibility", "progress", "ecdf", *PROFILE_VIEWS, "convergence")


def make_comparison(
    suite: str | None = None,
    problems: Sequence[str] = (),
    methods: Sequence[str] | None = None,
    dims: Sequence[int] | None = None,
    instance: str = INSTANCE,
    budget: int | None = None,
    runs: int | None = None,
    surrogate_runs: int | None = None,
) -> Experiment:
    """An experiment from names: a suite, problems, or file.py:name, whose file is executed.

    Every problem is loaded once: an unknown name, nothing to compare on, or a dimension, instance or budget that
    cannot be, is an error here. methods None or empty: ON_SUITES, or ON_OWN where every problem is from a file.
    """
    if suite is not None and suite not in SUITES:
        raise UnknownName("suite", suite, SUITES)
    names = list(SUITES[suite]) if suite else []
    files: dict[str, str] = {}
    for text in problems:
        file, colon, name = text.rpartition(":")
        if colon and file.endswith(".py"):
            path = str(Path(file).resolve())
            load_user_problem(path, name)
            files[f"{Path(file).name}:{name}"] = path
        else:
            names.append(find_problem_module(text)[1])
    if not names and not files:
        raise InvalidInput("nothing to compare on: give --suite (e.g. cec2017) or --problem (e.g. C01 or file.py:name)")
    if budget is not None and budget < 1:
        raise InvalidInput(f"--budget must be at least 1 evaluation; got {budget}")
    chosen = tuple(Contender.parse(m) for m in methods or (ON_SUITES if names else ON_OWN))
    every = (*dict.fromkeys(names), *files)
    views: tuple[str, ...] = VIEWS if names else ("choice", *VIEWS)
    if len(every) == 1:  # which method to use: ranks over one problem and f+ν tell nothing of that
        views = ("choice",)
    made = Experiment(
        _compose_name(suite, every, str(instance), budget),
        f"Comparison on {_compose_title(suite, every, str(instance), budget)}",
        chosen,
        every,
        dims=_choose_dims(names, dims),
        instance=str(instance),
        budget=budget,
        files=files,
        first_seed=FIRST_SEED,
        report=ReportPlan(views=views, focus=tuple(c.label for c in chosen[:7])),
    )
    made = adjust_experiment(made, runs, surrogate_runs=surrogate_runs)
    for case in made.cases():  # a dimension or instance that a problem does not have is said now
        load_problem(case, files)
    return made


def _choose_dims(names: Sequence[str], dims: Sequence[int] | None) -> tuple[int | None, ...]:
    """The dimensions to run at: those asked for, else 10 where all problems scale, else each problem's own (None).

    InvalidInput for dimensions of a problem of fixed size.
    """
    scalable = {name for name in names if find_problem_module(name)[0].scalable}
    if dims is None:
        return (10,) if names and set(names) <= scalable else (None,)
    fixed = [name for name in names if name not in scalable]
    if fixed:
        raise InvalidInput(f"{fixed[0]} has a fixed number of variables; leave --dim out, or compare it separately")
    return tuple(dict.fromkeys(dims))


def _compose_name(suite: str | None, problems: Sequence[str], instance: str, budget: int | None) -> str:
    """The name under which a store keeps the comparison: the same problems must always give the same one."""
    base = f"bench-{suite or hashlib.sha256(' '.join(problems).encode()).hexdigest()[:6]}"
    return name_with_settings(base, instance, budget)


def name_with_settings(base: str, instance: str, budget: int | None) -> str:
    """What tells comparisons in one folder apart; stored campaigns are matched by it, folder_name() cuts it."""
    name = base if instance == INSTANCE else f"{base}{INSTANCE_MARK}{instance}"
    return name if budget is None else f"{name}{BUDGET_MARK}{budget}"


def folder_name(name: str) -> str:
    """The folder of a comparison; those that differ in instance or budget alone share it."""
    return name.partition(INSTANCE_MARK)[0].partition(BUDGET_MARK)[0]


def _compose_title(suite: str | None, problems: Sequence[str], instance: str, budget: int | None) -> str:
    """What is compared on, in words; a report shows it, and nothing is matched by it."""
    parts = [suite or _shorten_list(problems)]
    parts += [] if instance == INSTANCE else [f"instance {instance}"]
    parts += [] if budget is None else [f"{budget:,} evaluations"]
    return ", ".join(parts)


def _shorten_list(names: Sequence[str]) -> str:
    """The first four names, and how many more there are."""
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
