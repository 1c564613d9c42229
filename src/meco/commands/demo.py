"""meco demo: solve a welded beam and a flight mission, beside SciPy's solvers, and show the results on a page."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
import webbrowser
from pathlib import Path
from typing import Any

from meco.commands.console import describe_result
from meco.commands.sources import Benchmark, find_problem
from meco.core.problem import Problem
from meco.core.signals import treat_sigterm_as_interrupt
from meco.methods import DEFAULT
from meco.options import Tolerances, Workers
from meco.plot.page import Listing, PagePicture, Section, render_page
from meco.plot.style import save, to_svg
from meco.result import Result
from meco.run.progress import Progress
from meco.variables import Variables

STORIES = (
    ("RC19", 400, "The cheapest welded beam that carries its load. The best possible cost is known."),
    ("UAV-04", 900, "A flight that collects the data of every sensor and touches no obstacle."),
)
RIVALS = ("SciPy-DE", "COBYQA")
PAPER_PROBLEM, PAPER_METHODS, PAPER_RUNS = "C12", ("MeCO", "MeCO-rand", "SHADE"), 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco demo`."""
    parser.add_argument("--output", default="out/demo", help="folder for the pictures and the page")
    parser.add_argument("--method", default=DEFAULT, help="see `meco list methods`")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, help="evaluations for each problem")
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(args: argparse.Namespace) -> int:
    """Solve the stories one after the other, print what came of them, write their pictures and the page; 0.

    Ctrl-C ends the present story, and the page has those before it.
    """
    folder = Path(args.output)
    drawn = all(importlib.util.find_spec(package) for package in ("matplotlib", "jinja2"))
    if drawn:
        folder.mkdir(parents=True, exist_ok=True)
    rivals = RIVALS if importlib.util.find_spec("scipy") is not None else ()
    sections = []
    for name, budget, story in STORIES:
        problem = find_problem(name)
        print(f"{name}: {story}", file=sys.stderr)
        spent = budget if args.budget is None else args.budget
        result, seconds = _solve_story(problem, args.method, spent, args, progress=not args.quiet)
        text = f"{describe_result(result, problem.variables)}\n\n{_headline_text(problem, result, seconds)}"
        print(text)
        stopped = result.run.stop_reason == "interrupt"
        if rivals and not stopped:
            table = _compare_solvers(
                problem, result, seconds, [_solve_story(problem, rival, result.nfev, args) for rival in rivals]
            )
            print(table)
            text += "\n" + table
        print()
        if drawn:
            sections.append(_make_section(problem, story, text, result, folder))
        if stopped:
            break
    else:
        text = _show_paper(args.seed)
        print(text)
        sections.append(Section("paper", "The paper's method", [Listing(text)]))
    if not drawn:
        print("No page: it needs matplotlib and jinja2, the extra plot.", file=sys.stderr)
        return 0
    page = folder / "index.html"
    about = "Two problems solved with the default method."
    page.write_text(render_page("MeCO demo", about, sections), encoding="utf-8")
    print(f"pictures and page: {page}")
    if args.open:
        webbrowser.open(page.absolute().as_uri())
    return 0


def _show_paper(seed: int) -> str:
    """The paper's method beside random actions and SHADE on one of its problems: text of a few lines."""
    from meco.batch_solve import solve
    from meco.problems.suite import get_problem

    problem, seeds = get_problem(PAPER_PROBLEM, 10), range(seed, seed + PAPER_RUNS)
    found = {method: solve(method, problem, seeds=seeds) for method in PAPER_METHODS}
    lines = [f"{PAPER_PROBLEM}, 10 variables, {problem.dim * 50} evaluations, {PAPER_RUNS} runs: mean f + nu"]
    lines += [f"  {method:<12} {sum(r.score for r in runs) / len(runs):>12.6g}" for method, runs in found.items()]
    actions = found["MeCO"][0].trace["action"]
    lines.append(f"  actions of MeCO in one run: {' '.join(f'{a:.1f}' for a in actions)}")
    return "\n".join(
        [*lines, "  meco train --preset 10d trains this policy, meco reproduce --list has the paper's tables"]
    )


def _solve_story(
    problem: Problem, method: str, budget: int, args: argparse.Namespace, *, progress: bool = False
) -> tuple[Result, float]:
    """One run and its seconds; the command's seed and limits are in args."""
    from meco import minimize

    begun = time.perf_counter()
    with treat_sigterm_as_interrupt():
        result = minimize(
            Benchmark(problem, {}),
            Variables.of(problem.lower, problem.upper, problem.integrality),
            budget=budget,
            method=method,
            seed=args.seed,
            tolerances=Tolerances(eq=problem.eq_tol, names=problem.constraint_names),
            workers=Workers(vectorized=True),
            callback=Progress() if progress else None,
        )
    return result, time.perf_counter() - begun


def _headline_text(problem: Problem, result: Result, seconds: float) -> str:
    """What was reached beside what is known, in one line; seconds are those of the run."""
    kept = "every constraint kept" if result.feasible else "not feasible"
    known = ""
    if problem.best_known is not None and result.feasible:
        above = 100 * (result.fun / problem.best_known - 1)
        known = f", {above:.2g} % above the best known {problem.best_known:.6g}"
    return f"  {result.run.method}: f = {result.fun:.6g}{known}; {kept}; {result.nfev} evaluations in {seconds:.1f} s"


def _compare_solvers(problem: Problem, ours: Result, seconds: float, others: list[tuple[Result, float]]) -> str:
    """A table in text of solvers on the same budget, one line each, ours first; seconds are those of the runs."""
    lines = [f"\n  {'same budget':<12} {'f':>12}  {'feasible':<22} {'seconds':>7}"]
    for result, spent in [(ours, seconds), *others]:
        kept = "yes" if result.feasible else f"no, over by {result.maxcv:.3g}"
        lines.append(f"  {result.run.method:<12} {result.fun:>12.6g}  {kept:<22} {spent:>7.1f}")
    if problem.best_known is not None:
        lines.append(f"  {'best known':<12} {problem.best_known:>12.6g}")
    return "\n".join(lines)


def _make_section(problem: Problem, story: str, text: str, result: Result, folder: Path) -> Section:
    """One solved problem as a section of the page; its figures are also written into the folder as SVG."""
    figures = {"convergence": result.plot()}
    if problem.name.startswith("UAV-"):
        from meco.problems.uav.mission import load_mission

        figures = {"route": load_mission(problem.name).plot(result.x)} | figures
    items: list[Any] = [story]
    for what, figure in figures.items():
        save(figure, folder / f"{problem.name}-{what}.svg")
        items.append(PagePicture(what.capitalize(), to_svg(figure, f"{problem.name}-{what}", inline=True)))
    return Section(problem.name, problem.title or problem.name, [*items, Listing(text)])
