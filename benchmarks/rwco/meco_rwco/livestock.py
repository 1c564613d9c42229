"""RC51-RC57: livestock feed rations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meco.core.arrays import Array, asarray_like, namespace
from meco.core.problem import Problem
from meco_rwco.official import Tables, look_up_tables
from meco_rwco.parts import Values, number_names

SOURCE = "Kumar et al. 2020, livestock feed ration"
LIMITED = ("row 5", "row 4", "row 6", "row 7", "share of feeds 1-17", "share of row 3", "feeds 34-59")


@look_up_tables
def tabulate_beef_feeds(tables: Tables) -> Tables:
    """Columns [59, 10]: the seven rows, then ones for all feeds, feeds 1-17 and feeds 34-59."""
    feed = np.arange(1, 60)
    sums = np.stack([np.ones(59), feed <= 17, feed >= 34])
    return {"columns": np.concatenate([tables["FunctionRM_feed"], sums]).T}


@look_up_tables
def tabulate_dairy_feeds(tables: Tables) -> Tables:
    """Columns [64, 7]: the cost, then what each equality adds up."""
    b = tables["FunctionRM_dairy"]
    return {"columns": np.stack([b[0], b[11], b[1], b[2], b[12], b[13], b[1:11].sum(axis=0)], axis=-1)}


def make_beef_problem(name: str, limits: Sequence[float], dry_matter: float, best: float) -> Problem:
    """Cost of a ration for beef cattle: seven quantities between two limits each, and the dry matter (kg) fixed.

    limits are low and high of each in turn.
    """
    lows, highs = limits[0::2], limits[1::2]

    def ration(x: Array) -> Values:
        """Cost, both sides of the seven limits, and the dry matter."""
        xp = namespace(x)
        a1, a2, a3, a4, a5, a6, a7, total, first, last = xp.unstack(x @ tabulate_beef_feeds(x)["columns"], axis=-1)
        amounts = (a5, a4, a6, a7, first / total, a3 / total, last)
        g = [side for amount, low, high in zip(amounts, lows, highs) for side in (low - amount, amount - high)]
        return a1, g, [a2 - dry_matter]

    names = tuple(f"{amount} {side}" for amount in LIMITED for side in ("not too low", "not too high"))
    return _make_ration_problem(name, ration, 59, (14, 1), best, "Ration for beef cattle", (*names, "row 2"))


def make_dairy_problem(name: str, amounts: Sequence[float], best: float) -> Problem:
    """Cost of a ration of 64 feeds for dairy cattle, with six amounts that must be met exactly."""

    def ration(x: Array) -> Values:
        mixed = x @ tabulate_dairy_feeds(x)["columns"]
        return mixed[..., 0], [], mixed[..., 1:] - asarray_like(amounts, x)

    names = ("row 12", "row 2", "row 3", "row 13", "row 14", "rows 2 to 11")
    return _make_ration_problem(name, ration, 64, (0, 6), best, "Ration for dairy cattle", names)


def _make_ration_problem(name, formula, dim, counts, best, title, constraint_names) -> Problem:
    """A problem of mixing dim feeds, each of 0 to 10 kg."""
    return Problem(
        name,
        lower=np.zeros(dim),
        upper=np.full(dim, 10.0),
        n_ineq=counts[0],
        n_eq=counts[1],
        formula=formula,
        title=title,
        source=SOURCE,
        best_known=best,
        variables=number_names("feed {} (kg)", 1, dim),
        constraint_names=constraint_names,
    )


# lower and upper limit of the seven quantities in turn
rc51 = make_beef_problem(
    "RC51",
    (1.09, 2.17, 4.87, 5.2, 0.043, 0.086, 0.023, 0.046, 0.295, 0.36, 0.3, 0.4712, 9.2, 11.5),
    dry_matter=6.9,
    best=4550.8511497,
)
rc52 = make_beef_problem(
    "RC52",
    (1.28, 2.56, 7.3, 7.81, 0.005, 0.094, 0.031, 0.062, 0.2, 0.24, 0.3, 0.4, 9.8, 16.4),
    dry_matter=9.8,
    best=3348.9821493,
)
rc53 = make_beef_problem(
    "RC53",
    (1.17, 2.34, 6.94, 7.43, 0.038, 0.076, 0.034, 0.068, 0.085, 0.111, 0.25, 0.4, 11.6, 14.5),
    dry_matter=8.7,
    best=4997.606929,
)
rc54 = make_beef_problem(
    "RC54",
    (0.56, 1.12, 3.23, 3.46, 0.018, 0.036, 0.0116, 0.04, 0.25, 0.9, 0.3, 0.4384, 7.47, 9.34),
    dry_matter=5.6,
    best=4240.5482538,
)
rc55 = make_dairy_problem("RC55", (25.67, 0.0218, 0.062, 0.034, 0.021, 0.999), best=6696.4145128)
rc56 = make_dairy_problem("RC56", (65.24, 0.066, 0.159, 0.103, 0.052, 2.644), best=14746.58)
rc57 = make_dairy_problem("RC57", (30.05, 0.0259, 0.077, 0.096, 0.025, 1.214), best=3213.2917019)
