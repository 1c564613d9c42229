"""Results of several folders as one compact file, also of an earlier version whose searches are the same.

    python tools/join_results.py results new-runs [more-runs ...]

A store never mixes versions. Searches that are bit for bit the same in two versions, which tests/data/digests.json
holds, may be shown side by side all the same: the sessions in the file say which version made what. Plans and policies
are those of this version, with the contenders that have runs. Runs of MeCO-TR that name no policy were made with the
shipped one.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from meco import __version__
from meco.experiments.plan.experiment import Experiment, Run, policy_digest
from meco.experiments.plan.paper import PAPER
from meco.experiments.run.compact import write_compact
from meco.experiments.run.folder import COMPACT
from meco.experiments.run.record import Record
from meco.experiments.run.results import Results
from meco.experiments.run.store import digest, read_results


def named(run: Run) -> Run:
    """The run with the policy that it was made with."""
    if run.method != "MeCO-TR" or run.options != "{}":
        return run
    return run._replace(options=f'{{"policy":"meco-tr@{policy_digest("meco-tr")}"}}')


def planned(old: list[Experiment], runs: dict[Run, Record]) -> list[Experiment]:
    """Plans of this version where there is one, with as many runs of a contender as there are."""
    names = dict.fromkeys([*(e.name for e in old), *PAPER])
    made: list[Experiment] = []
    for name in names:
        earlier = next((e for e in old if e.name == name), None)
        plan = earlier if name not in PAPER else PAPER[name].pinned()
        assert plan is not None
        plan = replace(plan, pins={**(earlier.pins if earlier else {}), **plan.pins})
        present = []
        for contender in plan.contenders:
            full = replace(contender, most=None)
            count = min((made_of(plan.runs_of(full, case), runs) for case in plan.cases()), default=0)
            if count:
                present.append(replace(contender, most=count if count < plan.runs else None))
        if present:
            made.append(replace(plan, contenders=tuple(present)))
    return made


def made_of(wanted: list[Run], runs: dict[Run, Record]) -> int:
    """How many of these runs there are, up to the first that is missing: a plan has consecutive seeds."""
    return next((k for k, run in enumerate(wanted) if run not in runs), len(wanted))


def main() -> None:
    folder, *others = map(Path, sys.argv[1:])
    parts = [read_results(path) for path in (folder, *others)]
    runs = {named(run): record for part in parts for run, record in part.runs.items()}
    sessions = {name: facts for part in parts for name, facts in part.sessions.items()}
    experiments = planned([e for part in parts for e in part.experiments], runs)
    joined = Results(__version__, runs, {}, experiments, sessions, digest(runs))
    print(write_compact(joined, folder / COMPACT), len(runs), "runs")
    for e in experiments:
        print(f"  {e.name}: {', '.join(f'{c.label} {e.seeds(c)}' for c in e.contenders)}")


if __name__ == "__main__":
    main()
