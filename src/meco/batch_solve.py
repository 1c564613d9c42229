"""solve(): runs of a method on benchmark problems, in lockstep where the method can."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from meco.core.capabilities import Policed, find_capability
from meco.core.engine import Engine, Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.problem import Problem
from meco.core.streams import Streams
from meco.errors import InvalidInput
from meco.method_record import MethodRecord
from meco.methods import METHODS, build_engine
from meco.problems.pymoo_problem import from_pymoo, is_pymoo
from meco.problems.suite import get_problem
from meco.result import Result


def solve(
    method: str | MethodRecord | Callable[..., Engine],
    problem: Problem | str | Sequence[Problem | str],
    budget: int | None = None,
    seeds: Iterable[int] = range(10),
    *,
    xp: Any = np,
    device: Any = None,
    watch: Callable[[Evaluator], Any] | None = None,
    **options: Any,
) -> list[Result]:
    """Run a method on a problem, one run for each seed.

    method is a name of METHODS, "file.py:Name", a meco.MethodRecord or an engine of your own. problem is
    a meco.Problem, a name of one, or a problem of pymoo.
    budget is the number of evaluations of each run (50 D unless given). A list of problems
    of equal D gives each run its own. Options go to the engine, e.g. pop_size=30. watch is
    shown the evaluator after each generation, and ends the run by returning True.

    Examples:
        >>> from meco import solve
        >>> solve("SHADE", "tilted", budget=500, seeds=[1])[0].feasible
        True
    """
    name = METHODS.resolve(method)
    record = METHODS[name]
    _refuse_facts_of_problems(record, problem, options)
    draw = Streams(_read_integers("seeds", seeds), xp, device)
    each = _read_problems(problem, draw.runs)
    budget = 50 * each[0].dim if budget is None else _read_integers("budget", [budget])[0]
    if xp is not np and (record.models_functions or not record.lockstep):
        raise InvalidInput(f"{name} runs on NumPy alone; leave xp and device out")
    found: dict[int, Result] = {}
    for rows in _group_lockstep(record, each):
        streams = draw if len(rows) == draw.runs else Streams([draw.seeds[i] for i in rows], xp, device)
        some = run_batch(
            name, [each[i] for i in rows], budget, streams, watch, **_options_of_runs(options, rows, draw.runs)
        )
        found |= dict(zip(rows, some))
    return [found[i] for i in range(draw.runs)]


def _refuse_facts_of_problems(record: MethodRecord, problem: Any, options: Mapping[str, Any]) -> None:
    """InvalidInput for dim and instance among the options of a method that has none: they belong to the problem."""
    for key in ("dim", "instance"):
        if key in options and key not in (record.accepted_options() or (key,)):
            named = f"meco.get_problem({problem!r:.40}, {key}={options[key]!r})"
            raise InvalidInput(f"{key} belongs to the problem, not to the method: give {named} as the problem")


def _group_lockstep(record: MethodRecord, problems: Sequence[Problem]) -> list[list[int]]:
    """Numbers of runs that go in lockstep: all, or those of equal p and q, or one each, as record and problems say."""
    if not record.lockstep:
        return [[i] for i in range(len(problems))]
    alike: dict[Any, list[int]] = {}
    for i, p in enumerate(problems):  # padded constraint columns would change the bits of a model
        counts = (p.n_ineq, p.n_eq) if record.models_functions else None
        own = i if p.kinds.categories is not None else p if p.kinds.log is not None else None  # go by themselves
        alike.setdefault((counts, own), []).append(i)
    return list(alike.values())


def _options_of_runs(options: dict[str, Any], rows: list[int], runs: int) -> dict[str, Any]:
    """The options of the runs with these numbers; only a list of as many policies as runs differs from run to run."""
    policies = options.get("policy")
    if not isinstance(policies, (list, tuple)) or len(policies) != runs:
        return options
    return {**options, "policy": [policies[i] for i in rows]}


def _read_problems(problem: Any, runs: int) -> list[Problem]:
    """The problem of each run, from one for all or a list, as objects or names; InvalidInput for others."""
    problem = from_pymoo(problem) if is_pymoo(problem) else problem
    given = [problem] * runs if isinstance(problem, (Problem, str)) else problem
    if not isinstance(given, Sequence):
        raise InvalidInput(
            f"solve() takes a meco.Problem, a name or a list of them; got {type(problem).__name__} "
            "(a function of your own goes to meco.minimize)"
        )
    if len(given) != runs:
        raise InvalidInput(f"{runs} runs need one problem or {runs} problems; got {len(given)}")
    known: dict[str, Problem] = {}
    for name in given:
        if isinstance(name, str) and name not in known:
            known[name] = get_problem(name)
        elif not isinstance(name, (Problem, str)):
            raise InvalidInput(f"a problem must be a meco.Problem or a name; got {type(name).__name__}")
    found = [known[p] if isinstance(p, str) else p for p in given]
    if len({p.dim for p in found}) > 1:
        raise InvalidInput(f"runs in lockstep need problems of equal D; got {sorted({p.dim for p in found})}")
    return found


def _read_integers(name: str, values: Any) -> list[int]:
    """Whole numbers as a list; InvalidInput, with the name of what they were given for, for others."""
    try:
        return [operator.index(v) for v in values]
    except TypeError as error:
        wanted = "a list of whole numbers" if name == "seeds" else "a whole number"
        raise InvalidInput(f"{name} must be {wanted}; got {values!r:.60}") from error


def run_batch(
    method: str,
    problem: Problem | Sequence[Problem],
    budget: int,
    draw: Streams,
    watch: Callable[[Evaluator], Any] | None = None,
    **options: Any,
) -> Sequence[Result]:
    """Results of runs in lockstep, one for each stream, which moves on; problems are one for all or one each.

    watch(evaluator) after each generation ends the runs by returning True. Options are not checked here.
    """
    with np.errstate(all="ignore"):  # ours, whatever the caller set
        evaluator = Evaluator.on(problem, budget, draw.runs, draw.xp, draw.device, draw)
        engine = build_engine(method, Task.of(evaluator, draw), **options)
        Loop(engine, evaluator).run(None if watch is None else lambda: watch(evaluator))
        policed = find_capability(engine, Policed)
        return evaluator.results(method, draw.seeds, "" if policed is None else policed.describe())
