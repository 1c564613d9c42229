"""The tables of the report, each from the runs of an experiment; printed numbers stand beside ours."""

from __future__ import annotations

import numpy as np

from meco.bench.plan import printed
from meco.bench.plan.contender import AS_PRINTED, SCORE_REWARDED
from meco.bench.plan.experiment import load_problem
from meco.bench.report import stats
from meco.bench.report.run_arrays import METRICS, RunArrays
from meco.bench.report.stats import Feasibility, RankTest
from meco.figures.table import Cell, Column, Table, format_fixed, format_number, mark_best
from meco.methods import DEFAULT

REFERENCES = {  # who is compared with everyone, where they are there -> the end of that table's name
    "MeCO": "pairs",
    SCORE_REWARDED: "pairs",
    AS_PRINTED: "pairs-as-printed",
    "MeCO-TR": "pairs-meco-tr",
    DEFAULT: "pairs-default",
}


def dim_text(results: RunArrays) -> str:
    """ ", 10D" as titles say it where an experiment has several dimensions; else ""."""
    return f", {results.dim}D" if len(results.experiment.dims) > 1 else ""


def item_name(results: RunArrays, what: str) -> str:
    """The file name of a table or figure."""
    return f"{results.experiment.name}-{what}" + (f"-{results.dim}d" if len(results.experiment.dims) > 1 else "")


def find_unprinted(results: RunArrays) -> np.ndarray:
    """Which contenders the paper does not print: [M]."""
    known = printed.read_average_ranks(results.experiment.report.printed)
    return np.array([bool(known) and label not in known for label in results.labels])


def format_p(p: float) -> str:
    """A p-value with the sign before it."""
    return "< 0.0001" if p < 1e-4 else f"= {p:.4f}"


# -- ranks -----------------------------------------------------------------------------------


def make_rank_table(results: RunArrays) -> Table:
    """Average ranks under both metrics, with intervals, and among the paper's methods beside its own."""
    known = printed.read_average_ranks(results.experiment.report.printed)
    theirs = np.array([label in known for label in results.labels])
    both = {m: results.rank_table(m) for m in METRICS}
    pair = {m: results.rank_table(m, theirs) for m in ("score", "final", "first", "snapshot")} if known else {}
    columns = [
        Column("Method", head=True),
        Column("rank, f+ν", "average over problems of the rank of the mean least f+ν; 95 % bootstrap interval"),
        Column(
            "rank, feasibility first", "more feasible runs, then smaller mean f, or violation where none is feasible"
        ),
        Column("feasible runs", "share of all runs that found a feasible point"),
        Column("runs", "runs on each problem"),
    ]
    if known:
        hint = "among the methods that the paper prints"
        columns += [Column("f+ν*", hint), Column("f+ν*, last population", hint)]
        columns += [Column("feasibility first*", hint), Column("feasibility first*, populations", hint)]
        kind = METRICS["score" if results.experiment.report.printed == "table1" else "first"]
        columns += [Column(f"printed, {kind}", "the average rank in the paper")]
    order = np.argsort(np.nan_to_num(both["score"].mean(axis=1), nan=np.inf), kind="stable")
    marks = {m: mark_best(list(t.mean(axis=1)), 9) for m, t in both.items()}
    rows = [
        [
            _label_cell(results, m),
            *(_rank_cell(both[k][m], marks[k][m]) for k in METRICS),
            _feasible_rate_cell(results, m),
        ]
        for m in order
    ]
    for row, m in zip(rows, order):
        row.append(Cell(str(results.most_runs(m)), float(results.most_runs(m))))
        if known:
            row += [_mean_rank_cell(pair[k], m) for k in ("score", "final", "first", "snapshot")]
            row.append(_plain_rank_cell(known.get(results.labels[m], float("nan")), list(known.values())))
    caption = "Ranks of means, averaged over problems; the interval is over problems."
    if known:
        caption += " Columns with * rank only the methods of the paper's table."
    return Table(item_name(results, "ranks"), f"Average ranks{dim_text(results)}", columns, rows, caption)


def _label_cell(results: RunArrays, m: int) -> Cell:
    """The name of contender m as a cell."""
    return Cell(results.labels[m], results.labels[m])


def _rank_cell(row: np.ndarray, mark: str) -> Cell:
    """The average of ranks [P] with its interval; a dash where the contender is not ranked."""
    if np.isnan(row).any():
        return Cell("–", float("nan"))
    low, high = stats.bootstrap_interval(row)
    return Cell(f"{row.mean():.2f}", float(row.mean()), mark, (("spread", f"{low:.1f} to {high:.1f}"),))


def _mean_rank_cell(table: np.ndarray, m: int) -> Cell:
    """The average of contender m's ranks in a table [M, P], marked where it is best or second."""
    return _plain_rank_cell(float(table[m].mean()), list(table.mean(axis=1)))


def _plain_rank_cell(value: float, among: list[float]) -> Cell:
    """A rank, marked where it is best or second among others."""
    marks = dict(zip((round(v, 9) for v in among), mark_best(among, 9)))
    return Cell("–" if np.isnan(value) else f"{value:.2f}", value, marks.get(round(value, 9), ""))


def _feasible_rate_cell(results: RunArrays, m: int) -> Cell:
    """The share of feasible runs of contender m; nan without runs."""
    share = float(stats.nan_mean(results.field_values("feasible")[m].reshape(-1), 0))
    return Cell(f"{100 * share:.0f} %", share)


def make_rank_overview(sets: list[RunArrays]) -> Table:
    """Average ranks under both metrics, dimension by dimension; a dash where a contender did not run everywhere."""
    labels = list(dict.fromkeys(label for s in sets for label in s.labels))
    columns = [Column("Method", head=True)]
    rows = {label: [Cell(label, label)] for label in labels}
    for s in sets:
        for metric, title in METRICS.items():
            columns.append(Column(f"{s.dim}D, {title}"))
            table = s.rank_table(metric)
            marks = mark_best(list(table.mean(axis=1)), 9)
            for label, row in rows.items():
                m = s.labels.index(label) if label in s.labels else None
                row.append(Cell("–", float("nan")) if m is None else _rank_cell(table[m], marks[m]))
    caption = "Ranks of means, averaged over problems, with 95 % bootstrap intervals over problems."
    return Table(f"{sets[0].experiment.name}-ranks", "Average ranks", columns, list(rows.values()), caption)


# -- values ----------------------------------------------------------------------------------


def make_value_tables(results: RunArrays) -> list[Table]:
    """Every contender on every problem, one table for each metric."""
    return [make_score_table(results), make_feasibility_table(results)]


def make_score_table(results: RunArrays) -> Table:
    """Mean least f + nu, its deviation, the last population's, and the printed mean where there is one."""
    cells = printed.read_cells("table1") if results.experiment.report.printed == "table1" else {}
    mean, final = stats.nan_mean(results.score, 2), stats.nan_mean(results.field_values("final_score"), 2)
    with np.errstate(invalid="ignore"):  # an infinite mean has no deviation
        std = np.sqrt(stats.nan_mean((results.score - mean[..., None]) ** 2, 2))
    rows, long = [], []
    for j, problem in enumerate(results.problems):
        marks = mark_best([float(v) for v in mean[:, j]])
        theirs = [cells[problem, k].mean or 0.0 if (problem, k) in cells else float("nan") for k in results.labels]
        paper_marks = mark_best(theirs)
        row = [Cell(problem, problem)]
        for m, label in enumerate(results.labels):
            lines = [("spread", f"± {format_number(std[m, j])}"), ("population", f"pop {format_number(final[m, j])}")]
            if (problem, label) in cells:
                lines.append(("paper", f"paper {format_number(theirs[m])}"))
            row.append(Cell(format_number(mean[m, j]), float(mean[m, j]), marks[m], tuple(lines), paper_marks[m]))
            paper = cells.get((problem, label))
            ours = (float(v[m, j]) for v in (mean, std, final))
            long.append(
                [problem, label, int(results.exists[m, j].sum()), *ours, paper and paper.mean, paper and paper.std]
            )
        rows.append(row)
    head = ["problem", "method", "runs", "mean", "std", "mean_last_population", "printed_mean", "printed_std"]
    caption = (
        "Mean and deviation of the least f+ν over all evaluated points; pop is the mean over last populations. "
        "Best is bold, second underlined."
    )
    if cells:
        caption += " The last row counts the problems on which our mean lies below the printed one."
    footer = [_better_than_printed(results, mean, cells)] if cells else []
    title = f"f+ν{dim_text(results)}"
    return Table(
        item_name(results, "score"), title, _method_columns(results), rows, caption, footer, (head, long), wide=True
    )


def _better_than_printed(
    results: RunArrays, mean: np.ndarray, cells: dict[tuple[str, str], printed.Printed]
) -> list[Cell]:
    """On how many problems the mean [M, P] of each contender lies below its own printed one."""
    row = [Cell("below printed", "")]
    for label, ours in zip(results.labels, mean):
        pairs = [(v, cells[p, label].mean) for v, p in zip(ours, results.problems) if (p, label) in cells]
        won = sum(v < theirs for v, theirs in pairs if theirs is not None and not np.isnan(v))
        row.append(Cell(f"{won} of {len(pairs)}", float(won)) if pairs else Cell("–", float("nan")))
    return row


def make_feasibility_table(results: RunArrays) -> Table:
    """Mean f over feasible runs and how many were feasible; the mean violation where none was, "–" where none ran."""
    shown = printed.read_cells("realworld") if results.experiment.report.printed == "realworld" else {}
    cells, populations = results.feasibility_cells(), results.feasibility_cells(snapshot=True)
    rows, long = [], []
    for j, problem in enumerate(results.problems):
        place = stats.feasibility_ranks([row[j] for row in cells])
        marks = mark_best([float(v) for v in place])
        theirs = _printed_marks(results, problem, shown)
        row = [Cell(problem, problem)]
        for m, label in enumerate(results.labels):
            cell, digits = cells[m][j], 6 if shown else 3
            text, lines = _format_feasibility(cell, int(results.exists[m, j].sum()), digits)
            lines.append(("population", "pop " + _format_feasibility(populations[m][j], 0, digits)[0]))
            paper = shown.get((problem, label))
            if paper is not None:
                none_feasible = f"ν {format_number(paper.violation or 0.0)}"
                text_there = none_feasible if paper.mean is None else format_number(paper.mean, 6)
                lines.append(("paper", f"paper {text_there}"))
            row.append(Cell(text, float(place[m]), marks[m], tuple(lines), theirs.get(label, "")))
            ours = [cell.rate, cell.mean, cell.std, cell.violation]
            their = [None, None, None] if paper is None else [paper.mean, paper.std, paper.violation]
            long.append([problem, label, int(results.exists[m, j].sum()), *ours, *their])
        rows.append(row)
    head = ["problem", "method", "runs", "feasible_share", "mean_f", "std_f", "mean_violation"]
    head += ["printed_mean", "printed_std", "printed_violation"]
    caption = (
        "Mean and deviation of f over feasible runs, and how many were feasible; ν is the mean violation where none "
        "was. pop is the same over surviving populations. Sorted and marked feasibility first."
    )
    title = f"Feasibility first{dim_text(results)}"
    return Table(
        item_name(results, "feasibility-first"),
        title,
        _method_columns(results),
        rows,
        caption,
        long=(head, long),
        wide=True,
    )


def _method_columns(results: RunArrays) -> list[Column]:
    """Problems first, then a column for each contender; those the paper does not print are peers."""
    return [
        Column("Problem", head=True),
        *(Column(label, peer=bool(p)) for label, p in zip(results.labels, find_unprinted(results))),
    ]


def _format_feasibility(cell: Feasibility, runs: int, digits: int) -> tuple[str, list[tuple[str, str]]]:
    """The main text of a cell feasibility first, and the lines below it as (kind, text); "–" and [] without runs."""
    if np.isnan(cell.rate):
        return "–", []
    if cell.rate == 0:
        return f"ν {format_number(cell.violation)}", [("spread", f"0 of {runs}")]
    count = f", {round(cell.rate * runs)} of {runs}" if cell.rate < 1 else ""
    return format_number(cell.mean, digits), [("spread", f"± {format_number(cell.std)}{count}")]


def _printed_marks(results: RunArrays, problem: str, shown: dict) -> dict[str, str]:
    """Marks "best" and "second" by label among the printed cells of a problem; {} where none is printed."""
    there = {label: shown[problem, label] for label in results.labels if (problem, label) in shown}
    cells = [Feasibility(float(c.mean is not None), c.mean or 0.0, 0.0, c.violation or 0.0) for c in there.values()]
    return dict(zip(there, mark_best(list(stats.feasibility_ranks(cells))))) if cells else {}


# -- comparisons -----------------------------------------------------------------------------


def make_pair_tables(results: RunArrays) -> list[Table]:
    """Everyone against MeCO, under each training, MeCO-TR and the default; against the first where none of them is."""
    there = [name for name in REFERENCES if name in results.labels]
    return [make_pair_table(results, name) for name in there or results.labels[:1]]


def compare_with_others(results: RunArrays, metric: str, base: int) -> dict[int, RankTest]:
    """Signed-rank tests of contender base against everyone else who ran on every problem, p corrected by Holm.

    {} where base did not run on every problem. Needs SciPy.
    """
    if not results.complete[base]:
        return {}
    order = results.sort_keys(metric)
    others = [m for m in range(len(results.labels)) if m != base and results.complete[m]]
    found = [stats.compare_ranks(order[base], order[m]) for m in others]
    corrected = stats.holm_correction(np.array([test.p for test in found]))
    return {m: test._replace(p=float(p)) for m, test, p in zip(others, found, corrected)}


def make_pair_table(results: RunArrays, reference: str | None = None) -> Table:
    """Everyone against one contender, or the first: wins, ties, losses and corrected p-values, both metrics.

    Those that did not run on every problem are left out; an unknown reference is a ValueError. Needs SciPy.
    """
    base = results.labels.index(reference) if reference else 0
    others = [m for m in range(len(results.labels)) if m != base and results.complete[m]]
    rows = [[_label_cell(results, m)] for m in others]
    for metric in METRICS:
        order, tests = results.sort_keys(metric), compare_with_others(results, metric, base)
        for row, m in zip(rows, others):
            found = tests.get(m)
            score = stats.win_tie_loss(order[base], order[m])
            row.append(Cell(f"{score.wins} / {score.ties} / {score.losses}", float(score.wins - score.losses)))
            if found is None:
                row.append(Cell("–", float("nan")))
                continue
            word = ("ahead" if found.ahead else "behind") if found.p < stats.ALPHA else "no difference"
            row.append(Cell(format_p(found.p).removeprefix("= "), found.p, lines=(("spread", word),)))
    name = results.labels[base]
    test = "rank-sum test of the runs"
    if results.shape[1] > 1:
        test = "signed-rank test over problems on the mean places of both methods' runs, ranked among these two only"
    columns = [Column("Method", head=True)]
    for title in METRICS.values():
        columns.append(Column(f"{name} wins / ties / losses, {title}", "problems, rank-sum test at 0.05"))
        columns.append(Column(f"p (Holm), {title}", test))
    caption = (
        f"{name} against each method. Wins, ties and losses count problems by a rank-sum test of the runs (0.05). "
        f"p: {test}; Holm-corrected. The word says whether {name} is ahead or behind.{_note_few_runs(results, base)}"
    )
    title, what = f"{name} against each method{dim_text(results)}", REFERENCES.get(name, "pairs")
    return Table(item_name(results, what), title, columns, rows, caption)


def _note_few_runs(results: RunArrays, base: int) -> str:
    """A sentence for a caption where runs are too few for a rank-sum test to find anything; "" where they are not."""
    runs = [int((~np.isnan(order)).sum(axis=-1).max(initial=0)) for order in results.sort_keys("first")]
    able = [stats.least_rank_sum_p(runs[base], each) < stats.ALPHA for m, each in enumerate(runs) if m != base]
    if all(able):
        return ""
    which = "no rank-sum test" if not any(able) else "not every rank-sum test"
    return (
        f" With so few runs (least {min(runs)} of a method) {which} can have p below 0.05, whatever the results: what "
        "looks like ties may be none; 4 runs of each are the fewest."
    )


# -- single experiments ----------------------------------------------------------------------


def make_gain_table(sets: list[RunArrays]) -> Table:
    """Mean relative reduction 1 - S_T / S_0 of each variant at each dimension, beside the printed one."""
    shown = printed.read_gains()
    labels = list(dict.fromkeys(label for s in sets for label in s.labels))
    gains = {(s.labels[m], s.dim): _mean_gain(s, m) for s in sets for m in range(len(s.labels))}
    rows = []
    for label in labels:
        row = [Cell(label, label)]
        for s in sets:
            values = gains.get((label, s.dim), (float("nan"), float("nan")))
            best = mark_best([-gains.get((k, s.dim), (float("nan"),) * 2)[0] for k in labels])[labels.index(label)]
            lines = [("population", f"last population {format_fixed(values[1], 4)}")]
            if (label, s.dim or 0) in shown:
                lines.append(("paper", f"paper {shown[label, s.dim or 0]:.4f}"))
            row.append(Cell(format_fixed(values[0], 4), values[0], best, tuple(lines)))
        rows.append(row)
    columns = [Column("Variant", head=True), *(Column(f"{s.dim}D") for s in sets)]
    caption = "1 - S_T / S_0, with S = f+ν of the best point, averaged over problems and runs. Higher is better."
    name = sets[0].experiment.name
    return Table(f"{name}-gain", "Relative reduction of f+ν", columns, rows, caption)


def _mean_gain(results: RunArrays, m: int) -> tuple[float, float]:
    """Mean 1 - S_T / S_0 of contender m over all evaluated points, and over the last population; nan without runs."""
    first = results.field_values("first_score")[m]
    out = []
    for values in (results.score[m], results.field_values("final_score")[m]):
        with np.errstate(invalid="ignore", divide="ignore"):  # where nothing finite was found, or S_0 is zero
            share = 1.0 - values / first
        out.append(float(stats.nan_mean(stats.nan_mean(share, 1), 0)))
    return out[0], out[1]


def make_problem_table(results: RunArrays) -> Table:
    """The problems: size, constraints, best known values, and the best feasible one found here.

    Loads every problem; one that is not here is an error.
    """
    shown = printed.read_engineering_problems()
    feasible = np.nan_to_num(results.field_values("feasible")).astype(bool)
    best = np.where(feasible, results.field_values("f"), np.inf).min(axis=(0, 2))
    rows = []
    for j, case in enumerate(results.cases):
        problem = load_problem(case, results.experiment.files)
        paper = shown.get(case.problem)
        known = float("nan") if problem.best_known is None else float(problem.best_known)
        text = format_number(float(paper["best_known"]), 6) if paper else "–"
        facts = [Cell(str(v), float(v)) for v in (problem.dim, problem.n_ineq, problem.n_eq)]
        title = paper["name"] if paper else problem.title
        found = Cell("–", float("inf")) if np.isinf(best[j]) else Cell(format_number(best[j], 8), float(best[j]))
        rows.append(
            [
                Cell(case.problem, case.problem),
                Cell(title, title),
                *facts,
                Cell(text),
                Cell(format_number(known, 8), known),
                found,
            ]
        )
    columns = [Column("Problem", head=True), Column("Name", left=True), Column("D"), Column("g"), Column("h")]
    columns += [Column("best known (paper)"), Column("best known (suite)"), Column("best feasible here")]
    caption = "g inequalities and h equalities. The suite's best known value is the one that our formulas attain."
    return Table(item_name(results, "problems"), "The problems", columns, rows, caption)
