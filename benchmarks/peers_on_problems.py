"""A peer of benchmarks/peers on problems of meco, one run for each seed: violation and f of its best point.

python benchmarks/peers_on_problems.py NOMAD RC20 C01 --dim 10 --budget 100 --seeds 5
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import meco
from peers import Spent, Target
from peers.nomad import nomad
from peers.optuna import optuna
from peers.scbo import scbo

PEERS: dict[str, Callable[[Target, int], None]] = {
    "NOMAD": nomad,
    "Optuna-TPE": optuna,
    "Optuna-GP": partial(optuna, sampler="gp"),
    "SCBO": scbo,
}


def solve(peer: str, problem: meco.Problem, budget: int, seed: int) -> Target:
    """Spend the budget on a problem by a peer; the target holds the best point."""
    target = Target(problem, budget)
    with warnings.catch_warnings(), suppress(Spent):
        PEERS[peer](target, seed)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("problems", nargs="+")
    parser.add_argument("--dim", type=int, help="of problems that have no number of variables of their own")
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=1, help="how many, from 42 on")
    args = parser.parse_args()
    for name in args.problems:
        for seed in range(42, 42 + args.seeds):
            found = solve(args.peer, meco.get_problem(name, args.dim), args.budget, seed)
            print(f"{args.peer:10} {name:10} seed {seed}: violation {found.best[0]:.6g}, f {found.best[1]:.10g}")


if __name__ == "__main__":
    main()
