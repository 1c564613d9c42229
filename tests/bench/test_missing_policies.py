"""A table of the paper from an installation without its policies says so in one line, before it runs."""

from dataclasses import replace

from meco.bench.plan import revise
from meco.bench.plan.experiments import EXPERIMENTS
from meco.cli import main
from small_campaign import BROKEN, SMALL


def test_contenders_without_their_policies_are_left_out_with_one_line_and_the_way_out(monkeypatch):
    monkeypatch.setattr(revise, "read_policy_digest", lambda name: "")
    quick = revise.adjust_experiment(EXPERIMENTS["table1"], quick=True)
    left, said = revise.without_missing_policies(quick)
    assert "MeCO" not in [c.method for c in left.contenders]
    assert left.contenders
    assert "\n" not in said
    assert "MECO_POLICIES" in said
    assert "meco train --preset loo50 --out policies" in said


def test_where_the_policies_are_nothing_is_left_out():
    quick = revise.adjust_experiment(EXPERIMENTS["realworld"], quick=True)
    assert revise.without_missing_policies(quick) == (quick, "")


def test_the_line_comes_before_the_first_run(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(revise, "read_policy_digest", lambda name: "")
    monkeypatch.setattr("meco.commands.campaign.run_and_report", lambda *given: print("runs begin") or 0)
    assert main(["reproduce", "table1", "--quick", "--out", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert told.err.count("\n") == 1
    assert "left out" in told.err
    assert told.out == "runs begin\n"


def test_the_report_names_who_is_missing_and_the_exit_code_is_1(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(revise, "read_policy_digest", lambda name: "")
    small = replace(SMALL, contenders=(SMALL.contenders[0], BROKEN), problems=("C01",), dims=(4,), budget=60, runs=2)
    monkeypatch.setitem(EXPERIMENTS._items, "small", small)
    words = ["reproduce", "small", "--out", str(tmp_path), "--executor", "serial", "--quiet"]
    assert main(words) == 1
    assert "small: left out MeCO: 1 policies" in (tmp_path / "report.html").read_text(encoding="utf-8")
