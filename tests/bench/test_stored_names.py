"""Stored runs and archived policies have one set of names: those of the trainings as printed are new."""

import json
from pathlib import Path

import pytest

from meco.bench.run.executors import RunExecutor
from meco.bench.run.repeat_runs import draw_runs, repeat_runs
from meco.bench.run.result_store import read_results
from meco.paper.store import load_policy

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def contents():
    return read_results(RESULTS)


def test_every_stored_run_of_meco_names_a_policy_at_hand_by_its_digest(contents):
    options = {run.options for run in contents.runs if run.method == "MeCO"}
    pinned = {json.loads(text)["policy"] for text in options if isinstance(json.loads(text)["policy"], str)}
    for name, digest in (text.split("@") for text in pinned):
        assert load_policy(name).metadata["digest"].startswith(digest), name
    assert len(pinned) > 80


def test_plans_name_the_policies_of_their_runs(contents):
    for experiment in contents.experiments:
        wanted = {run for _, run in experiment.wanted_runs()}
        assert wanted & contents.runs.keys(), experiment.name


@pytest.mark.slow
def test_thirty_stored_runs_of_shade_maes_and_meco_repeat_bit_for_bit(contents):
    drawn = draw_runs(contents, 30, seed=7, methods=["SHADE", "MA-ES", "MeCO"])
    assert [said for _, said in repeat_runs(contents, drawn, RunExecutor())] == [""] * 30
