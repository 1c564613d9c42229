"""Benchmarks of simulators: runs that are kept in a file, and the one wrapper of NOMAD."""

import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).parent.parent.parent / "benchmarks")]

KeptRuns = import_module("kept_runs").KeptRuns


def fail():
    raise AssertionError("a run that is known is made again")


def test_a_run_that_is_known_is_not_made_again(tmp_path):
    path = tmp_path / "runs.jsonl"
    assert KeptRuns(path)(["beam", "TR", 100, 1], lambda: [1.5, float("inf")]) == [1.5, float("inf")]
    assert KeptRuns(path)(["beam", "TR", 100, 1], fail) == [1.5, float("inf")]
    assert KeptRuns(None)(["beam", "TR", 100, 1], lambda: 2) == 2


def test_rows_are_those_of_one_budget_by_seed():
    keep = KeptRuns(None)
    for budget, seed in ((100, 10), (100, 9), (200, 1)):
        keep(["beam", "TR", budget, seed], [budget, seed].copy)
    assert keep.rows_of("beam", "TR", 100) == [[100, 9], [100, 10]]
    assert keep.rows_of("beam", "TR", 200) == [[200, 1]]
    assert keep.rows_of("beam", "SHADE", 100) == []


def test_a_line_that_was_cut_is_skipped_and_spoils_no_other(tmp_path):
    path = tmp_path / "runs.jsonl"
    keep = KeptRuns(path)
    for seed in (1, 2):
        keep([seed], [seed].copy)
    path.write_text(path.read_text()[:-4])  # as a kill leaves it
    keep = KeptRuns(path)
    assert keep([1], fail) == [1]
    keep([2], lambda: [20])
    keep([3], lambda: [30])
    again = KeptRuns(path)
    assert [again([seed], fail) for seed in (1, 2, 3)] == [[1], [20], [30]]


def test_a_table_shows_only_runs_of_its_budget(monkeypatch, capsys):
    pytest.importorskip("scipy")
    import simulators_runs

    monkeypatch.setattr(simulators_runs, "run_design", lambda design, solver, seed, budget: {
        "f": float(budget), "seconds": 0.0, "outside": 0.0,
    })  # fmt: skip
    design, keep = SimpleNamespace(name="beam", dim=2, variables={}), KeptRuns(None)
    for per_variable in (20, 50):
        simulators_runs.print_designs([design], ["MeCO"], range(2), per_variable, keep)
        row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("  MeCO"))
        assert row.split()[-2:] == [f"{2 * per_variable}"] * 2


class Point:
    """A point as PyNomad hands it over."""

    def __init__(self, x):
        self.x, self.said = x, None

    def size(self):
        return len(self.x)

    def get_coord(self, i):
        return self.x[i]

    def setBBO(self, said):
        self.said = said


def test_nomad_is_told_values_failures_and_the_end_of_the_budget(monkeypatch):
    from simulators_nomad import search_by_nomad
    from users_solvers import Spent

    heard = []

    def optimize(box, start, low, high, options):
        heard.append((Path.cwd(), options))
        for x in ([0.25, 1.0], [0.5, 1.0], [0.75, 1.0]):
            point = Point(x)
            heard.append((box(point), point.said))

    def values(x):
        if x[0] > 0.6:
            raise Spent
        return None if x[0] == 0.5 else [x[0], -x[1]]

    monkeypatch.setitem(sys.modules, "PyNomad", SimpleNamespace(optimize=optimize))
    here, ends = Path.cwd(), (np.zeros(2), np.zeros(2), np.ones(2))
    assert search_by_nomad(values, *ends, ["OBJ", "PB"], 7, 3, "RI")
    assert Path.cwd() == here != heard[0][0]
    wanted = ["BB_INPUT_TYPE (R I)", "BB_OUTPUT_TYPE OBJ PB", "MAX_BB_EVAL 7", "DISPLAY_DEGREE 0", "SEED 4"]
    assert heard[0][1] == wanted
    assert heard[1:] == [(1, b"0.25 -1.0"), (0, None), (0, None)]
    assert not search_by_nomad(lambda x: [0.0, 0.0], *ends, ["OBJ", "PB"], 7, 3)
