"""A campaign of seconds: every view, and a contender that cannot run."""

from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment, ReportPlan
from meco.bench.run.executors import RunExecutor
from meco.bench.run.result_store import ResultStore
from meco.bench.run.runner import run_campaign

VIEWS = (
    "ranks",
    "critical",
    "values",
    "pairs",
    "feasibility",
    "progress",
    "ecdf",
    "profiles",
    "ert",
    "u-score",
    "convergence",
    "performance",
    "actions",
)
SMALL = Experiment(
    "small",
    "A small <experiment>",
    tuple(Contender.from_method(m) for m in ("SHADE", "SHADE-eps", "MA-ES", "MeCO-rand")),
    ("C01", "C04", "C06", "C20"),
    dims=(10,),
    budget=200,
    runs=3,
    report=ReportPlan(views=VIEWS, focus=("SHADE", "MA-ES"), printed="table1"),
    first_seed=1,
)
BROKEN = Contender("MeCO", "MeCO", {"policy": "nobody"})
TWO = Experiment(
    "two", "Two dimensions", (*SMALL.contenders, BROKEN), ("C01", "C04"), dims=(4, 6), budget=150, runs=2, first_seed=1,
    report=ReportPlan(views=("heat", "relative", "gain", "ranks", "progress")),
)  # fmt: skip


def make_small_campaign(folder):
    """Run both experiments into a folder; gives the folder."""
    with ResultStore.open_campaign(folder) as store:
        run_campaign([SMALL, TWO], store, RunExecutor(), quiet=True)
    return folder
