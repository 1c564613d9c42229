"""The paper's experiments, one entry each: who runs where, how often, and what is shown of it."""

from __future__ import annotations

from typing import Any

from meco.bench.plan.contender import AS_PRINTED, AS_RELEASED, RELAXED, SCORE_REWARDED, Contender
from meco.bench.plan.experiment import Experiment, ReportPlan
from meco.problems.suite import CEC_NAMES, PAPER_EIGHT, UAV_NAMES

THE_TWELVE = (  # in the order of the paper's table
    "SHADE-eps", "SHADE", "SHADE-BOC", "MDE-CGO", "C2oDE", "COBRA", "SACOBRA", "NSGA-III", "BP-epsMAg-ES", "CMA-ES",
    "MeCO-u", "MeCO",
)  # fmt: skip
PEERS = (
    "MeCO-rand",
    "SHADE-FR",
    "MA-ES",
    "CMA-ES-native",
    "CMA-ES-AL",
    "SciPy-DE",
    "COBYQA",
    "SLSQP",
    "COBYLA",
    "ISRES",
    "TR",
)
TRAININGS = (AS_PRINTED, RELAXED, SCORE_REWARDED)  # of MeCO; of the last there are stored runs
SHADE_FAMILY = ("SHADE-eps", "SHADE", "SHADE-BOC", "SHADE-FR")
HELD_OUT = ("C07", "C08", "C10", "C11", "C14", "C23", "C24", "C28")  # the fixed split's test problems
METHODS_AT_100D = (
    "SHADE-eps",
    "SHADE",
    "SHADE-BOC",
    "SHADE-FR",
    "MDE-CGO",
    "C2oDE",
    "NSGA-III",
    "BP-epsMAg-ES",
    "CMA-ES",
)
TRAININGS_NOTE = (
    f"{AS_PRINTED} is trained as the paper prints it, with f_best the least objective of the population and one seed, "
    f"which was fixed beforehand. The other rows read f_best otherwise, or reward otherwise."
)
READING_LABELS = {  # of MeCO under the readings of the text, by their names
    "least": AS_PRINTED,
    "relaxed": RELAXED,
    "feasible": "MeCO, f_best feasibility first",
    "release": "MeCO, f_best of the release",
    "relaxed-guides": "MeCO, guides by the relaxed order",
    "feasible-guides": "MeCO, guides feasibility first",
}


def make_contenders(names: tuple[str, ...], kind: str = "10d", cap: int | None = None) -> tuple[Contender, ...]:
    """Methods by name; MeCO under every reading with its policies of a kind, COBRA with a cap if there is one."""
    own: dict[str, dict[str, Any]] = {
        "MeCO": {"policy": f"meco-{kind}"}, "COBRA": {} if cap is None else {"cap": cap},
    }  # fmt: skip
    found = tuple(Contender.of_experiment(name, **own.get(name, {})) for name in names)
    return (*found, *make_reading_contenders(kind)) if "MeCO" in names else found


def make_reading_contenders(kind: str) -> tuple[Contender, ...]:
    """MeCO under the other readings, with the settings of the release, and rewarded by f + nu."""
    others = {label: f"meco-{name}-{kind}" for name, label in READING_LABELS.items() if label != AS_PRINTED}
    released = Contender(AS_RELEASED, "MeCO", {"policy": f"meco-released-{kind}", "preset": "release"})
    return (*make_meco_contenders(**others), released, *make_meco_contenders(**{SCORE_REWARDED: f"meco-score-{kind}"}))


def make_meco_contenders(**policies: str) -> tuple[Contender, ...]:
    """MeCO under several policies, each with its own label."""
    return tuple(Contender(label, "MeCO", {"policy": policy}) for label, policy in policies.items())


def make_meco_on_maes(policy: str) -> Contender:
    """The same policy steering the evolution strategy, which it was not trained on."""
    return Contender("MeCO on MA-ES", "MeCO", {"policy": policy, "engine": "maes"})


def make_meco_without_constraint_features(label: str, policy: str) -> Contender:
    """MeCO that sees the constraint features s7 to s10 as 0."""
    return Contender(label, "MeCO", {"policy": policy, "hidden": [7, 8, 9, 10]})


STATE_POLICIES = {  # of the state ablation: trained at the dimension of the test, and at 10
    AS_PRINTED: "meco-split-{dim}d",
    f"{AS_PRINTED}, 10D policy": "meco-10d",
    RELAXED: "meco-relaxed-split-{dim}d",
    f"{RELAXED}, 10D policy": "meco-relaxed-10d",
}
SPLIT_POLICIES = {
    AS_PRINTED: "meco-split-{dim}d", RELAXED: "meco-relaxed-split-{dim}d", SCORE_REWARDED: "meco-score-split-{dim}d",
}  # fmt: skip

PAPER = {  # each by its own name, which stored campaigns have too
    "table1": Experiment(
        "table1",
        "CEC2017, D = 50",
        (*make_contenders(THE_TWELVE + PEERS, "loo50-{problem}"), make_meco_on_maes("meco-loo50-{problem}")),
        CEC_NAMES,
        dims=(50,),
        report=ReportPlan(
            about="Every MeCO policy is trained on 27 problems and tested on the one left out. All methods get "
            "2500 evaluations. Lower is better.",
            views=("ranks", "critical", "values", "pairs", "feasibility", "progress", "ecdf", "convergence"),
            printed="table1",
            focus=(*TRAININGS, "SHADE", "SHADE-eps", "BP-epsMAg-ES", "CMA-ES", "MA-ES", "CMA-ES-native"),
        ),
        quick=(*SHADE_FAMILY, *TRAININGS),
    ),
    "transfer": Experiment(
        "transfer",
        "From 10D to 50D and 100D",
        make_contenders((*METHODS_AT_100D, "MA-ES", "MeCO-u", "MeCO")),
        CEC_NAMES,
        dims=(50, 100),
        report=ReportPlan(
            about="The policies of MeCO were trained on 10D problems only and steer 50D and 100D runs as they are.",
            views=("progress", "ranks", "critical", "feasibility"),
            focus=(*TRAININGS, "SHADE", "SHADE-eps", "SHADE-BOC", "BP-epsMAg-ES", "CMA-ES", "MA-ES"),
            notes=("COBRA and SACOBRA are left out because of their cost at 100D and 5000 evaluations.",),
        ),
        quick=(*SHADE_FAMILY, *TRAININGS),
    ),
    "uav": Experiment(
        "uav",
        "Sixteen UAV missions",
        (*make_contenders(THE_TWELVE + PEERS, cap=600), make_meco_on_maes("meco-10d")),
        UAV_NAMES,
        budget=2500,
        report=ReportPlan(
            about="Collecting sensor data around obstacles, 18 variables. The policies were trained on 10D problems "
            "of CEC2017. The paper shows its maps as pictures only, so the sixteen maps here are our own.",
            views=("performance", "ranks", "critical", "values", "pairs", "feasibility"),
            focus=(*TRAININGS, "SHADE", "CMA-ES", "BP-epsMAg-ES", "MA-ES", "MeCO on MA-ES"),
            notes=("COBRA's surrogates hold at most 600 points here.",),
        ),
        quick=(*SHADE_FAMILY, *TRAININGS),
    ),
    "trajectories": Experiment(
        "trajectories",
        "Routes on four missions",
        make_contenders(("MeCO", "SHADE", "CMA-ES", "BP-epsMAg-ES")),
        ("UAV-01", "UAV-07", "UAV-12", "UAV-14"),
        budget=2500,
        report=ReportPlan(about="The best of each method's runs, feasibility first.", views=("trajectories",)),
        quick=(*TRAININGS, "SHADE"),
    ),
    "realworld": Experiment(
        "realworld",
        "Eight engineering problems",
        (*make_contenders(THE_TWELVE + PEERS), make_meco_on_maes("meco-10d")),
        PAPER_EIGHT,
        budget=2500,
        report=ReportPlan(
            about="Mean and deviation of f over feasible runs; where no run is feasible, the mean violation.",
            views=("summary", "values", "ranks", "critical", "pairs", "feasibility"),
            printed="realworld",
            focus=(*TRAININGS, "SHADE", "CMA-ES", "BP-epsMAg-ES"),
        ),
        quick=(*SHADE_FAMILY, *TRAININGS),
    ),
    "actions": Experiment(
        "actions",
        "Which relaxations MeCO chooses",
        make_contenders(("MeCO",), "loo50-{problem}"),
        ("C12", "C14", "C15"),
        dims=(50,),
        report=ReportPlan(
            about="Action 1 allows the mean initial violation, action 0 allows 0.001. The paper shows F12 and F14, "
            "but its text describes the constraints of C14 and C15; all three are here.",
            views=("actions",),
        ),
    ),
    "ablation-state": Experiment(
        "ablation-state",
        "Without the constraint features",
        tuple(
            contender
            for label, policy in STATE_POLICIES.items()
            for contender in (
                *make_meco_contenders(**{label: policy}),
                make_meco_without_constraint_features(f"{label}, s7-s10 hidden", policy),
            )
        ),
        HELD_OUT,
        dims=(50, 100),
        report=ReportPlan(
            about="The trained policy is tested as it is, and with the features s7 to s10 set to 0.",
            views=("progress", "ranks", "relative"),
        ),
    ),
    "ablation-action": Experiment(
        "ablation-action",
        "Other ways to decode an action",
        make_meco_contenders(**SPLIT_POLICIES, **{"MeCO-AA": "meco-aa-{dim}d", "MeCO-CA": "meco-ca-{dim}d"}),
        HELD_OUT,
        dims=(10, 50, 100),
        report=ReportPlan(
            about="The paper's geometric decoding against multiplying the allowance by 1 - a: aggressive "
            "(AA, a in {-1, -0.8, ..., 1}) and conservative (CA, a in {-0.1, -0.08, ..., 0.1}). " + TRAININGS_NOTE,
            views=("heat", "ranks", "relative"),
        ),
    ),
    "ablation-reward": Experiment(
        "ablation-reward",
        "Other rewards",
        (
            *make_meco_contenders(
                **SPLIT_POLICIES,
                **{"MeCO-r1": "meco-r1-{dim}d", "MeCO-r2": "meco-r2-{dim}d", "MeCO-r1+r2": "meco-r1r2-{dim}d"},
            ),
            *make_contenders((*METHODS_AT_100D, "MA-ES", "MeCO-u")),
        ),
        HELD_OUT,
        dims=(10, 30, 50, 100),
        report=ReportPlan(
            about="Objective progress alone (r1), violation reduction alone (r2) and their plain sum, against the "
            "full reward and the baselines. Higher is better. " + TRAININGS_NOTE,
            views=("relative", "ranks"),
            focus=(*TRAININGS, "MeCO-r1", "MeCO-r2", "MeCO-r1+r2"),
        ),
        quick=(*TRAININGS, "MeCO-r1", "MeCO-r2", "MeCO-r1+r2", *SHADE_FAMILY),
    ),
    "training-gain": Experiment(
        "training-gain",
        "What training gains",
        (
            *make_meco_contenders(**SPLIT_POLICIES),
            *make_contenders(("MeCO-u", "MeCO-rand")),
        ),
        HELD_OUT,
        dims=(10, 30, 50, 100),
        report=ReportPlan(
            about="Mean relative reduction of f+ν against the first population, over the eight held-out problems. "
            "Higher is better. " + TRAININGS_NOTE,
            views=("gain", "ranks"),
            printed="training-gain",
            notes=(
                "The printed 0.9251 at D = 50 does not fit the paper's own table 1: with its values for F7 and F28, "
                "and 1 for the six other problems, the mean is at most 0.80.",
            ),
        ),
    ),
}
