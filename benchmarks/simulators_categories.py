"""Categories: twelve mixed constrained designs (simulators_mixed_designs.py), 20 D evaluations, five seeds.

The constants of categories were chosen on these twelve. With --fresh six others, on which nothing was chosen
(simulators_fresh_designs.py).
"""

from __future__ import annotations

import argparse

from kept_runs import KeptRuns
from simulators_fresh_designs import FRESH_DESIGNS
from simulators_mixed_designs import DESIGNS
from simulators_runs import add_options, print_designs


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, [*DESIGNS, *FRESH_DESIGNS])
    parser.add_argument("--fresh", action="store_true", help="the six designs that nothing was chosen on")
    args = parser.parse_args(words)
    chosen = [d for d in (FRESH_DESIGNS if args.fresh else DESIGNS) if d.name in args.designs]
    print_designs(chosen, args.solvers, range(args.seeds), args.per_variable, KeptRuns(args.keep))


if __name__ == "__main__":
    main()
