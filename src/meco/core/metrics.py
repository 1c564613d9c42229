"""The two metrics by which evaluated points are ranked: the one users get, and the paper's."""

from __future__ import annotations

from meco.core.arrays import namespace, zeros_like
from meco.core.evaluation import Evaluation
from meco.core.rule import Key


def feasibility_first(ev: Evaluation) -> Key:
    """Keys [B, N]: feasible before infeasible, feasible by f, infeasible by nu, failed last; the answer users get."""
    # any feasible point ranks before any violation, also when nu > 0 within the tolerance
    key = Key(namespace(ev.f).where(ev.feasible, -1.0, ev.nu), ev.f)
    return key if ev.intact else key.last_where(ev.failed)


def objective_plus_violation(ev: Evaluation) -> Key:
    """Keys [B, N] by f + nu, failed last: the number of the paper's CEC2017 tables."""
    sum_ = ev.f + ev.nu
    key = Key(zeros_like(sum_), sum_)
    return key if ev.intact else key.last_where(ev.failed)
