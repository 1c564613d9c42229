"""solve(): what it takes, and what it names that it cannot use."""

import pytest

import meco
from meco.errors import InvalidInput


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"problem": lambda x: x}, "goes to meco.minimize"),
        ({"problem": []}, "10 runs need one problem or 10 problems; got 0"),
        ({"problem": [3], "seeds": [1]}, "a problem must be a meco.Problem or a name; got int"),
        ({"seeds": 5}, "seeds must be a list of whole numbers; got 5"),
        ({"seeds": [1.7]}, "seeds must be a list of whole numbers"),
        ({"seeds": []}, "at least one seed"),
        ({"budget": 60.9}, "budget must be a whole number"),
        ({"method": "COBYQA", "problem": ["tilted"], "seeds": [1, 2]}, "2 runs need one problem or 2 problems; got 1"),
        ({"method": "TR", "xp": object()}, "TR runs on NumPy alone; leave xp and device out"),
    ],
)
def test_solve_names_what_it_cannot_use(arguments, words):
    with pytest.raises(InvalidInput, match=words):
        meco.solve(**{"method": "SHADE", "problem": "tilted", **arguments})


def test_solve_takes_a_list_of_names():
    found = meco.solve("SHADE", ["tilted", "ring", "tilted"], budget=60, seeds=[1, 2, 3])
    assert [r.run.problem for r in found] == ["tilted", "ring", "tilted"]


@pytest.mark.parametrize("budget", [0, -5])
def test_a_budget_below_one_is_refused(budget):
    with pytest.raises(InvalidInput, match=f"at least 1 evaluation; got {budget}"):
        meco.solve("SHADE", "tilted", budget=budget)


def test_dim_belongs_to_the_problem():
    with pytest.raises(InvalidInput, match=r"give meco.get_problem\('C01', dim=5\) as the problem"):
        meco.solve("SHADE", "C01", 100, dim=5)
