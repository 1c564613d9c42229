"""Options of a method in a run folder: another value is another run, and an object must be given again."""

import pytest

import meco
from meco import Checkpoint, Method, Stop
from meco.errors import InvalidInput
from meco.rules import FixedEpsilon

BOX = [(-2.0, 2.0)] * 3


def fun(x):
    return x @ x, [1.0 - x[0]]


def begin(folder, method):
    meco.minimize(fun, BOX, budget=60, seed=1, method=method, checkpoint=folder, stop=Stop(max_time=0.0))


def go_on(folder, **options):
    return meco.minimize(fun, BOX, checkpoint=Checkpoint(folder, resume=True), **options)


def test_constants_of_another_value_are_another_run(tmp_path):
    begin(tmp_path / "run", Method("MeCO", policy={"epsilon": 0.05}, pop_size=10))
    with pytest.raises(InvalidInput, match=r"its options \(policy.epsilon\) is 0.05, here it is 0.95"):
        go_on(tmp_path / "run", method=Method("MeCO", policy={"epsilon": 0.95}, pop_size=10))


def test_constants_are_taken_from_the_folder(tmp_path):
    begin(tmp_path / "run", Method("MeCO", policy={"epsilon": 0.05}, pop_size=10))
    result = go_on(tmp_path / "run")
    assert (result.nfev, result.trace["action"][-1]) == (60, 0.05)


def test_a_rule_is_compared_by_what_it_is_made_of_and_given_again(tmp_path):
    begin(tmp_path / "run", Method("SHADE", rule=FixedEpsilon(share=0.2), pop_size=10))
    with pytest.raises(InvalidInput, match=r"its options \(rule.share\) is 0.2, here it is 0.9"):
        go_on(tmp_path / "run", method=Method("SHADE", rule=FixedEpsilon(share=0.9), pop_size=10))
    with pytest.raises(InvalidInput, match=r'give method=Method\("SHADE", rule=<the same>\) again'):
        go_on(tmp_path / "run")
    assert go_on(tmp_path / "run", method=Method("SHADE", rule=FixedEpsilon(share=0.2), pop_size=10)).nfev == 60


def test_an_optimizer_with_constants_goes_on_from_its_state():
    search = meco.Optimizer(BOX, 1, budget=20, seed=1, method=Method("TR", theta=0.3))
    assert (meco.Optimizer.from_state(search.state()).ask() == search.ask()).all()
