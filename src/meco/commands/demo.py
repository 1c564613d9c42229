"""meco demo: solve a welded beam and a flight mission, and show the results as pictures and a page."""

from __future__ import annotations

import argparse
import html
import io
import re
import sys
import webbrowser
from pathlib import Path
from typing import Any

from meco.blackbox.result import MinimizeResult
from meco.commands.console import describe
from meco.commands.sources import Benchmark, find_problem
from meco.problems.problem import Problem
from meco.signals import terminated_like_interrupted

STORIES = (
    ("RC19", 2000, "The cheapest welded beam that carries its load."),
    ("UAV-02", 2500, "A flight that collects the data of every sensor and touches no obstacle."),
)
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;color:#22303c;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "pre{background:#f4f6f8;padding:1rem;overflow-x:auto}svg{max-width:100%;height:auto}h2{margin-top:3rem}"
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", default="out/demo", help="folder for the pictures and the page")
    parser.add_argument("--method", default="MeCO", help="see `meco list methods`")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, help="evaluations for each problem")
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(args: argparse.Namespace) -> int:
    from meco.api import minimize

    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    sections = []
    for name, budget, story in STORIES:
        problem = find_problem(name)
        print(f"{name}: {problem.title}", file=sys.stderr)
        with terminated_like_interrupted():
            result = minimize(
                Benchmark(problem, {}), list(zip(problem.lower, problem.upper)), budget=budget if args.budget is None else args.budget,
                method=args.method, seed=args.seed, vectorized=True, integrality=problem.integrality,
                constraint_names=problem.constraint_names, eq_tol=problem.eq_tol, progress=not args.quiet,
            )  # fmt: skip
        text = describe(result, problem.variables) + _known(problem)
        print(text + "\n")
        sections.append(_section(name, story, text, _pictures(name, result, folder)))
        if result.stop_reason == "interrupt":
            break
    page = folder / "index.html"
    page.write_text(_page(sections), encoding="utf-8")
    print(f"pictures and page: {page}")
    if args.open:
        webbrowser.open(page.absolute().as_uri())
    return 0


def _known(problem: Problem) -> str:
    return "" if problem.best_known is None else f"\n\n  best known f: {problem.best_known:.10g}"


def _pictures(name: str, result: MinimizeResult, folder: Path) -> list[str]:
    """The result drawn as files, and as SVG text for the page."""
    figures: dict[str, Any] = {f"{name}-convergence": result.plot()}
    if name.startswith("UAV-"):
        from meco.problems.mission import load_mission

        figures = {f"{name}-route": load_mission(name).plot(result.x).figure} | figures
    drawn = []
    for title, figure in figures.items():
        figure.savefig(folder / f"{title}.png", dpi=120)
        text = io.StringIO()
        figure.savefig(text, format="svg")
        drawn.append(_own_names(text.getvalue()[text.getvalue().index("<svg") :], title))
    return drawn


def _own_names(svg: str, title: str) -> str:
    """Names inside a drawing made distinct from those of other drawings on the page."""
    svg = re.sub(r'\bid="', f'id="{title}-', svg)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{title}-", svg)


def _section(name: str, story: str, text: str, drawings: list[str]) -> str:
    return f"<h2>{name}</h2><p>{html.escape(story)}</p><pre>{html.escape(text)}</pre>{''.join(drawings)}"


def _page(sections: list[str]) -> str:
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>MeCO demo</title><style>{STYLE}</style>'
        f"<h1>MeCO demo</h1>{''.join(sections)}</html>\n"
    )
