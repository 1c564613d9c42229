"""The tables of a report as data frames. Printed values of the paper stand beside ours."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meco.bench.plan import printed
from meco.bench.plan.contender import AS_PRINTED, RELAXED, SCORE_REWARDED
from meco.bench.plan.experiment import load_problem
from meco.errors import load_extra
from meco.methods import DEFAULT
from meco.plot.style import one_line
from meco.report import profiles, stats
from meco.report.frame import METRICS, ExperimentRuns

BASES = {  # methods that are compared with every other one -> name of the table
    AS_PRINTED: "pairs",
    RELAXED: "pairs-relaxed",
    SCORE_REWARDED: "pairs-score",
    DEFAULT: "pairs-default",
}
LATEX = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$",
    "|": "$|$", "[": "{[}", "ν": r"$\nu$", "±": r"$\pm$", "τ": r"$\tau$", "–": "--", "−": "$-$",
}  # fmt: skip
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")  # a text that begins with one is a formula for a spreadsheet


@dataclass(frozen=True)
class Table:
    """A table: numbers as a data frame, and how they are shown.

    ``formats`` gives the format of a column's numbers ("{:.4g}" otherwise); ``best`` says whether the least
    ("min") or the largest ("max") number of a column is marked. ``shown`` replaces the frame on pages, where
    cells hold several numbers.
    """

    name: str
    title: str
    frame: Any  # pandas.DataFrame
    caption: str = ""
    formats: Mapping[str, str | Callable[[Any], str]] = field(default_factory=dict)
    best: Mapping[str, str] = field(default_factory=dict)
    shown: Any = None  # pandas.DataFrame of texts
    marks: Any = None  # pandas.DataFrame of "best", "second" or "", like shown

    def texts(self) -> Any:
        """The cells as a reader sees them: a frame of texts."""
        if self.shown is not None:
            return self.shown
        columns = {}
        for name, column in self.frame.items():
            form = self.formats.get(name, "{:.4g}")
            columns[name] = [_format_cell(value, form) for value in column]
        return _frame(columns, index=self.frame.index)

    def cell_marks(self) -> Any:
        """ "best" and "second" where cells are marked: a frame like texts()."""
        if self.marks is not None:
            return self.marks
        columns = {name: [""] * len(self.frame) for name in self.frame}
        for name, wanted in self.best.items():
            values = self.frame[name].to_numpy(dtype=np.float64)
            columns[name] = mark_best(values if wanted == "min" else -values)
        return _frame(columns, index=self.frame.index)

    def to_csv(self) -> str:
        """All numbers as CSV with ten digits; a text that a spreadsheet would run as a formula gets an apostrophe."""
        frame = self.frame.reset_index()
        for name in frame:
            if not np.issubdtype(np.asarray(frame[name]).dtype, np.number):
                frame[name] = [guard_formula(value) for value in frame[name]]
        frame.columns = [guard_formula(name) for name in frame.columns]
        out = io.StringIO()
        frame.to_csv(out, index=False, float_format="%.10g", lineterminator="\n")
        return out.getvalue()

    def to_markdown(self) -> str:
        """A Markdown table; best numbers are bold."""
        texts, marks = self.texts().map(_join_lines), self.cell_marks()
        rows = [[str(texts.index.name or ""), *map(str, texts.columns)], ["---"] * (texts.shape[1] + 1)]
        for label, cells, how in zip(texts.index, texts.to_numpy(), marks.to_numpy()):
            rows.append([str(label), *(f"**{c}**" if m == "best" else str(c) for c, m in zip(cells, how))])
        return "\n".join(["| " + " | ".join(map(escape_markdown, row)) + " |" for row in rows] + [""])

    def to_latex(self) -> str:
        """A LaTeX tabular with the rules of booktabs; best numbers are bold, second ones underlined."""
        commands = {"best": r"\textbf{%s}", "second": r"\underline{%s}"}
        texts, marks = self.texts().map(_join_lines), self.cell_marks()
        head = [escape_latex(texts.index.name or ""), *map(escape_latex, texts.columns)]
        rows = [
            [escape_latex(label), *(commands.get(m, "%s") % escape_latex(c) for c, m in zip(cells, how))]
            for label, cells, how in zip(texts.index, texts.to_numpy(), marks.to_numpy())
        ]
        lines = [" & ".join(row) + r" \\" for row in (head, *rows)]
        begin = rf"\begin{{tabular}}{{l{'r' * texts.shape[1]}}}"
        parts = [begin, r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}"]
        return "\n".join([f"% {one_line(self.title)}", *parts, ""])

    def to_text(self) -> list[str]:
        """Lines for a terminal."""
        return self.texts().rename_axis(None).map(_join_lines).to_string().splitlines()


def escape_latex(text: Any) -> str:
    """A text as LaTeX shows it as it is."""
    return "".join(LATEX.get(letter, letter) for letter in one_line(text))


def escape_markdown(text: Any) -> str:
    """A text as a cell of a Markdown table shows it: HTML and bars as they are."""
    return re.sub("<(?=[A-Za-z/!?])", "&lt;", one_line(text)).replace("|", r"\|")


def guard_formula(value: Any) -> Any:
    """A text that a spreadsheet shows and does not run."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_SIGNS) else value


def _join_lines(cell: Any) -> str:
    """A cell in one line; further lines in parentheses."""
    first, *more = str(cell).split("\n")
    return one_line(f"{first} ({', '.join(more)})" if more else first)


def mark_best(values: Sequence[float] | np.ndarray, digits: int = 9) -> list[str]:
    """ "best" for the least of values [n], "second" for the next ones, "" for others and nan."""
    rounded = np.round(np.asarray(values, dtype=np.float64), digits)
    order = np.unique(rounded[np.isfinite(rounded)])
    marks = dict(zip(order[:2].tolist(), ("best", "second")))
    return [marks.get(value, "") for value in rounded.tolist()]


def _pandas() -> Any:
    return load_extra("pandas", "report", "a table")


def _frame(columns: Mapping[Any, Any], index: Any = None) -> Any:
    return _pandas().DataFrame(columns, index=index)


def _format_cell(value: Any, form: str | Callable[[Any], str]) -> str:
    if isinstance(value, str):
        return value
    if value is None or np.isnan(value):
        return "–"
    return form(value) if callable(form) else form.format(value)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _p_value(p: float) -> str:
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"


# -- ranks -----------------------------------------------------------------------------------


def make_rank_table(sets: Sequence[ExperimentRuns]) -> Table:
    """Average ranks by both metrics with bootstrap intervals; of several dimensions side by side."""
    if len(sets) > 1:
        return _make_rank_overview(sets)
    runs = sets[0]
    known = printed.read_average_ranks(runs.experiment.report.printed)
    by = {title: stats.ranks(runs, metric) for metric, title in METRICS.items()}
    frame = _frame({f"rank, {title}": table.mean() for title, table in by.items()}).reindex(runs.labels)
    groups = runs.table.groupby("label", observed=False)
    frame["feasible runs"] = groups.feasible.mean()
    frame["runs"] = runs.table.groupby(["label", "problem"], observed=True).size().groupby("label", observed=True).max()
    best = {f"rank, {title}": "min" for title in by}
    caption = "Ranks of means, averaged over problems; intervals are 95 % bootstrap intervals over problems."
    if known:
        for column, metric, survivors in (
            ("f+ν*", "score", False),
            ("f+ν*, last population", "score", True),
            ("feasibility first*", "first", False),
            ("feasibility first*, populations", "first", True),
        ):
            frame[column] = stats.ranks(runs, metric, list(known), survivors).mean()
            best[column] = "min"
        kind = METRICS["score" if runs.experiment.report.printed == "table1" else "first"]
        frame[f"printed, {kind}"] = _pandas().Series(known)
        best[f"printed, {kind}"] = "min"
        caption += " Columns with * rank only the methods of the paper's table, the last one is the paper's own."
    frame = frame.sort_values("rank, f+ν", kind="stable", na_position="last").rename_axis("Method")
    formats: dict[str, Any] = dict.fromkeys(frame.columns, "{:.2f}") | {"feasible runs": _percent, "runs": "{:.0f}"}
    table = Table(runs.name("ranks"), f"Average ranks{runs.title_suffix}", frame, caption, formats, best)
    shown = table.texts()
    for title, ranks in by.items():
        column = f"rank, {title}"
        intervals = {label: _interval(ranks[label]) for label in ranks}
        shown[column] = [f"{text}\n{intervals.get(label, '')}".strip() for label, text in shown[column].items()]
    return Table(table.name, table.title, frame, caption, formats, best, shown)


def _interval(values: Any) -> str:
    low, high = stats.bootstrap_interval(values)
    return f"{low:.1f} to {high:.1f}"


def _make_rank_overview(sets: Sequence[ExperimentRuns]) -> Table:
    """Average ranks, a column for each dimension and metric."""
    columns = {
        f"{runs.dim}D, {title}": stats.ranks(runs, metric).mean() for runs in sets for metric, title in METRICS.items()
    }
    labels = list(dict.fromkeys(label for runs in sets for label in runs.labels))
    frame = _frame(columns).reindex(labels).rename_axis("Method")
    caption = "Ranks of means, averaged over problems. A dash: the method did not run on every problem."
    best = dict.fromkeys(columns, "min")
    name = f"{sets[0].experiment.name}-ranks"
    return Table(name, "Average ranks", frame, caption, dict.fromkeys(columns, "{:.2f}"), best)


def make_suite_table(suites: Mapping[str, ExperimentRuns], most: int) -> Table:
    """Average rank on each suite, feasibility first; the best methods by rank relative to the number of methods."""
    ranks = {title: stats.ranks(runs, "first").mean() for title, runs in suites.items()}
    score = {title: stats.ranks(runs, "score").mean() for title, runs in suites.items()}
    frame = _frame(ranks)
    height = (frame / frame.count()).fillna(1.0).mean(axis=1).sort_values()
    frame = frame.loc[height.index[:most]].rename_axis("Method")
    shown = frame.map(lambda value: _format_cell(value, "{:.1f}"))
    for title, runs in suites.items():
        feasible = runs.table.groupby("label", observed=True).feasible.mean()
        for label in frame.index[frame[title].notna()]:
            shown.loc[label, title] += f"\nf+ν {score[title][label]:.1f}\n{_percent(feasible[label])} feasible"
    sizes = [f"{len(runs.problems)} problems\n{len(runs.complete)} methods" for runs in suites.values()]
    marks = Table("", "", frame, best=dict.fromkeys(frame.columns, "min")).cell_marks()
    shown.loc["size"], marks.loc["size"] = sizes, ""
    caption = "Average rank over the problems, feasibility first; below it the rank by f+ν and the feasible runs."
    return Table("suites", "Average ranks on the suites", frame, caption, shown=shown, marks=marks)


# -- values ----------------------------------------------------------------------------------


def make_value_tables(runs: ExperimentRuns) -> list[Table]:
    """Every method on every problem, a table for each metric."""
    return [make_score_table(runs), make_feasibility_table(runs)]


def make_score_table(runs: ExperimentRuns) -> Table:
    """Mean least f + nu, its deviation, the mean of last populations, and the printed numbers."""
    cells = printed.read_cells("table1") if runs.experiment.report.printed == "table1" else {}
    groups = runs.table.groupby(["problem", "label"], observed=True)
    with np.errstate(invalid="ignore"):
        frame = groups.agg(
            runs=("score", "size"),
            mean=("score", "mean"),
            std=("score", lambda values: np.std(values.to_numpy())),
            mean_last_population=("final_score", "mean"),
        )
    frame = frame.rename_axis(["problem", "method"])
    _join_printed(frame, cells, {"mean": "printed_mean", "std": "printed_std"})
    lines = [("{:.3g}", "mean"), ("± {:.2g}", "std"), ("last population {:.3g}", "mean_last_population")]
    shown = _stack_lines(frame, [*lines, ("paper {:.3g}", "printed_mean")], runs)
    means = frame["mean"].unstack("method").reindex(index=runs.problems, columns=runs.labels)
    marks = _frame({p: mark_best(means.loc[p].to_numpy()) for p in runs.problems}, index=runs.labels).T
    caption = "Mean and deviation of the least f+ν of all evaluated points; best bold, second underlined."
    if cells:
        below = frame["mean"] < frame["printed_mean"]
        count = below.groupby("method").sum().reindex(runs.labels)
        both = frame["printed_mean"].notna().groupby("method").sum().reindex(runs.labels)
        shown.loc["below printed"] = [f"{n:.0f} of {of:.0f}" if of else "–" for n, of in zip(count, both)]
        marks.loc["below printed"] = ""
        caption += " Last row: problems on which our mean is below the printed one."
    return Table(runs.name("score"), f"f+ν{runs.title_suffix}", frame, caption, shown=shown, marks=marks)


def make_feasibility_table(runs: ExperimentRuns) -> Table:
    """Mean f of feasible runs and how many there were; the mean violation of the others."""
    cells = printed.read_cells("realworld") if runs.experiment.report.printed == "realworld" else {}
    frame = stats.summarize_feasibility(runs.table).rename_axis(["problem", "method"])
    _join_printed(frame, cells, {"mean": "printed_mean", "std": "printed_std", "violation": "printed_violation"})
    digits = 6 if cells else 3
    shown = _frame({label: [""] * len(runs.problems) for label in runs.labels}, index=runs.problems)
    for (problem, label), row in frame.iterrows():
        shown.loc[problem, label] = _describe_feasibility(row, digits)
    shown = shown.replace("", "–").rename_axis("Problem")
    ranked = stats.rank_cells(frame).reindex(index=runs.problems, columns=runs.labels)
    marks = _frame({p: mark_best(ranked.loc[p].to_numpy()) for p in runs.problems}, index=runs.labels).T
    caption = (
        "Mean and deviation of f over feasible runs and how many were feasible; ν is the mean violation where none was."
    )
    title = f"Feasibility first{runs.title_suffix}"
    return Table(runs.name("feasibility-first"), title, frame, caption, shown=shown, marks=marks)


def _describe_feasibility(row: Any, digits: int) -> str:
    """The cell of a method on a problem: f of feasible runs, or the violation; the paper's value below."""
    found = f"{row.feasible_share * row.runs:.0f} of {row.runs:.0f}"
    text = f"ν {row.mean_violation:.3g}\n{found}"
    if row.feasible_share > 0:
        text = f"{row.mean_f:.{digits}g}\n± {row.std_f:.2g}" + ("" if row.feasible_share == 1 else f", {found}")
    if np.isfinite(row.printed_mean):
        return f"{text}\npaper {row.printed_mean:.{digits}g}"
    return f"{text}\npaper ν {row.printed_violation:.3g}" if np.isfinite(row.printed_violation) else text


def _join_printed(frame: Any, cells: Mapping[Any, printed.Printed], columns: Mapping[str, str]) -> None:
    """Add the printed values of (problem, method) as columns."""
    for source, name in columns.items():
        values = [getattr(cells[key], source) if key in cells else None for key in frame.index]
        frame[name] = np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def _stack_lines(frame: Any, lines: Sequence[tuple[str, str]], runs: ExperimentRuns) -> Any:
    """A frame, problems by methods, whose cells hold several numbers, one below the other."""
    shown = _frame({label: ["–"] * len(runs.problems) for label in runs.labels}, index=runs.problems)
    for (problem, label), row in frame.iterrows():
        parts = [form.format(row[name]) for form, name in lines if not np.isnan(row[name])]
        shown.loc[problem, label] = "\n".join(parts)
    return shown.rename_axis("Problem")


# -- comparisons -----------------------------------------------------------------------------


def make_pair_tables(runs: ExperimentRuns) -> list[Table]:
    """Every method against MeCO under each training and the default method; against the first where none is there."""
    bases = [label for label in BASES if label in runs.complete]
    return [make_pair_table(runs, base) for base in bases or runs.complete[:1]]


def make_pair_table(runs: ExperimentRuns, base: str) -> Table:
    """One method against each other complete one: wins, ties, losses and p-values, by both metrics."""
    kept = [runs.labels.index(label) for label in runs.complete]
    columns: dict[str, Any] = {}
    shown: dict[str, Any] = {}
    for metric, title in METRICS.items():
        found = stats.compare(stats.order_keys(runs, metric)[kept], runs.complete, base)
        counts, p = f"{base} wins / ties / losses, {title}", f"p (Holm), {title}"
        columns |= {counts: found.wins - found.losses, p: found.p}
        shown[counts] = [f"{row.wins} / {row.ties} / {row.losses}" for row in found.itertuples()]
        shown[p] = [f"{_p_value(row.p)} {_verdict(row)}" for row in found.itertuples()]
    frame = _frame(columns).rename_axis("Method")
    test = "a signed-rank test over problems on mean places" if len(runs.problems) > 1 else "a rank-sum test"
    caption = (
        f"Wins, ties and losses of {base} count problems by a rank-sum test of the runs at 0.05. p is of {test}, with "
        f"Holm's correction.{_note_few_runs(runs, base)}"
    )
    title = f"{base} against each method{runs.title_suffix}"
    text = _frame(shown, index=frame.index)
    return Table(runs.name(BASES.get(base, "pairs")), title, frame, caption, shown=text)


def _verdict(row: Any) -> str:
    return "no difference shown" if row.p >= stats.ALPHA else "ahead" if row.ahead else "behind"


def _note_few_runs(runs: ExperimentRuns, base: str) -> str:
    """A sentence that names the methods with too few runs for a rank-sum test against base to reach 0.05; else ""."""
    counts = runs.table.groupby(["label", "problem"], observed=True).size().groupby("label", observed=True).max()
    few = [label for label in runs.complete if label != base and _least_p(counts[base], counts[label]) >= stats.ALPHA]
    return f" With so few runs the rank-sum test cannot reach 0.05 for {', '.join(few)}." if few else ""


def _least_p(a: int, b: int) -> float:
    """The smallest p of an exact two-sided rank-sum test of a and b runs."""
    return 2.0 / math.comb(int(a + b), int(a))


# -- shares and ends of curves ---------------------------------------------------------------


def make_feasible_share_table(runs: ExperimentRuns) -> Table:
    """Share of feasible runs of every method on every problem, the best method first."""
    share = runs.table.pivot_table("feasible", "label", "problem", observed=False).astype(float)
    order = share.mean(axis=1).sort_values(ascending=False, kind="stable").index
    frame = share.loc[[label for label in order if label in runs.labels]].rename_axis("Method")
    frame.columns = [str(name) for name in frame.columns]
    title = f"Feasible runs{runs.title_suffix}"
    caption = "Share of runs that found a feasible point."
    return Table(runs.name("feasibility"), title, frame, caption, dict.fromkeys(frame.columns, _percent))


def make_progress_table(runs: ExperimentRuns) -> Table:
    """Mean over problems of the gap and the violation left at the end."""
    last = {
        "gap at the end, f+ν": stats.open_gap(runs, runs.curves["score"])[..., -1],
        "violation left, feasibility first": stats.violation_left(runs)[..., -1],
    }
    columns = {name: stats.nan_mean(stats.nan_mean(values, 2), 1) for name, values in last.items()}
    frame = _frame(columns, index=runs.labels).rename_axis("Method")
    title = f"At the end of the budget{runs.title_suffix}"
    return Table(runs.name("progress"), title, frame, best=dict.fromkeys(columns, "min"))


def make_ecdf_table(runs: ExperimentRuns) -> Table:
    """Share of targets reached at the end."""
    columns = {f"targets reached, {title}": profiles.reached(runs, metric)[:, -1] for metric, title in METRICS.items()}
    frame = _frame(columns, index=runs.labels).rename_axis("Method")
    title = f"Targets reached at the end{runs.title_suffix}"
    return Table(runs.name("ecdf"), title, frame, "", dict.fromkeys(columns, "{:.3f}"), dict.fromkeys(columns, "max"))


def make_profile_table(runs: ExperimentRuns, what: str) -> Table:
    """Where the lines of a data profile end, or those of a performance profile begin, at each accuracy."""
    columns = {}
    for tau in profiles.ACCURACIES:
        values = profiles.profile(runs, what, tau)[1]
        columns[f"τ = {tau:g}"] = values[:, -1 if what == "data-profile" else 0]
    frame = _frame(columns, index=runs.labels).rename_axis("Method")
    said = "solved within the budget" if what == "data-profile" else "solved first"
    title = f"Share of problems and runs {said}{runs.title_suffix}"
    return Table(runs.name(what), title, frame, "", dict.fromkeys(columns, _percent), dict.fromkeys(columns, "max"))


def make_running_time_table(runs: ExperimentRuns) -> Table | None:
    """Expected running times to targets above the known optimum; None where no problem has one."""
    best = profiles.known_optima(runs)
    known = np.isfinite(best)
    if not known.any():
        return None
    columns: dict[str, Any] = {}
    for gap in profiles.TARGET_GAPS:
        time = profiles.running_time(runs, gap)[:, known] / runs.dims[known]
        columns[f"problems, {gap:g}"] = np.isfinite(time).sum(axis=1)
        columns[f"ERT / D, {gap:g}"] = [
            float(np.median(row[np.isfinite(row)])) if np.isfinite(row).any() else np.inf for row in time
        ]
    frame = _frame(columns, index=runs.labels).rename_axis("Method")
    caption = (
        f"{int(known.sum())} of {len(known)} problems have a known optimum f*. A target is f* + gap · max(1, |f*|) at "
        "a feasible point. ERT: evaluations of all runs for each run that reached it, per variable; median over the "
        "problems that were reached."
    )
    return Table(runs.name("ert"), f"Expected running time{runs.title_suffix}", frame, caption)


def make_u_score_table(runs: ExperimentRuns) -> Table:
    """U-scores as the CEC 2025 competition ranks by: sums, and shares of all duels."""
    scores, duels = profiles.u_scores(runs)
    columns = {"U-score": scores.sum(axis=1), "duels won": scores.sum(axis=1) / np.maximum(duels.sum(axis=1), 1)}
    frame = _frame(columns, index=runs.labels).rename_axis("Method")
    frame = frame.sort_values("duels won", ascending=False, kind="stable")
    caption = (
        "Each run against each run of the other methods on the same problem: the one that reached the known optimum "
        "within 1e-8 sooner wins, else the better end, feasibility first; a tie is half a win (Price, Kumar and "
        "Suganthan 2023)."
    )
    formats: dict[str, Any] = {"U-score": "{:.1f}", "duels won": _percent}
    return Table(runs.name("u-score"), f"U-scores{runs.title_suffix}", frame, caption, formats, {"duels won": "max"})


# -- single experiments ----------------------------------------------------------------------


def make_gain_table(sets: Sequence[ExperimentRuns]) -> Table:
    """Mean relative reduction 1 - S_T / S_0 of f + nu at each dimension, beside the printed one."""
    known = printed.read_gains()
    labels = list(dict.fromkeys(label for runs in sets for label in runs.labels))
    columns = {f"{runs.dim}D": _mean_gain(runs, "score") for runs in sets}
    last = {f"{runs.dim}D": _mean_gain(runs, "final_score") for runs in sets}
    frame = _frame(columns).reindex(labels).rename_axis("Variant")
    shown = frame.map(lambda value: _format_cell(value, "{:.4f}"))
    for runs in sets:
        name = f"{runs.dim}D"
        for label in labels:
            shown.loc[label, name] += f"\nlast population {_format_cell(last[name].get(label), '{:.4f}')}"
            if (label, runs.dim or 0) in known:
                shown.loc[label, name] += f"\npaper {known[label, runs.dim or 0]:.4f}"
    caption = "1 − S_T / S_0 with S = f+ν of the best point, averaged over problems and runs. Higher is better."
    title, best = "Relative reduction of f+ν", dict.fromkeys(columns, "max")
    return Table(f"{sets[0].experiment.name}-gain", title, frame, caption, best=best, shown=shown)


def _mean_gain(runs: ExperimentRuns, column: str) -> Any:
    with np.errstate(all="ignore"):
        share = 1.0 - runs.table[column] / runs.table.first_score
        per_problem = share.groupby([runs.table.label, runs.table.problem], observed=True).mean()
    return per_problem.groupby("label", observed=True).mean()


def make_heat_table(sets: Sequence[ExperimentRuns]) -> Table:
    """Mean normalised performance at the end: variants by dimensions, both metrics."""
    columns = {
        f"{runs.dim}D, {title}": stats.final_performance(runs, metric).mean(skipna=False)
        for metric, title in METRICS.items()
        for runs in sets
    }
    labels = list(dict.fromkeys(label for runs in sets for label in runs.labels))
    frame = _frame(columns).reindex(labels).rename_axis("Variant")
    title, best = "Mean normalised performance", dict.fromkeys(columns, "max")
    return Table(f"{sets[0].experiment.name}-heat", title, frame, "", dict.fromkeys(columns, "{:.3f}"), best)


def make_relative_table(sets: Sequence[ExperimentRuns]) -> Table:
    """The same in long form, a row for each method and dimension."""
    parts = []
    for runs in sets:
        means = {title: stats.final_performance(runs, metric).mean(skipna=False) for metric, title in METRICS.items()}
        parts.append(_frame({"D": runs.dim or 0, **means}).reindex(runs.labels))
    frame = _pandas().concat(parts).rename_axis("Method")
    caption = "f+ν: 1 − the gap still open at the end. Feasibility first: 1 − the mean place of the runs."
    formats = {"D": "{:.0f}", "f+ν": "{:.4f}", "feasibility first": "{:.4f}"}
    name = f"{sets[0].experiment.name}-relative"
    return Table(name, "Normalised performance at the end", frame, caption, formats)


def make_performance_table(runs: ExperimentRuns) -> Table:
    """Medians of the paper's UAV score and of the place of the runs, the best method first."""
    found = performance(runs)
    columns = {
        "median performance": np.nanmedian(found["score"].reshape(len(runs.labels), -1), axis=1),
        "median place, feasibility first": np.nanmedian(found["first"].reshape(len(runs.labels), -1), axis=1),
    }
    frame = _frame(columns, index=runs.labels).rename_axis("Method")
    frame = frame.iloc[np.argsort(columns["median performance"])[::-1]]
    title = f"Normalised performance{runs.title_suffix}"
    caption = (
        "1 for the best f+ν that any run found on a mission, 0 for the worst; and place among all runs, 1 is best."
    )
    formats, best = dict.fromkeys(columns, "{:.3f}"), dict.fromkeys(columns, "max")
    return Table(runs.name("performance"), title, frame, caption, formats, best)


def performance(runs: ExperimentRuns) -> dict[str, np.ndarray]:
    """The paper's UAV score of every run, 1 best and 0 worst, and its place feasibility first: [M, P, R] each."""
    score, order = runs.cube("score"), stats.order_keys(runs, "first")
    finite = np.where(np.isfinite(score), score, np.nan)
    best, worst = stats.nan_min(finite, (0, 2))[:, None], -stats.nan_min(-finite, (0, 2))[:, None]
    with np.errstate(invalid="ignore"):
        share = (worst - score) / np.where(worst > best, worst - best, 1.0)
    share = np.where(np.isposinf(score), 0.0, np.where((worst == best) & ~np.isnan(score), 1.0, share))
    place = np.full(score.shape, np.nan)
    for p in range(score.shape[1]):
        column = _pandas().Series(order[:, p].reshape(-1)).rank().to_numpy()
        last = max(np.max(column, initial=0, where=~np.isnan(column)) - 1, 1)
        place[:, p] = (1.0 - (column - 1) / last).reshape(score.shape[0], -1)
    return {"score": share, "first": place}


def make_action_table(runs: ExperimentRuns) -> Table | None:
    """Mean action in each third of the run; None where no run stored actions."""
    rows = {}
    for label in runs.labels:
        for problem in runs.problems:
            found = runs.actions(label, problem)
            if found is not None:
                title = problem if len(runs.labels) == 1 else f"{problem}, {label}"
                rows[title] = [float(np.nanmean(part)) for part in np.array_split(found[1][:, :-1], 3, axis=1)]
    if not rows:
        return None
    frame = _pandas().DataFrame.from_dict(rows, orient="index", columns=["first third", "middle third", "last third"])
    title = f"Mean action{runs.title_suffix}"
    return Table(runs.name("actions"), title, frame.rename_axis("Problem"), "", dict.fromkeys(frame, "{:.3f}"))


def make_problem_table(runs: ExperimentRuns) -> Table:
    """Size and best known values of the problems, and the best feasible value found here."""
    known = printed.read_engineering_problems()
    feasible = runs.table[runs.table.feasible.astype(bool)]
    best = feasible.groupby("problem", observed=False).f.min()
    rows = []
    for case in runs.cases:
        problem, paper = load_problem(case, runs.experiment.files), known.get(case.problem)
        value = np.nan if problem.best_known is None else float(problem.best_known)
        rows.append({
            "Problem": case.problem, "Name": paper["name"] if paper else problem.title,
            "D": problem.dim, "g": problem.n_ineq, "h": problem.n_eq,
            "best known (paper)": float(paper["best_known"]) if paper else np.nan,
            "best known (suite)": value, "best feasible here": best[case.problem],
        })  # fmt: skip
    frame = _pandas().DataFrame(rows).set_index("Problem")
    caption = "g inequalities and h equalities. The suite's best known value is the one that our formulas attain."
    formats = dict.fromkeys(("best known (paper)", "best known (suite)", "best feasible here"), "{:.8g}")
    return Table(runs.name("problems"), "The problems", frame, caption, formats)


def make_route_table(runs: ExperimentRuns) -> Table:
    """Objective of the best feasible route of each method on each mission; infinite where none is feasible."""
    f = runs.table.f.where(runs.table.feasible.astype(bool), np.inf)
    frame = f.groupby([runs.table.problem, runs.table.label], observed=False).min().unstack()
    frame.columns = [str(name) for name in frame.columns]
    best = dict.fromkeys(frame.columns, "{:.4g}")
    return Table(runs.name("routes"), "Objective of the routes shown", frame.rename_axis("Mission"), "", best)


def make_critical_table(runs: ExperimentRuns) -> Table | None:
    """Average ranks of the critical-difference diagram; None with fewer than three methods or two problems."""
    if len(runs.complete) < 3 or len(runs.problems) < 2:
        return None
    by = {metric: stats.ranks(runs, metric) for metric in METRICS}
    frame = _frame({f"average rank, {METRICS[metric]}": table.mean() for metric, table in by.items()})
    wide = stats.critical_difference(len(runs.complete), len(runs.problems))
    tests = ", ".join(f"{METRICS[m]} p {_p_value(stats.friedman_p(table))}" for m, table in by.items())
    caption = f"Friedman test: {tests}. Critical difference (Nemenyi, 0.05): {wide:.2f}."
    frame = frame.sort_values("average rank, f+ν", kind="stable").rename_axis("Method")
    title = f"Average ranks{runs.title_suffix}"
    return Table(runs.name("critical"), title, frame, caption, dict.fromkeys(frame, "{:.2f}"))


def list_missing(sets: Sequence[ExperimentRuns]) -> list[str]:
    """One line per method with missing runs: which cells, how many runs, and why."""
    lines = []
    for runs in sets:
        for (label, reason), cells in runs.missing.groupby(["label", "reason"], sort=False):
            shown = ", ".join(f"{row.problem} {row.found} of {row.planned}" for row in cells.head(4).itertuples())
            more = f" and {len(cells) - 4} more problems" if len(cells) > 4 else ""
            lines.append(f"{label}{runs.title_suffix}: {shown}{more} ({reason})")
    return lines
