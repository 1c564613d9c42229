"""METHODS: each name is an engine with a rule, and one record of everything that is known of it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from meco.core.capabilities import (
    Asynchronous,
    Batching,
    Convergence,
    Cooperation,
    FreePoints,
    LinearRows,
    Multipliers,
    OwnLoop,
    Policed,
    Remarks,
    Replay,
    SavedState,
    Selection,
    Steering,
)
from meco.core.engine import Engine, Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.problem import Problem
from meco.core.registry import Registry, later
from meco.core.streams import Streams
from meco.device.cuda_graphs import recorder
from meco.engines import ENGINES
from meco.engines.de.shade import Shade
from meco.errors import InvalidInput, MecoError, UnknownOption
from meco.files.modules import names_a_file
from meco.method_record import RESCALINGS, MethodRecord, as_method, by_dimension, fifty
from meco.problems.pymoo_problem import from_pymoo, is_pymoo
from meco.problems.suite import get_problem
from meco.result import Result
from meco.rules import BalancedPenalty, FeasibilityFirst, FixedEpsilon, StaticPenalty
from meco.rules.names import RULES

DEFAULT = "MeCO-TR"  # what a door uses where no method is named
SHADE_OPTIONS = ("rule", "pop_size", "preset", "memory", "guides", "redraw", "ties_succeed", "raw_gain")
RULE_ENGINE = (Steering, SavedState)
MODEL_ENGINE = (
    Steering, SavedState, Convergence, Multipliers, LinearRows, Batching, Cooperation, Asynchronous, Replay,
)  # fmt: skip
_shade = partial(
    MethodRecord,
    family="SHADE",
    population=fifty,
    options=SHADE_OPTIONS,
    scale_sensitive_to=("each",),
    offers=(*RULE_ENGINE, Replay),
)
_learned = partial(
    _shade, family="MeCO", options=("engine", "decoder", *SHADE_OPTIONS[1:], "sigma"), offers=(*RULE_ENGINE, Policed)
)
_de = partial(MethodRecord, family="DE", population=fifty, offers=RULE_ENGINE)
_es = partial(MethodRecord, family="ES", population=fifty, scale_sensitive_to=("each",))
_pycma = partial(
    _es, lockstep=False, extra="peers", options=("pop_size", "sigma0", "penalty"), scale_sensitive_to=tuple(RESCALINGS)
)
_region = partial(
    MethodRecord, family="TR", models_functions=True, offers=MODEL_ENGINE, least_budget=lambda dim: 3 * dim + 1
)
_model = partial(
    MethodRecord,
    family="model",
    lockstep=False,
    extra="peers",
    models_functions=True,
    scale_sensitive_to=("all", "each"),
)

METHODS: Registry[MethodRecord] = Registry(
    "method",
    {
        "MeCO": _learned(
            later("policies.paper.methods:make_meco"), "SHADE with the learned relaxation policy",
            options=("policy", "engine", *SHADE_OPTIONS[1:], "sigma"),
        ),
        "MeCO-u": _learned(later("policies.paper.methods:make_untrained"), "MeCO with random network weights"),
        "MeCO-rand": _learned(later("policies.paper.methods:make_random"), "MeCO with random actions"),
        "SHADE": _shade(
            partial(Shade, rule=StaticPenalty(weight=1.0)), "SHADE with the static penalty f + nu",
            scale_sensitive_to=tuple(RESCALINGS)
        ),
        "SHADE-eps": _shade(
            partial(Shade, rule=FixedEpsilon(share=0.1)), "SHADE with a fixed relaxation", aliases=("SHADE-ε",)
        ),
        "SHADE-BOC": _shade(partial(Shade, rule=BalancedPenalty()), "SHADE with an adaptive penalty (reconstructed)"),
        "SHADE-FR": _shade(partial(Shade, rule=FeasibilityFirst()), "SHADE with feasibility first"),
        "MDE-CGO": _de(
            later("engines.de.mdecgo:MdeCgo"), "matrix-based DE, violation first (reconstructed)",
            options=("rule", "pop_size", "strategy", "F", "CR"), scale_sensitive_to=("each",),
        ),
        "C2oDE": _de(
            later("engines.de.c2ode:C2oDE"), "composite DE with a falling relaxation",
            options=("rule", "pop_size"), aliases=("C²oDE",), offers=(*RULE_ENGINE, Selection),
        ),
        "MA-ES": _es(
            later("engines.es.maes:MaEs", rule=StaticPenalty()), "matrix-adaptation evolution strategy, static penalty",
            population=by_dimension, options=("rule", "pop_size", "sigma"), scale_sensitive_to=tuple(RESCALINGS),
            offers=(*RULE_ENGINE, Replay),
        ),
        "BP-epsMAg-ES": _es(
            later("engines.es.bpmages:BpEpsMagEs"), "bi-population MA-ES, epsilon level, gradient repair",
            lockstep=False, options=("pop_size", "charge_jacobian"), cost_seconds=0.05, aliases=("BP-εMAg-ES",),
            offers=(FreePoints,),
        ),
        "CMA-ES": _pycma(
            later("engines.external.pycma:CmaEs", pop_size=50), "pycma, population 50, static penalty",
            cost_seconds=0.45
        ),
        "CMA-ES-native": _pycma(
            later("engines.external.pycma:CmaEs"), "pycma at its own population, static penalty",
            population=by_dimension, cost_seconds=0.65,
        ),
        "COBRA": _model(
            later("engines.rbf.cobra:Cobra"), "radial basis function surrogates of f and every constraint",
            options=("cap", "cycle", "phase_one", "max_iter"), cost_seconds=110.0, offers=(Remarks,),
        ),
        "SACOBRA": _model(
            later("engines.rbf.sacobra:Sacobra"), "COBRA that adjusts its scales and cycle to the problem",
            options=("refine", "cap", "cycle", "phase_one", "max_iter"), cost_seconds=200.0, offers=(Remarks,),
        ),
        "NSGA-III": MethodRecord(
            later("engines.external.pymoo:Nsga3"), "pymoo, objective and violations as objectives", "GA",
            lockstep=False, population=fifty, options=("pop_size", "objectives"), extra="peers", cost_seconds=0.35,
            offers=(Remarks,),
        ),
        "COLSHADE": _de(
            later("engines.de.colshade:ColShade"), "SHADE with Lévy flights and shrinking tolerance",
            options=("rule", "pop_size", "flights"), scale_sensitive_to=("each",),
        ),
        "CMA-ES-AL": _pycma(
            later("engines.external.pycma:AugmentedLagrangian"), "pycma with an augmented Lagrangian",
            population=by_dimension, cost_seconds=1.0, scale_sensitive_to=("all", "each"),
        ),
        "SciPy-DE": _de(
            later("engines.external.scipy:DifferentialEvolution"), "SciPy's constrained DE",
            lockstep=False, offers=(OwnLoop,), options=("pop_size",), extra="peers", cost_seconds=0.09,
        ),
        "COBYQA": _model(
            later("engines.external.scipy:Cobyqa"), "trust-region SQP, multistart",
            offers=(OwnLoop,), options=("starts_from", "radius", "final_radius"), cost_seconds=48.0,
        ),
        "TR": _region(
            later("tr.engine:TrustRegion"), "quadratic models in a relaxed trust region",
            options=("theta", "batch"), cost_seconds=8.0,
        ),
        "TR-ES": _region(
            later("tr.engine:make_tr_es"), "TR with an evolution strategy beside the models",
            options=("theta", "share", "batch"), cost_seconds=8.0,
        ),
        "MeCO-TR": _region(
            later("tr.steered:make_meco_tr"), "TR-ES with a policy that sets its relaxation and share",
            options=("policy", "theta", "share", "batch"), cost_seconds=8.0, offers=(*MODEL_ENGINE, Policed),
        ),
        "ISRES": _es(
            later("engines.external.pymoo:Isres"), "pymoo, stochastic ranking",
            lockstep=False, options=("pop_size",), extra="peers", cost_seconds=0.3,
        ),
    },
    group="meco.methods",
    accept=as_method,
)  # fmt: skip


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
    draw = Streams(_whole_numbers("seeds", seeds), xp, device)
    each = _one_each(problem, draw.runs)
    budget = 50 * each[0].dim if budget is None else _whole_numbers("budget", [budget])[0]
    if xp is not np and not record.lockstep:
        raise InvalidInput(f"{name} runs on NumPy alone; leave xp and device out")
    found: dict[int, Result] = {}
    for rows in _together(record, each):
        streams = draw if len(rows) == draw.runs else Streams([draw.seeds[i] for i in rows], xp, device)
        some = run_batch(name, [each[i] for i in rows], budget, streams, watch, **_of_rows(options, rows, draw.runs))
        found |= dict(zip(rows, some))
    return [found[i] for i in range(draw.runs)]


def _together(record: MethodRecord, problems: Sequence[Problem]) -> list[list[int]]:
    """Which runs go in lockstep: all, those of equal p and q where functions are modelled, or none."""
    if not record.lockstep:
        return [[i] for i in range(len(problems))]
    alike: dict[Any, list[int]] = {}
    for i, p in enumerate(problems):  # padded constraint columns would change the bits of a model
        alike.setdefault((p.n_ineq, p.n_eq) if record.models_functions else None, []).append(i)
    return list(alike.values())


def _of_rows(options: dict[str, Any], rows: list[int], runs: int) -> dict[str, Any]:
    """The options of some of the runs; only a list of policies differs from run to run."""
    policies = options.get("policy")
    if not isinstance(policies, (list, tuple)) or len(policies) != runs:
        return options
    return {**options, "policy": [policies[i] for i in rows]}


def _one_each(problem: Any, runs: int) -> list[Problem]:
    """The problem of each run, from one for all or a list, as objects or names."""
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


def _whole_numbers(name: str, values: Any) -> list[int]:
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
    """Runs in lockstep, one for each stream."""
    with np.errstate(all="ignore"):  # ours, whatever the caller set
        evaluator = Evaluator.on(problem, budget, draw.runs, draw.xp, draw.device)
        engine = build_engine(method, Task.of(evaluator, draw), **options)
        record = recorder(draw) if Replay in METHODS[method].offers else None
        Loop(engine, evaluator, record).run(None if watch is None else lambda: watch(evaluator))
        return evaluator.results(method, draw.seeds)


def build_engine(method: str, task: Task, **options: Any) -> Engine:
    """The engine of a method, with a clear error for an option it does not have or cannot use."""
    record = METHODS[method]
    for key, known in (("engine", ENGINES), ("rule", RULES)):
        if key in options:
            options[key] = known.find(options[key])
    accepted = record.accepts()
    for name in options:
        if accepted is not None and name not in accepted:
            said = f"it takes {', '.join(accepted)}" if accepted else "it takes none"
            raise UnknownOption(f"{method} has no option {name!r}; {said}")
    try:
        return record.build(task, **options)
    except Exception as error:
        files = [v for v in (method, *options.values()) if isinstance(v, str) and names_a_file(v)]
        if files and not isinstance(error, MecoError):
            raise InvalidInput(f"{files[0]} made no engine: {type(error).__name__}: {error}") from error
        if isinstance(error, MecoError) or not isinstance(error, (TypeError, ValueError)) or not options:
            raise
        given = ", ".join(f"{name}={value!r:.60}" for name, value in options.items())
        raise InvalidInput(f"{method} cannot use {given}: {error}") from error


def methods_that_offer(*kinds: type) -> str:
    """The names of methods with these capabilities, for a message that refuses another one."""
    return ", ".join(name for name in METHODS if set(kinds) <= set(METHODS[name].offers))
