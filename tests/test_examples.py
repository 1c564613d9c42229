"""Every example runs, stays short, and so does every piece of Python in the user's pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import meco
import meco.rules

pytestmark = pytest.mark.docs
ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / name
        for name in (
            "index.md",
            "paper.md",
            "quickstart.md",
            "my-simulator.md",
            "failures.md",
            "noise.md",
            "experts.md",
            "uav.md",
            "adapters.md",
        )
    ),
    *sorted((ROOT / "docs" / "features").glob("*.md")),
]
METHOD_PAGES = sorted(page for page in (ROOT / "docs" / "methods").glob("*.md") if "```python" in page.read_text())
NEEDS = {
    "scipy_constraints": "scipy",
    "scipy_method": "scipy",
    "train_sb3_dqn": "stable_baselines3",
    "pymoo_algorithm": "pymoo",
    "optuna_sampler": "sqlalchemy",
    "gymnasium_render": "gymnasium",
    "dask_queue": "distributed",
}


ARGUMENTS = {"meco_single_file": ["2"]}  # fewer epochs
LONG = {"meco_single_file"}  # an example to read, not to copy


def run(script: Path, folder: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    words = [sys.executable, str(script), *ARGUMENTS.get(script.stem, [])]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def python_of(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(example, tmp_path):
    if example.stem in NEEDS:
        pytest.importorskip(NEEDS[example.stem])
    run(example, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_python_of_the_page_runs(page, tmp_path):
    """Blocks of a page run one after the other, as a reader would type them."""
    blocks = python_of(page)
    assert blocks
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    run(script, tmp_path)


def few(call, **limits):
    """The same call with a small budget: what a page says must run, not how well."""
    return lambda *args, **given: call(*args, **{**given, **limits})


@pytest.mark.parametrize("page", METHOD_PAGES, ids=lambda path: path.stem)
def test_the_python_of_a_method_s_page_runs(page):
    """One call each, with names that a reader has at hand."""
    pytest.importorskip("pymoo")
    pytest.importorskip("cma")
    small = SimpleNamespace(
        solve=few(meco.solve, budget=60, seeds=[1]), minimize=few(meco.minimize, budget=60), Method=meco.Method
    )
    known = {name: getattr(meco.rules, name) for name in ("FeasibilityFirst", "FixedEpsilon", "BalancedPenalty")}
    hand = {"problem": "tilted", "fun": lambda x: (x @ x, [1 - x[0]]), "bounds": [(-5, 5)] * 3, "constraints": ()}
    for block in python_of(page):
        exec(block.replace("import meco\n", ""), {"meco": small, **known, **hand})


def test_the_python_of_the_page_on_generated_problems_runs(tmp_path):
    script = tmp_path / "page.py"
    script.write_text("\n".join(python_of(ROOT / "docs" / "generated.md")).replace("range(1000)", "range(20)"))
    run(script, tmp_path)


def test_the_python_of_the_page_on_experiments_runs(tmp_path):
    blocks = [block for block in python_of(ROOT / "docs" / "experiments.md") if "SLURMCluster" not in block]
    (tmp_path / "results").symlink_to(ROOT / "results")
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks))
    run(script, tmp_path)


CLUSTER = '''
"""A cluster on this machine, asked for as dask-jobqueue's is."""
from distributed import LocalCluster


class SLURMCluster(LocalCluster):
    def __init__(self, *, queue, cores, processes, memory, walltime, job_script_prologue):
        super().__init__(n_workers=0, threads_per_worker=1, processes=False, dashboard_address=None)

    def adapt(self, *, minimum_jobs, maximum_jobs):
        return super().adapt(minimum=0, maximum=1)
'''


def test_the_python_of_the_page_on_slurm_runs_beside_a_cluster_of_this_machine(tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "dask_jobqueue.py").write_text(CLUSTER)
    block = next(block for block in python_of(ROOT / "docs" / "experiments.md") if "SLURMCluster" in block)
    (tmp_path / "page.py").write_text(block)
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, input="\n", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "://" in done.stdout


AT_HAND = """
import meco

problem_a = problem_b = meco.get_problem("C01", dim=10)
fun, bounds, constraints = lambda x: (x @ x, [1 - x[0]]), [(-5, 5)] * 3, ()
"""


def test_the_python_of_the_page_on_training_runs(tmp_path):
    """With a policy and a log of one epoch where the page has those of a long training."""
    for name in ("torch", "gymnasium"):
        pytest.importorskip(name)
    first, *rest = python_of(ROOT / "docs" / "train-your-own.md")
    training = [block for block in rest if "Trainer(configs" in block]
    short = training[0].replace("seed=seed)", "seed=seed).with_settings(epochs=1, budget=100)")
    made = short.replace('f"mine-{seed}"', '"cec2017-10d"').replace("in (1, 2)", "in (1,)")
    assert "epochs=1" in made
    assert "cec2017-10d" in made
    others = [block for block in rest if block is not training[0]]
    script = tmp_path / "page.py"
    (tmp_path / "policies").mkdir()
    script.write_text(
        "\n".join([AT_HAND, made.replace("mine.npz", "first.npz"), first, short, *others]), encoding="utf-8"
    )
    run(script, tmp_path)
    assert (tmp_path / "training.svg").exists()
