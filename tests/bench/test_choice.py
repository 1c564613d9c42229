"""meco bench on a plain function: how often feasible, how good, and a sentence that says which method to use."""

import re
from dataclasses import replace

import numpy as np
import pytest

from meco import Variable, minimize, solve
from meco.bench.plan.comparison import make_comparison
from meco.bench.plan.user_problem import load_user_problem
from meco.bench.report import choice
from meco.bench.report.run_arrays import RunArrays
from meco.bench.run.executors import start_executor
from meco.bench.run.result_store import ResultStore, read_results
from meco.bench.run.run_record import RunRecord
from meco.bench.run.runner import run_campaign
from meco.bench.run.store_contents import StoreContents
from meco.cli import main
from meco.errors import InvalidInput
from meco.files.modules import load_file
from meco.methods import DEFAULT
from meco.run.function_problem import as_problem

MINE = '''
bounds = [(-5, 5)] * 2

def bowl(x):
    """A bowl with a wall."""
    if x[1] > 4:
        raise RuntimeError("no mesh")
    return float(x @ x), {"wall": 1.0 - x[0]}, {"level": x[1] - 0.5}

def hopeless(x):
    return float(x @ x), [1.0 + x[0] ** 2]

def broken(x):
    return x.nothing

number = 3
'''


@pytest.fixture
def mine(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return file


def test_a_plain_function_is_a_problem(mine):
    problem = load_user_problem(str(mine), "bowl")
    assert (problem.dim, problem.n_ineq, problem.n_eq) == (2, 1, 1)
    assert problem.constraint_names == ("wall", "level")
    assert problem.title == "A bowl with a wall."
    f, g, h = problem.raw(np.array([[[1.0, 0.5], [0.0, 4.5]]]))
    np.testing.assert_array_equal(f, [[1.25, np.nan]])
    np.testing.assert_array_equal(g, [[[0.0], [np.nan]]])
    np.testing.assert_array_equal(h, [[[0.0], [np.nan]]])


def test_named_constraints_may_come_in_any_order():
    def fun(x):
        named = {"a": x[0], "b": x[1]}
        return 0.0, named if x[0] > 0.5 else dict(reversed(named.items()))

    g = as_problem("fun", fun, [(0, 1)] * 2).raw(np.array([[0.9, 0.1], [0.2, 0.3]]))[1]
    order = [1, 0] if as_problem("fun", fun, [(0, 1)] * 2).constraint_names == ("b", "a") else [0, 1]
    np.testing.assert_array_equal(g[:, order], [[0.9, 0.1], [0.2, 0.3]])


def test_an_answer_with_other_constraints_has_failed():
    problem = as_problem("fun", lambda x: (0.0, [x[0]] if x[0] < 0.8 else []), [(0, 1)])
    assert np.isnan(problem.raw(np.array([[0.9]]))[0]).all()


TYPED = """
from meco import Variable

bounds = {
    "metal": ["steel", "brass", "zinc"],
    "teeth": Variable(8, 40, integer=True),
    "load": Variable(1e-3, 10.0, "kN", log=True),
}

def gear(d):
    price = {"steel": 2.0, "brass": 1.0, "zinc": 3.0}[d["metal"]]
    return price + (d["teeth"] / 13.4 - 1) ** 2 + (d["load"] - 0.1) ** 2, {"wear": 12 - d["teeth"]}

def cheap(d):
    return 0.2 - d["load"]
"""


@pytest.fixture
def typed(tmp_path):
    """A problem of named variables of every kind, as `meco bench` reads it, and its bounds."""
    file = tmp_path / "typed.py"
    file.write_text(TYPED)
    problem = load_user_problem(str(file), "gear")
    return problem, load_file(file)


@pytest.mark.parametrize("method", [DEFAULT, "SHADE-FR"])
def test_a_file_with_integers_logarithms_and_categories_is_searched_as_minimize_searches_it(typed, method):
    problem, module = typed
    ours = solve(method, problem, 60, seeds=[3, 4])[1]
    same = {"noise": False, "seed": 4, "budget": 60, "constraints": module.cheap, "method": method}
    alone = minimize(module.gear, module.bounds, **same)
    np.testing.assert_array_equal(ours.x, alone.x)
    assert ours.fun == alone.fun
    assert ours.x[1] == round(ours.x[1])


def test_a_file_with_named_variables_is_called_by_name_and_with_its_cheap_constraints(typed):
    problem, _ = typed
    assert problem.variables == ("metal", "teeth", "load [kN]")
    f, g, _ = problem.raw(np.array([1.0, 13.0, 0.1]))
    assert f == pytest.approx(1.0 + (13 / 13.4 - 1) ** 2)
    np.testing.assert_allclose(g, [-1.0, 0.1])
    assert problem.constraint_names == ("wear", "cheap")


def test_problems_with_a_logarithm_each_keep_their_own_in_one_call_of_solve():
    near, far = (as_problem(k, lambda x: float(x @ x), [Variable(low, 1.0, log=True)] * 2) for k, low in
                 (("near", 0.1), ("far", 1e-6)))  # fmt: skip
    results = solve("SHADE-FR", [near, far, near], 120, seeds=[1, 2, 1])
    np.testing.assert_array_equal(results[0].x, results[2].x)
    np.testing.assert_array_equal(results[1].x, solve("SHADE-FR", far, 120, seeds=[2])[0].x)


def test_integers_of_bounds_and_of_integrality_are_joined():
    problem = as_problem("fun", lambda x: float(x @ x), [Variable(0, 9, integer=True), (0, 9), (0, 9)], [0, 1, 0])
    np.testing.assert_array_equal(problem.integrality, [True, True, False])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken", "broken gave no usable answer at 20 points between its bounds; the last: AttributeError"),
        ("number", "has no meco.Problem or function called 'number'; it has bowl, hopeless, broken"),
    ],
)
def test_what_cannot_be_compared_is_refused(mine, name, said):
    with pytest.raises(InvalidInput, match=re.escape(said)):
        load_user_problem(str(mine), name)


def test_bounds_are_asked_for(tmp_path):
    (tmp_path / "bare.py").write_text("def f(x):\n    return 0.0\n")
    with pytest.raises(InvalidInput, match=re.escape("bounds = [(low, high), ...]")):
        load_user_problem(str(tmp_path / "bare.py"), "f")


def test_the_command_says_which_method_to_use(mine, tmp_path, capsys):
    given = ["--problem", f"{mine}:bowl", "--methods", DEFAULT, "SHADE-FR", "--runs", "4", "--budget", "80", "--quiet"]
    assert main(["bench", *given, "--executor", "serial", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    found = re.search(f"On mine.py:bowl use {DEFAULT}: feasible in 4 of 4 runs, median f ([0-9.]+), ", said)
    assert found is not None
    assert float(found[1]) == pytest.approx(1.25, abs=1.2e-4)  # the level may be kept to 1e-4 only
    assert "SHADE-FR comes next" in said
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Best feasible f over evaluations" in page
    assert f"use {DEFAULT}" in page
    names = {p.name for p in (tmp_path / "out" / "tables").iterdir()}
    assert any(n.endswith("-choice.csv") for n in names)
    assert any(n.endswith("-best-feasible.tex") for n in names)


@pytest.fixture
def compared(mine, tmp_path):
    """Runs of two methods on a function, as a result set whose records a test may change."""
    experiment = make_comparison(problems=[f"{mine}:bowl"], methods=["SHADE-FR", "MA-ES"], budget=60, runs=4)
    with ResultStore.open_campaign(tmp_path / "out") as store:
        run_campaign([experiment], store, start_executor("serial", 1), quiet=True)
    return read_results(tmp_path / "out")


def told(results: StoreContents, change) -> str:
    runs = {run: change(run, record) for run, record in results.runs.items()}
    return choice.compose_advice(RunArrays.from_store(replace(results, runs=runs), results.experiments[0]), 0)


def with_f(record: RunRecord, f: float | None) -> RunRecord:
    return replace(record, f=f or 0.0, nu=0.0 if f else 2.0, feasible=f is not None, feasible_at=30 if f else None)


def test_more_feasible_runs_come_before_a_smaller_f(compared):
    said = told(compared, lambda run, r: with_f(r, 9.0 if run.method == "MA-ES" else 1.0 if run.seed < 3 else None))
    assert said.startswith("On mine.py:bowl use MA-ES: feasible in 4 of 4 runs, median f 9.00000, 0 of 4 ")
    assert "SHADE-FR comes next (feasible in 2 of 4 runs, 2 of 4 within 0.01 % of the best of all)" in said


def test_a_difference_that_few_runs_cannot_tell_from_chance_is_called_so(compared):
    said = told(compared, lambda run, r: with_f(r, 1.0 + run.seed + 0.1 * (run.method == "MA-ES")))
    assert "4 runs of each are too few to tell whether that is chance (rank-sum test, p = 0.6857)" in said
    assert said.endswith("give --runs 20 or more.")
    assert "will do" not in said


def test_a_difference_that_many_runs_leave_to_chance_is_called_so(compared, monkeypatch):
    monkeypatch.setattr(choice, "ENOUGH", 4)
    said = told(compared, lambda run, r: with_f(r, 1.0 + run.seed + 0.1 * (run.method == "MA-ES")))
    assert "chance may explain the difference (rank-sum test, p = 0.6857, 4 runs of each)" in said


def test_equal_medians_are_no_tie_where_one_method_misses_the_best_more_often(compared):
    """Medians agree to rounding; SHADE-FR has the smaller one, and one run of four at another minimum."""
    said = told(
        compared,
        lambda run, r: with_f(
            r, 7.0 + 1e-9 if run.method == "MA-ES" else 9.0 if run.seed == 4 else 7.0 + 1e-9 * (run.seed - 1)
        ),
    )
    assert said.startswith(
        "On mine.py:bowl use MA-ES: feasible in 4 of 4 runs, median f 7.00000, 4 of 4 within 0.01 % of the best of all"
    )
    assert "SHADE-FR comes next (feasible in 4 of 4 runs, median f 7.00000, 3 of 4 within 0.01 %" in said
    assert "too few to tell" in said


def test_what_differs_by_rounding_is_near_a_best_of_zero(compared):
    said = told(compared, lambda run, r: with_f(r, 1.0 if run.seed == 4 else 1e-22 if run.method == "MA-ES" else 1e-20))
    assert said.count("3 of 4 within 0.01 % of the best of all") == 2


def test_a_difference_that_chance_does_not_make_is_called_so(compared):
    said = told(compared, lambda run, r: with_f(r, run.seed + 100.0 * (run.method == "MA-ES")))
    assert "use SHADE-FR" in said
    assert "chance does not explain the difference (rank-sum test, p = 0.0286)" in said


def test_where_nothing_is_feasible_the_nearest_is_named(compared):
    said = told(compared, lambda run, r: replace(with_f(r, None), nu=1.0 + (run.method == "MA-ES")))
    assert "no method found a feasible point in 60 evaluations; SHADE-FR came nearest (median violation 1.00)" in said
    assert "try a larger --budget" in said


def test_where_all_are_equally_far_from_feasible_there_may_be_no_feasible_point(compared):
    said = told(compared, lambda run, r: with_f(r, None))
    assert "all came equally near (median violation 2.00): there may be no feasible point" in said
    assert "nearest" not in said


def test_curves_begin_where_most_runs_are_feasible(compared):
    figure = choice.make_best_feasible_figure(RunArrays.from_store(compared, compared.experiments[0]), 0)
    assert [row[0].text for row in figure.table.rows] == ["SHADE-FR", "MA-ES"]
    for mark in figure.panels[0].marks:
        assert not np.isnan(np.asarray(mark.y)).any()


def test_medians_that_differ_by_rounding_are_a_tie(compared):
    def change(run, record):
        return with_f(record, 5804.3898341 + 1e-7 * (run.method == "MA-ES"))

    said = told(compared, change)
    assert "SHADE-FR and MA-ES tie: feasible in 4 of 4 runs" in said
    assert "any of them will do" in said
    runs = {run: change(run, record) for run, record in compared.runs.items()}
    results = RunArrays.from_store(replace(compared, runs=runs), compared.experiments[0])
    assert [row[2].mark for row in choice.make_standing_table(results, 0).rows] == ["best", "best"]


def test_a_comparison_on_one_problem_shows_neither_ranks_nor_the_sum_of_f_and_violation(mine, tmp_path, capsys):
    out = tmp_path / "out"
    main(["bench", "--problem", f"{mine}:bowl", "--methods", "SHADE", "TR", "--runs", "2", "--budget", "40",
          "--executor", "serial", "--quiet", "--out", str(out)])  # fmt: skip
    page = (out / "report.html").read_text(encoding="utf-8")
    for word in ("f+ν", "verage rank", "lockstep"):
        assert word not in page.split("<script>")[0], word
