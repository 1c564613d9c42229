"""Tables of the sections on noise and failures from kept runs of several files.

    python benchmarks/simulators.py show noise.jsonl failures.jsonl

Noise: off is the median over problems and seeds where an answer that does not truly keep the constraints counts as
infinitely far off; if feasible: the median of the others. Failures: f of the answer by the least f, and by that of the
same method and seed where nothing fails (of the toy there is none); failed calls are the median with least and most.
Seconds are CPU time of a run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

import numpy as np

from kept_runs import read_rows

Pairs = Iterable[tuple[list[Any], Any]]


def main(arguments: list[str]) -> None:
    """Print the tables of what the files hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="written by --out")
    pairs = read_rows(parser.parse_args(arguments).files)
    show_noise(pairs)
    show_failures(pairs)


def show_noise(pairs: Pairs) -> None:
    """Print a line for each kind of problems, level and method; nothing where there are no such runs."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for key, row in pairs:
        if key[0] == "noise":
            _, kind, _, _, _, level, method = key
            groups.setdefault((kind, level, method), []).append(row)
    if groups:
        heads = f"{'off':>10}{'if feasible':>13}{'feasible':>10}{'success right':>15}{'seconds':>9}"
        print(f"{'':<8}{'level':>6}  {'method':<16}{'runs':>6}{heads}")
    for (kind, level, method), rows in _best_first(groups, lambda rows: float(np.median(_distances(rows)))):
        kept = [row["off"] for row in rows if row["feasible"]]
        share = len(kept) / len(rows)
        right = np.mean([row["right"] for row in rows])
        seconds = np.mean([row["seconds"] for row in rows])
        found = f"{np.median(_distances(rows)):>10.2e}{np.median(kept) if kept else np.inf:>13.2e}{share:>10.0%}"
        print(f"{kind:<8}{level:>6g}  {method:<16}{len(rows):>6}{found}{right:>15.0%}{seconds:>9.2f}")


def _distances(rows: list[dict[str, Any]]) -> list[float]:
    return [row["off"] if row["feasible"] else np.inf for row in rows]


def show_failures(pairs: Pairs) -> None:
    """Print a line for each kind of failures, number of variables and method; nothing where there are no such runs."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    without = {tuple(key[2:]): _over(row) for key, row in pairs if key[:2] == ["failures", "none"]}
    for key, row in pairs:
        if key[0] == "failures":
            _, kind, dim, budget, _, method = key
            ratio = _over(row) / without.get(tuple(key[2:]), np.nan)
            groups.setdefault((kind, dim, budget, method), []).append(row | {"ratio": ratio})
    if groups:
        heads = f"{'f / least f':>12}{'worst':>10}{'by none':>10}{'feasible':>10}{'seconds':>9}"
        print(f"{'':<10}{'D':>3}  {'method':<16}{'runs':>6}{heads}  failed of")
    for (kind, dim, budget, method), rows in _best_first(groups, lambda rows: float(np.median([*map(_over, rows)]))):
        over, failed = np.array([*map(_over, rows)]), np.array([row["failed"] for row in rows])
        ratio = np.median([row["ratio"] for row in rows])
        found = f"{np.median(over):>12.6f}{over.max():>10.3g}{ratio:>10.4f}{np.isfinite(over).mean():>10.0%}"
        said = f"{int(np.median(failed))} ({failed.min()} to {failed.max()}) of {budget}"
        seconds = np.mean([row["seconds"] for row in rows])
        print(f"{kind:<10}{dim:>3}  {method:<16}{len(rows):>6}{found}{seconds:>9.2f}  {said}")


def _over(row: dict[str, Any]) -> float:
    return np.inf if row["over"] is None else row["over"]


def _best_first(groups: dict[tuple[Any, ...], Any], size: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """Groups sorted by all of their names but the method, and then by the size of what they hold."""
    return sorted(groups.items(), key=lambda group: (*group[0][:-1], size(group[1])))
