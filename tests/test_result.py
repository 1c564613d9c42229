"""One record for minimize() and solve(): attributes, SciPy's way to read it, and what it cannot show."""

import pickle
from dataclasses import replace

import pytest

import meco
from meco.errors import InvalidInput
from meco.result import MOST_LISTED, LimitPrice, LimitPrices


@pytest.fixture(scope="module")
def result():
    return meco.minimize(lambda x: (x @ x, [1.0 - x[0]]), [(-2, 2)] * 2, budget=40, seed=1)


@pytest.fixture(scope="module")
def solved():
    return meco.solve("SHADE", "tilted", budget=100, seeds=[3])[0]


def test_a_result_reads_like_a_mapping(result):
    assert result["fun"] == result.fun == dict(result)["f"]
    assert "fun" in result
    assert "plot" not in result
    assert result.get("nothing") is None
    with pytest.raises(KeyError):
        result[0]


def test_a_summary_names_the_variables(result):
    assert result.summary()["variables"] == [{"name": "x1", "unit": None}, {"name": "x2", "unit": None}]
    named = meco.minimize(lambda v: v["width"], {"width": (0, 2, "mm")}, budget=8, seed=1)
    assert named.summary()["variables"] == [{"name": "width", "unit": "mm"}]


def test_a_summary_of_very_many_limits_has_those_that_matter(result):
    """One that holds f back, one of which nobody knows, and ten thousand that cost nothing."""
    held, unknown = LimitPrice("held", "inequality", 2.0), LimitPrice("unknown", "inequality", reason="too few points")
    free = [LimitPrice(f"g{k}", "inequality", 0.0) for k in range(MOST_LISTED)]
    few, many = (replace(result, limits=LimitPrices([held, unknown, *free[:k]])) for k in (5, MOST_LISTED))
    assert [limit["name"] for limit in many.summary()["limits"]] == ["held", "unknown"]
    assert len(few.summary()["limits"]) == 7


def test_a_result_is_equal_to_itself_alone(result):
    assert result == result
    assert result != meco.minimize(lambda x: (x @ x, [1.0 - x[0]]), [(-2, 2)] * 2, budget=40, seed=1)


def test_evaluations_are_printed_in_a_line(result):
    said = f"40 evaluations, {result.evaluations.feasible.sum()} feasible: x [40, 2], f [40], g [40, 1], h [40, 0]"
    assert repr(result.evaluations).startswith(f"<{said}")
    assert "\n" not in str(result.evaluations)


def test_evaluations_that_a_benchmark_run_has_not_kept_say_so_when_they_are_read(solved):
    assert len(dict(solved)["evaluations"]) == 0
    assert "keep none" in repr(pickle.loads(pickle.dumps(solved)).evaluations)
    with pytest.raises(InvalidInput, match=r"keep no evaluations to show; minimize\(\) keeps them"):
        solved.evaluations.f.min()
    assert not hasattr(solved.evaluations, "f")


def test_a_benchmark_run_says_what_it_found(solved):
    assert solved.message.startswith("SHADE on tilted, seed 3, 100 evaluations: ")
    assert solved.run.stop_reason == "budget"
    assert "constraints" not in repr(solved)


def test_a_benchmark_run_has_no_evaluations_to_show(solved, tmp_path):
    for show in (solved.plot, lambda: solved.report(tmp_path / "page.html"), solved.to_csv):
        with pytest.raises(InvalidInput, match="benchmark problems keep no"):
            show()


def test_a_warning_points_at_the_line_of_the_user():
    for run in (
        lambda: meco.minimize(lambda x: x @ x, [(0, 1)] * 4, budget=5),
        lambda: meco.Optimizer([(0, 1)] * 4, budget=5),
    ):
        with pytest.warns(UserWarning, match="few for 4 variables") as said:
            run()
        assert said[0].filename == __file__
