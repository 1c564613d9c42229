"""meco solve: a benchmark problem, a Python function, a program, or a mission file."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from meco.answer.confirm import confirm
from meco.batch_solve import solve
from meco.commands.console import (
    check_paths,
    describe_point,
    describe_result,
    parse_bounds,
    parse_count,
    parse_noise,
    parse_numbers,
    parse_tolerance,
)
from meco.commands.sources import (
    Benchmark,
    FileFunction,
    Program,
    find_cheap,
    find_problem,
    mission_digest,
    names_a_function,
)
from meco.core.evaluator import Evaluator
from meco.core.problem import Problem
from meco.core.progress_line import ProgressLine, format_duration
from meco.core.signals import note_signals, treat_sigterm_as_interrupt
from meco.errors import InvalidInput
from meco.methods import DEFAULT
from meco.options import Checkpoint, Method, Stop, Tolerances, Workers
from meco.result import ConstraintValue, Result, describe_doubt, is_feasible_in_mean
from meco.run.progress import FORMS, Progress
from meco.variables import Variables

INFEASIBLE = 2  # exit code of a run that found no feasible point, or by noisy calls none surely
MOST_RUNS = 100_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `meco solve`."""
    parser._negative_number_matcher = re.compile(r"^-(\.?\d|inf)")  # "-5,5" is a value, not an option
    what = parser.add_argument_group("what to solve")
    what.add_argument("target", nargs="?", help='"C01", "RC19", "UAV-07", "problem.py:fun" or "mission.json"')
    what.add_argument("--command", dest="program", metavar="COMMAND", help='a program, as in "./sim {input} {output}"')
    what.add_argument(
        "--bounds", nargs="+", help='pairs "0,1 -5,5" (quoted), JSON such as {"width": [0, 2, "mm"]}, or a file'
    )
    what.add_argument("--dim", type=int, help="number of variables, where that is a choice")
    what.add_argument("--instance", default="paper", help="of a CEC2017 problem: paper, official or a number")
    what.add_argument("--integer", help="integer variables, by name or by position from 0: teeth or 2,3")
    what.add_argument("--log", help="variables on a logarithmic scale, by name or by position from 0")
    what.add_argument(
        "--cheap",
        help="constraints that cost nothing: functions of the file (or other.py:name); `cheap` in it unless given",
    )
    what.add_argument("--keep", help="names of constraints that must never be violated: stress,deflection")
    what.add_argument("--names", help="names of the constraints, inequalities first: stress,deflection")
    how = parser.add_argument_group("how")
    how.add_argument("--method", default=DEFAULT, help="see `meco list methods`")
    how.add_argument("--policy", help="of a learned method: a name or a file")
    how.add_argument("--pop-size", type=int)
    how.add_argument("--batch", type=int, help="points that TR proposes at once; as many as workers unless given")
    how.add_argument("--budget", type=parse_count, help="evaluations of each run (50 per variable unless given)")
    how.add_argument("--runs", type=int, default=1, help="runs of a benchmark problem, with seeds SEED, SEED + 1, ...")
    how.add_argument("--seed", type=int)
    how.add_argument("--x0", help='points to try first: "1,2,3", or JSON by name')
    how.add_argument("--evaluated", help="folder of an earlier run, whose evaluations are then known")
    how.add_argument("--workers", type=int, default=1, help="processes that evaluate; -1: all cores")
    how.add_argument(
        "--asynchronous", action="store_true", help="a point of the TR methods for every free worker at once"
    )
    how.add_argument("--eval-timeout", type=float, help="seconds after which an evaluation is killed")
    how.add_argument("--on-error", choices=("penalize", "retry", "raise"))
    how.add_argument("--confirm", type=int, help="further calls of the best points at the end, for noisy functions")
    how.add_argument(
        "--noise",
        help='standard deviation of a call: 0.05, or "f=0.05,stress=0.02" by name; yes or no: whether it has any',
    )
    how.add_argument("--vectorized", action="store_true", help="the function takes rows of points")
    how.add_argument("--eq-tol", help='"1e-4", "1e-4,1e-2" in the order of the constraints, or "name=1e-4"')
    how.add_argument("--ineq-tol", help="the same for inequalities")
    until = parser.add_argument_group("until when")
    until.add_argument("--max-time", type=float, help="seconds")
    until.add_argument("--target", type=float, dest="target_value", help="stop at a feasible f this low")
    until.add_argument("--stop", choices=("feasible", "converged"))
    keep = parser.add_argument_group("what to keep and show")
    keep.add_argument("--checkpoint", help="folder that keeps every evaluation; `meco resume` goes on from it")
    keep.add_argument("--fsync", action="store_true", help="wait for the disk after each answer")
    keep.add_argument("--keep-calls", action="store_true", help="keep the folder of every call of a program")
    keep.add_argument("--plot", help="write a picture: convergence, or the map of a mission")
    keep.add_argument("--report", help="write a page of the run, of a single one")
    keep.add_argument("--title", default="", help="of the page")
    keep.add_argument("--author", default="", help="of the page")
    keep.add_argument("--notes", default="", help="to stand on the page, such as what the reader should know")
    keep.add_argument("--json", action="store_true", help="machine-readable output")
    keep.add_argument("--progress", choices=FORMS, default="text", help="json: an object a line on standard error")
    keep.add_argument("--quiet", action="store_true", help="no progress")


def run(args: argparse.Namespace) -> int:
    """Solve what the arguments name; SIGTERM ends it as Ctrl-C does. The exit code."""
    with treat_sigterm_as_interrupt():
        return _solve_target(args)


def _solve_target(args: argparse.Namespace) -> int:
    """Solve a function or program by minimize(), a benchmark problem by solve(), unless an option needs minimize().

    The exit code says whether a feasible point was found. Options that do not go together are errors.
    """
    if (args.target is None) == (args.program is None):
        raise InvalidInput('give one thing to solve: a name, "problem.py:fun", a mission file, or --command')
    check_paths(args)
    if args.program is not None or names_a_function(args.target):
        return _solve_function(args)
    problem = find_problem(args.target, args.dim, _parse_instance(args.instance))
    options_of_minimize = (
        "checkpoint", "max_time", "target_value", "stop", "x0", "evaluated", "eq_tol", "ineq_tol", "log", "keep",
        "confirm", "report", "noise",
    )  # fmt: skip
    if any(getattr(args, name) is not None for name in options_of_minimize):
        if args.runs != 1:
            raise InvalidInput("--checkpoint, limits and starting points are for a single run; leave --runs out")
        source = {
            "kind": "benchmark",
            "target": args.target,
            "dim": args.dim,
            "instance": _parse_instance(args.instance),
        }
        source["digest"] = mission_digest(args.target)
        return _run_minimize(args, Benchmark(problem, source), problem)
    return _solve_benchmark(args, problem)


def _parse_instance(text: str) -> str | int:
    """A number where the text is one, else the text."""
    try:
        return int(text)
    except ValueError:
        return text


def _solve_function(args: argparse.Namespace) -> int:
    """One run on a function of a file, which is executed, or on a program; the exit code. InvalidInput for --runs."""
    fun: FileFunction | Program
    if args.program is not None:
        calls = None if args.checkpoint is None else str(Path(args.checkpoint) / "calls")
        fun = Program(args.program, calls, args.keep_calls)
    else:
        path, _, name = args.target.rpartition(":")
        fun = FileFunction(path, name)
    if args.runs != 1:
        raise InvalidInput("--runs is for benchmark problems; start one run for each seed instead")
    return _run_minimize(args, fun)


def _run_minimize(args: argparse.Namespace, fun: Any, problem: Problem | None = None) -> int:
    """One run by minimize(), with the options of the command, and its result shown; the exit code.

    `fun.source` is completed, and becomes the source in the log; fun is closed at the end.
    """
    from meco import minimize

    variables = _read_variables(args, fun, problem)
    options = call_options(args) if problem is None else {"vectorized": True, "workers": None, "timeout": None}
    cheap = find_cheap(args.cheap, fun)
    fun.source |= {"cheap": args.cheap} if args.cheap else {}
    fun.source |= {"options": options, "evaluated": args.evaluated, "folder": str(Path.cwd())}
    try:
        result = minimize(
            fun,
            variables,
            budget=args.budget,
            method=Method(args.method, policy=args.policy, pop_size=args.pop_size),
            x0=parse_numbers(args.x0, "--x0"),
            evaluated=args.evaluated,
            seed=args.seed,
            tolerances=_read_tolerances(args, problem),
            workers=make_workers(options, args.batch, asynchronous=args.asynchronous),
            stop=make_stop(args),
            on_error=args.on_error,
            cheap=cheap,
            noise=parse_noise(args.noise),
            callback=None if args.quiet else Progress(args.progress),
            checkpoint=None if args.checkpoint is None else Checkpoint(args.checkpoint, fsync=args.fsync),
        )
        if args.confirm:
            result = confirm(result, fun, args.confirm, vectorized=bool(options["vectorized"]), cheap=cheap)
        return show_result(result, args, () if problem is None else problem.variables)
    finally:
        fun.close()


def _read_variables(args: argparse.Namespace, fun: Any, problem: Problem | None) -> Variables:
    """The box of a benchmark problem; else that of --bounds or of the file, with --integer and --log; or an error."""
    if problem is not None:
        labels = problem.variables or [f"x{i + 1}" for i in range(problem.dim)]
        logarithmic = _parse_variables(args.log, labels, "--log")
        return Variables.of(problem.lower, problem.upper, problem.integrality, logarithmic)
    bounds = parse_bounds(args.bounds, args.dim)
    bounds = fun.bounds if bounds is None else bounds
    if bounds is None:
        raise InvalidInput('--bounds is needed: one "low,high" pair per variable (or `bounds` in the Python file)')
    given = Variables.read(bounds)
    each = given.each
    integer, log = (_parse_variables(getattr(args, key), given.labels(), f"--{key}") for key in ("integer", "log"))
    if integer is not None:
        each = tuple(replace(variable, integer=bool(on)) for variable, on in zip(each, integer))
    if log is not None:
        each = tuple(replace(variable, log=bool(on)) for variable, on in zip(each, log))
    return Variables(each, given.names)


def _read_tolerances(args: argparse.Namespace, problem: Problem | None) -> Tolerances:
    """Those that were given; else a benchmark problem's own, or the door's."""
    own = {} if problem is None else {"eq": problem.eq_tol, "ineq": problem.ineq_tol}
    given = {key: parse_tolerance(getattr(args, f"{key}_tol"), f"--{key}-tol") for key in ("eq", "ineq")}
    names = args.names.split(",") if args.names else getattr(problem, "constraint_names", ())
    return Tolerances(
        **(own | {key: value for key, value in given.items() if value is not None}),
        keep_feasible=args.keep.split(",") if args.keep else False,
        names=names,
    )


def make_workers(options: dict[str, Any], batch: int | None = None, *, asynchronous: bool = False) -> Workers:
    """Who calls the function, from call_options(): one process unless it says otherwise."""
    n = 1 if options["workers"] is None else options["workers"]
    return Workers(n, batch, asynchronous, options["timeout"], options["vectorized"])


def make_stop(args: argparse.Namespace) -> Stop:
    """What ends the run, from --target, --max-time and --stop; InvalidInput for numbers that make no sense."""
    return Stop(args.target_value, args.max_time, args.stop == "feasible", args.stop == "converged")


def call_options(args: argparse.Namespace) -> dict[str, Any]:
    """How the function is called; the log keeps it, and `meco resume` calls the function the same way."""
    return {"vectorized": args.vectorized, "workers": args.workers, "timeout": args.eval_timeout}


def show_result(result: Any, args: argparse.Namespace, variables: Any = ()) -> int:
    """Print the result of one run, draw it and write its page where asked; 0 if it is feasible, else INFEASIBLE."""
    print(json.dumps(result.summary(), ensure_ascii=False) if args.json else describe_result(result, variables))
    kept = getattr(args, "run", None) or getattr(args, "checkpoint", None)
    if kept and result.run.stop_reason not in ("budget", "finished"):
        print(f"meco: `meco resume {shlex.quote(str(kept))}` goes on from here", file=sys.stderr)
    if args.plot:
        _draw_picture(args.plot, getattr(args, "target", None), result.x, result.plot)
    if args.report:
        page = result.report(args.report, args.title, args.author, args.notes)
        here = Path.cwd()
        print(f"page: {page.relative_to(here) if page.is_relative_to(here) else page}", file=sys.stderr)
    if not result.feasible:
        doubt = describe_doubt(result.probability) if is_feasible_in_mean(result) else "no feasible point was found"
        print(f"meco: {doubt}", file=sys.stderr)
    return 0 if result.feasible else INFEASIBLE


def _parse_variables(text: str | None, labels: Sequence[str], option: str) -> Any:
    """Which variables a text such as "2,3" or "width,teeth" names: a mask [D], None without a text, else an error."""
    if text is None:
        return None
    dim, parts = len(labels), [part.strip() for part in text.split(",")]
    places = {label: i for i, label in enumerate(labels)} | {str(i): i for i in range(dim)}
    if any(part not in places for part in parts):
        raise InvalidInput(
            f"{option} wants names of variables, or positions from 0 to {dim - 1} as in 2,3; got {text!r:.60}"
        )
    return np.isin(np.arange(dim), [places[part] for part in parts])


def _solve_benchmark(args: argparse.Namespace, problem: Problem) -> int:
    """Run a benchmark problem, side by side where the method can, print and draw the runs; the exit code.

    A signal ends them where they are. InvalidInput for options that make no sense.
    """
    if not 1 <= args.runs <= MOST_RUNS:
        raise InvalidInput(f"--runs must be at least 1 and at most {MOST_RUNS}; got {args.runs}")
    first = 1 if args.seed is None else args.seed
    options = {key: getattr(args, key) for key in ("policy", "pop_size", "batch") if getattr(args, key) is not None}
    seeds = range(first, first + args.runs)
    with note_signals() as stop:
        watch = RunsWatcher(stop, args.quiet)
        results = solve(args.method, problem, args.budget, seeds, watch=watch, **options)
        watch.close()
    print(
        json.dumps([_summarise_run(r) for r in results], ensure_ascii=False)
        if args.json
        else _describe_runs(problem, results)
    )
    best = _best_result(results)
    if args.plot:
        _draw_picture(args.plot, args.target, best.x, lambda path: _draw_curves(results, path))
    if not best.feasible:
        print("meco: no feasible point was found", file=sys.stderr)
    return 0 if best.feasible else INFEASIBLE


class RunsWatcher:
    """Tells how far the runs are, and whether they are to stop."""

    def __init__(self, stop: Callable[[], bool], quiet: bool) -> None:
        self.stop, self.quiet, self.line = stop, quiet, ProgressLine(every=2.0, live_every=0.1)

    def __call__(self, evaluator: Evaluator) -> bool:
        """Rewrite the line where that is due; whether the runs are to stop."""
        if not self.quiet and self.line.due:
            self.line.show(self._format_progress(evaluator, self.line.elapsed))
        return self.stop()

    def _format_progress(self, evaluator: Evaluator, elapsed: float) -> str:
        """Evaluations spent, feasible runs, the best feasible f, and the time left."""
        spent, budget = int(evaluator.nfev.max()), evaluator.budget
        held = evaluator.history.feasible_best.point_in_numpy()
        feasible = held.feasible[:, 0]
        best = f"{held.f[:, 0][feasible].min():.6g}" if feasible.any() else "none yet"
        left = elapsed * (budget - spent) / max(spent, 1)
        return (
            f"{spent} of {budget} evaluations, {int(feasible.sum())} of {len(feasible)} runs feasible, "
            f"best {best}, {format_duration(left)} left"
        )

    def close(self) -> None:
        """Clear the line on the terminal."""
        self.line.clear()


def _summarise_run(r: Result) -> dict[str, Any]:
    """A run as --json shows it, in types that JSON knows."""
    run = r.run
    return {
        "problem": run.problem, "method": run.method, "seed": run.seed, "x": r.x.tolist(), "design": r.design,
        "f": r.f, "nu": r.nu,
        "feasible": r.feasible, "score": r.score, "nfev": r.nfev, "nfail": run.nfail, "notes": list(run.notes),
    }  # fmt: skip


def _best_result(results: list[Result]) -> Result:
    """The best of several runs, at least one, feasibility first."""
    return min(results, key=lambda r: (not r.feasible, r.f if r.feasible else r.nu))


def _describe_runs(problem: Problem, results: list[Result]) -> str:
    """A line for each run, the best point in full, and what is known, as text; one run at least."""
    lines = [f"{problem.name}: {problem.title}", f"{'seed':>6}  {'f':>14}  {'violation':>10}  feasible"]
    for r in results:
        lines.append(f"{r.run.seed:>6}  {r.f:>14.6e}  {r.nu:>10.3e}  {'yes' if r.feasible else 'no':>8}")
    best = _best_result(results)
    good = [r.f for r in results if r.feasible]
    found = f"{len(good)} of {len(results)} runs feasible"
    if good:
        found += f"; best feasible f {min(good):.10g}, median {np.median(good):.10g}"
    known = "" if problem.best_known is None else f"; best known {problem.best_known:.10g}"
    mean = np.mean([r.score for r in results])
    return "\n".join([
        *lines, "", f"best point (seed {best.run.seed}{'' if best.feasible else ', the least violation'}):",
        describe_point(best.x, best.f, _constraints_at(problem, best.x), problem.variables), "",
        f"{found}{known}; {results[0].nfev} evaluations each",
        f"by the paper's metric, the least f + nu of any point: {mean:.6e} in the mean",
    ])  # fmt: skip


def _constraints_at(problem: Problem, x: np.ndarray) -> dict[str, ConstraintValue]:
    """Value, violation and tolerance of each constraint at a point x [D], by name."""
    _, g, h = problem.raw(x)
    names = problem.constraint_names or [
        *(f"g{i + 1}" for i in range(problem.n_ineq)),
        *(f"h{i + 1}" for i in range(problem.n_eq)),
    ]
    allowed = [np.broadcast_to(tol, v.shape).tolist() for tol, v in ((problem.ineq_tol, g), (problem.eq_tol, h))]
    rows = [(v, max(v, 0.0), tol) for v, tol in zip(g.tolist(), allowed[0])]
    rows += [(v, abs(v), tol) for v, tol in zip(h.tolist(), allowed[1])]
    return {name: ConstraintValue(*row) for name, row in zip(names, rows)}


def _draw_picture(path: str, target: str | None, x: np.ndarray, draw_curves: Callable[[str], Any]) -> None:
    """Write the map of a mission with its route x [18]; of any other target, what draw_curves(path) writes."""
    if target is not None and (target.upper().startswith("UAV-") or target.lower().endswith(".json")):
        from meco.problems.uav.mission import load_mission

        load_mission(target).plot(x, path)
    else:
        draw_curves(path)
    print(f"picture: {path}", file=sys.stderr)


def _draw_curves(results: list[Result], path: str) -> None:
    """Write a figure of f + nu of each run over its evaluations."""
    from meco.plot.run import plot_scores
    from meco.plot.style import save

    save(plot_scores(results), path)
