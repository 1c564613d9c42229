"""Experiments beyond the paper's: other dimensions, problems, budgets, units and batches, and generated problems."""

from __future__ import annotations

from typing import Any

from meco.bench.plan.contender import AS_PRINTED, Contender
from meco.bench.plan.experiment import Experiment, ReportPlan
from meco.bench.plan.paper import READING_LABELS
from meco.paper.action import ACTION_GRID
from meco.paper.meco import PRINTED_SEEDS
from meco.problems.generated.families import problem_name
from meco.problems.suite import CEC_NAMES, PAPER_EIGHT, UNITS_SUFFIX

QUICK_METHODS = ("SHADE", "SHADE-FR", "MeCO", "MA-ES", "CMA-ES-native", "SciPy-DE", "ISRES")
FEW_METHODS = ("TR", "COBYQA", "SLSQP", "COBYLA", "MA-ES", "CMA-ES-native", "SHADE", "MeCO")
OTHER_MODEL_METHODS = ("COBYQA",)  # quick enough: COBRA and SACOBRA take minutes a run from D = 30 on
LOCAL_METHODS = ("SLSQP", "COBYLA")  # what SciPy's users have
COSTLY_METHODS = ("COBRA", "SACOBRA")  # for D <= 20 and few evaluations
METHODS_AT_100D = ("TR", "SLSQP", "MA-ES", "CMA-ES-native", "CMA-ES-AL", "SciPy-DE", "SHADE", "SHADE-FR")
SHORT_PER_VARIABLE, MOST_WITH_COSTLY = 10, 100  # evaluations: a Gaussian process takes a minute for a hundred
# real-world problems beyond D = 30
RW_NAMES = tuple(f"RC{k:02d}" for k in range(1, 58))  # those beyond the paper's are of benchmarks/rwco
LARGE_PROBLEMS = ("RC06", "RC07", *(f"RC{k}" for k in (*range(34, 44), *range(51, 58))))
# families to confirm on: neither constants nor policies were trained, tuned or chosen on them; of the last seven, which
# are rough or fail, only stored runs are left
UNSEEN_FAMILIES = (
    "wells-free", "growth-growth", "chain-tube", "wells-cubic", "chain-many", "growth-surface", "chain-surfaces",
    "growth-whole", "wells-empty", "switching-switching", "switching-tube", "growth-mesh", "chain-mesh", "wells-table",
    "growth-table", "chain-pocket", "wells-bands", "growth-strained",
)  # fmt: skip
PROBLEMS_PER_FAMILY = 2  # of these
EVALUATIONS_PER_VARIABLE = (5, 10, 20, 50, 100, 200, 500, 1000)


def _make_contenders(names: tuple[str, ...]) -> tuple[Contender, ...]:
    """Methods by name with their defaults; costly ones make few runs."""
    return tuple(Contender.of_experiment(name) for name in names)


def _list_unseen_problems() -> tuple[str, ...]:
    """Problems of families that the policies were neither trained nor chosen on."""
    return tuple(problem_name(family, 1 + k) for family in UNSEEN_FAMILIES for k in range(PROBLEMS_PER_FAMILY))


def _make_cec2017_experiment(dim: int) -> Experiment:
    """CEC2017 in one dimension: our methods beside those that are quick enough there."""
    quick = ("TR", *QUICK_METHODS, *OTHER_MODEL_METHODS, *LOCAL_METHODS, "CMA-ES-AL")
    return Experiment(
        f"cec2017-{dim}d",
        f"CEC2017, D = {dim}",
        _make_contenders(METHODS_AT_100D if dim >= 100 else quick),
        CEC_NAMES,
        dims=(dim,),
        runs=5,
        report=ReportPlan(
            about="The paper's instances with 50 D evaluations.",
            views=("ranks", "critical", "values", "pairs", "feasibility", "progress", "profiles"),
            focus=("TR",),
        ),
    )


def _make_short_experiment(name: str, title: str, problems: tuple[str, ...], dim: int | None) -> Experiment:
    """Costly methods beside quick ones on problems in dim variables (None: their own): 10 D evaluations, at most 100.

    Where Bayesian methods and surrogates belong, and can be afforded.
    """
    others = (*OTHER_MODEL_METHODS, *LOCAL_METHODS, "CMA-ES-AL", "SciPy-DE")
    few = tuple(Contender.from_method(method) for method in ("TR", *others, *COSTLY_METHODS))
    return Experiment(
        name,
        f"{title}, at most {MOST_WITH_COSTLY} evaluations",
        few,
        problems,
        dims=(dim,),
        per_variable=SHORT_PER_VARIABLE,
        most=MOST_WITH_COSTLY,
        runs=5,
        report=ReportPlan(
            about="Every method that needs seconds for an evaluation beside those that need none, five runs each.",
            views=("ranks", "critical", "pairs", "feasibility", "profiles"),
            focus=("TR",),
        ),
    )


def _make_constant_action_contenders() -> tuple[Contender, ...]:
    """MeCO with each of its eleven actions held for the whole run, beside the policy and rules without relaxation."""
    held = (Contender(f"action {a:g}", "MeCO", {"policy": {"epsilon": float(a)}}) for a in ACTION_GRID)
    return (*_make_contenders(("MeCO", "SHADE", "SHADE-FR")), *held)


def _make_variant_contenders() -> tuple[Contender, ...]:
    """Baselines under settings that their papers leave open."""
    changed: dict[str, dict[str, dict[str, Any]]] = {
        "C2oDE": {"population 40": {"pop_size": 40}},
        "BP-epsMAg-ES": {
            "differences not charged": {"charge_jacobian": False},
            "population 15": {"pop_size": 15},
            "both": {"pop_size": 15, "charge_jacobian": False},
        },
        "CMA-ES": {
            **{f"first step {sigma:g}": {"sigma0": sigma} for sigma in (0.2, 0.1, 0.05)},
            "population 25": {"pop_size": 25},
        },
    }
    return (
        *_make_contenders(tuple(changed)),
        *(Contender(f"{m}, {what}", m, options) for m, of in changed.items() for what, options in of.items()),
    )


def _make_budget_experiment(per_variable: int) -> Experiment:
    """CEC2017 at 10D with so many evaluations for each variable."""
    name = f"budgets-{per_variable}"
    return Experiment(
        name,
        f"{per_variable} evaluations a variable, D = 10",
        _make_contenders(FEW_METHODS),
        CEC_NAMES,
        dims=(10,),
        per_variable=per_variable,
        runs=5,
        report=ReportPlan(
            about="Who is best when: the same problems and methods with smaller and larger budgets.",
            views=("ranks", "pairs"),
        ),
    )


def _make_seed_contenders() -> tuple[Contender, ...]:
    """Every reading of the text under each of the seeds, beside no training and no relaxation."""
    found = []
    for reading in ("least", "feasible", "relaxed", "release"):
        for seed in PRINTED_SEEDS:
            policy = "meco-loo50-{problem}" if reading == "least" else f"meco-{reading}-loo50-{{problem}}"
            named = policy if seed == PRINTED_SEEDS[0] else f"{policy}-seed{seed}"
            found.append(Contender(f"{READING_LABELS[reading]}, seed {seed}", "MeCO", {"policy": named}))
    return (*found, *_make_contenders(("MeCO-u", "MeCO-rand", "SHADE", "SHADE-eps")))


FURTHER = {  # each by its own name, which stored campaigns have too
    **{f"cec2017-{dim}d": _make_cec2017_experiment(dim) for dim in (10, 30, 100)},
    "short-cec2017": _make_short_experiment("short-cec2017", "CEC2017, D = 10", CEC_NAMES, 10),
    "short-engineering": _make_short_experiment("short-engineering", "Engineering problems", PAPER_EIGHT, None),
    "unseen": Experiment(
        "unseen",
        "CEC2017, an instance that nothing was tuned on",
        _make_contenders(("TR", *OTHER_MODEL_METHODS, "MA-ES", "CMA-ES-native")),
        CEC_NAMES,
        dims=(10, 30),
        instance="9",
        runs=5,
        report=ReportPlan(
            about="Shifts and rotations of instance 9; 7 and 8 were looked at while the model engine was made.",
            views=("ranks", "critical", "pairs", "feasibility"),
            focus=("TR",),
        ),
    ),
    "constants": Experiment(
        "constants",
        "How much a relaxation can bring: every action held for the whole run, D = 50",
        _make_constant_action_contenders(),
        CEC_NAMES,
        dims=(50,),
        runs=5,
        report=ReportPlan(
            about="The best action of each problem, read with hindsight, bounds what a policy of MeCO on SHADE can "
            "gain.",
            views=("ranks",),
            focus=(AS_PRINTED, "SHADE", "SHADE-FR"),
        ),
    ),
    "printed-seeds": Experiment(
        "printed-seeds",
        "The paper's training under four readings and five seeds, leave one out, D = 50",
        _make_seed_contenders(),
        CEC_NAMES,
        dims=(50,),
        runs=5,
        report=ReportPlan(
            about="Seeds were fixed before any policy was trained; the first is the row of the paper's tables.",
            views=("ranks", "critical"),
            focus=(f"{AS_PRINTED}, seed {PRINTED_SEEDS[0]}", "MeCO-u", "SHADE"),
        ),
    ),
    "variants": Experiment(
        "variants",
        "Baselines under settings that the paper leaves open, D = 50",
        _make_variant_contenders(),
        CEC_NAMES,
        dims=(50,),
        runs=5,
        report=ReportPlan(
            about="Which small change moves a baseline towards its printed column.",
            views=("ranks",),
            printed="table1",
        ),
    ),
    "rwco": Experiment(
        "rwco",
        "Real-world problems up to 30 variables",
        _make_contenders(("TR", *QUICK_METHODS, *OTHER_MODEL_METHODS, *LOCAL_METHODS, "CMA-ES-AL")),
        tuple(name for name in RW_NAMES if name not in LARGE_PROBLEMS),
        most=2500,
        runs=5,
        report=ReportPlan(
            about="38 of the 57 problems of the CEC2020 collection, 50 D evaluations and at most 2500. f+ν can be "
            "least at a useless point there; feasibility first is what counts.",
            views=("ranks", "critical", "values", "pairs", "feasibility"),
            focus=("TR",),
        ),
    ),
    "rwco-large": Experiment(
        "rwco-large",
        "Real-world problems beyond 30 variables",
        _make_contenders(("TR", *QUICK_METHODS, "SLSQP", "CMA-ES-AL")),
        LARGE_PROBLEMS,
        most=2500,
        runs=5,
        report=ReportPlan(
            about="The other 19 of the 57, up to 158 variables, without the methods that take minutes a run there.",
            views=("ranks", "critical", "values", "pairs", "feasibility"),
            focus=("TR",),
        ),
    ),
    "families": Experiment(
        "families",
        "Families of generated problems that no policy was trained or chosen on",
        _make_contenders(FEW_METHODS),
        _list_unseen_problems(),
        dims=(10,),
        runs=5,
        report=ReportPlan(
            about="Wells, growth, chains and switching functions under constraints of every kind, some rough or "
            "failing (docs/generated.md).",
            views=("ranks", "critical", "pairs", "feasibility"),
            focus=("TR",),
        ),
    ),
    **{f"budgets-{k}": _make_budget_experiment(k) for k in EVALUATIONS_PER_VARIABLE},
    "parallel": Experiment(
        "parallel",
        "Points proposed at once",
        tuple(Contender(f"TR, batch {k}", "TR", {"batch": k}) for k in (1, 4, 8, 32)),
        CEC_NAMES,
        dims=(10,),
        runs=5,
        report=ReportPlan(
            about="What it costs to propose several points without waiting for the answer to any of them.",
            views=("ranks", "pairs", "feasibility"),
        ),
    ),
    "scales": Experiment(
        "scales",
        "The same problems in other units, D = 10",
        _make_contenders(FEW_METHODS),
        tuple(name + UNITS_SUFFIX for name in CEC_NAMES),
        dims=(10,),
        runs=5,
        report=ReportPlan(
            about="f and each constraint, with its tolerance, times a factor of its own between 1e-4 and 1e4: the same "
            "points are feasible. To be read beside budgets-50, the same problems, seeds and methods in their own "
            "units. f+ν depends on units, so feasibility first is what counts; where no run is feasible, it adds up "
            "violations in these units.",
            views=("ranks", "critical", "pairs", "feasibility"),
            focus=("TR",),
        ),
    ),
}
