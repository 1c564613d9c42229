"""Benchmarks of simulators: runs that are kept in a file, and the one wrapper of NOMAD."""

import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).parent.parent.parent / "benchmarks")]

KeptRuns, read_rows = (getattr(import_module("kept_runs"), name) for name in ("KeptRuns", "read_rows"))


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


@pytest.mark.parametrize("processes", [1, 2])
def test_rows_that_are_missing_are_filled_in(processes, tmp_path):
    path = tmp_path / "runs.jsonl"
    KeptRuns(path)([1, 2], lambda: 20)
    KeptRuns(path).fill([[1, 2], [3], []], len, processes)
    again = KeptRuns(path)
    assert [again(key, fail) for key in ([1, 2], [3], [])] == [20, 1, 0]


def test_a_row_that_cannot_be_made_is_named_and_left_out(capsys):
    keep = KeptRuns(None)
    keep.fill([[1], ["a"], [2]], sum)
    assert keep.pairs() == [([1], 1), ([2], 2)]
    assert "LEFT OUT: ['a']: TypeError" in capsys.readouterr().err


def test_of_several_files_the_last_one_counts(tmp_path):
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, row in zip(paths, (1, 2)):
        KeptRuns(path).fill([[0], [row]], lambda key, row=row: row)
    assert read_rows(paths) == [([0], 2), ([1], 1), ([2], 2)]


def test_tables_of_noise_and_failures_tell_medians_shares_and_ratios(tmp_path, capsys):
    from simulators_show import main

    keep = KeptRuns(tmp_path / "runs.jsonl")
    for seed, (off, feasible, right) in enumerate([(0.1, True, True), (0.3, True, True), (-9.0, False, False)]):
        row = {"off": off, "feasible": feasible, "right": right, "seconds": 1.0}
        keep(["noise", "users", "beam", 100, seed, 0.01, "TR"], row.copy)
    for kind, over, failed in (("none", 2.0, 0), ("most", 3.0, 7)):
        keep(["failures", kind, 2, 60, 0, "TR"], {"over": over, "failed": failed, "seconds": 1.0}.copy)
    keep(["failures", "most", 2, 60, 0, "COBYQA"], {"over": None, "failed": 9, "seconds": 1.0}.copy)
    main([str(keep.path)])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1] == ["users", "0.01", "TR", "3", "3.00e-01", "2.00e-01", "67%", "67%", "1.00"]
    most = [line for line in lines if line[0] == "most"]
    assert most[0][2:8] == ["TR", "1", "3.000000", "3", "1.5000", "100%"]  # the best first
    assert most[1][2:5] == ["COBYQA", "1", "inf"]
    assert most[0][9:] == ["7", "(7", "to", "7)", "of", "60"]


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
    from peers import Spent
    from peers.nomad import search_by_nomad

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
