"""meco challenge: judge agents by the protocol, on choose, then on confirm, then on the suites of the project."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from meco import __version__
from meco.bench.report import stats
from meco.bench.report.page import frame_page, table_html
from meco.errors import InvalidInput, MissingExtra
from meco.figures.table import Cell, Column, Table, format_fixed
from meco.files.atomic import write_bytes
from meco.learn.challenge.agents import Agent, load_agent
from meco.learn.challenge.judging import (
    FULL_SIZE,
    QUICK_SIZE,
    RANDOM_NAME,
    SHIPPED_NAME,
    UNTRAINED_NAME,
    JudgedProblem,
    Judgement,
    count_evaluations,
    first_seed_of_digest,
    judge_agents,
    list_generated_set,
    list_suite_set,
    make_controls,
)
from meco.learn.challenge.judging_progress import JudgingProgress
from meco.learn.challenge.kept_batches import KeptBatches
from meco.learn.tr.constant_controls import OWN_RULE_NAME
from meco.policies.store import load_policy
from meco.tr.steered import SHARE_POLICY

PROTOCOL = 1  # its version: results of different ones are not compared
RIVALS = ("best constant", OWN_RULE_NAME, RANDOM_NAME, UNTRAINED_NAME, SHIPPED_NAME)
SUITES = ("realworld", "cec2017")
MOST_VARIABLES = {True: 10, False: 30}  # of a suite's problems, in a quick look or not


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco challenge`."""
    parser.add_argument("agents", nargs="+", metavar="AGENT", help="file.py, or the name of an entry point meco.agents")
    parser.add_argument("--quick", action="store_true", help="small sets: minutes, for a first look")
    parser.add_argument(
        "--choose-only",
        action="store_true",
        help="look at choose alone, as often as you like; writes choose.json and choose.html",
    )
    parser.add_argument(
        "--suite", nargs="*", default=list(SUITES), metavar="NAME", help=f"suites to judge on ({', '.join(SUITES)})"
    )
    parser.add_argument("--train-seconds", type=float, default=600.0, help="what a training may take (default: 600)")
    parser.add_argument("--seed", type=int, default=1, help="of the training")
    parser.add_argument(
        "--out",
        default="challenge",
        metavar="DIR",
        help="folder for the results and the runs; the same again goes on",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def run(args: argparse.Namespace) -> int:
    """Load or train the agents, judge them, write challenge.json and challenge.html, and print the table; 0.

    With --choose-only the files are choose.json and choose.html, and confirm and the suites are not looked at.
    InvalidInput for an agent that offers nothing, or options that make no sense.
    """
    if args.train_seconds <= 0:
        raise InvalidInput(f"--train-seconds must be above 0; got {args.train_seconds}")
    began = time.monotonic()
    report = (lambda line: None) if args.quiet else lambda line: print(line, file=sys.stderr, flush=True)
    agents: dict[str, Agent] = {}
    facts: dict[str, dict[str, Any]] = {}
    try:
        for text in args.agents:
            agent, name, digest = load_agent(text, args.train_seconds, args.seed, _make_env)
            name = name if name not in agents else f"{name} ({digest[:6]})"
            agents[name] = agent
            facts[name] = {"file": Path(text).name, "digest": digest, "training_seconds": agent.training_seconds}
            report(f"{name}: ready after {agent.training_seconds:.1f} s")
        kept = KeptBatches(Path(args.out) / "runs.jsonl")
        suites = None if args.choose_only else args.suite
        judged = _judge_all(agents, facts, quick=args.quick, suites=suites, report=report, kept=kept)
        if kept.reused:
            report(f"{kept.reused} runs were known from {Path(args.out) / 'runs.jsonl'}")
    finally:
        for agent in agents.values():
            agent.close()
    found = _summarise_judgements(judged, facts, quick=args.quick) | {"seconds": time.monotonic() - began}
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    pages = [out / f"{'choose' if args.choose_only else 'challenge'}.{kind}" for kind in ("json", "html")]
    write_bytes(pages[0], json.dumps(found, indent=1, allow_nan=False).encode())
    write_bytes(pages[1], _compose_page(found).encode("utf-8"))
    table = _make_result_table(found)
    widths = [max(len(row[k]) for row in _table_texts(table)) for k in range(len(table.columns))]
    for row in _table_texts(table):
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    print(f"\n{table.caption}\n{pages[0]}, {pages[1]}")
    return 0


def _make_env(dim: int = 5, per_variable: int = 20, **settings: Any) -> Any:
    """An environment MeCO-TR-v0 on problems of families to train on, for agents that learn through Gymnasium."""
    from meco.adapters.gymnasium import TrustRegionEnv

    return TrustRegionEnv(dim=dim, budget=per_variable * dim, **settings)


def _judge_all(
    agents: dict[str, Agent],
    facts: dict[str, dict[str, Any]],
    *,
    quick: bool,
    suites: list[str] | None,
    report: Any,
    kept: KeptBatches,
) -> list[tuple[Judgement, tuple[str, ...]]]:
    """Judgements with the agents that each is of: choose and the suites of all, confirm of each on its own problems.

    suites None: choose alone. Adds the first seed of the problems of confirm to each agent's facts.
    """
    size, controls = QUICK_SIZE if quick else FULL_SIZE, make_controls(quick=quick)
    everyone = tuple(agents)
    shipped = load_policy(SHARE_POLICY).metadata["digest"]
    known = {name: f"protocol {PROTOCOL}, {name}, {shipped if name == SHIPPED_NAME else ''}" for name in controls}
    known |= {  # a training is another one each time, and a process may have changed: their runs are not kept
        name: f"protocol {PROTOCOL}, {facts[name]['digest']}" for name, a in agents.items() if a.within_its_file
    }
    sets: list[tuple[str, list[JudgedProblem], tuple[str, ...]]]
    sets = [("choose", list_generated_set("choose", size), everyone)]
    for name in everyone if suites is not None else ():
        first = first_seed_of_digest(facts[name]["digest"])
        facts[name]["confirm_from_seed"] = first
        sets.append(("confirm", list_generated_set("confirm", size, first), (name,)))
    sets += [
        (each, list_suite_set(each, 20 if quick else 50, MOST_VARIABLES[quick]), everyone) for each in suites or ()
    ]
    total = sum(count_evaluations(problems, len(controls) + len(of), size.seeds) for _, problems, of in sets)
    again = partial(
        judge_agents, seeds=size.seeds, kept=kept, identities=known, progress=JudgingProgress(total, report)
    )
    return [(again(label, problems, controls, {k: agents[k] for k in of}), of) for label, problems, of in sets]


def _summarise_judgements(
    judged: list[tuple[Judgement, tuple[str, ...]]], facts: dict[str, dict[str, Any]], *, quick: bool
) -> dict[str, Any]:
    """Everything that was found, as plain data for JSON; the first judgement must be of choose."""
    choose = judged[0][0]
    best = max(choose.constants, key=lambda name: float(choose.quantiles_of(name).mean()))
    agents = {
        name: {**known, "sets": {j.set_name: _summarise_set(j, name, best) for j, of in judged if name in of}}
        for name, known in facts.items()
    }
    return {
        "protocol": PROTOCOL,
        "meco": __version__,
        "python": platform.python_version(),
        "quick": quick,
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "best_constant": best,
        "agents": agents,
    }


def _summarise_set(judged: Judgement, name: str, best: str) -> dict[str, Any]:
    """How an agent did on a set, and its lead over every rival, with p-values corrected for their number.

    p is None where SciPy is not installed.
    """
    mine = judged.quantiles_of(name)
    leads = {rival: mine - judged.quantiles_of(best if rival == "best constant" else rival) for rival in RIVALS}
    try:
        p = stats.holm_correction(np.array([stats.wilcoxon_p(mine, mine - lead) for lead in leads.values()])).tolist()
    except MissingExtra:
        p = [None] * len(leads)
    k = judged.ways.index(name)
    low, high = stats.bootstrap_interval(mine)
    return {
        "problems": len(judged.problems),
        "score": float(mine.mean()),
        "interval": [low, high],
        "feasible": float(judged.outcomes.feasible[:, k].mean()),
        "decision_seconds": float(judged.seconds[k]),
        "scores": {way: float(judged.quantiles_of(way).mean()) for way in judged.ways},
        "leads": {
            rival: {"mean": float(lead.mean()), "p": each} for (rival, lead), each in zip(leads.items(), p)
        },
        "quantiles": {problem.name: float(q) for problem, q in zip(judged.problems, mine)},
    }  # fmt: skip


def _make_result_table(found: dict[str, Any]) -> Table:
    """A table with a row for each agent on each set, from what _summarise_judgements() gave."""
    columns = [Column("Agent", head=True), Column("set"), Column("problems"), Column("score"), Column("95 %")]
    columns += [*(Column(f"lead over {rival}") for rival in RIVALS), Column("feasible, %"), Column("decisions, s")]
    rows = []
    for name, agent in found["agents"].items():
        for label, one in agent["sets"].items():
            low, high = one["interval"]
            cells = [Cell(name, name), Cell(label, label), Cell(str(one["problems"]), one["problems"])]
            cells += [Cell(f"{one['score']:.3f}", one["score"]), Cell(f"{low:.2f} to {high:.2f}", low)]
            cells += [Cell(_lead_text(one["leads"][rival]), one["leads"][rival]["mean"]) for rival in RIVALS]
            cells += [Cell(format_fixed(100 * one["feasible"], 0), one["feasible"])]
            cells += [Cell(format_fixed(one["decision_seconds"], 2), one["decision_seconds"])]
            rows.append(cells)
    caption = (
        "Score: mean quantile among constants and the engine's own rule on the same problems and seeds, at most 1. "
        "Leads are differences of means, * where the signed-rank test over problems, corrected for five rivals (Holm), "
        f"has p < 0.05. Best constant: {found['best_constant']}, chosen on choose. Problems of confirm are drawn anew "
        "for every version of an agent's file, and of the modules beside it that it imports."
    )
    return Table("challenge", "Agents by the protocol", columns, rows, caption)


def _lead_text(lead: dict[str, Any]) -> str:
    """A lead with a sign, marked by * where it is not chance."""
    mark = "" if lead["p"] is None or lead["p"] >= stats.ALPHA else "*"
    return f"{lead['mean']:+.3f}{mark}"


def _table_texts(table: Table) -> list[list[str]]:
    """A table as rows of texts, heads first."""
    return [[column.label for column in table.columns], *([cell.text for cell in row] for row in table.rows)]


def _make_agent_table(found: dict[str, Any]) -> Table:
    """Where each agent comes from, and what its training took."""
    columns = [Column("Agent", head=True), Column("file"), Column("digest"), Column("problems of confirm from seed")]
    rows = [
        [
            Cell(name, name), Cell(a["file"], a["file"]), Cell(a["digest"], a["digest"]),
            Cell(str(a.get("confirm_from_seed", "not looked at")), a.get("confirm_from_seed", 0)),
            Cell(f"{a['training_seconds']:.1f}", a["training_seconds"]),
        ]
        for name, a in found["agents"].items()
    ]  # fmt: skip
    return Table("agents", "The agents", [*columns, Column("training, s")], rows)


def _make_way_table(found: dict[str, Any], name: str) -> Table:
    """Scores of every way beside one agent, on every set; ways that a set lacks are left out, best on confirm first."""
    sets = found["agents"][name]["sets"]
    last = sets.get("confirm", sets["choose"])["scores"]
    ways = sorted(next(iter(sets.values()))["scores"], key=lambda way: -last.get(way, -1.0))
    rows = [
        [Cell(way, way), *(Cell(f"{s['scores'][way]:.3f}", s["scores"][way]) for s in sets.values())]
        for way in ways
        if all(way in s["scores"] for s in sets.values())
    ]
    columns = [Column("Way to control", head=True), *(Column(label) for label in sets)]
    return Table(f"ways-{name}", f"{name} and its controls", columns, rows)


def _compose_page(found: dict[str, Any]) -> str:
    """The page: the result, the controls beside each agent, where everything comes from."""
    parts = {"result": "Result", "ways": "Beside the controls", "made": "How this was made"}
    links = "".join(f'<li><a href="#{ident}">{title}</a></li>' for ident, title in parts.items())
    ways = "".join(table_html(_make_way_table(found, name)) for name in found["agents"])
    body = (
        f'<section id="result"><h2>{parts["result"]}</h2>{table_html(_make_result_table(found))}</section>'
        f'<section id="ways"><h2>{parts["ways"]}</h2>{ways}</section>'
        f'<section id="made"><h2>{parts["made"]}</h2>{table_html(_make_agent_table(found))}</section>'
    )
    size = "a quick look" if found["quick"] else "the full sets"
    about = f"protocol {found['protocol']}, {size}, MeCO {found['meco']}, {found['seconds']:.0f} s, {found['made']}"
    return frame_page("Challenge: learned constrained optimizers", escape(about), "Parts", links, body)
