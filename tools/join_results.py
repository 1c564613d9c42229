"""Results of several folders as one packed store, also of an earlier version whose searches are the same.

    python tools/join_results.py results new-runs [more-runs ...]
    python tools/join_results.py results new-runs --without TR

A store never mixes versions. Searches that are bit for bit the same in two versions, which tests/reference records,
may be shown side by side all the same: the sessions in the file say which version made what. Plans and policies
are those of this version, with the contenders that have runs. A run of a method that a policy steers must name the
policy with its digest: one that does not is left out, unless --policy-of-unnamed says with which it was made.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

from meco import __version__
from meco.bench.plan.contender import POLICIES
from meco.bench.plan.experiment import Experiment
from meco.bench.plan.experiments import EXPERIMENTS
from meco.bench.plan.revise import join_experiments, pin_versions
from meco.bench.plan.run import Run
from meco.bench.run.campaign_folder import PACKED_FILE
from meco.bench.run.result_store import read_results, write_packed
from meco.bench.run.run_record import RunRecord
from meco.bench.run.store_contents import StoreContents
from meco.methods import METHODS

WITHOUT_FILE = ("random", "untrained")  # policies that have no digest


def with_policy(run: Run, unnamed: str | None) -> Run | None:
    """The run with the digest of its policy, that of unnamed ones where it has none; nothing where nobody knows it."""
    options = json.loads(run.options)
    name = options.get("policy", POLICIES.get(run.method))
    if not isinstance(name, str) or name in WITHOUT_FILE or "@" in name:
        return run
    if unnamed is None:
        return None
    named = sorted({**options, "policy": f"{name}@{unnamed}"}.items())
    return run._replace(options=json.dumps(dict(named), separators=(",", ":")))


def join_runs(parts: Sequence[StoreContents], without: Collection[str], unnamed: str | None) -> dict[Run, RunRecord]:
    """Every run of the folders, those of some methods without what the first folder has of them."""
    runs: dict[Run, RunRecord] = {}
    left_out: Counter[str] = Counter()
    for k, part in enumerate(parts):
        for run, record in part.runs.items():
            known = with_policy(run, unnamed)
            if k == 0 and run.method in without:
                left_out[f"earlier runs of {run.method}"] += 1
            elif known is None:
                left_out[f"runs of {run.method} that name no policy"] += 1
            else:
                runs[known] = record
    for what, count in left_out.items():
        print(f"left out: {count} {what}")
    return runs


def make_plans(old: list[Experiment], runs: dict[Run, RunRecord]) -> list[Experiment]:
    """Plans of this version where there is one, with as many runs of a contender as there are."""
    names = dict.fromkeys(e.name for e in old)  # another experiment may share runs, but nobody ran it
    made: list[Experiment] = []
    for name in names:
        earlier = [e for e in old if e.name == name]
        plan = pin_versions(EXPERIMENTS[name]) if name in EXPERIMENTS else reduce(join_experiments, earlier)
        plan = replace(plan, pins=dict(pin for e in (*earlier, plan) for pin in e.pins.items()))
        present = []
        for contender in plan.contenders:
            full = replace(contender, most=None)
            count = min((count_made(plan.runs_of(full, case), runs) for case in plan.cases()), default=0)
            if count:
                present.append(replace(contender, most=count if count < plan.runs else None))
        if present:
            made.append(replace(plan, contenders=tuple(present)))
    return made


def count_made(wanted: list[Run], runs: dict[Run, RunRecord]) -> int:
    """How many of these runs there are, up to the first that is missing: a plan has consecutive seeds."""
    return next((k for k, run in enumerate(wanted) if run not in runs), len(wanted))


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, help="the first is joined into")
    parser.add_argument(
        "--without", action="append", default=[], metavar="METHOD", type=METHODS.resolve, help="drop the first's runs"
    )
    parser.add_argument("--policy-of-unnamed", metavar="DIGEST", help="first 8 digits, of runs that name no policy")
    args = parser.parse_args(words)
    parts = [read_results(path) for path in args.folders]
    runs = join_runs(parts, args.without, args.policy_of_unnamed)
    sessions = {name: facts for part in parts for name, facts in part.sessions.items()}
    experiments = make_plans([e for part in parts for e in part.experiments], runs)
    platforms = {digest: facts for part in parts for digest, facts in part.platforms.items()}
    joined = StoreContents(__version__, runs, {}, experiments, sessions, platforms)
    print(write_packed(joined, args.folders[0] / PACKED_FILE), len(runs), "runs")
    for e in experiments:
        print(f"  {e.name}: {', '.join(f'{c.label} {e.run_count(c)}' for c in e.contenders)}")


if __name__ == "__main__":
    main()
