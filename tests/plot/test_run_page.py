"""The page of one run stands alone and says what the result says."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import meco
from meco.methods import DEFAULT
from noisy_problems import doubtful

BOX = [(-2.0, 2.0)] * 3


class Balanced(HTMLParser):
    """Fails where an element is not closed by its own tag."""

    VOID = ("meta", "link", "input", "br")

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def page_of(result, tmp_path, parts=False):
    text = result.report(tmp_path / "run.html").read_text(encoding="utf-8")
    reader = Balanced()
    reader.feed(text)
    assert reader.open == []
    assert not re.search(r"""(src|[^:]href)=["']?(https?:)?//""", text), "nothing is fetched from elsewhere"
    assert not [path for path in re.findall(r' d="([^"]*)"', text.lower()) if "nan" in path]
    return (text, " ".join(reader.text), reader.text) if parts else (text, " ".join(reader.text))


def fun(x):
    if x[0] > 1.9:
        raise RuntimeError("mesh")
    return {"f": float(x @ x), "g": {"reach <1>": 1.0 - x[0], "far": x[1] - 50.0}, "h": {"tie & knot": x[1] - x[2]}}


def test_the_page_shows_the_point_its_constraints_and_how_the_search_went(tmp_path):
    result = meco.minimize(fun, BOX, budget=120, seed=1)
    text, said = page_of(result, tmp_path)
    assert result.message in said
    for name, found in result.multipliers.items():
        assert name in said
        assert found == 0.0 or "active" in said
    assert "Shadow prices" in said
    assert "<svg" in text
    for title in ("Convergence", "Violation", "State of the search", "Radius of the trust region", "best points"):
        assert title in said, title
    assert f"started {result.run.starts} times" in said or "started once" in said


def test_the_page_says_where_there_is_no_limit_and_draws_the_points_that_there_are(tmp_path):
    bounds = [(-np.inf, np.inf), (0.0, np.inf), (-np.inf, 4.0)]
    result = meco.minimize(lambda x: ((x - [3, -2, 9]) ** 2).sum(), bounds, x0=[0, 1, 1], budget=60, seed=1)
    text, said, texts = page_of(result, tmp_path, parts=True)
    assert [text.strip() for text in texts].count("none") == 4
    assert (said.count("at its lower bound"), said.count("at its upper bound")) == (1, 1)
    assert "position in the range of these points" in said
    assert not re.search(r"[\s,(]nan[\s,)]", text.lower())


def test_the_page_says_what_one_percent_of_a_limit_brings_or_why_that_is_not_known(tmp_path):
    bounds = {"width": (0.0, 4.0, "mm"), "height": (0.0, 2.0)}
    result = meco.minimize(lambda v: -3.0 * v["width"] + v["height"] ** 2, bounds, budget=60, seed=1)
    _, said = page_of(result, tmp_path)
    assert "width, upper bound" in said
    assert "0.12" in said
    sag = meco.minimize(lambda x: (3 * x[0], {"sag": 1e-3 / x[0] - 0.01}), [(0.01, 2.0)], budget=30, seed=1)
    _, said = page_of(sag, tmp_path)
    assert "for 1 % of the limit" in said
    assert "0.01 units" not in said
    few = meco.minimize(lambda x: (x @ x, [1 - x[0]]), BOX, budget=6, method="SHADE", seed=1)
    assert "unknown: " in page_of(few, tmp_path)[1] or not few.feasible


def test_the_page_has_the_readers_title_author_and_notes_and_the_answer_before_the_method(tmp_path):
    result = meco.minimize(fun, BOX, budget=120, seed=1, method="TR")
    text = result.report(tmp_path / "r.html", "Bracket <7>", "A. Engineer", "Load case 3.\nSteel.").read_text()
    assert "Bracket &lt;7&gt;: f = " in text
    assert "A. Engineer" in text
    assert "<p>Load case 3.</p>" in text
    assert "<p>Steel.</p>" in text
    heads = [text.index(f"<h2>{head}</h2>") for head in ("The answer", "How sure it is", "What limits it")]
    assert heads == sorted(heads)
    assert result.run.evidence in text


def test_the_page_shows_the_distinct_minima_with_their_designs(tmp_path):
    def wells(x):
        return float((x[0] ** 2 - 1) ** 2 + 0.25 * (x[0] + 1) + x[1] ** 2 + x[2] ** 2)

    result = next(r for r in (meco.minimize(wells, BOX, budget=400, seed=s) for s in range(20)) if len(r.minima) > 1)
    _, said = page_of(result, tmp_path)
    assert "The best distinct minima" in said
    assert f"{result.minima[1].f:.8g}" in said


def test_the_page_calls_named_variables_by_name_and_unit(tmp_path):
    bounds = {"width": (0.0, 2.0, "mm"), "height": (0.0, 2.0)}
    result = meco.minimize(lambda v: v["width"] ** 2 + v["height"], bounds, budget=40, method="SHADE", seed=1)
    _, said = page_of(result, tmp_path)
    assert "width [mm]" in said
    assert "height" in said
    assert "x1" not in said


@pytest.mark.parametrize(
    ("method", "function"),
    [
        ("SHADE", lambda x: float(x @ x)),
        (DEFAULT, lambda x: (float(x @ x), [1.0 + x[0] ** 2])),
        ("MeCO", lambda x: (float(x @ x), [1.0 - x[0]])),
        ("TR", lambda x: float("nan")),
    ],
)
def test_runs_without_constraints_without_a_feasible_point_or_without_any_answer_have_a_page(
    method, function, tmp_path
):
    result = meco.minimize(function, BOX, method=method, budget=60, seed=1, on_error="penalize")
    _, said = page_of(result, tmp_path)
    assert "The answer" in said
    if not result.feasible:
        assert "no feasible point" in said.lower() or "No evaluation succeeded" in said


def test_a_page_of_what_is_feasible_in_the_mean_says_so_from_its_heading_on(tmp_path):
    result = meco.minimize(doubtful, [(0, 1)], method="SHADE", budget=10, seed=1)
    text, said = page_of(result, tmp_path)
    assert f"<title>One run: f = {result.fun:.6g} in the mean, feasible with probability 0.024</title>" in text
    assert "The best point" in said
    assert "feasible in the mean, with probability 0.024" in said
    for wrong in ("no feasible", "No feasible", "violates the constraints least"):
        assert wrong not in said


def test_the_heading_of_a_page_does_not_round_a_probability_up_to_the_asked_one(tmp_path):
    found = meco.minimize(doubtful, [(0, 1)], method="SHADE", budget=10, seed=1)
    text, said = page_of(replace(found, probability=0.9499), tmp_path)
    assert "feasible with probability 0.949</title>" in text
    assert "0.95</title>" not in text
    assert "with probability 0.949, below the 0.95" in said


def test_one_variable_and_known_points_have_a_page(tmp_path):
    known = (np.array([[0.5], [1.0]]), np.array([0.25, 1.0]))
    page_of(meco.minimize(lambda x: float(x @ x), [(-2, 2)], evaluated=known, budget=10, seed=1), tmp_path)


def test_the_command_line_writes_the_page(tmp_path, monkeypatch, capsys):
    from meco.cli import main

    monkeypatch.chdir(tmp_path)
    assert main(["solve", "tilted", "--budget", "40", "--seed", "1", "--quiet", "--report", "page.html"]) == 0
    assert "page: page.html" in capsys.readouterr().err
    assert "One run" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_evaluations_that_all_failed_are_a_hundred_percent(tmp_path):
    result = meco.minimize(lambda x: np.nan, BOX, budget=12, method="SHADE-FR", seed=1, on_error="penalize")
    text = result.report(tmp_path / "run.html").read_text(encoding="utf-8")
    assert "12 of 12 evaluations failed (100 %)" in text
