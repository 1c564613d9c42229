"""Verdicts on the paper's claims, from scores made up by hand."""

import pytest

pandas = pytest.importorskip("pandas")

from meco.bench.plan import printed  # noqa: E402
from meco.bench.plan.experiments import EXPERIMENTS  # noqa: E402
from meco.bench.plan.paper import PAPER  # noqa: E402
from meco.cli import main  # noqa: E402
from meco.report.claims import CLAIMS, Claim, judge, rank_in_printed_place  # noqa: E402
from meco.report.frame import ExperimentRuns  # noqa: E402

CLAIM = Claim("table 0", "MeCO is ahead", ("A", "B"))


def runs_of(scores, runs=5):
    """Runs of methods whose score on a problem is the same in each run."""
    rows = [
        {"label": label, "problem": f"P{p}", "run": k, "score": float(value)}
        for label, values in scores.items()
        for p, value in enumerate(values)
        for k in range(runs)
    ]
    table = pandas.DataFrame(rows)
    table["label"] = pandas.Categorical(table.label, list(scores))
    table["problem"] = pandas.Categorical(table.problem, sorted(set(table.problem)))
    return ExperimentRuns(EXPERIMENTS["table1"], 50, (), (), table, None)


@pytest.mark.parametrize(
    ("scores", "word", "found"),
    [
        ({"MeCO": [1, 1], "A": [2, 2], "B": [3, 3]}, "reproduced", "average rank 1.00, place 1 of 3"),
        ({"MeCO": [2, 2], "A": [1, 1], "B": [3, 3]}, "partly reproduced", "average rank 2.00, place 2 of 3"),
        ({"MeCO": [3, 3], "A": [1, 2], "B": [2, 1]}, "not reproduced", "average rank 3.00, place 3 of 3"),
    ],
)
def test_a_verdict_counts_the_methods_that_are_behind(scores, word, found):
    assert judge(CLAIM, [runs_of(scores)]) == (found, word)


def test_three_runs_show_nothing():
    verdict = judge(CLAIM, [runs_of({"MeCO": [1, 1], "A": [2, 2]}, runs=3)])
    assert verdict.word == "not shown (3 runs cannot reach 0.05)"


def test_the_printed_values_in_their_own_place_have_the_printed_rank():
    cells = printed.read_cells("table1")
    values = {f"C{k:02d}": cells[f"C{k:02d}", "MeCO"].mean for k in range(1, 29)}
    runs = runs_of({"MeCO": list(values.values())})
    runs.table["problem"] = runs.table.problem.cat.rename_categories({f"P{k}": name for k, name in enumerate(values)})
    assert rank_in_printed_place(runs, "MeCO") == pytest.approx(2.25, abs=0.1)


def test_without_its_methods_a_claim_has_no_verdict():
    assert judge(CLAIM, [runs_of({"A": [2, 2], "B": [1, 1]})]) is None


def test_every_experiment_of_the_paper_has_a_claim_on_methods_that_it_runs():
    assert set(CLAIMS) == set(PAPER)
    for name, claim in CLAIMS.items():
        assert {claim.ahead, *claim.others} <= {c.label for c in EXPERIMENTS[name].contenders}


def test_the_list_has_the_papers_experiments_in_its_order_and_then_the_others(capsys):
    assert main(["reproduce", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "paper"
    assert [line.split()[0] for line in lines[1 : lines.index("further")]] == list(CLAIMS)
    assert {line.split()[0] for line in lines[lines.index("further") + 1 :]} == {*EXPERIMENTS, "headroom"} - set(CLAIMS)
    assert main(["reproduce"]) == 2
    assert "meco reproduce --list" in capsys.readouterr().err
