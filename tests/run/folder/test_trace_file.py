"""The trace in a run folder: what the method did, a line now and then, the same however the run was interrupted."""

import numpy as np
import pytest
from meco.run.folder.trace_file import MOST_TRACE_ROWS, TraceFile, read_trace

import meco
import small_runs
from meco import Checkpoint
from meco.methods import DEFAULT


def fun(x):
    return x @ x, [1.0 - x[0]]


def run(folder, method, budget=60, **options):
    return meco.minimize(fun, [(-5, 5)] * 3, budget=budget, method=method, seed=2, checkpoint=folder, **options)


@pytest.mark.parametrize(
    ("method", "names"), [("MeCO-TR", ("delta", "theta")), ("TR-ES", ("delta", "theta", "share", "sigma"))]
)
def test_a_line_holds_what_the_trace_of_the_result_holds(tmp_path, method, names):
    trace = run(tmp_path, method).trace
    rows = read_trace(tmp_path / "trace.jsonl")
    assert [row["nfev"] for row in rows] == trace["nfev"].tolist()
    for name in names:
        np.testing.assert_allclose([row[name] for row in rows], trace[name], rtol=1e-5)


def test_a_long_run_leaves_no_more_lines_than_a_short_one(tmp_path):
    run(tmp_path, "MA-ES", budget=3000)
    assert len(read_trace(tmp_path / "trace.jsonl")) <= MOST_TRACE_ROWS + 1


def test_a_method_that_tells_nothing_leaves_no_file(tmp_path):
    run(tmp_path, "SHADE-FR")
    assert not (tmp_path / "trace.jsonl").exists()


@pytest.mark.parametrize("method", [DEFAULT, "TR-ES", "MeCO", "MA-ES"])
def test_an_interrupted_run_leaves_the_same_file_in_the_end(tmp_path, method):
    run(tmp_path / "whole", method)
    calls = []

    def stopping(result):
        calls.append(result.nfev)
        return result.nfev >= 30

    run(tmp_path / "cut", method, callback=stopping)
    with open(tmp_path / "cut" / "trace.jsonl", "a") as file:
        file.write('{"nfev": 4')  # killed while it wrote
    run(Checkpoint(tmp_path / "cut", resume=True), method)
    assert (tmp_path / "cut" / "trace.jsonl").read_text() == (tmp_path / "whole" / "trace.jsonl").read_text()


def test_what_json_cannot_say_is_left_open(tmp_path):
    made = TraceFile(tmp_path / "trace.jsonl", 10)
    made.note_if_due(
        1, lambda: {"delta": np.array([np.inf]), "theta": np.array([0.5]), "weights": np.array([[1.0, 2.0]])}
    )
    assert read_trace(tmp_path / "trace.jsonl") == [{"nfev": 1, "delta": None, "theta": 0.5}]


def test_a_spoilt_trace_is_only_less_to_look_at(tmp_path):
    small_runs.run(checkpoint=tmp_path / "r")
    file = tmp_path / "r" / "trace.jsonl"
    whole = file.read_text() if file.exists() else ""
    wrong = [
        "[" * 5000,
        '{"nfev": 1, "delta": "x"}',
        '{"nfev": true}',
        "{}",
        '{"nfev": ' + "9" * 5000 + "}",
        "\x00",
        "7",
    ]
    file.write_text(whole + "\n".join(wrong) + "\n")
    assert len(read_trace(file)) == len(whole.splitlines())
    assert small_runs.run(checkpoint=Checkpoint(tmp_path / "r", resume=True)).nfev == 40
