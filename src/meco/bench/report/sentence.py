"""The line on top of a page with several suites: where the default stands, and what steering it adds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from meco.bench.report.names import OURS, STEERED, shown_name
from meco.bench.report.stats import ALPHA, RankTest
from meco.methods import DEFAULT


class SuiteRanks(NamedTuple):
    """What the line needs of a suite."""

    title: str
    ranks: dict[str, float]  # average ranks by label, feasibility first
    difference: float  # the critical one of these ranks; nan without SciPy
    steered: RankTest | None = None  # the default against the steered method; None where it was not tested

    def first(self) -> str:
        """Who is first."""
        return shown_name(min(self.ranks, key=self.ranks.__getitem__))


def compose_sentence(seen: Sequence[SuiteRanks]) -> str:
    """On how many suites the default is before every method of others, what is so on the rest, and what steering adds.

    Where the default ran nowhere: who is first on each suite.
    """
    there = [s for s in seen if DEFAULT in s.ranks]
    if not there:
        return f"First by average rank, feasibility first: {'; '.join(f'{s.first()} on {s.title}' for s in seen)}."
    rest = [said for s in seen if (said := _describe_rest(s))]
    leads = f"{DEFAULT}, the default, is before every method of others on {len(seen) - len(rest)} of {len(seen)} suites"
    return "; ".join([leads + _count_sure_leads(there), *rest, *_describe_steered(there)]) + "."


def _lead(s: SuiteRanks) -> tuple[float, str]:
    """By how much the default is before the best method of others, and that method; (0, "") where there is none."""
    others = {label: rank for label, rank in s.ranks.items() if label not in OURS}
    if not others:
        return 0.0, ""
    best = min(others, key=others.__getitem__)
    return round(others[best] - s.ranks[DEFAULT], 9), shown_name(best)


def _count_sure_leads(there: Sequence[SuiteRanks]) -> str:
    """On how many suites the lead is no chance by the critical difference; "" without SciPy."""
    known = [s for s in there if not math.isnan(s.difference)]
    sure = sum(_lead(s)[0] > s.difference for s in known)
    return f", on {sure} by more than the critical difference" if known else ""


def _describe_rest(s: SuiteRanks) -> str:
    """A suite where the default is not before every method of others; "" where it is."""
    if DEFAULT not in s.ranks:
        return f"not run on {s.title}, where {s.first()} is first"
    lead, best = _lead(s)
    if lead > 0:
        return ""
    if not best:
        return f"without methods of others on {s.title}"
    if lead == 0:
        return f"level with {best} on {s.title}"
    chance = " (not tested)" if math.isnan(s.difference) else " (may be chance)" if -lead <= s.difference else ""
    return f"behind {best} on {s.title}{chance}"


def _describe_steered(there: Sequence[SuiteRanks]) -> list[str]:
    """On how many suites the steered method ranks better than the default, and where a test tells them apart."""
    both = [s for s in there if STEERED in s.ranks]
    if not both:
        return []
    better = sum(s.ranks[STEERED] < s.ranks[DEFAULT] for s in both)
    said = f"{STEERED}, {DEFAULT} under a learned policy, ranks better on {better} of {len(both)}"
    tests = [(s.title, s.steered) for s in both if s.steered is not None]
    if not tests:
        return [f"{said} (none tested here)"]
    told = [f"{title} ({'behind' if t.ahead else 'ahead'}, p {t.p:.2g})" for title, t in tests if t.p < ALPHA]
    return [f"{said}, and by a signed-rank test over problems is told from it on {', '.join(told) or 'none'}"]
