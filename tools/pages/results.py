"""Blocks about the results: each a function that returns Markdown."""

from __future__ import annotations

from meco.methods import DEFAULT
from tools.pages.standings import FIRST, OURS, SCORE, Standing, standing, standings
from tools.pages.tables import bold, listed, percent, read, read_long, table, value

BESIDE = ("SHADE", "MeCO")  # the paper's engine and method are in the headline wherever they stand
LEADERS = 5  # of each suite are in the headline
METRICS = {SCORE: "by f+ν", FIRST: "feasibility first"}


# -- the headline ----------------------------------------------------------------------------


def headline() -> str:
    """Average ranks by both metrics on the suites, of whoever leads on one of them."""
    seen = standings()
    kept = {m for s in seen for m in [*s.order(FIRST)[:LEADERS], s.order(SCORE)[0]]} | {*OURS, *BESIDE}

    def height(method: str) -> float:
        ranks = [s.rank(method, FIRST) / len(s.methods) for s in seen if method in s.table]
        return sum(ranks) / len(ranks)

    rows = [[m, *(_both(s, m) for s in seen)] for m in sorted(kept, key=height)]
    rows.append(["*critical difference*", *(f"*{s.difference:.1f}*" for s in seen)])
    titles = (f"{s.title}<br>{s.problems} problems, {len(s.methods)} methods" for s in seen)
    return table(["average rank,<br>f+ν / feasibility first", *titles], rows)


def _both(s: Standing, method: str) -> str:
    if method not in s.table:
        return "–"
    return " / ".join(bold(f"{s.rank(method, c):.1f}", s.place(method, c) == 1) for c in METRICS)


def verdict() -> str:
    """Who is first where, and where the default stands."""
    seen = standings()
    wins: dict[str, list[str]] = {}
    for s in seen:
        best = s.order(FIRST)[0]
        wins.setdefault(best, []).append(f"the {s.in_words} ({s.rank(best, FIRST):.1f}{_behind(s)})")
    (top, on), *others = sorted(wins.items(), key=lambda item: -len(item[1]))
    firsts = [f"{top} is first on {listed(on)}", *(f"{m} on {listed(won)}" for m, won in others)]
    text = f"Feasibility first, {', '.join(firsts)}."
    stands = [f"{s.place(DEFAULT, FIRST)} of {len(s.methods)} on the {s.in_words}" for s in seen if DEFAULT in s.table]
    return f"{text} {DEFAULT}, the default, is number {listed(stands)}." if stands else text


def _behind(s: Standing) -> str:
    """The best of ours, where it is not the first of all."""
    ours = min((m for m in OURS if m in s.table), key=lambda m: s.rank(m, FIRST))
    place = s.place(ours, FIRST)
    return "" if place == 1 else f"; {ours} is number {place} with {s.rank(ours, FIRST):.1f}"


# -- one suite -------------------------------------------------------------------------------


def summary(suite: str) -> str:
    """Who leads by each metric, where ours stand, what the critical difference tells apart, and how many runs."""
    s = standing(suite)
    if s is None:
        return _missing(suite)
    lines = []
    for column, name in METRICS.items():
        order = s.order(column)
        led = listed([bold(f"{m} {s.rank(m, column):.2f}", m == order[0]) for m in order[:4]])
        ours = [f"{m} {s.place(m, column)} ({s.rank(m, column):.2f})" for m in OURS if m in order[4:]]
        lines.append(
            f"- *{name[0].upper()}{name[1:]}:* {led}" + (f"; further down, by place, {listed(ours)}." if ours else ".")
        )
    lines.append(
        f"- {len(s.methods)} methods, {s.problems} problems: average ranks differ at the level of 0.05 where they are "
        f"{s.difference:.2f} apart (Nemenyi). Feasibility first, {_alike(s)} from {s.order(FIRST)[0]}."
    )
    lines.append(f"- Runs on each problem: {_runs(s)}.")
    return "\n".join(lines)


def _alike(s: Standing) -> str:
    level = s.level(FIRST)
    if len(level) > 6:
        return f"{len(level)} of the {len(s.methods) - 1} others are not told apart"
    return f"only {listed(level)} {'is' if len(level) == 1 else 'are'} not told apart" if level else "all others differ"


def _runs(s: Standing) -> str:
    counts: dict[int, list[str]] = {}
    for method in s.methods:
        counts.setdefault(int(value(s.table[method]["runs"])), []).append(method)
    usual = max(counts, key=lambda k: len(counts[k]))
    others = [f"{k} of {listed(sorted(names))}" for k, names in sorted(counts.items()) if k != usual]
    return f"{usual}" + (f"; {'; '.join(others)}" if others else "")


def ranks(suite: str) -> str:
    """Everyone, as the report's table has it, without the columns of the paper."""
    s = standing(suite)
    if s is None:
        return _missing(suite)
    rows = [
        [m, *(bold(f"{s.rank(m, c):.2f}", s.place(m, c) == 1) for c in METRICS), percent(s.table[m]["feasible runs"])]
        for m in s.order(FIRST)
    ]
    return table(["method", SCORE, FIRST, "feasible runs"], rows)


def beside(*suites: str) -> str:
    """Everyone on several experiments with the same methods, one column each, by both metrics."""
    seen = {suite.rpartition("-")[2]: s for suite in suites if (s := standing(suite)) is not None}
    if not seen:
        return _missing(suites[0])
    methods = sorted(next(iter(seen.values())).methods, key=lambda m: sum(s.rank(m, FIRST) for s in seen.values()))
    rows = [[m, *(_both(s, m) for s in seen.values())] for m in methods]
    return table(["average rank,<br>f+ν / feasibility first", *seen], rows)


def losses(suite: str) -> str:
    """How often ours are first or among the first three, and where they stand lowest, feasibility first."""
    s = standing(suite)
    if s is None:
        return _missing(suite)
    rows = []
    for method in (m for m in OURS if m in s.table):
        places = {problem: of[method] for problem, of in s.places.items()}
        lowest = sorted((p for p in places if places[p] > 3), key=lambda p: -places[p])[:5]
        told = ", ".join(f"{p} ({places[p]:.0f})" for p in lowest)
        rows.append([method, *(str(sum(v <= top for v in places.values())) for top in (1, 3)), told or "none"])
    return table(["of " + str(s.problems), "first", "first three", "lowest places beyond the third"], rows)


def _missing(suite: str) -> str:
    return f"*Not run yet: `meco reproduce {suite}`.*"


# -- the paper's table -----------------------------------------------------------------------


def printed() -> str:
    """Ranks among the paper's methods, ours beside the printed ones, and how often we are below the printed mean."""
    found = {m: row for m, row in (read("table1-ranks") or {}).items() if row["printed, f+ν"]}
    won: dict[str, list[bool]] = {}
    for row in read_long("table1-score"):
        if row["printed_mean"]:
            won.setdefault(row["method"], []).append(value(row["mean"]) < value(row["printed_mean"]))
    rows = [
        [m, f"{value(row['f+ν*']):.2f}", f"{value(row['printed, f+ν']):.2f}", f"{sum(won[m])} of {len(won[m])}"]
        for m, row in sorted(found.items(), key=lambda item: value(item[1]["f+ν*"]))
    ]
    return table([f"method, among {len(rows)}", "rank here", "rank printed", "problems below its printed mean"], rows)


def whole(name: str) -> str:
    """A table as it is, numbers with two digits."""
    found = read(name)
    if found is None:
        return _missing(name.removesuffix("-ranks"))
    head = list(next(iter(found.values())))
    best = {c: min(value(row[c]) for row in found.values()) for c in head}
    rows = [[m, *(bold(f"{value(row[c]):.2f}", value(row[c]) == best[c]) for c in head)] for m, row in found.items()]
    return table(["method", *head], rows)


def protocol() -> str:
    """How many runs the headline has."""
    told: dict[str, list[str]] = {}
    for s in standings():
        told.setdefault(_runs(s), []).append(s.in_words)
    return " ".join(f"Runs on each of the {listed(on)}: {runs}." for runs, on in told.items())
