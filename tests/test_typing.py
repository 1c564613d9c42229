"""A type checker sees every public name: a script with a slip of the pen fails the check, a correct one passes it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import meco

ROOT = Path(meco.__file__).parent
pytestmark = pytest.mark.docs  # a cold check takes ten seconds

GOOD = """
import numpy as np

import meco
from meco import Checkpoint, Method, Optimizer, Result, Stop, Tolerances, Variable, Workers


def fun(x: np.ndarray) -> tuple[float, list[float]]:
    return float(x @ x), [1.0 - x[0]]


def by_name(x: dict[str, float]) -> float:
    return x["width"] ** 2


def show(result: Result) -> bool:
    return result.fun < 1.0


result = meco.minimize(
    fun,
    [Variable(-2, 2, unit="m"), (-2.0, 2.0), (0, 3)],
    budget=30,
    method=Method("SHADE", pop_size=10),
    tolerances=Tolerances(ineq=1e-6),
    workers=Workers(1),
    stop=Stop(target=0.5),
    callback=show,
    checkpoint=Checkpoint("run"),
    seed=np.random.default_rng(1),
)
named = meco.minimize(by_name, {"width": (0, 1, "m")}, tolerances={"g1": 1e-3}, stop="feasible", workers=2)
value: float = result.fun + result.constraints["g1"].violation
least: float = result.evaluations.f.min()
search = Optimizer([(-1, 1)] * 2, n_ineq=1)
points = search.ask()
search.tell(points, (points**2).sum(axis=1))
best: Result = search.result
confirmed: Result = meco.confirm(result, fun, calls=5)
"""
REVEALED = {
    "meco.minimize": "meco.result.Result",
    "meco.Optimizer": "meco.optimizer.Optimizer",
    "meco.Result": "meco.result.Result",
    "meco.solve": "list[meco.result.Result]",
    "meco.confirm": "meco.result.Result",
    "meco.Variable": "meco.variables.Variable",
    "meco.METHODS": "MethodRecord",
    "result": "meco.result.Result",
    "result.x": "ndarray",
    "result.fun": "float",
    "result.success": "bool",
    "result.run.stop_reason": "str",
    "result.constraints": "ConstraintValue",
    "result.evaluations": "Evaluations",
    "search": "meco.optimizer.Optimizer",
    "points": "ndarray",
}
SLIPS = {  # a line, and what is said of it
    'meco.minimize(fun, [(-1, 1)], stop="feasable")': "Literal['feasible', 'converged']",
    'meco.minimize(fun, [(-1, 1)], on_error="retri")': "Literal['penalize', 'retry', 'raise']",
    "meco.minimize(fun, [(-1, 1)], budgt=3)": 'keyword argument "budgt"',
    "result.funn": 'no attribute "funn"',
    "result.run.stop_reson": 'no attribute "stop_reson"',
    "result.constraints['g1'].valu": 'no attribute "valu"',
    "meco.minimise": 'no attribute "minimise"',
    "Optimizer([(-1, 1)], budgt=3)": 'keyword argument "budgt"',
    "Variable(0, 1, interger=True)": 'keyword argument "interger"',
    "Workers(2, timout=3.0)": 'keyword argument "timout"',
    "meco.minimize(fun, [(-1, 1)], noise='much')": 'incompatible type "str',
    "result.fun = 3.0": 'Property "fun" defined in "Result" is read-only',
}


def check(tmp_path: Path, text: str) -> str:
    """What mypy --strict says of a script."""
    pytest.importorskip("mypy")
    (tmp_path / "script.py").write_text(text)
    cache = ROOT.parents[1] / ".mypy_cache" / "scripts"
    words = ["--strict", "--config-file=", "--follow-imports=silent", "--no-error-summary", f"--cache-dir={cache}"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words, "script.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT.parent)},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def test_a_correct_script_passes_the_check(tmp_path):
    assert check(tmp_path, GOOD) == ""


def test_every_slip_of_the_pen_is_named(tmp_path):
    lines = GOOD.count("\n")
    said = check(tmp_path, GOOD + "\n".join(SLIPS))
    for number, (line, words) in enumerate(SLIPS.items(), lines + 1):
        assert any(f"script.py:{number}:" in text and words in text for text in said.splitlines()), (line, said)


def test_no_public_name_is_any(tmp_path):
    said = check(tmp_path, GOOD + "\n".join(f"reveal_type({name})" for name in REVEALED))
    found = re.findall(r'Revealed type is "(.*)"', said)
    assert len(found) == len(REVEALED)
    for (name, words), kind in zip(REVEALED.items(), found):
        assert words in kind, name
        assert kind != "Any", name
    public = [name for name in meco.__all__ if name != "__version__"]
    said = check(tmp_path, "import meco\n" + "\n".join(f"reveal_type(meco.{name})" for name in public))
    kinds = re.findall(r'Revealed type is "(.*)"', said)
    assert [name for name, kind in zip(public, kinds, strict=True) if kind == "Any"] == []


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "py.typed").is_file()
