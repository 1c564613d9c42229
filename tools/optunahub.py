"""Write the folder that OptunaHub's registry takes: package/samplers/meco under out/optunahub.

    python tools/optunahub.py [--out FOLDER]

A pull request to the registry adds this folder as it is. Its module hands on the sampler of the installed package, so
that there is one sampler, and one place to repair it. tests/doors/test_optunahub.py loads it from disk.
"""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("package") / "samplers" / "meco"
TESTED_WITH = "5.0.0"  # of Optuna

MODULE = '''"""MeCO: constrained optimization by models in a relaxed trust region, for few expensive trials."""

from meco.adapters.optuna import MecoSampler


__all__ = ["MecoSampler"]
'''

EXAMPLE = """import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -3, 3)
    y = trial.suggest_float("y", -3, 3)
    trial.set_constraint("sum", x + y - 2)  # at most 0 is feasible
    trial.set_constraint("square", x * x - y)
    return (x - 2) ** 2 + (y - 1) ** 2


if __name__ == "__main__":
    module = optunahub.load_module(package="samplers/meco")
    study = optuna.create_study(sampler=module.MecoSampler(budget=60, seed=1))
    study.optimize(objective, n_trials=60)
    print(study.best_params, study.best_value)
"""

README = """---
author: The MeCO developers
title: MeCO, a sampler for constrained problems with few expensive trials
description: Quadratic models of the objective and of every constraint in a relaxed trust region; failed trials are learned from.
tags: [sampler, constraints, constrained optimization, expensive, trust region]
optuna_versions: [{optuna}]
license: MIT License
---

## Abstract

MeCO models the objective and each constraint by quadratics around the best trial and proposes the next one by a small program
on these models. It needs NumPy alone.
Floats and integers, with steps or on a log scale, are searched; categorical parameters are left to `independent_sampler`.
Trials that fail or are pruned tell the search where not to go.

## APIs

- `MecoSampler(*, budget=None, method="TR", seed=None, constraints_func=None, independent_sampler=None)`
  - `budget`: trials that the study is planned for. How strictly constraints are kept depends on how many are left.
  - `method`: a name of `meco.METHODS`.
  - `seed`: repeats a study whose trials run one at a time; the trials are then those of `meco.minimize` with this seed.
  - `constraints_func`: as other samplers take it; with Optuna 5 set constraints by `trial.set_constraint(key, value)`.
  - `independent_sampler`: for categorical and conditional parameters; random unless given.

## Installation

```shell
$ pip install "meco-opt>={meco}" "optuna>=5"
```

## Example

```python
{example}```
"""  # noqa: E501 - front matter has one line for each field


def write(out: Path) -> Path:
    """Write the folder anew and give its path."""
    folder = out / PACKAGE
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    version = re.search(r'__version__ = "([^"]+)"', (ROOT / "src/meco/__init__.py").read_text())
    assert version is not None
    meco = version.group(1)
    (folder / "__init__.py").write_text(MODULE)
    (folder / "example.py").write_text(EXAMPLE)
    (folder / "README.md").write_text(README.format(optuna=TESTED_WITH, meco=meco, example=EXAMPLE), encoding="utf-8")
    (folder / "requirements.txt").write_text(f"meco-opt>={meco}\noptuna>=5\n")
    shutil.copy(ROOT / "LICENSE", folder / "LICENSE")
    return folder


def main() -> None:
    """Write it and say where."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "optunahub")
    print(write(parser.parse_args().out))


if __name__ == "__main__":
    main()
