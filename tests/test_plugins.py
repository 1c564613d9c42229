"""Methods and problems of others: installed packages, files, and objects given as they are."""

import json
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco.bench.plan.contender import Contender, split_name_and_options
from meco.cli import main
from meco.core.registry import Registry
from meco.engines.de.shade import Shade
from meco.errors import InvalidInput, UnknownName
from meco.rules import FeasibilityFirst
from meco.testing import RecordingProblem

MINE = """
import numpy as np
from meco import MethodRecord, Problem
from meco.core.engine import Engine
from meco.core.rule import Population


class Uniform(Engine):
    \"\"\"Random search, five points at a time.\"\"\"

    def __init__(self, task, pop_size=5):
        self.task, self.size = task, pop_size

    def ask(self):
        return self.task.rng.uniform(self.size, self.task.dim)

    def tell(self, x, ev):
        self.population, self.generation = Population(x, ev), self.generation + 1


record = MethodRecord(
    Uniform, "random search", population=lambda dim, budget: 5, options=("pop_size",), aliases=("Zufall",)
)
bowl = Problem("bowl", [-1, -1], [1, 1], 1, 0, lambda x: (x[..., 0] ** 2, [0.5 - x[..., 1]], []))
number, text = 3, str


def wide(dim=4):
    return Problem("wide", -np.ones(dim), np.ones(dim), 0, 0, lambda x: ((x**2).sum(axis=-1), [], []))


def any_size(dim):
    return wide(dim)


def broken(dim):
    raise RuntimeError("no licence")
"""
POINTS = """
[meco.methods]
Uniform = mine:record
Plain = mine:Uniform
Gone = mine:nothing
Lost = not_there:Engine
SHADE = mine:record
[meco.problems]
bowl = mine:bowl
wide = mine:wide
any-size = mine:any_size
broken = mine:broken
odd = mine:number
text = mine:text
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file of one's own."""
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def installed(tmp_path):
    """A folder with a package that has plug-ins, as pip leaves it."""
    (tmp_path / "mine.py").write_text(MINE)
    info = tmp_path / "mine_meco-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine-meco\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    return tmp_path


def fresh(code, folder):
    """What a fresh interpreter prints, with that folder on its path."""
    script = f"import sys, warnings; sys.path.insert(0, {str(folder)!r})\n{code}"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)


def test_an_installed_package_adds_methods_and_a_broken_one_is_named(installed):
    done = fresh(
        "import meco\n"
        "assert 'mine' not in sys.modules\n"
        "meco.METHODS['SHADE']; assert 'mine' not in sys.modules\n"
        "print(len(meco.solve('zufall', 'tilted', 20, [1, 2])), 'Plain' in meco.METHODS, list(meco.METHODS)[-2:])\n"
        "print(meco.METHODS['SHADE'].family)",
        installed,
    )
    assert done.stdout.splitlines() == ["2 True ['Uniform', 'Plain']", "SHADE"]
    for name, why in (("Gone", "AttributeError"), ("Lost", "not_there"), ("SHADE", "already registered")):
        assert any(f"method '{name}' of mine-meco" in line and why in line for line in done.stderr.splitlines())


def test_an_installed_package_adds_problems(installed):
    done = fresh(
        "import meco\n"
        "print(meco.get_problem('Bowl').n_ineq, meco.get_problem('wide', 7).dim, meco.get_problem('wide').dim)\n"
        "for name, dim in (('bowl', 3), ('text', None), ('bowll', None)):\n"
        "    try: meco.get_problem(name, dim)\n"
        "    except ValueError as error: print(error)\n"
        "    except KeyError as error: print(error)",
        installed,
    )
    numbers, *errors = done.stdout.splitlines()
    assert numbers == "1 7 4"
    assert errors[0] == "bowl has 2 variables; dim=3 is not defined for it"
    assert errors[1] == "the plug-in text must give a meco.Problem; it gives str"
    assert "problem 'odd' of mine-meco (mine:number) cannot be used" in done.stderr
    assert "did you mean 'bowl'" in errors[2]


def test_a_plug_in_that_makes_problems_of_any_size_has_ten_variables_unless_told(installed):
    done = fresh(
        "import meco\n"
        "from meco.bench.plan.comparison import make_comparison\n"
        "from meco.cli import main\n"
        "print(meco.get_problem('any-size').dim, meco.get_problem('any-size', 3).dim)\n"
        "print([case.dim for case in make_comparison(problems=['any-size', 'bowl'], methods=['SHADE']).cases()])\n"
        "sys.exit(main(['solve', 'any-size', '--method', 'SHADE', '--budget', '60', '--quiet']))",
        installed,
    )
    assert done.stdout.splitlines()[:2] == ["10 3", "[10, 2]"]


def test_what_a_plug_in_raises_is_said_in_words(installed):
    done = fresh(
        "from meco.cli import main\n"
        "for name in ('broken', 'text'): print(main(['solve', name, '--method', 'SHADE', '--budget', '60']))",
        installed,
    )
    assert done.stdout.split() == ["2", "2"]
    assert "called with D = 10 it raises RuntimeError: no licence" in done.stderr


def test_a_method_in_a_file_is_solved_and_compared_in_other_processes(folder, capsys):
    main(["solve", "tilted", "--method", "mine.py:Uniform", "--budget", "30", "--seed", "1", "--json", "--quiet"])
    alone = json.loads(capsys.readouterr().out)[0]
    assert alone["nfev"] == 30
    bench = ["bench", "--problem", "tilted", "--methods", "SHADE", "mine.py:Uniform", "mine.py:record:pop_size=4"]
    assert main([*bench, "--runs", "2", "--budget", "30", "--workers", "2", "--out", "out", "--quiet"]) == 0
    assert "6 of 6 runs" in capsys.readouterr().out
    page = (folder / "out" / "report.html").read_text()
    assert "mine.py:Uniform" in page
    assert "mine.py:record:pop_size=4" in page


def test_a_file_that_changed_is_not_taken_for_the_old_one(folder):
    exact = meco.METHODS.resolve("mine.py:Uniform")
    assert meco.METHODS.resolve(exact) == exact
    assert exact not in list(meco.METHODS)
    (folder / "mine.py").write_text(MINE + "\n")
    assert meco.METHODS.resolve("mine.py:Uniform") != exact
    with pytest.raises(UnknownName, match="did you mean 'Uniform'"):
        meco.METHODS.resolve("mine.py:Uniforn")
    with pytest.raises(InvalidInput, match="a method must be a name"):
        meco.METHODS.resolve("mine.py:number")
    with pytest.raises(InvalidInput, match="cannot read nowhere"):
        meco.METHODS.resolve("nowhere.py:Uniform")


def test_a_method_is_given_by_name_record_or_engine():
    mine = meco.MethodRecord(partial(Shade, rule=FeasibilityFirst()), "by hand")
    named, given = (meco.solve(m, "tilted", 120, [1])[0] for m in ("SHADE-FR", mine))
    assert_array_equal(named.x, given.x)
    assert given.run.method == "Shade"
    assert meco.solve(meco.METHODS["SHADE"], "tilted", 60, [1])[0].run.method == "SHADE"
    result = meco.minimize(lambda x: x @ x, [(-1, 1)] * 2, method=mine, budget=60, seed=1)
    assert result.nfev == 60


def test_engines_and_rules_are_given_by_name_or_object():
    by_name = meco.solve("SHADE", "tilted", 120, [1], rule="feasibility-first")[0]
    assert_array_equal(by_name.x, meco.solve("SHADE-FR", "tilted", 120, [1])[0].x)
    named, given = (meco.solve("MeCO-rand", "tilted", 120, [1], engine=e)[0] for e in ("shade", Shade))
    assert_array_equal(named.x, given.x)
    with pytest.raises(UnknownName, match="did you mean 'feasibility-first'"):
        meco.solve("SHADE", "tilted", 60, [1], rule="feasible-first")


def test_runs_of_a_method_that_models_functions_share_their_numbers_of_constraints():
    seen = []

    def build(task, **options):
        seen.append((task.rng.runs, task.n_ineq, task.n_eq))
        return Shade(task, rule=FeasibilityFirst())

    problems = [RecordingProblem(kind=kind).problem for kind in ("none", "mixed", "none", "mixed", "equal")]
    results = meco.solve(meco.MethodRecord(build, "models", models_functions=True), problems, 60, [5, 6, 7, 8, 9])
    assert seen == [(2, 0, 0), (2, 2, 1), (1, 0, 2)]
    assert [(r.run.problem, r.run.seed) for r in results] == [(p.name, s) for p, s in zip(problems, (5, 6, 7, 8, 9))]
    assert_array_equal(results[3].x, meco.solve("SHADE-FR", problems[3], 60, [8])[0].x)


def test_a_name_is_registered_once():
    table = Registry("tool", {"saw": 1}, aliases={"säge": "saw"})
    table.add("axe", 2)
    assert dict(table) == {"saw": 1, "axe": 2}
    assert table["SÄGE"] == 1
    for taken in ("saw", "säge"):
        with pytest.raises(InvalidInput, match="already registered"):
            table.add(taken, 3)


def test_every_option_of_a_record_is_one_that_its_builder_takes():
    import inspect

    from meco.core.registry import LazyCallable

    for name, record in meco.METHODS.items():
        build = record.build.load() if isinstance(record.build, LazyCallable) else record.build
        takes = inspect.signature(build).parameters
        loose = any(p.kind is p.VAR_KEYWORD for p in takes.values())
        assert loose or set(record.options) <= set(takes), name
    assert np.all([record.about for record in meco.METHODS.values()])


def test_a_comparison_takes_problems_of_plug_ins_at_their_own_size(installed):
    done = fresh(
        "from meco.bench.plan.comparison import make_comparison\n"
        "for names in (['bowl'], ['bowl', 'tilted'], ['wide']):\n"
        "    print([case.dim for case in make_comparison(problems=names).cases()])\n"
        "try: make_comparison(problems=['bowl'], dims=[3])\n"
        "except ValueError as error: print(error)",
        installed,
    )
    *sizes, refused = done.stdout.splitlines()
    assert sizes == ["[2]", "[2, 10]", "[10]"]
    assert refused == "bowl has a fixed number of variables; leave --dim out, or compare it separately"


SAW = """
from meco.paper import Policy


class Saw(Policy):
    def decide(self, s, u, controls):
        return {"epsilon": 0.5 + 0.0 * s[:, 0]}


made, number = Saw(), 3
"""


@pytest.mark.parametrize("name", ["Saw", "made"])
def test_a_policy_of_a_file_is_found_by_name(folder, name):
    (folder / "saw.py").write_text(SAW)
    ours = meco.solve("MeCO", "tilted", 200, [1], policy=f"saw.py:{name}")[0]
    assert_array_equal(ours.x, meco.solve("MeCO", "tilted", 200, [1], policy={"epsilon": 0.5})[0].x)


def test_what_is_no_policy_in_a_file_is_refused(folder):
    (folder / "saw.py").write_text(SAW)
    with pytest.raises(InvalidInput, match="a policy in a file must be a class or an object of"):
        meco.solve("MeCO", "tilted", 200, [1], policy="saw.py:number")
    with pytest.raises(UnknownName, match="did you mean 'Saw'"):
        meco.solve("MeCO", "tilted", 200, [1], policy="saw.py:Sow")


def test_policies_of_files_and_constants_are_compared(folder, capsys):
    (folder / "saw.py").write_text(SAW)
    steered = ["MeCO:policy=saw.py:Saw", 'MeCO:policy={"epsilon": 0.5},pop_size=20', "MeCO"]
    bench = ["bench", "--problem", "tilted", "--methods", *steered, "--runs", "2", "--budget", "120"]
    assert main([*bench, "--executor", "serial", "--out", "out", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "6 of 6 runs" in said
    assert "MeCO:policy=saw.py:Saw" in said
    (folder / "saw.py").write_text(SAW.replace("0.5", "0.1"))
    assert main([*bench, "--executor", "serial", "--out", "out", "--quiet"]) == 0
    assert "6 of 6 runs" in capsys.readouterr().out


LARGEST = """
from dataclasses import dataclass
from meco.rules import Key, Rule


@dataclass(frozen=True)
class Largest(Rule):
    weight: float = 1.0

    def values(self, ev, state):
        return Key(self.weight * ev.c.max(axis=-1), ev.f)


@dataclass(frozen=True)
class Weighted(Largest):
    weight: float

    def __init__(self, weight): ...


class Empty(Rule): ...


made, number = Largest(2.0), 3
"""


def test_a_rule_is_given_as_object_class_or_by_file(folder):
    (folder / "largest.py").write_text(LARGEST)
    found = {}
    exec(compile(LARGEST, "largest.py", "exec"), found)
    given = (found["Largest"](), found["Largest"], "largest.py:Largest", "largest.py:made")
    first, *others = (meco.solve("SHADE", "ring", 200, [1], rule=rule)[0] for rule in given)
    for other in others:
        assert_array_equal(other.x, first.x)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (3, "rule must be a name that `meco list rules` shows, file.py:Name, or a class or an object of"),
        ("largest.py:number", "rule must be a name"),
        ("largest.py:Weighted", r"Weighted\(\) makes no rule: .*'weight'"),
        ("largest.py:Empty", r"Empty\(\) makes no rule: .*values"),
        ("largest.py:Largets", "did you mean 'Largest'"),
    ],
)
def test_what_is_no_rule_is_refused(folder, rule, words):
    (folder / "largest.py").write_text(LARGEST)
    with pytest.raises((InvalidInput, UnknownName), match=words):
        meco.solve("SHADE", "ring", 60, [1], rule=rule)


def test_an_edited_rule_makes_new_runs(folder, capsys):
    (folder / "largest.py").write_text(LARGEST)
    names = ["SHADE:rule=largest.py:made", "MeCO-rand:engine=largest.py:engine"]
    (folder / "largest.py").write_text(f"{LARGEST}\nfrom meco.engines.de.shade import Shade as engine\n")
    before = [Contender.parse(name).options for name in names]
    (folder / "largest.py").write_text((folder / "largest.py").read_text().replace("Largest(2.0)", "Largest(0.0)"))
    after = [Contender.parse(name).options for name in names]
    assert all(old != new for old, new in zip(before, after))
    assert [Contender.parse(name).label for name in names] == names


def test_an_edited_module_beside_a_rule_makes_new_runs(folder, capsys):
    (folder / "weights_beside.py").write_text("WEIGHT = 1.0\n")
    (folder / "largest.py").write_text(LARGEST + "from weights_beside import WEIGHT\nheavy = Largest(WEIGHT)\n")
    before = Contender.parse("SHADE:rule=largest.py:heavy").options
    (folder / "weights_beside.py").write_text("WEIGHT = 20.0\n")
    assert Contender.parse("SHADE:rule=largest.py:heavy").options != before


def test_a_comparison_names_what_is_missing_as_it_was_given(folder, capsys):
    given = ["SHADE", "SHADE:pop_size=2", "SHADE:pop_size=3", "SHADE:rule=nobody"]
    bench = ["bench", "--problem", "tilted", "--methods", *given, "--runs", "1", "--budget", "60", "--no-report"]
    assert main([*bench, "--executor", "serial", "--out", "out", "--quiet"]) == 1
    said = [line.strip().partition(": ")[0] for line in capsys.readouterr().err.splitlines()]
    assert said[said.index("missing:") + 1 :] == given[1:]


def test_a_folder_with_an_equals_sign_is_no_option():
    assert split_name_and_options("a=b/mine.py:Uniform:pop_size=4") == ("a=b/mine.py:Uniform", "pop_size=4")
    assert split_name_and_options("MeCO:policy=a/saw.py:Saw") == ("MeCO", "policy=a/saw.py:Saw")
