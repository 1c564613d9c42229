"""The comparison of two files of runs."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def reference(monkeypatch):
    """The package benchmarks.reference: its modules compare, problems and runs."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.reference import compare, problems, runs

    return compare, problems, runs


def run_row(problem: str, seed: int, f: float, v: float = 0.0, suite: str = "designs") -> dict[str, str]:
    """A row of a run whose reference is 1."""
    return {
        "suite": suite, "problem": problem, "seed": str(seed), "ref": "1.0", "scale": "1.0", "empty": "0",
        "seconds": "0.5", "f_end": repr(f), "v_end": repr(v),
    }  # fmt: skip


def test_a_file_compared_with_itself_differs_nowhere(reference, tmp_path, capsys):
    compare, _, runs = reference
    path = tmp_path / "runs.csv"
    runs.write_runs(path, [run_row(f"p{i}", seed, 1.0 + 10.0**-i) for i in range(6) for seed in (1, 2, 3)])
    assert compare.compare(path, path) == 0
    assert "18 pairs" in capsys.readouterr().out


def test_a_share_solved_that_falls_by_more_than_two_points_fails_the_suite(reference, tmp_path, capsys):
    compare, _, runs = reference
    old, new = tmp_path / "old.csv", tmp_path / "new.csv.xz"
    runs.write_runs(old, [run_row(f"p{i}", seed, 1.0 + 1e-9) for i in range(20) for seed in (1, 2, 3)])
    worse = [run_row(f"p{i}", seed, 1.5 if i == 0 else 1.0) for i in range(20) for seed in (1, 2, 3)]
    runs.write_runs(new, worse)
    assert compare.compare(old, new) == 1
    said = capsys.readouterr().out
    assert "FAILED: designs" in said
    assert "p0: gap" in said
    assert "-5.0" in said


def test_a_problem_that_is_no_longer_feasible_got_worse(reference):
    compare, _, _ = reference
    rows = [(run_row("p", s, 1.0), run_row("p", s, float("inf"), 0.3)) for s in (1, 2, 3)]
    assert compare.median_change("p", rows, "end")[0] == float("inf")
    assert compare.median_change("p", [(b, a) for a, b in rows], "end")[0] == 0.0


def test_medians_below_the_least_gap_are_equal(reference):
    compare, _, _ = reference
    rows = [(run_row("p", s, 1.0), run_row("p", s, 1.0 + 5e-9)) for s in (1, 2, 3)]
    assert compare.median_change("p", rows, "end")[0] == 1.0


def test_a_line_that_was_cut_is_no_run(reference, tmp_path):
    _, _, runs = reference
    path = tmp_path / "runs.csv"
    runs.write_runs(path, [run_row("p", 1, 1.0), run_row("p", 2, 1.0)])
    path.write_text(path.read_text()[:-20])
    assert list(runs.read_runs(path)) == [("designs", "p", 1)]


def test_an_engine_given_by_name_is_run_with_the_arguments_of_minimize(reference, tmp_path, monkeypatch):
    _, _, runs = reference
    (tmp_path / "middle_engine.py").write_text(
        "import numpy as np\n"
        "def run(fun, bounds, *, budget, seed, **options):\n"
        "    for share in np.linspace(0.2, 0.8, budget + 5):\n"
        "        fun(np.array([v.low + share * (v.high - v.low) for v in bounds]))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    row = runs.run_named("designs", "tank", 1, "middle_engine:run")
    assert int(row["evaluations"]) == int(row["budget"]) == 200
    assert row["error"].startswith("Spent")


def test_runs_record_the_best_feasible_f_and_the_least_violation_at_each_checkpoint(reference):
    _, problems, runs = reference
    task = problems.Task(lambda x: x[0], [(0, 9)], lambda x: (float(x[0]), max(0.0, 2.0 - x[0])))
    case = problems.Case("designs", "line", 1, 10, lambda seed: task)
    row = runs.run_case(case, 1, lambda fun, *_, budget, **__: [fun([9.0 - i]) for i in range(budget)])
    assert (row["f5"], row["v5"], row["f10"], row["f_end"]) == (5.0, 0.0, 2.0, 2.0)
    assert row["error"] == ""


def test_no_reference_problem_is_in_the_reserve(reference):
    _, problems, _ = reference
    with open(ROOT / "benchmarks" / "reference" / "reserve.csv", encoding="utf-8", newline="") as file:
        held = {row["problem"] for row in csv.DictReader(file) if row["set"] == "reserve"}
    assert not held & set(problems.NOISY_CUTEST)
    pytest.importorskip("pymoo")
    assert not held & set(problems.find_cases("g"))


def test_an_engine_of_plain_arrays_is_driven_in_the_unit_cube_within_its_budget(reference, monkeypatch):
    from benchmarks.reference.engines import drive

    asked, told = [], []

    class Halving:
        def __init__(self, dim, start, ineq_tol, eq_tol):
            assert (dim, ineq_tol, eq_tol) == (2, 0.0, 1e-4)
            np.testing.assert_allclose(start, [0.25, 0.5])

        def ask(self):
            return np.full((3, 2), 0.5 ** (1 + len(told)))

        def tell(self, x, f, g, h, failed):
            told.append((f, g, h, failed))

    def fun(x):
        asked.append(x)
        if len(asked) == 2:
            raise ValueError("no mesh")
        return {"f": x[0], "g": {"one": x[1] - 1.0}, "h": {}}

    drive(Halving, fun, [(0.0, 4.0), (-1.0, 1.0)], 5, x0=[1.0, 0.0])
    assert [len(f) for f, *_ in told] == [3, 2]
    assert len(asked) == 5
    f, g, h, failed = told[0]
    assert (f.tolist(), g.tolist(), h.shape, failed.tolist()) == ([2, 0, 2], [[-1], [0], [-1]], (3, 0), [0, 1, 0])


def test_tasks_that_an_engine_does_not_take_are_left_out_of_the_comparison(reference, tmp_path, capsys):
    compare, _, runs = reference
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    runs.write_runs(old, [run_row(name, 1, 1.0) for name in "ab"])
    refused = run_row("b", 1, float("inf"), 1.0) | {"error": "NotImplementedError: integers"}
    runs.write_runs(new, [run_row("a", 1, 1.0), refused])
    assert compare.compare(old, new) == 0
    assert "left out: 1 runs" in capsys.readouterr().out


def test_an_engine_that_is_better_on_every_problem_is_said_to_be_better(reference, tmp_path, capsys):
    compare, _, runs = reference
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    runs.write_runs(old, [run_row(f"p{i}", s, 1.0 + 1e-3 * (i + 1)) for i in range(12) for s in (1, 2, 3)])
    runs.write_runs(new, [run_row(f"p{i}", s, 1.0 + 1e-5 * (i + 1)) for i in range(12) for s in (1, 2, 3)])
    assert compare.compare(old, new) == 0
    said = capsys.readouterr().out
    assert "BETTER" in said
    assert "x 0.01 in the geometric mean" in said
    assert compare.correct_by_holm({"a": 0.04, "b": 0.01, "c": 0.5}) == {"a": 0.08, "b": 0.03, "c": 0.5}
