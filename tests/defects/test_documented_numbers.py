"""Numbers and keys that the documentation states."""

import contextlib
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

import meco

DOCS = Path(__file__).parents[2] / "docs"


def run_first_example(page, seed=1):
    """The namespace after the first Python block of a page, and what it printed."""
    code = re.search(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)[1]
    names, said = {}, io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(code.replace("seed=1", f"seed={seed}"), names)
    return names, said.getvalue()


@pytest.mark.docs
def test_the_page_on_failures_states_how_many_calls_fail():
    least, most = map(int, re.search(r"(\d+) to (\d+) of the 150 calls", (DOCS / "failures.md").read_text()).groups())
    results = [run_first_example("failures.md", seed)[0]["result"] for seed in range(1, 11)]
    assert all(least <= result.run.nfail <= most for result in results)
    assert max(abs(result.fun - 2.7939) for result in results) < 1e-4


@pytest.mark.docs
def test_the_page_on_categories_states_how_many_combinations_were_tried():
    page = "features/categories.md"
    least, most = map(int, re.search(r"here (\d+) to (\d+) of 18", (DOCS / page).read_text()).groups())
    for seed in range(1, 6):
        evidence = run_first_example(page, seed)[0]["result"].run.evidence
        assert least <= int(re.search(r"(\d+) of 18 combinations", evidence)[1]) <= most


@pytest.mark.docs
def test_the_example_of_a_failing_simulator_has_failures():
    _, printed = run_first_example("my-simulator.md")
    assert re.fullmatch(r"\{'raised': \d+\}", printed.splitlines()[0])


def test_the_documented_keys_of_a_summary_are_there():
    page = (DOCS / "my-simulator.md").read_text().partition("## It is part of a service")[2]
    table = page.partition("| key | value |")[2].partition("\n\n")[0]
    keys = [
        key for row in table.splitlines() for key in re.findall(r"`(\w+)`", row.split("|")[1] if "|" in row else "")
    ]
    assert len(keys) > 15
    bounds = {"width": (-2.0, 2.0, "mm"), "metal": ["steel", "brass"]}
    found = meco.minimize(lambda d: (d["width"] ** 2, {"g": 1 - d["width"]}), bounds, budget=30, seed=1).summary()
    assert set(keys) <= set(found)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert set(found["constraints"]["g"]) == {"value", "violation", "tolerance"}


def test_a_model_that_is_not_converged_is_named_as_a_reason_for_noise():
    """The iteration begins where the last call ended, so that calls of one point drift."""
    state = np.zeros(1)

    def simulate(x):
        state[0] += 0.3 * ((x @ x) - state[0])
        return float(state[0])

    found = meco.minimize(simulate, [(-2.0, 3.0)] * 2, budget=150, seed=1)
    assert found.repeated is not None
    assert "not converged" in found.message
