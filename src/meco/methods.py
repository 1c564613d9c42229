"""METHODS: each name is an engine with a rule, and one record of everything that is known of it.

Run folders and stored campaigns are matched by these names.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from meco.core.capabilities import (
    Asynchronous,
    Batching,
    Convergence,
    Cooperation,
    FreePoints,
    InfiniteBounds,
    LinearRows,
    OwnLoop,
    Policed,
    Remarks,
    SavedState,
    Selection,
    Steering,
)
from meco.core.engine import Engine, Task
from meco.core.registry import Registry, lazy_callable
from meco.engines import ENGINES
from meco.engines.de.shade import Shade
from meco.errors import InvalidInput, MecoError, UnknownOption
from meco.files.modules import names_a_file
from meco.method_record import RESCALINGS, MethodRecord, as_method_record, native_pop_size, paper_pop_size
from meco.rules import BalancedPenalty, FeasibilityFirst, FixedEpsilon, StaticPenalty
from meco.rules.names import RULES
from meco.tr.controls import TR_CONTROLS

TR_OPTIONS = tuple(control.name for control in TR_CONTROLS)
DEFAULT = "TR"  # what a door uses where no method is named
SHADE_OPTIONS = ("rule", "pop_size", "preset", "memory", "guides", "redraw", "ties_succeed", "raw_gain")
RULE_ENGINE = (Steering, SavedState)
MODEL_ENGINE = (SavedState, Convergence, LinearRows, InfiniteBounds, Batching, Cooperation, Asynchronous)
_shade = partial(
    MethodRecord,
    family="SHADE",
    population=paper_pop_size,
    options=SHADE_OPTIONS,
    scale_sensitive_to=("each",),
    offers=RULE_ENGINE,
)
_learned = partial(
    _shade,
    family="MeCO",
    options=("engine", "decoder", "reading", *SHADE_OPTIONS[1:], "sigma"),
    offers=(*RULE_ENGINE, Policed),
    scale_sensitive_to=tuple(RESCALINGS),  # guides are ranked by f + nu
)
_de = partial(MethodRecord, family="DE", population=paper_pop_size, offers=RULE_ENGINE)
_es = partial(MethodRecord, family="ES", population=paper_pop_size, scale_sensitive_to=("each",))
_pycma = partial(
    _es, lockstep=False, extra="peers", options=("pop_size", "sigma0", "penalty"), scale_sensitive_to=tuple(RESCALINGS)
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
            lazy_callable("paper.meco:make_meco"),
            "the paper's method: SHADE with a learned relaxation, trained as printed",
            options=("policy", "engine", "reading", *SHADE_OPTIONS[1:], "sigma"), aliases=("MeCO (paper)",),
        ),
        "MeCO-u": _learned(lazy_callable("paper.meco:make_untrained"), "MeCO with random weights"),
        "MeCO-rand": _learned(lazy_callable("paper.meco:make_random"), "MeCO with random actions"),
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
            lazy_callable("paper.baselines.mdecgo:MdeCgo"), "matrix-based DE, violation first (reconstructed)",
            options=("rule", "pop_size", "strategy", "F", "CR"), scale_sensitive_to=("each",),
        ),
        "C2oDE": _de(
            lazy_callable("paper.baselines.c2ode:C2oDE"), "composite DE with a falling relaxation",
            options=("rule", "pop_size"), aliases=("C²oDE",), offers=(*RULE_ENGINE, Selection),
        ),
        "MA-ES": _es(
            lazy_callable("engines.es.maes:MaEs", rule=StaticPenalty()),
            "matrix-adaptation evolution strategy, static penalty",
            population=native_pop_size, options=("rule", "pop_size", "sigma"), scale_sensitive_to=tuple(RESCALINGS),
            offers=RULE_ENGINE,
        ),
        "BP-epsMAg-ES": _es(
            lazy_callable("paper.baselines.bpepsmages:BpEpsMagEs"),
            "bi-population MA-ES, epsilon level, gradient repair",
            lockstep=False, options=("pop_size", "charge_jacobian"), cost_seconds=0.05, aliases=("BP-εMAg-ES",),
            offers=(FreePoints,),
        ),
        "CMA-ES": _pycma(
            lazy_callable("engines.external.pycma:CmaEs", pop_size=50), "pycma, population 50, static penalty",
            cost_seconds=0.45
        ),
        "CMA-ES-native": _pycma(
            lazy_callable("engines.external.pycma:CmaEs"), "pycma at its own population, static penalty",
            population=native_pop_size, cost_seconds=0.65,
        ),
        "COBRA": _model(
            lazy_callable("paper.baselines.cobra:Cobra"), "radial basis function surrogates of f and every constraint",
            options=("cap", "cycle", "phase_one", "max_iter"), cost_seconds=110.0, offers=(Remarks,),
        ),
        "SACOBRA": _model(
            lazy_callable("paper.baselines.sacobra:Sacobra"), "COBRA that adjusts its scales and cycle to the problem",
            options=("refine", "cap", "cycle", "phase_one", "max_iter"), cost_seconds=200.0, offers=(Remarks,),
        ),
        "NSGA-III": MethodRecord(
            lazy_callable("engines.external.pymoo:Nsga3"), "pymoo, objective and violations as objectives", "GA",
            lockstep=False, population=paper_pop_size, options=("pop_size", "objectives"), extra="peers",
            cost_seconds=0.35, offers=(Remarks,),
        ),
        "CMA-ES-AL": _pycma(
            lazy_callable("engines.external.pycma:AugmentedLagrangian"), "pycma with an augmented Lagrangian",
            population=native_pop_size, cost_seconds=1.0, scale_sensitive_to=("all", "each"),
        ),
        "SciPy-DE": _de(
            lazy_callable("engines.external.scipy:DifferentialEvolution"), "SciPy's constrained DE",
            lockstep=False, offers=(OwnLoop,), options=("pop_size",), extra="peers", cost_seconds=0.09,
        ),
        "COBYQA": _model(
            lazy_callable("engines.external.scipy:Cobyqa"), "trust-region SQP, multistart",
            offers=(OwnLoop,), options=("starts_from", "radius", "final_radius"), cost_seconds=48.0,
        ),
        "TR": MethodRecord(
            lazy_callable("tr.engine:TrustRegion"), "quadratic models in a relaxed trust region", "TR",
            models_functions=True, offers=MODEL_ENGINE, least_budget=lambda dim: 3 * dim + 1,
            options=(*TR_OPTIONS, "batch"), cost_seconds=8.0,
        ),
        "SLSQP": _model(
            lazy_callable("engines.external.slsqp:Slsqp"), "SciPy's SLSQP with forward differences, multistart",
            offers=(OwnLoop, InfiniteBounds), options=("step", "ftol", "own_units"),
            scale_sensitive_to=("f",), cost_seconds=1.0,
        ),
        "COBYLA": _model(
            lazy_callable("engines.external.scipy:Cobyla"), "linear models in a trust region, multistart",
            offers=(OwnLoop, InfiniteBounds), options=("radius", "final_radius", "own_units"),
            scale_sensitive_to=tuple(RESCALINGS), cost_seconds=20.0,
        ),
        "ISRES": _es(
            lazy_callable("engines.external.pymoo:Isres"), "pymoo, stochastic ranking",
            lockstep=False, options=("pop_size",), extra="peers", cost_seconds=0.3,
        ),
    },
    group="meco.methods",
    accept=as_method_record,
)  # fmt: skip

NAMED_OPTIONS: dict[str, Registry[Any]] = {
    "engine": ENGINES,
    "rule": RULES,
}  # or "file.py:Name"


def build_engine(method: str, task: Task, **options: Any) -> Engine:
    """The engine of a method; UnknownOption or InvalidInput for an option that it does not have or cannot use."""
    record = METHODS[method]
    for key, known in NAMED_OPTIONS.items():
        if key in options:
            options[key] = known.find(options[key])
    accepted = record.accepted_options()
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
