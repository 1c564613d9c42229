"""A campaign of seconds: every view, and a contender that cannot run."""

from meco.bench.plan.experiment import Contender, Experiment

VIEWS = (
    "ranks",
    "critical",
    "values",
    "pairs",
    "feasibility",
    "progress",
    "ecdf",
    "convergence",
    "performance",
    "actions",
)
SMALL = Experiment(
    "small", "A small <experiment>", tuple(Contender.of(m) for m in ("SHADE", "SHADE-eps", "MA-ES", "MeCO-rand")),
    ("C01", "C04", "C06", "C20"), dims=(10,), budget=200, runs=3, views=VIEWS, focus=("SHADE", "MA-ES"),
    printed="table1", first_seed=1,
)  # fmt: skip
BROKEN = Contender("MeCO", "MeCO", {"policy": "nobody"})
TWO = Experiment(
    "two", "Two dimensions", (*SMALL.contenders, BROKEN), ("C01", "C04"), dims=(4, 6), budget=150, runs=2, first_seed=1,
    views=("heat", "relative", "gain", "ranks", "progress"),
)  # fmt: skip
