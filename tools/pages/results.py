"""Blocks about the results: each a function that returns Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from meco.bench.plan.contender import AS_PRINTED, SCORE_REWARDED
from meco.bench.report import stats
from meco.bench.report.names import OURS, STEERED, shown_name
from meco.methods import DEFAULT
from tools.pages.standings import (
    FIRST,
    JUDGED,
    SCORE,
    SURE,
    Standing,
    headline_standings,
    read_feasibility,
    read_standing,
)
from tools.pages.tables import bold_if, format_percent, join_words, markdown_table, parse_number, read_long, read_table

BESIDE = ("SHADE", AS_PRINTED, SCORE_REWARDED)  # the paper's engine and method are in the headline wherever they stand
LEADERS = 5  # of each suite are in the headline
METRICS = {SCORE: "by f+ν", FIRST: "feasibility first"}
HALF_RANK = 0.5  # within it the default counts as level with the first


# -- the headline ----------------------------------------------------------------------------


def headline_table() -> str:
    """Average ranks by both metrics on the suites, of whoever leads on one of them."""
    seen = headline_standings()
    kept = {m for s in seen for m in [*s.order(FIRST)[:LEADERS], s.order(SCORE)[0]]}
    kept |= {m for m in (*OURS, *BESIDE) if any(m in s.table for s in seen)}

    def height(method: str) -> float:
        ranks = [s.rank(method, FIRST) / len(s.methods) for s in seen if method in s.table]
        return sum(ranks) / len(ranks)

    rows = [[shown_name(m), *(_format_both_ranks(s, m) for s in seen)] for m in sorted(kept, key=height)]
    rows.append(["*critical difference*", *(f"*{s.difference:.1f}*" for s in seen)])
    titles = (f"{s.title}<br>{s.problems} problems, {len(s.methods)} methods" for s in seen)
    return markdown_table(["average rank,<br>f+ν / feasibility first", *titles], rows)


def _format_both_ranks(s: Standing, method: str) -> str:
    """Ranks of a method by both metrics; a dash where it did not run."""
    if method not in s.table:
        return "–"
    return " / ".join(bold_if(f"{s.rank(method, c):.1f}", s.place(method, c) == 1) for c in METRICS)


def verdict_text() -> str:
    """Who is first where, and where the default stands."""
    seen = headline_standings()
    wins: dict[str, list[str]] = {}
    for s in seen:
        best = s.order(FIRST)[0]
        wins.setdefault(best, []).append(f"the {s.in_words} ({s.rank(best, FIRST):.1f}{_best_of_ours(s)})")
    (top, on), *others = sorted(wins.items(), key=lambda item: -len(item[1]))
    firsts = [f"{top} is first on {join_words(on)}", *(f"{m} on {join_words(won)}" for m, won in others)]
    text = f"Feasibility first, {', '.join(firsts)}."
    stands = [f"{s.place(DEFAULT, FIRST)} of {len(s.methods)} on the {s.in_words}" for s in seen if DEFAULT in s.table]
    return f"{text} {DEFAULT}, the default, is number {join_words(stands)}.{_tell_apart(seen)}" if stands else text


def _tell_apart(seen: Sequence[Standing]) -> str:
    """On which suites a test tells the steered method from the default, feasibility first; "" where none has both."""
    both = [s for s in seen if {STEERED, DEFAULT} <= set(s.table)]
    if not both:
        return ""
    tested = [s.p_value(STEERED, FIRST) for s in both]
    told = [_describe_told(s, p) for s, p in zip(both, tested) if p < SURE]
    test = "by a signed-rank test over problems"
    if not told:
        return f" {STEERED} and {DEFAULT} are told apart on none of them {test} (p at least {min(tested):.2g})."
    others = [p for p in tested if p >= SURE]
    rest = f"; on the others p is {min(others):.2g} or more" if others else ""
    return f" {STEERED} and {DEFAULT} are told apart on the {join_words(told)} {test}{rest}."


def _describe_told(s: Standing, p: float) -> str:
    """A suite where the steered method and the default differ, and which of them is ahead."""
    ahead = STEERED if s.rank(STEERED, FIRST) < s.rank(DEFAULT, FIRST) else DEFAULT
    return f"{s.in_words} ({ahead} ahead, p {p:.2g})"


def _best_of_ours(s: Standing) -> str:
    """The best of ours, where it is not the first of all."""
    ours = min((m for m in OURS if m in s.table), key=lambda m: s.rank(m, FIRST))
    place = s.place(ours, FIRST)
    return "" if place == 1 else f"; {ours} is number {place} with {s.rank(ours, FIRST):.1f}"


def exceptions_text() -> str:
    """Where the default is more than half a rank or surely behind the first: by metric, with the test of those two.

    Stored suites where it did not run are told, too.
    """
    seen = [s for suite in JUDGED if (s := read_standing(suite)) is not None]
    rows = [row for s in seen for column in METRICS if (row := _describe_exception(s, column)) is not None]
    said = f"On {len(seen)} suites and budgets, by both metrics, {DEFAULT} is first, or within half a rank of the first"
    if not rows:
        return f"{said} and not significantly behind it."
    head = ["", "metric", f"{DEFAULT} (place)", "first", "p (Holm)"]
    return f"{said} and not significantly behind it, but for these:\n\n{markdown_table(head, rows)}"


def _describe_exception(s: Standing, column: str) -> list[str] | None:
    """The row of a suite and metric where the default is behind; None where it is not."""
    first = s.order(column)[0]
    leader = f"{shown_name(first)} {s.rank(first, column):.2f}"
    if DEFAULT not in s.order(column):
        return [s.title, METRICS[column], "not run", leader, "–"]
    mine = s.rank(DEFAULT, column)
    behind = mine - s.rank(first, column)
    if behind <= 0:
        return None
    p = s.p_value(first, column)
    if behind <= HALF_RANK and p >= SURE:
        return None
    return [s.title, METRICS[column], f"{mine:.2f} ({s.place(DEFAULT, column)})", leader, f"{p:.2g}"]


# -- one suite -------------------------------------------------------------------------------


def suite_summary(suite: str) -> str:
    """Who leads by each metric, where ours stand, whose distance may be chance, and how many runs."""
    s = read_standing(suite)
    if s is None:
        return _not_run_note(suite)
    lines = []
    for column, name in METRICS.items():
        order = s.order(column)
        led = join_words([bold_if(f"{shown_name(m)} {s.rank(m, column):.2f}", m == order[0]) for m in order[:4]])
        ours = [f"{shown_name(m)} {s.place(m, column)} ({s.rank(m, column):.2f})" for m in OURS if m in order[4:]]
        lines.append(
            f"- *{name[0].upper()}{name[1:]}:* {led}"
            + (f"; further down, by place, {join_words(ours)}." if ours else ".")
        )
    lines.append(
        f"- {len(s.methods)} methods, {s.problems} problems: average ranks closer than {s.difference:.2f} may differ "
        f"by chance (Nemenyi, 0.05). Feasibility first, {_describe_level(s)}."
    )
    lines.append(f"- Runs on each problem: {_describe_run_counts(s)}.")
    return "\n".join(lines)


def _describe_level(s: Standing) -> str:
    """Which methods are closer to the first than the critical difference, in words."""
    level, first = s.level(FIRST), s.order(FIRST)[0]
    if len(level) > 6:
        return f"{len(level)} of the {len(s.methods) - 1} others are that close to {first}"
    if not level:
        return f"none of the others is that close to {first}"
    return f"only {join_words(level)} {'is' if len(level) == 1 else 'are'} that close to {first}"


def _describe_run_counts(s: Standing) -> str:
    """How many runs on each problem, and which methods made another number."""
    counts: dict[int, list[str]] = {}
    for method in s.methods:
        counts.setdefault(int(parse_number(s.table[method]["runs"])), []).append(method)
    usual = max(counts, key=lambda k: len(counts[k]))
    others = [f"{k} of {join_words(sorted(names))}" for k, names in sorted(counts.items()) if k != usual]
    return f"{usual}" + (f"; {'; '.join(others)}" if others else "")


def rank_table(suite: str) -> str:
    """Everyone, as the report's table has it, without the columns of the paper."""
    s = read_standing(suite)
    if s is None:
        return _not_run_note(suite)
    rows = [
        [
            shown_name(m),
            *(bold_if(f"{s.rank(m, c):.2f}", s.place(m, c) == 1) for c in METRICS),
            format_percent(s.table[m]["feasible runs"]),
        ]
        for m in s.order(FIRST)
    ]
    return markdown_table(["method", SCORE, FIRST, "feasible runs"], rows)


def side_by_side_table(*suites: str) -> str:
    """Everyone on several experiments with the same methods, one column each, by both metrics."""
    seen = {suite.rpartition("-")[2]: s for suite in suites if (s := read_standing(suite)) is not None}
    if not seen:
        return _not_run_note(suites[0])
    everyone = dict.fromkeys(m for s in seen.values() for m in s.methods)
    height = {m: fmean(s.rank(m, FIRST) for s in seen.values() if m in s.table) for m in everyone}
    ordered = sorted(height, key=height.__getitem__)
    rows = [[shown_name(m), *(_format_both_ranks(s, m) for s in seen.values())] for m in ordered]
    return markdown_table(["average rank,<br>f+ν / feasibility first", *seen], rows)


def losses_table(suite: str) -> str:
    """How often ours, and the other that is first most often, are first or among three, and where they stand lowest."""
    s = read_standing(suite)
    if s is None:
        return _not_run_note(suite)
    rows = []
    firsts = {m: sum(of[m] <= 1 for of in s.places.values()) for m in s.methods if m not in OURS}
    rivals = [m for m in s.order(FIRST) if firsts.get(m, 0) > 0 and firsts[m] == max(firsts.values())]
    for method in (*(m for m in OURS if m in s.table), *rivals):
        places = {problem: of[method] for problem, of in s.places.items()}
        lowest = sorted((p for p in places if places[p] > 3), key=lambda p: -places[p])[:5]
        told = ", ".join(f"{p} ({places[p]:.0f})" for p in lowest)
        tops = (str(sum(v <= top for v in places.values())) for top in (1, 3))
        rows.append([shown_name(method), *tops, told or "none"])
    return markdown_table(["of " + str(s.problems), "first", "first three", "lowest places beyond the third"], rows)


def count_duels(winner: str, loser: str, suites: str) -> str:
    """On how many problems of suites, separated by commas, a method is ahead of another: "39 of 56"; a dash of none."""
    seen = [s for suite in suites.split(",") if (s := read_standing(suite)) is not None]
    both = [of for s in seen for of in s.places.values() if winner in of and loser in of]
    return f"{sum(of[winner] < of[loser] for of in both)} of {len(both)}" if both else "–"


def _not_run_note(suite: str) -> str:
    """What stands in place of a block whose experiment has not been run."""
    return f"*Not run yet: `meco reproduce {suite}`.*"


# -- the paper's table -----------------------------------------------------------------------


def printed_comparison() -> str:
    """Ranks among the paper's methods, ours beside the printed ones, and how often we are below the printed mean."""
    found = {m: row for m, row in (read_table("table1-ranks") or {}).items() if row["printed, f+ν"]}
    won: dict[str, list[bool]] = {}
    for row in read_long("table1-score"):
        if row["printed_mean"]:
            won.setdefault(row["method"], []).append(parse_number(row["mean"]) < parse_number(row["printed_mean"]))
    rows = [
        [
            shown_name(m),
            f"{parse_number(row['f+ν*']):.2f}",
            f"{parse_number(row['printed, f+ν']):.2f}",
            f"{sum(won[m])} of {len(won[m])}",
        ]
        for m, row in sorted(found.items(), key=lambda item: parse_number(item[1]["f+ν*"]))
    ]
    return markdown_table(
        [f"method, among {len(rows)}", "rank here", "rank printed", "problems below its printed mean"], rows
    )


def rank_instead(method: str, other: str, suite: str) -> str:
    """The average rank, feasibility first, that a method has in the place of another among those that are printed."""
    theirs = [m for m, row in (read_table(f"{suite}-ranks") or {}).items() if row["printed, feasibility first"]]
    among = [method if m == other else m for m in theirs]
    cells = [[of[m] for m in among] for of in read_feasibility(suite).values()]
    return f"{fmean(stats.feasibility_ranks(of)[among.index(method)] for of in cells):.2f}"


def full_table(name: str) -> str:
    """A table as it is, numbers with two digits."""
    found = read_table(name)
    if found is None:
        return _not_run_note(name.removesuffix("-ranks"))
    head = list(next(iter(found.values())))
    best = {c: min(parse_number(row[c]) for row in found.values()) for c in head}
    rows = [
        [shown_name(m), *(bold_if(f"{parse_number(row[c]):.2f}", parse_number(row[c]) == best[c]) for c in head)]
        for m, row in found.items()
    ]
    return markdown_table(["method", *head], rows)


def run_counts_text() -> str:
    """How many runs the headline has."""
    told: dict[str, list[str]] = {}
    for s in headline_standings():
        told.setdefault(_describe_run_counts(s), []).append(s.in_words)
    return " ".join(f"Runs on each of the {join_words(on)}: {runs}." for runs, on in told.items())
