"""The paper's experiments as data, and the commands that run them."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from meco import gone
from meco.batch_solve import solve
from meco.bench.plan import further, printed
from meco.bench.plan.comparison import folder_name, make_comparison
from meco.bench.plan.contender import AS_PRINTED, AS_RELEASED, RELAXED, SCORE_REWARDED, Contender
from meco.bench.plan.experiment import Experiment
from meco.bench.plan.experiment import TestCase as Case
from meco.bench.plan.experiments import EXPERIMENTS, find_experiments, match_methods
from meco.bench.plan.further import FURTHER
from meco.bench.plan.paper import HELD_OUT, PAPER, READING_LABELS, THE_TWELVE, TRAININGS
from meco.bench.plan.revise import adjust_experiment, join_experiments
from meco.bench.run.groups import make_groups, run_group
from meco.bench.run.result_store import ResultStore, read_results
from meco.cli import main
from meco.methods import METHODS
from meco.paper import presets
from meco.problems.suite import get_problem
from meco.report.frame import read_runs
from meco.report.page import JOINT_VIEWS, VIEWS, list_known_experiments
from small_runs import run_command_without


def test_every_experiment_has_an_entry_the_papers_first():
    assert list(EXPERIMENTS) == [
        "table1", "transfer", "uav", "trajectories", "realworld", "actions",
        "ablation-state", "ablation-action", "ablation-reward", "training-gain",
        "cec2017-10d", "cec2017-30d", "cec2017-100d", "short-cec2017", "short-engineering",
        "unseen",
        "constants", "printed-seeds", "variants", "rwco", "rwco-large", "families",
        "budgets-5", "budgets-10", "budgets-20", "budgets-50", "budgets-100", "budgets-200", "budgets-500",
        "budgets-1000", "parallel", "scales",
    ]  # fmt: skip
    assert find_experiments("all") == list(EXPERIMENTS.values())
    assert list(EXPERIMENTS) == [*PAPER, *FURTHER]
    assert "training-gain" in PAPER
    assert "cec2017-10d" not in PAPER


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_an_experiment_names_known_methods_views_and_labels(name):
    e = EXPERIMENTS[name]
    assert {c.method for c in e.contenders} <= {*METHODS, *gone.NAMES["method"]}
    assert len({c.label for c in e.contenders}) == len(e.contenders)
    assert set(e.report.views) <= {*VIEWS, *JOINT_VIEWS}
    assert {*e.quick, *e.report.focus} <= {*(c.label for c in e.contenders)}
    assert e.runs == (5 if name in FURTHER else 10)
    assert Experiment.from_json(e.to_json()) == e


def test_table1_has_every_method_at_50d_with_leave_one_out_policies_and_the_papers_budget():
    e = EXPERIMENTS["table1"]
    affordable = {*METHODS}
    assert {c.method for c in e.contenders} == affordable
    assert {c.label for c in e.contenders} == {
        *affordable, *READING_LABELS.values(), AS_RELEASED, SCORE_REWARDED, "MeCO on MA-ES",
    }  # fmt: skip
    assert tuple(c.method for c in e.contenders)[:12] == THE_TWELVE
    case = e.cases()[4]
    assert case == Case("C05", 50, "paper", 2500)
    found = {c.label: json.loads(c.options_json(case)) for c in e.contenders if c.label in TRAININGS}
    assert found == {
        "MeCO": {"policy": "meco-loo50-C05"},
        "MeCO, relaxed f_best": {"policy": "meco-relaxed-loo50-C05"},
        "MeCO, f+ν reward": {"policy": "meco-score-loo50-C05"},
    }


@pytest.mark.parametrize("name", list(PAPER))
def test_meco_in_every_table_of_the_paper_is_trained_as_printed(name):
    e = EXPERIMENTS[name]
    policies = {c.label: c.options["policy"] for c in e.contenders if c.label in (AS_PRINTED, RELAXED)}
    assert re.fullmatch(r"meco-(10d|loo50-\{problem\}|split-\{dim\}d)", policies[AS_PRINTED])
    assert policies[RELAXED] == policies[AS_PRINTED].replace("meco-", "meco-relaxed-")


def test_five_seeds_as_printed_stand_side_by_side():
    assert further.PRINTED_SEEDS is presets.PRINTED_SEEDS
    case = EXPERIMENTS["printed-seeds"].cases()[1]
    policies = [json.loads(c.options_json(case)).get("policy") for c in EXPERIMENTS["printed-seeds"].contenders]
    later = [f"meco-loo50-C02-seed{k}" for k in (2, 3, 4, 5)]
    assert policies[:6] == ["meco-loo50-C02", *later, "meco-feasible-loo50-C02"]


def test_surrogates_run_three_times_unless_more_are_asked_for():
    e = EXPERIMENTS["table1"]
    assert {c.label: e.run_count(c) for c in e.contenders if c.label in ("COBRA", "SACOBRA", "SHADE")} == {
        "COBRA": 3, "SACOBRA": 3, "SHADE": 10,
    }  # fmt: skip
    more = adjust_experiment(e, surrogate_runs=5)
    assert {more.run_count(c) for c in more.contenders} == {5, 10}
    added = adjust_experiment(EXPERIMENTS["transfer"], methods=["COBRA"])
    assert added.run_count(added.contenders[0]) == 3


def test_a_number_of_runs_that_the_user_gives_holds_for_surrogates_too():
    e = adjust_experiment(EXPERIMENTS["table1"], runs=7)
    assert {e.run_count(c) for c in e.contenders} == {7}
    both = adjust_experiment(e, runs=7, surrogate_runs=4)
    assert {c.method for c in both.contenders if both.run_count(c) == 4} == {"COBRA", "SACOBRA", "COBYQA", "COBYLA"}
    own = make_comparison(problems=["C01"], methods=["COBRA", "COBYQA", "SHADE"], dims=[4], runs=20)
    assert [own.run_count(c) for c in own.contenders] == [20, 20, 20]


@pytest.mark.parametrize(
    ("first", "second", "seeds"), [({"runs": 20}, {}, 20), ({}, {"runs": 20}, 20), ({"runs": 2}, {}, 3), ({}, {}, 3)]
)
def test_a_second_campaign_with_fewer_runs_hides_none_of_the_first(first, second, seeds):
    joined = join_experiments(*(adjust_experiment(EXPERIMENTS["table1"], **changes) for changes in (first, second)))
    assert {joined.run_count(c) for c in joined.contenders if c.label == "COBRA"} == {seeds}


def test_methods_for_all_experiments_go_where_they_belong():
    every = list(EXPERIMENTS.values())
    surrogates = match_methods(every, ["cobra", "SACOBRA"])
    assert [(e.name, own) for e, own in surrogates] == [
        (name, ["cobra", "SACOBRA"]) for name in ("table1", "uav", "realworld", "short-cec2017", "short-engineering")
    ]
    assert {e.name: own for e, own in match_methods(every, ["SHADE", "MeCO"])}["actions"] == ["MeCO"]
    assert [e.name for e, _ in match_methods(every, ["MeCO-CA"])] == ["ablation-action"]


def test_the_quick_look_is_the_shade_family_and_meco_with_three_runs():
    e = adjust_experiment(EXPERIMENTS["table1"], quick=True)
    assert {c.label for c in e.contenders} == {"SHADE", "SHADE-eps", "SHADE-BOC", "SHADE-FR", *TRAININGS}
    assert (e.runs, len(e.problems), e.dims) == (3, 28, (50,))


def test_ablations_use_the_held_out_problems_and_policies_of_their_own_dimension():
    e = EXPERIMENTS["ablation-reward"]
    assert e.problems == HELD_OUT
    variant = next(c for c in e.contenders if c.label == "MeCO-r1+r2")
    assert json.loads(variant.options_json(Case("C07", 30, "paper", 1500))) == {"policy": "meco-r1r2-30d"}
    hidden = next(c for c in EXPERIMENTS["ablation-state"].contenders if "hidden" in c.options)
    assert hidden.options["hidden"] == [7, 8, 9, 10]


def test_the_printed_tables_are_whole():
    assert len(printed.read_cells("table1")) == 28 * 12
    assert len(printed.read_cells("realworld")) == 8 * 8
    assert printed.read_cells("table1")["C01", AS_PRINTED] == (1.01e5, 4.54e4, None)
    assert printed.read_cells("realworld")["RC23", AS_PRINTED] == (None, None, 0.015429)
    assert printed.read_average_ranks("table1")[AS_PRINTED] == 2.25
    assert printed.read_gains()["MeCO-u", 30] == 0.8619
    assert printed.read_engineering_problems()["RC32"]["best_known"] == "-30665.5"


def test_a_contender_of_the_command_line_may_bring_options():
    c = Contender.parse("meco:policy=meco-split-50d,pop_size=30")
    assert (c.method, c.options) == ("MeCO", {"policy": "meco-split-50d", "pop_size": 30})
    assert Contender.parse("MeCO").options == {"policy": "meco-10d"}


USER = '''
import meco

@meco.problem("bowl", bounds=[(-5, 5), (-5, 5)], best=0.5)
def bowl(x):
    """A bowl cut by a line."""
    return x[..., 0] ** 2 + x[..., 1] ** 2, [1 - x[..., 0] - x[..., 1]], []
'''


def test_options_may_be_lists_and_paths_may_hold_braces():
    c = Contender.parse("COBRA:cycle=[0.1,0],cap=80")
    assert c.options == {"cycle": [0.1, 0], "cap": 80}
    braces = Contender.parse("MeCO:policy=/x/{y}/{dim}.safetensors")
    assert json.loads(braces.options_json(Case("C07", 30, "paper", 1500))) == {"policy": "/x/{y}/30.safetensors"}


def test_comparisons_with_other_budgets_and_instances_have_names_of_their_own():
    same = {"problems": ["C01"], "methods": ["SHADE"], "dims": [4]}
    names = {
        make_comparison(**same, **more).name
        for more in ({}, {"budget": 100}, {"budget": 200}, {"instance": "7"}, {"instance": "7", "budget": 100})
    }
    assert len(names) == 5
    assert {folder_name(name) for name in names} == {min(names, key=len)}
    assert make_comparison(**same, runs=3).name == make_comparison(**same, instance="paper").name == min(names, key=len)
    assert make_comparison(suite="toy").name == "bench-toy"


@pytest.fixture
def own_results(tmp_path, capsys):
    """A folder with runs on a problem of one's own, and its file."""
    file, out = tmp_path / "mine.py", tmp_path / "out"
    file.write_text(USER)
    arguments = ["bench", "--problem", f"{file}:bowl", "--methods", "SHADE-FR", "--runs", "2", "--budget", "100"]
    assert main([*arguments, "--out", str(out), "--no-report", "--quiet", "--executor", "serial"]) == 0
    return out, file


def counted(folder) -> list[int]:
    """Runs that a report finds, for each experiment."""
    found = read_results(folder)
    return [len(read_runs(found, e).table) for e in list_known_experiments(found)]


def test_a_report_on_ones_own_problems_needs_the_folder_alone(own_results):
    out, file = own_results
    assert counted(out) == [2]
    file.write_text("raise SystemExit('a report must not run this')")
    assert counted(out) == [2]
    file.unlink()
    assert counted(out.rename(out.with_name("moved"))) == [2]


def test_a_file_edited_while_its_campaign_runs_makes_no_result(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(USER)
    planned = make_comparison(problems=[f"{file}:bowl"], methods=["SHADE"], runs=1).wanted_runs()
    task = make_groups((run for _, run in planned), {"mine.py:bowl": str(file)})[0]
    assert run_group(task).records
    file.write_text(USER + "# edited")
    assert "changed since the campaign began" in run_group(task).error


def test_a_comparison_runs_on_a_problem_of_ones_own(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text(USER)
    arguments = ["bench", "--problem", f"{file}:bowl", "--methods", "SHADE-FR", "--runs", "2", "--budget", "2000"]
    assert main([*arguments, "--out", str(tmp_path / "out"), "--no-report", "--quiet", "--workers", "1"]) == 0
    with ResultStore.open(tmp_path / "out") as store:
        records = dict(store.read_records())
    assert {run.case.problem for run in records} == {"mine.py:bowl"}
    assert all(r.feasible and abs(r.f - 0.5) < 0.1 for r in records.values())
    file.write_text(USER.replace("[(-5, 5), (-5, 5)]", "[(-4, 4), (-4, 4)]"))
    edited = make_comparison(problems=[f"{file}:bowl"], methods=["SHADE-FR"], runs=2, budget=2000)
    assert not {run for _, run in edited.wanted_runs()} & set(records)  # an edited file makes new runs
    assert "2 of 2 runs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["reproduce", "tabel1"], "no experiment named 'tabel1'; did you mean 'table1'?"),
        (["reproduce", "table1", "--methods", "SHADE-esp"], "no method named 'SHADE-esp'; did you mean 'SHADE-eps'?"),
        (["reproduce", "table1", "--runs", "0"], "--runs must be at least 1"),
        (["reproduce", "table1", "--cobra-runs", "2"], "--cobra-runs must be at least 3"),
        (["reproduce", "table1", "--executor", "proceses"], "did you mean 'processes'?"),
        (["bench", "--suite", "cec"], "no suite named 'cec'; did you mean 'cec2017'?"),
        (["bench", "--problem", "C99"], "no problem named 'C99'"),
        (["bench"], "nothing to compare on"),
        (["bench", "--problem", "RC20", "--dim", "10"], "RC20 has a fixed number of variables"),
        (["bench", "--problem", "C08", "--dim", "11"], "C08"),
        (["bench", "--problem", "nowhere.py:p"], "no file"),
        (["bench", "--problem", "C01", "--methods", "SHADE:pop"], "options are key=value"),
        (["reproduce", "all", "--methods", "SHADE-esp"], "no method named 'SHADE-esp'; did you mean 'SHADE-eps'?"),
        (
            ["reproduce", "all", "--methods", "SHADE", "MA-ES:pop_size=9"],
            "none of the experiments has 'MA-ES:pop_size=9'",
        ),
        (["report", "nowhere"], "holds no results"),
    ],
)
def test_bad_input_is_a_clear_message_and_nothing_is_written(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import nothing_of_that_name", "ModuleNotFoundError"),
        ("def", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit"),
    ],
)
def test_a_file_that_cannot_be_imported_is_named_with_the_reason(text, words, tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text(text)
    assert main(["bench", "--problem", f"{file}:bowl", "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert "mine.py cannot be imported" in told
    assert words in told


@pytest.mark.parametrize("option", ["SHADE:pop_size=abc", "MA-ES:pop_size=abc"])
def test_a_value_that_an_option_cannot_take_is_named(option, tmp_path, capsys):
    arguments = ["bench", "--problem", "C01", "--methods", option, "--runs", "2", "--budget", "100", "--quiet"]
    assert main([*arguments, "--executor", "serial", "--out", str(tmp_path / "out")]) == 2
    assert f"{option.partition(':')[0]} cannot use pop_size='abc'" in capsys.readouterr().err


def test_a_campaign_whose_only_method_cannot_run_fails_with_the_reason(tmp_path, capsys):
    arguments = ["bench", "--problem", "C01", "--methods", "MeCO:policy=nobody", "--runs", "1", "--quiet"]
    assert main([*arguments, "--executor", "serial", "--out", str(tmp_path / "out")]) == 2
    assert "nobody" in capsys.readouterr().err


def test_a_missing_method_is_told_at_the_end_and_the_rest_is_there(tmp_path, capsys):
    arguments = ["bench", "--problem", "C01", "--methods", "SHADE", "MeCO:policy=nobody", "--runs", "1", "--quiet"]
    arguments += ["--budget", "100", "--executor", "serial", "--no-report", "--out", str(tmp_path / "out")]
    assert main(arguments) == 1
    told = capsys.readouterr()
    assert "1 of 2 runs" in told.out
    assert "MeCO" in told.err
    assert "nobody" in told.err


def test_a_campaign_needs_numpy_alone(tmp_path):
    words = "bench --problem C01 --methods SHADE MA-ES MeCO-u --runs 2 --budget 100 --executor serial --no-report"
    extras = ("scipy", "matplotlib", "torch", "distributed", "dask", "rich", "pymoo", "cma")
    assert "6 of 6 runs" in run_command_without(extras, *words.split(), "--out", str(tmp_path / "out"))


def test_no_run_of_a_comparison_starts_from_the_numbers_that_made_the_instance():
    small = make_comparison(problems=["C01"], methods=["SHADE"], dims=[4], runs=3, budget=50)
    found = [run_group(task).records for task in make_groups(run for _, run in small.wanted_runs())]
    assert all(r.score > 1.0 for records in found for r in records)


def test_no_run_of_the_paper_starts_from_the_numbers_that_made_the_instance():
    for dim in (10, 30, 50, 100):
        best = [r.score for r in solve("SHADE", get_problem("C01", dim), 50, range(42, 52))]
        assert min(best) > 0.1 * np.median(best)


def test_a_campaign_on_suites_loads_nothing_of_how_the_functions_of_users_are_called():
    code = (
        "import sys, meco.commands.campaign, meco.bench.plan.comparison, meco.report.page\n"
        "print([name for name in sys.modules if name.startswith('meco.run')])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
